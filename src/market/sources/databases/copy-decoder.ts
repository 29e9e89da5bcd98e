/** Row of a binary COPY as ranges of its bytes. `starts[c]` is negative for a null. Valid only during the call. */
export interface CopyRow {
  readonly bytes: Buffer;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Thrown if a stream is not a binary COPY, or is truncated. */
export class CopyFault extends Error {
  override readonly name = 'CopyFault';
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Length of the header: signature, flags, and length of the extension. */
const HEADER_BYTES = 19;
const ROW_BYTES_MAX = 1 << 22;

/**
 * Decodes the binary format of COPY as its bytes arrive.
 * @source PostgreSQL documentation, COPY, binary format
 */
export function createCopyDecoder(
  columns: number,
  onRow: (row: CopyRow) => void,
): { push(chunk: Buffer): void; end(): void } {
  let restBytes: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  let isDone = false;
  const row = { bytes: restBytes, starts: new Int32Array(columns), ends: new Int32Array(columns) };

  /**
   * Returns the position after the row that begins at `from`. Returns -1 if the row is incomplete, -2 after the last
   * row.
   */
  function readRow(bytes: Buffer, from: number): number {
    if (from + 2 > bytes.length) return -1;
    const count = bytes.readInt16BE(from);
    if (count === -1) return -2;
    if (count !== columns) throw new CopyFault(`a row has ${count} columns; ${columns} were asked for`);
    let offset = from + 2;
    for (let column = 0; column < columns; column++) {
      if (offset + 4 > bytes.length) return -1;
      const length = bytes.readInt32BE(offset);
      offset += 4;
      if (length > ROW_BYTES_MAX) throw new CopyFault(`a value has ${length} bytes; at most ${ROW_BYTES_MAX} are read`);
      row.starts[column] = length < 0 ? -1 : offset;
      offset += Math.max(length, 0);
      row.ends[column] = offset;
    }
    return offset > bytes.length ? -1 : offset;
  }

  return {
    push(chunk) {
      if (isDone) return;
      const bytes = restBytes.length === 0 ? chunk : Buffer.concat([restBytes, chunk]);
      let offset = 0;
      if (!hasHeader) {
        if (bytes.length < HEADER_BYTES) {
          restBytes = bytes;
          return;
        }
        if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw new CopyFault('the stream is no binary COPY');
        offset = HEADER_BYTES + bytes.readInt32BE(15);
        hasHeader = true;
      }
      row.bytes = bytes;
      for (;;) {
        const next = readRow(bytes, offset);
        if (next === -2) {
          isDone = true;
          return;
        }
        if (next < 0) break;
        onRow(row);
        offset = next;
      }
      restBytes = bytes.subarray(offset);
    },
    end() {
      if (!isDone) throw new CopyFault('the stream ended before its last row');
    },
  };
}

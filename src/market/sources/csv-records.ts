/** Maximum number of columns of a record. */
export const COLUMNS_MAX = 4096;

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const DELIMITERS = [',', ';', '\t', '|'] as const;
const HEADING_BYTES_MAX = 1 << 16; // searched for a line with a delimiter; a title above the header has none

/** Record of a CSV file, with its cells as ranges of bytes. */
export interface CsvRecord {
  readonly bytes: Uint8Array;
  /** First byte of each cell, without quotes. */
  readonly starts: Int32Array;
  /** End of each cell, exclusive. */
  readonly ends: Int32Array;
  /** 1 for a cell with doubled quotes. */
  readonly escaped: Uint8Array;
  cells: number;
}

/** Thrown for an invalid CSV file, with its record; the header is record 0. */
export class CsvFault extends Error {
  override readonly name = 'CsvFault';
  readonly record: number;
  /** Accepted values, if there is a closed set of them. */
  readonly accepted: readonly string[] | undefined;
  constructor(record: number, message: string, accepted?: readonly string[]) {
    super(message);
    this.record = record;
    this.accepted = accepted;
  }
}

/** Splits one record into cells; returns the position after it, or -1 if the bytes end inside it. */
export function readRecord(
  record: { bytes: Uint8Array; starts: Int32Array; ends: Int32Array; escaped: Uint8Array; cells: number },
  from: number,
  delimiter: number,
  last: boolean,
  records: number,
): number {
  const { bytes, starts, ends, escaped } = record;
  const length = bytes.length;
  let position = from;
  let cells = 0;
  if (position >= length) return -1;
  for (;;) {
    if (cells === COLUMNS_MAX) throw new CsvFault(records, `The row has more than ${COLUMNS_MAX} cells.`);
    escaped[cells] = 0;
    if (position < length && bytes[position] === QUOTE) {
      starts[cells] = position + 1;
      for (position += 1; ; position++) {
        if (position >= length) {
          if (!last) return -1;
          throw new CsvFault(records, 'A quote is not closed before the end of the file.');
        }
        if (bytes[position] !== QUOTE) continue;
        if (position + 1 >= length && !last) return -1;
        if (bytes[position + 1] !== QUOTE) break;
        escaped[cells] = 1;
        position += 1;
      }
      ends[cells] = position;
      position += 1;
      const byte = bytes[position];
      if (position < length && byte !== delimiter && byte !== LF && byte !== CR)
        throw new CsvFault(records, 'Text follows a closing quote.');
    } else {
      starts[cells] = position;
      let byte = -1;
      while (position < length) {
        byte = bytes[position]!;
        if (byte === delimiter || byte === LF || byte === CR) break;
        position += 1;
      }
      ends[cells] = position;
    }
    cells += 1;
    if (position >= length) {
      if (!last) return -1;
      record.cells = cells;
      return length;
    }
    const byte = bytes[position];
    position += 1;
    if (byte === delimiter) continue;
    if (byte === CR) {
      if (position >= length && !last) return -1;
      if (bytes[position] === LF) position += 1;
    }
    record.cells = cells;
    return position;
  }
}

/** Returns the position after the next non-empty line; -1 if it is incomplete. */
export function findLineEnd(bytes: Uint8Array, from: number): number {
  let position = from;
  while (bytes[position] === LF || bytes[position] === CR) position += 1;
  const end = bytes.indexOf(LF, position);
  return end < 0 ? -1 : end + 1;
}

export const startOfText = ([a, b, c]: Uint8Array) => (a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0);

/** Returns the most frequent delimiter outside quotes in the first line with one; 0 if more bytes are needed. */
export function findDelimiter(bytes: Uint8Array, from: number, last: boolean): number {
  const counts = DELIMITERS.map(() => 0);
  let isQuoted = false;
  let position = from;
  for (; position < Math.min(bytes.length, from + HEADING_BYTES_MAX); position++) {
    const byte = bytes[position]!;
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (!isQuoted && (byte === LF || byte === CR) && counts.some((count) => count > 0)) break;
    else if (!isQuoted) {
      const delimiterIndex = DELIMITERS.findIndex((text) => text.charCodeAt(0) === byte);
      if (delimiterIndex >= 0) counts[delimiterIndex]! += 1;
    }
  }
  if (position === bytes.length && !last) return 0;
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!.charCodeAt(0);
}

export function concatenate(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joinedBytes = new Uint8Array(a.length + b.length);
  joinedBytes.set(a);
  joinedBytes.set(b, a.length);
  return joinedBytes;
}

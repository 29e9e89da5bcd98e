import { putVarint } from './thrift-compact.js';

/**
 * Encodes which rows of an optional column have a value (definition levels), after the length (u32, little endian). If
 * every row has a value, the levels are written as a single run.
 */
export function encodeLevels(rowCount: number, isPresent: (row: number) => boolean): Uint8Array {
  let isWhole = true;
  for (let row = 0; row < rowCount && isWhole; row++) isWhole = isPresent(row);
  if (isWhole) return encodeWholeLevels(rowCount);
  const runs: number[] = [];
  putVarint(runs, Math.ceil(rowCount / 8) * 2 + 1);
  return addLength(
    runs,
    packBits(Math.ceil(rowCount / 8) * 8, (row) => (row < rowCount && isPresent(row) ? 1 : 0), 1),
  );
}

/** Encodes the definition levels of an optional column without missing values. */
export function encodeWholeLevels(rowCount: number): Uint8Array {
  const run: number[] = [];
  putVarint(run, rowCount * 2);
  return addLength([...run, 1], new Uint8Array(0));
}

function addLength(runs: readonly number[], packed: Uint8Array): Uint8Array {
  const levels = new Uint8Array(4 + runs.length + packed.length);
  new DataView(levels.buffer).setUint32(0, runs.length + packed.length, true);
  levels.set(runs, 4);
  levels.set(packed, 4 + runs.length);
  return levels;
}

/** Minimum length of a run; shorter runs are bit-packed. */
const RUN_MIN = 64;

/**
 * Encodes codes of `width` bits each as runs of one value and runs of packed bits.
 * @source parquet-format Encodings.md, RLE/bit-packing hybrid.
 */
export function encodeHybrid(codes: Int32Array, width: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  const flush = (to: number) => {
    if (to === from) return;
    const groupCount = Math.ceil((to - from) / 8);
    const header: number[] = [];
    putVarint(header, groupCount * 2 + 1);
    const start = from;
    parts.push(
      Uint8Array.from(header),
      packBits(groupCount * 8, (i) => (start + i < to ? codes[start + i]! : 0), width),
    );
    from = to;
  };
  for (let i = 0; i < codes.length;) {
    let end = i + 1;
    while (end < codes.length && codes[end] === codes[i]) end += 1;
    // A bit-packed run in the middle consists of whole groups of eight, so that the next run begins at the end of a
    // group.
    const start = from + Math.ceil((i - from) / 8) * 8;
    if (end - start >= RUN_MIN) {
      flush(start);
      const run: number[] = [];
      putVarint(run, (end - start) * 2);
      for (let shift = 0; shift < width; shift += 8) run.push((codes[i]! >>> shift) & 0xff);
      parts.push(Uint8Array.from(run));
      from = end;
    }
    i = end;
  }
  flush(codes.length);
  return Buffer.concat(parts);
}

/** Packs values of `width` bits consecutively, least significant bit first. */
export function packBits(count: number, valueAt: (i: number) => number, width: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((count * width) / 8));
  let pendingBits = 0;
  let bits = 0;
  let offset = 0;
  for (let i = 0; i < count; i++) {
    pendingBits |= valueAt(i) << bits;
    bits += width;
    while (bits >= 8) {
      bytes[offset++] = pendingBits & 0xff;
      pendingBits >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) bytes[offset] = pendingBits & 0xff;
  return bytes;
}

import { putVarint } from './thrift-compact.js';

/**
 * Encoded definition levels of an optional column after their length (u32, little endian); one run when no value is
 * missing.
 */
export function levelsOf(rows: number, isPresent: (row: number) => boolean): Uint8Array {
  let isWhole = true;
  for (let row = 0; row < rows && isWhole; row++) isWhole = isPresent(row);
  const runs: number[] = [];
  let packed: Uint8Array = new Uint8Array(0);
  if (isWhole) {
    putVarint(runs, rows * 2);
    runs.push(1);
  } else {
    putVarint(runs, Math.ceil(rows / 8) * 2 + 1);
    packed = packBits(Math.ceil(rows / 8) * 8, (row) => (row < rows && isPresent(row) ? 1 : 0), 1);
  }
  const levels = new Uint8Array(4 + runs.length + packed.length);
  new DataView(levels.buffer).setUint32(0, runs.length + packed.length, true);
  levels.set(runs, 4);
  levels.set(packed, 4 + runs.length);
  return levels;
}

/** Runs shorter than this are packed bit by bit. */
const RUN_MIN = 64;

/**
 * Codes of `width` bits each, encoded as runs of one value and runs of packed bits.
 * @source parquet-format Encodings.md, RLE/bit-packing hybrid.
 */
export function hybrid(codes: Int32Array, width: number): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = 0;
  const flush = (to: number) => {
    if (to === from) return;
    const groups = Math.ceil((to - from) / 8);
    const header: number[] = [];
    putVarint(header, groups * 2 + 1);
    const start = from;
    parts.push(
      Uint8Array.from(header),
      packBits(groups * 8, (i) => (start + i < to ? codes[start + i]! : 0), width),
    );
    from = to;
  };
  for (let i = 0; i < codes.length;) {
    let end = i + 1;
    while (end < codes.length && codes[end] === codes[i]) end += 1;
    // A packed run in the middle holds whole groups of eight, so that the next run begins where its last group ends.
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

/** Values of `width` bits one after the other, least significant bit first. */
export function packBits(count: number, valueAt: (i: number) => number, width: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((count * width) / 8));
  let held = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    held |= valueAt(i) << bits;
    bits += width;
    while (bits >= 8) {
      bytes[at++] = held & 0xff;
      held >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) bytes[at] = held & 0xff;
  return bytes;
}

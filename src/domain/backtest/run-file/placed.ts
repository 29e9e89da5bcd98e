/** What a run file begins with. */
export const MAGIC = 'DVSRUN01';

/** Bytes of the magic and the length of the header. */
export const PREAMBLE_BYTES = 16;

/** Blocks begin at multiples of 8 bytes. */
export function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Bytes from one on up to another, exclusive: multiples of 8. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Gives memory of at least so many bytes, all zero but for a range that may hold anything. */
export type Memory = (bytes: number, anything: ByteRange) => SharedArrayBuffer;

/** Bytes around a panel. */
export interface Surroundings {
  readonly before: number;
  readonly after: number;
}

/** A panel of so many cells that hold anything, with zeros around it, of which a file can be made in place. */
export function placedPanel(memory: Memory, cells: number, { before, after }: Surroundings): Float64Array {
  const offset = padded(PREAMBLE_BYTES + before);
  const end = offset + 8 * cells;
  return new Float64Array(memory(end + padded(after), { from: offset, to: end }), offset, cells);
}

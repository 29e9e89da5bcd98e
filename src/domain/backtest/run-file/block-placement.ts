/** First bytes of a run file. */
export const MAGIC = 'DVSRUN01';

/** Bytes of the magic and of the length of the header. */
export const PREAMBLE_BYTES = 16;

/** Rounds up to a multiple of 8 bytes, at which blocks begin. */
export function roundUpToBlock(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Range of bytes, end exclusive; both are multiples of 8. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Allocates memory of at least a number of bytes, all zero except a range with arbitrary contents. */
export type Memory = (bytes: number, anything: ByteRange) => SharedArrayBuffer;

/** Bytes around a panel. */
export interface Surroundings {
  readonly before: number;
  readonly after: number;
}

/** Allocates a panel with arbitrary contents and zeros around it, in which a file can be created in place. */
export function allocatePlacedPanel(memory: Memory, cells: number, { before, after }: Surroundings): Float64Array {
  const offset = roundUpToBlock(PREAMBLE_BYTES + before);
  const end = offset + 8 * cells;
  return new Float64Array(memory(end + roundUpToBlock(after), { from: offset, to: end }), offset, cells);
}

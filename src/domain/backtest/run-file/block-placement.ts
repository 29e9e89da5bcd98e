/** Signature at the start of a run file. */
export const MAGIC = 'DVSRUN01';

/** Bytes of the signature and the header length. */
export const PREAMBLE_BYTES = 16;

/** Rounds a size up to a multiple of 8 bytes: every block begins at such an offset. */
export function roundUpToBlock(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Range of bytes, end exclusive. Both ends are multiples of 8. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Allocates memory of at least `bytes` bytes. The memory contains zeros; only the range `anything` may have other
 * contents.
 */
export type Memory = (bytes: number, anything: ByteRange) => SharedArrayBuffer;

/** Number of bytes before and after a panel. */
export interface Surroundings {
  readonly before: number;
  readonly after: number;
}

/**
 * Allocates a panel with space before and after it, in which a file can be laid out around the panel. The space
 * contains zeros, the panel arbitrary contents.
 */
export function allocatePlacedPanel(memory: Memory, cellCount: number, { before, after }: Surroundings): Float64Array {
  const offset = roundUpToBlock(PREAMBLE_BYTES + before);
  const end = offset + 8 * cellCount;
  return new Float64Array(memory(end + roundUpToBlock(after), { from: offset, to: end }), offset, cellCount);
}

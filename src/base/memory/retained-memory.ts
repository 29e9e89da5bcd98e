import { isWorkPaged, allocateWork } from '#kernels/memory/paged-memory.js';

/**
 * Allocates zeroed memory for arrays that a thread keeps between jobs. The memory is shared, because the garbage
 * collector does not count shared memory. Above about 64 MB of other memory outside its heap, the collector marks the
 * whole heap once per job.
 */
export function allocateRetainedMemory(bytes: number): SharedArrayBuffer {
  return allocateWork(bytes);
}

/**
 * Memory that a run needs in addition to its paged arrays, as a fraction of these arrays. Measured on a run of 20,000
 * securities over 30 years and rounded up.
 */
const UNPAGED_SHARE = 1 / 32;

/**
 * Returns the bytes of memory needed to work with an array of this size. A paged array is on disk and needs only a
 * share of its size.
 */
export function countRetainedBytes(bytes: number): number {
  return isWorkPaged(bytes) ? bytes * UNPAGED_SHARE : bytes;
}

export function allocateRetainedFloats(length: number): Float64Array {
  return new Float64Array(allocateRetainedMemory(length * Float64Array.BYTES_PER_ELEMENT));
}

export function allocateRetainedIntegers(length: number): Int32Array {
  return new Int32Array(allocateRetainedMemory(length * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Allocates an array for integers from 0 to `end` (exclusive). The array takes half the memory if `end` is at most
 * 2^15.
 */
export function allocateRetainedIntegersBelow(end: number, length: number): Int16Array | Int32Array {
  return end <= SHORT_END
    ? new Int16Array(allocateRetainedMemory(length * Int16Array.BYTES_PER_ELEMENT))
    : allocateRetainedIntegers(length);
}

const SHORT_END = 2 ** 15;

import { isWorkPaged, allocateWork } from '#kernels/memory/paged-memory.js';

/**
 * Allocates zeroed memory for arrays that a thread keeps between jobs. Shared memory does not count towards the
 * collector's limit on memory outside its heap, about 64 MB, above which it marks the whole heap once per job.
 */
export function allocateRetainedMemory(bytes: number): SharedArrayBuffer {
  return allocateWork(bytes);
}

/**
 * Memory for a run of 20,000 securities over 30 years in addition to its paged arrays, as a share of these arrays,
 * rounded up.
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

/** Allocates an array of non-negative integers below an end; up to 2^15 they take half the memory. */
export function allocateRetainedIntegersBelow(end: number, length: number): Int16Array | Int32Array {
  return end <= SHORT_END
    ? new Int16Array(allocateRetainedMemory(length * Int16Array.BYTES_PER_ELEMENT))
    : allocateRetainedIntegers(length);
}

const SHORT_END = 2 ** 15;

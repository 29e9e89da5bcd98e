import { isWorkPaged, workMemory } from '#kernels/memory/paged-memory.js';

/**
 * Zeroed memory for arrays that a thread keeps from job to job. It is shared memory, which does not count towards the
 * limit of the collector on memory outside its heap: some 64 MB, beyond which it marks the whole heap once a job.
 */
export function keptMemory(bytes: number): SharedArrayBuffer {
  return workMemory(bytes);
}

/** Memory of a run of 20,000 securities over 30 years outside its paged arrays, as a share of these, rounded up. */
const SHARE_BESIDE_PAGED = 1 / 32;

/** Bytes of memory that work with such an array has to find: of a paged one, which takes disk, a share. */
export function heldBytes(bytes: number): number {
  return isWorkPaged(bytes) ? bytes * SHARE_BESIDE_PAGED : bytes;
}

export function keptFloats(length: number): Float64Array {
  return new Float64Array(keptMemory(length * Float64Array.BYTES_PER_ELEMENT));
}

export function keptIntegers(length: number): Int32Array {
  return new Int32Array(keptMemory(length * Int32Array.BYTES_PER_ELEMENT));
}

/** Integers below an end; of less than 2^15 they take half the memory. */
export function keptIntegersBelow(end: number, length: number): Int16Array | Int32Array {
  return end <= SHORT_END ? new Int16Array(keptMemory(length * Int16Array.BYTES_PER_ELEMENT)) : keptIntegers(length);
}

const SHORT_END = 2 ** 15;

import { workMemory } from '#kernels/memory/paged-memory.js';

/**
 * Zeroed memory for arrays that a thread keeps from job to job. It is shared memory, which does not count towards the
 * limit of the collector on memory outside its heap: some 64 MB, beyond which it marks the whole heap once a job.
 */
export function keptMemory(bytes: number): SharedArrayBuffer {
  return workMemory(bytes);
}

export function keptFloats(length: number): Float64Array {
  return new Float64Array(keptMemory(length * Float64Array.BYTES_PER_ELEMENT));
}

export function keptIntegers(length: number): Int32Array {
  return new Int32Array(keptMemory(length * Int32Array.BYTES_PER_ELEMENT));
}

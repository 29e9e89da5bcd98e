import { allocatePages } from '#kernels/engines/value-panel.js';
import { allocateWork, isWorkPaged } from '#kernels/memory/paged-memory.js';

/** Numbers appended one at a time, in memory that doubles when it is full. */
export interface GrowingNumbers<A extends Int32Array | Float64Array> {
  readonly length: number;
  push(value: number): void;
  /** Returns the numbers so far, without copying. */
  values(): A;
}

/** @param expected likely number of values. Memory for them is allocated with the first one. */
export const createGrowingIntegers = (expected = FIRST_LENGTH): GrowingNumbers<Int32Array> =>
  createGrowingArray(expected, (length) => new Int32Array(length));
/** @param expected as in `createGrowingIntegers` */
export const createGrowingFloats = (expected = FIRST_LENGTH): GrowingNumbers<Float64Array> =>
  createGrowingArray(expected, (length) => new Float64Array(length));

const FIRST_LENGTH = 16;

function createGrowingArray<A extends Int32Array | Float64Array>(
  expected: number,
  create: (length: number) => A,
): GrowingNumbers<A> {
  let memory = create(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      if (length === memory.length) {
        const largerMemory = create(Math.max(FIRST_LENGTH, expected, 2 * length));
        largerMemory.set(memory);
        memory = largerMemory;
      }
      memory[length++] = value;
    },
    values: () => memory.subarray(0, length) as A,
  };
}

const PAGE_BYTES = 2 ** 16;

/**
 * Minimum size of a file that bypasses the cache of the operating system. Files of at least this size are written past
 * the cache, and read past it when the whole file is read. Most smaller files are read as a whole soon after they are
 * written, so the cache helps them. Views read only parts of larger files.
 */
export const LARGE_BYTES_MIN = 4 * 2 ** 20;

const allocators = new WeakSet<ArrayBufferLike>();

/**
 * Allocates zeroed memory that begins on a page, so that a disk can transfer whole sectors directly. WebAssembly memory
 * always begins on a page; other memory may begin anywhere.
 * @returns WebAssembly memory in whole pages of 64 KiB. Each memory takes 10 GB of the process's address space; when
 * the address space is used up, the function returns other memory.
 */
export function allocatePageMemory(bytes: number): SharedArrayBuffer {
  const pageCount = Math.ceil(bytes / PAGE_BYTES);
  const memory = allocatePages(pageCount);
  if (memory === undefined) return new SharedArrayBuffer(pageCount * PAGE_BYTES);
  const buffer = memory.buffer as SharedArrayBuffer; // has the requested size
  allocators.add(buffer);
  return buffer;
}

/** Returns true for memory that this module allocated. */
export const isPageMemory = (memory: ArrayBufferLike): boolean => allocators.has(memory);

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

/** Functions that free what modules of this thread keep between tasks. */
const releases: (() => void)[] = [];

/** Registers a function that frees what a module keeps for later tasks. It is called when the thread rests. */
export function releaseAtRest(release: () => void): void {
  releases.push(release);
}

/** Frees what the modules of this thread keep for later tasks, which create it again when they need it. */
export function releaseKeptMemory(): void {
  for (const release of releases) release();
}

/** Bytes that are produced in parts while they are written, and are never in memory as a whole. */
export interface ProducedBytes {
  /** Total length of all parts. */
  readonly length: number;
  /**
   * Yields the parts in order. Each part must be read before the next is requested, because the next may reuse its
   * memory.
   */
  parts(): Iterable<Uint8Array<ArrayBuffer>>;
}

/** Returns all parts as one array. @param memory used instead of new memory */
export function joinBytes(
  producedBytes: ProducedBytes,
  memory: ArrayBufferLike = new ArrayBuffer(producedBytes.length),
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(memory as ArrayBuffer, 0, producedBytes.length); // file functions also accept shared memory
  let offset = 0;
  for (const part of producedBytes.parts()) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Returns bytes that a browser can decode as text: bytes in shared memory are copied, because it refuses them. */
export const toDecodable = (bytes: Uint8Array): Uint8Array =>
  bytes.buffer instanceof ArrayBuffer ? bytes : bytes.slice();

export const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(toDecodable(bytes));

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

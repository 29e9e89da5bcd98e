import { allocatePages } from '#kernels/engines/value-panel.js';
import { allocateWork, isWorkPaged } from '#kernels/memory/paged-memory.js';

type Column = Int32Array | Float64Array;
type Columns<C> = { readonly [M in keyof C]: Column };

/**
 * Table to which rows are appended one at a time. A row costs one check of the space for all columns: a call per number
 * takes ten times as long.
 */
export interface GrowingTable<C extends Columns<C>> {
  /** Number of rows. */
  length: number;
  /** Memory of the columns, which is replaced when it is full. */
  columns: C;
  /** Number of rows in `columns`. */
  capacity: number;
  /** Likely number of rows. Memory for them is allocated with the first one. */
  readonly expected: number;
}

const FIRST_LENGTH = 16;

/** @param columns empty columns. @param expected likely number of rows */
export function createGrowingTable<C extends Columns<C>>(columns: C, expected: number = FIRST_LENGTH): GrowingTable<C> {
  return { length: 0, columns, capacity: 0, expected };
}

/** Appends a row of zeros. @returns its position in the columns of the table, which are read after this call */
export function appendRow<C extends Columns<C>>(table: GrowingTable<C>): number {
  if (table.length === table.capacity) grow(table);
  return table.length++;
}

function grow<C extends Columns<C>>(table: GrowingTable<C>): void {
  table.capacity = Math.max(FIRST_LENGTH, table.expected, 2 * table.length);
  table.columns = mapColumns(table.columns, (column) => {
    const larger = column instanceof Int32Array ? new Int32Array(table.capacity) : new Float64Array(table.capacity);
    larger.set(column);
    return larger;
  });
}

/** Returns the rows so far, without copying. */
export function takeRows<C extends Columns<C>>({ columns, length }: GrowingTable<C>): C {
  return mapColumns(columns, (column) => column.subarray(0, length));
}

/** @param change returns a column of the same type */
function mapColumns<C extends Columns<C>>(columns: C, change: (column: Column) => Column): C {
  const entries = Object.entries<Column>(columns);
  return Object.fromEntries(entries.map(([name, column]) => [name, change(column)])) as C; // the members keep their types
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

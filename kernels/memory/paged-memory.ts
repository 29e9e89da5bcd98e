import { closeSync, openSync, unlinkSync, write, writeSync, constants } from 'node:fs';
import { totalmem, endianness } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRequire } from 'node:module';

/** Memory limit of a thread, and the folder for larger arrays. */
export interface MemoryLimit {
  /**
   * Maximum total size of the panels of a store that is kept in memory. Panels of larger stores are in files (paged).
   */
  readonly panelBytes: number;
  /** Folder on a disk for paged memory; null disables paging. */
  readonly folder: string | null;
  /**
   * True if files of memory of at least `SEPARATE_BYTES` keep their names, so that another process can open them. The
   * caller must remove the files.
   */
  readonly keepsNames?: boolean;
  /** Folder in a file system in memory for the results of `allocateHandedMemory`; absent if unavailable. */
  readonly sharedFolder?: string;
}

export interface PagedFile {
  readonly path: string;
  readonly before: number;
  /** Number of bytes in the file. The rest of the memory after it is shorter than a page. */
  readonly bytes: number;
}

const GIB = 2 ** 30;

const DEFAULT_LIMIT: MemoryLimit = { panelBytes: Math.min(8 * GIB, totalmem() / 4), folder: null };

let limit = DEFAULT_LIMIT;

export function findMemoryLimit(): MemoryLimit {
  return limit;
}

/**
 * Sets the limit of this thread. @returns a function that restores the default limit, unless another limit was set since
 */
export function limitMemory(memoryLimit: MemoryLimit): () => void {
  limit = memoryLimit;
  return () => {
    if (limit === memoryLimit) limit = DEFAULT_LIMIT;
  };
}

/**
 * Returns true if the panels of a store of this size are paged: they are too large for memory, and paging is available.
 */
export function isPaged(storeBytes: number): boolean {
  return storeBytes > limit.panelBytes && canPage();
}

/** Returns true if this thread has a folder and system calls for paged memory. */
export function canPage(): boolean {
  return limit.folder !== null && loadSystemCalls() !== null;
}

/**
 * Allocates zeroed memory for one panel.
 * @param storeBytes total size of all panels of the store
 * @throws Error ENOSPC if the panel is paged and the disk has no space
 */
export function allocatePanels(bytes: number, storeBytes = bytes): SharedArrayBuffer {
  if (!isPaged(storeBytes)) return new SharedArrayBuffer(bytes);
  return allocatePagedMemory(bytes, { folder: limit.folder!, keepsNames: limit.keepsNames === true, isOnDisk: true }); // `isPaged` has checked that the folder exists
}

/**
 * Allocates like `allocatePanels`, for a panel that is passed to another process. Uses a file in memory if there is
 * space, so that neither process copies the panel.
 */
export function allocateHandedMemory(bytes: number, storeBytes: number): SharedArrayBuffer {
  const { sharedFolder: folder } = limit;
  if (folder === undefined || bytes < SEPARATE_BYTES || isPaged(storeBytes) || loadSystemCalls() === null)
    return allocatePanels(bytes, storeBytes);
  try {
    return allocatePagedMemory(bytes, { folder, keepsNames: true, isOnDisk: false });
  } catch (fault) {
    if (fault instanceof PagingFault && fault.code === 'ENOSPC') return allocatePanels(bytes, storeBytes);
    throw fault;
  }
}

/**
 * Maximum size of an array derived from a store that is kept in memory, as a fraction of the memory for panels: threads
 * keep several such arrays.
 */
const WORK_SHARE = 1 / 16;

/** Returns true if an array of this size derived from panels is paged. */
export function isWorkPaged(bytes: number): boolean {
  return isPaged(bytes / WORK_SHARE);
}

/**
 * Allocates zeroed memory for an array derived from panels. @throws Error ENOSPC if the array is paged and the disk has
 * no space
 */
export function allocateWork(bytes: number): SharedArrayBuffer {
  return allocatePanels(bytes, bytes / WORK_SHARE);
}

/**
 * Minimum size of memory whose pages can be a file that another process opens. Such pages must contain no other data.
 * Smaller allocations share pages with other data (up to 32 MiB with the GNU library), which would also be written to
 * the file. Larger allocations can share pages too if that library has a free block of this size.
 */
export const SEPARATE_BYTES = 33 * 2 ** 20;

/** Returns true if the pages of a memory contain no other data and return to the system when the memory is freed. */
function isAlone(memory: ArrayBufferLike): boolean {
  return memory.byteLength >= SEPARATE_BYTES && loadSystemCalls()!.isMapped(memory); // callers have checked that system calls are available
}

/**
 * Allocates shared memory whose pages belong to an unnamed file. The system writes them to disk when memory is short
 * and reads them on access. Disk space is allocated immediately, because a write to memory cannot report a full disk.
 * Memory and file are freed with the last reference, as for other shared memory.
 */
function allocatePagedMemory(
  bytes: number,
  {
    folder,
    keepsNames,
    isOnDisk,
  }: { readonly folder: string; readonly keepsNames: boolean; readonly isOnDisk: boolean },
): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(bytes);
  const pages = findWholePages(memory);
  if (pages.bytes <= 0) return memory;
  const path = join(folder, `pages-${process.pid}-${process.hrtime.bigint()}`);
  const file = openSync(path, 'wx+', 0o600);
  const keepsName = keepsNames && isAlone(memory);
  try {
    if (!keepsName) unlinkSync(path);
    mapFile(file, pages);
    pagedMemories.add(memory);
  } catch (fault) {
    closeSync(file);
    if (keepsName) unlinkSync(path);
    throw fault;
  }
  if (keepsName) {
    files.set(memory, { path, before: pages.before, bytes: pages.bytes });
    writableFiles.set(memory, { file, pages, isOnDisk });
    closedFiles.register(memory, file);
  } else closeSync(file);
  return memory;
}

const files = new WeakMap<ArrayBufferLike, PagedFile>();

/**
 * Open files of paged memory that this process fills for another process. Memory that only this process uses has no
 * open file: its thread may be terminated, and the file would then continue to use space.
 */
const writableFiles = new WeakMap<ArrayBufferLike, WritableFile>();
const closedFiles = new FinalizationRegistry<number>((file) => closeSync(file));

export interface WritableFile {
  readonly file: number;
  readonly pages: Pages;
  readonly isOnDisk: boolean;
}

/** Returns the file to which `writeInto` writes in this thread for a memory; undefined if the memory has no file. */
export function findWritableFile(memory: ArrayBufferLike): WritableFile | undefined {
  return writableFiles.get(memory);
}

/** Registers the file that another thread of the process opened, so that `writeInto` of this thread writes to it. */
export function setWritableFile(memory: ArrayBufferLike, place: WritableFile): void {
  writableFiles.set(memory, place);
}

/** Returns true if `writeInto` writes to the file of a memory. */
export function isWritten(memory: ArrayBufferLike): boolean {
  return writableFiles.has(memory);
}

/**
 * Writes bytes to a memory, through its file if that is open: the first access to a page takes the system 18 us,
 * writing it through the file 0.4 us.
 */
export function writeInto(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): void {
  const { file, part, at } = copyEdges(memory, offset, bytes);
  for (let from = 0; from < part.length;) from += writeSync(file, part, from, part.length - from, at + from);
}

/** Writes like `writeInto`, in a thread of the file system. Both buffers must not be used until it resolves. */
export async function writeIntoApart(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): Promise<void> {
  const { file, part, at } = copyEdges(memory, offset, bytes);
  for (let from = 0; from < part.length;)
    from += (await writeInThreadPool(file, part, from, part.length - from, at + from)).bytesWritten;
}

const writeInThreadPool = promisify(write);

/**
 * Copies the bytes that lie outside the file of the memory. @returns the remaining bytes, and their offset in the file
 */
function copyEdges(memory: ArrayBufferLike, offset: number, bytes: Uint8Array) {
  const { file, pages } = writableFiles.get(memory) ?? { file: -1, pages: { before: offset + bytes.length, bytes: 0 } };
  const bytesBefore = Math.max(0, pages.before - offset);
  const inFile = Math.max(0, Math.min(bytes.length, pages.before + pages.bytes - offset) - bytesBefore);
  new Uint8Array(memory, offset).set(bytes.subarray(0, bytesBefore));
  new Uint8Array(memory, offset).set(bytes.subarray(bytesBefore + inFile), bytesBefore + inFile);
  return { file, part: bytes.subarray(bytesBefore, bytesBefore + inFile), at: offset + bytesBefore - pages.before };
}

/** Returns the file of paged memory that kept its name; undefined for other memory. */
export function findPagedFile(memory: ArrayBufferLike): PagedFile | undefined {
  return files.get(memory);
}

/**
 * Maps a file of pages that another process wrote as memory, with spare space after them. Removes the name of the file.
 * The first and last bytes of the memory that are not in the file are zero.
 * @param bytes size of the memory in the other process, or more
 * @returns undefined if the memory of this process begins at another offset within a page, if its pages contain other
 * data, or if there is no space for the spare bytes. The caller must then read the file.
 */
export function openPagedFile({ path, before }: PagedFile, bytes: number): SharedArrayBuffer | undefined {
  if (loadSystemCalls() === null) return undefined;
  const memory = new SharedArrayBuffer(bytes);
  const pages = findWholePages(memory);
  if (pages.before !== before || !isAlone(memory)) return undefined;
  const file = openSync(path, 'r+');
  try {
    mapFile(file, pages);
    pagedMemories.add(memory);
    unlinkSync(path);
    return memory;
  } catch (fault) {
    if (fault instanceof PagingFault && fault.code === 'ENOSPC') return undefined;
    throw fault;
  } finally {
    closeSync(file);
  }
}

/**
 * Returns the pages of memory with separate pages to the system. The memory then contains zeros and occupies pages
 * again as it is written. No thread may read it during the call.
 * @returns false, without an effect, for smaller memory, for paged memory, and if the system does not support the call
 * @cost 0.1 s/GiB
 */
export function clearMemory(memory: ArrayBufferLike): boolean {
  if (memory.byteLength < SEPARATE_BYTES || pagedMemories.has(memory) || loadSystemCalls() === null) return false;
  const { from, before, bytes } = findWholePages(memory);
  if (loadSystemCalls()!.advise(from, bytes, PAGES_NOT_NEEDED) !== 0) return false;
  new Uint8Array(memory, 0, before).fill(0);
  new Uint8Array(memory, before + bytes).fill(0);
  return true;
}

/**
 * Returns values of memory that is read once. Values in a file are copied through a temporary mapping, which ends with
 * the call. Otherwise the pages of the file would count as memory of the process, though they are not read again.
 * @param room memory for at least as many values, which remain valid until the next call
 * @returns the values themselves if they are not in a file
 * @cost 0.3 s/GiB
 */
export function copyInParts(values: Float64Array, room: Float64Array<ArrayBuffer>): Float64Array {
  const { buffer, byteOffset, byteLength, length } = values;
  if (loadSystemCalls() === null || !isAlone(buffer)) return values;
  const { pageBytes, mapAgain, copyFrom, unmap } = loadSystemCalls()!; // paged memory implies that system calls are available
  const { from, before, bytes } = findWholePages(buffer);
  const begin = Math.max(0, byteOffset - before);
  const end = Math.min(bytes, byteOffset + byteLength - before);
  const ahead = begin % pageBytes;
  const position = end <= begin ? FAILURE_RESULT : mapAgain(from + begin - ahead, 0, ahead + end - begin, MAY_MOVE);
  if (position === FAILURE_RESULT) return values;
  const copy = new Uint8Array(room.buffer, room.byteOffset, byteLength);
  const [inCopy, behind] = [before + begin - byteOffset, before + end - byteOffset];
  copyFrom(copy.subarray(inCopy), position + ahead, end - begin);
  unmap(position, ahead + end - begin);
  copy.set(new Uint8Array(buffer, byteOffset, inCopy));
  copy.set(new Uint8Array(buffer, byteOffset + behind, byteLength - behind), behind);
  return room.subarray(0, length);
}

/**
 * Returns freed memory to the system in whole pages: the GNU library keeps freed memory between used blocks, and blocks
 * below 32 MiB.
 * @cost 10 ms at most after a run of 3,000 securities over 20 years; threads that allocate memory wait for a part of it
 */
export function trimMemory(): void {
  loadSystemCalls()?.trim?.(0);
}

/** Numbers of the options of mallopt in the GNU library. */
const TRIM_THRESHOLD = -1;
const MMAP_THRESHOLD = -3;
/** Free memory at the end of an arena of the GNU library above which it returns to the system. */
const FREE_END_BYTES_MAX = 2 ** 20;
/** Size from which the GNU library maps memory separately. It is the maximum that the library accepts. */
const MAPPED_BYTES_MIN = 32 * 2 ** 20;

/**
 * Limits the freed memory at the end of the arenas of all threads, which `trimMemory` cannot return. By default, the
 * GNU library raises the limit to 64 MiB when the process frees large memory. Call it once per process.
 */
export function limitFreedMemory(): void {
  const { setOption } = loadSystemCalls() ?? {};
  setOption?.(TRIM_THRESHOLD, FREE_END_BYTES_MAX);
  setOption?.(MMAP_THRESHOLD, MAPPED_BYTES_MIN); // without this, the first option fixes the size at its current value
}

/** Memory of this thread that is backed by files with unchanged pages. */
const pagedMemories = new WeakSet<ArrayBufferLike>();

export interface Pages {
  /** Address of the first page. */
  readonly from: number;
  /** Number of bytes of the memory before the first page. */
  readonly before: number;
  readonly bytes: number;
}

function findWholePages(memory: ArrayBufferLike): Pages {
  const { addressOf, pageBytes } = loadSystemCalls()!; // callers have checked that system calls are available
  const begin = addressOf(memory);
  const from = Math.ceil(begin / pageBytes) * pageBytes;
  const bytes = Math.floor((begin + memory.byteLength) / pageBytes) * pageBytes - from;
  return { from, before: from - begin, bytes };
}

function mapFile(file: number, { from, bytes }: Pages): void {
  const { reserve, map } = loadSystemCalls()!; // callers have checked that system calls are available
  const failure = reserve(file, 0, bytes);
  if (failure !== 0) throw new PagingFault(failure === ENOSPC ? 'ENOSPC' : `error ${failure}`, bytes);
  if (map(from, bytes, READ_AND_WRITE, SHARED_AND_FIXED, file, 0) !== from) throw new PagingFault('not mapped', bytes);
}

class PagingFault extends Error {
  override readonly name = 'PagingFault';
  readonly code: string;

  constructor(code: string, bytes: number) {
    super(`${bytes} bytes of memory could not be paged to disk: ${code}.`);
    this.code = code;
  }
}

/** Constants of mmap and mremap on Linux, equal on every processor. */
const READ_AND_WRITE = 3;
const SHARED_AND_FIXED = 0x11;
const ENOSPC = 28;
const MAY_MOVE = 1;
const FAILURE_RESULT = -1;
/** Advice of madvise that pages are not needed; they contain zeros when they are next read. */
const PAGES_NOT_NEEDED = 4;

/**
 * Writer of large pieces of paged memory that are not read soon. It bypasses the page cache: the disk reads the bytes
 * directly from the buffer, so they are not copied. Without it, the first access to a page of memory is expensive on a
 * virtual machine: 10 us, a hundred times the cost of a copy.
 */
interface UncachedWrites {
  /**
   * Returns the offset in a buffer at which bytes for an offset of a memory must begin. The buffer must have
   * `PADDING_BYTES` more bytes than are written.
   */
  beginIn(room: ArrayBuffer, memory: ArrayBufferLike, offset: number): number;
  /** Writes like `writeInto`, but uncached; uses the cache if the disk is slow or does not support direct writes. */
  write(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): void;
  close(): void;
}

/** Alignment of disk sectors, and of memory that a disk reads. */
const SECTOR_BYTES = 4096;

export const PADDING_BYTES = SECTOR_BYTES;

/**
 * Minimum write speed of a disk for direct writes. Slower disks are written through the page cache, which accepts
 * writes immediately while memory is free.
 */
const DISK_BYTES_A_SECOND_MIN = 256 << 20;

/** Number of written bytes from which on the speed of a disk is known. */
const SPEED_SAMPLE_BYTES = 64 << 20;

/**
 * Opens a writer for some memories. @returns undefined if one of them is not on a disk, or the disk does not support
 * direct writes
 */
export function openUncachedWrites(memories: readonly ArrayBufferLike[]): UncachedWrites | undefined {
  const files = new Map<ArrayBufferLike, number>();
  const close = (): void => {
    for (const file of files.values()) closeSync(file);
    files.clear();
  };
  try {
    for (const memory of memories) {
      const writableFile = findWritableFile(memory);
      if (writableFile?.isOnDisk !== true) throw new Error('not on a disk');
      files.set(memory, openSync(`/proc/self/fd/${writableFile.file}`, constants.O_WRONLY | constants.O_DIRECT));
    }
  } catch {
    close();
    return undefined;
  }
  const speed = { bytes: 0, seconds: 0 };

  /**
   * Writes whole sectors. @returns the number of bytes written: all, unless the disk refuses direct writes or is slow
   */
  function writeSectors(file: number, bytes: Uint8Array, position: number): number {
    const startedMs = performance.now();
    let writtenBytes = 0;
    try {
      while (writtenBytes < bytes.length && writtenBytes % SECTOR_BYTES === 0)
        writtenBytes += writeSync(file, bytes, writtenBytes, bytes.length - writtenBytes, position + writtenBytes);
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'EINVAL') throw fault;
      close();
    }
    speed.bytes += writtenBytes;
    speed.seconds += (performance.now() - startedMs) / 1000;
    if (speed.bytes > SPEED_SAMPLE_BYTES && speed.bytes < DISK_BYTES_A_SECOND_MIN * speed.seconds) close();
    return writtenBytes;
  }

  return {
    beginIn(room, memory, offset) {
      const { pages } = findWritableFile(memory)!; // checked when the writer was opened
      return computeRemainder(offset - pages.before - loadSystemCalls()!.addressOf(room), SECTOR_BYTES);
    },
    write(memory, offset, bytes) {
      const file = files.get(memory);
      const { pages } = findWritableFile(memory)!; // checked when the writer was opened
      const inFile = offset - pages.before;
      const head = Math.max(-inFile, computeRemainder(-inFile, SECTOR_BYTES));
      const end = Math.min(bytes.length, pages.bytes - inFile);
      const sectorBytes = end - head - computeRemainder(inFile + end, SECTOR_BYTES);
      const writtenBytes =
        file === undefined || sectorBytes <= 0
          ? 0
          : writeSectors(file, bytes.subarray(head, head + sectorBytes), inFile + head);
      if (writtenBytes === 0) return writeInto(memory, offset, bytes);
      writeInto(memory, offset, bytes.subarray(0, head));
      writeInto(memory, offset + head + writtenBytes, bytes.subarray(head + writtenBytes));
    },
    close,
  };
}

const computeRemainder = (value: number, by: number): number => ((value % by) + by) % by;

const require = createRequire(import.meta.url);

interface SystemCalls {
  readonly pageBytes: number;
  addressOf(memory: ArrayBufferLike): number;
  /** Returns true if the system mapped the memory separately; always true if the library cannot report it. */
  isMapped(memory: ArrayBufferLike): boolean;
  /** Reserves space in a file; returns 0 or an error number. */
  readonly reserve: (file: number, from: number, bytes: number) => number;
  /** Advises the system about the use of pages; returns 0 on success. */
  readonly advise: (address: number, bytes: number, advice: number) => number;
  readonly map: (address: number, bytes: number, access: number, kind: number, file: number, from: number) => number;
  /**
   * Creates another mapping of the file pages that are mapped at an address (`heldBytes` is 0). Returns -1 if the pages
   * belong to no file.
   */
  readonly mapAgain: (address: number, heldBytes: number, bytes: number, kind: number) => number;
  /** Removes a mapping; returns 0 on success. */
  readonly unmap: (address: number, bytes: number) => number;
  readonly copyFrom: (to: Uint8Array, from: number, bytes: number) => void;
  /** Returns freed memory to the system except for `keptBytes` bytes; absent if the library does not support it. */
  readonly trim?: (keptBytes: number) => number;
  /** Sets an option of `malloc`; absent like `trim`. */
  readonly setOption?: (option: number, value: number) => number;
}

let calls: SystemCalls | null | undefined;

/** Returns Linux system calls through koffi; null if unavailable. */
export function loadSystemCalls(): SystemCalls | null {
  if (calls === undefined) calls = process.platform === 'linux' ? openCalls() : null; // The library is searched for only once.
  return calls;
}

function openCalls(): SystemCalls | null {
  try {
    const koffi = require('koffi') as Koffi;
    const system = koffi.load(null);
    const copy = system.func('uintptr_t memcpy(void *, void *, size_t)') as unknown as MemoryCopy; // The prototypes in C match the types.
    const copyMemory = system.func('void *memcpy(void *, uintptr_t, size_t)') as unknown as SystemCalls['copyFrom']; // as above
    const isGnuLibrary = isGnu(koffi);
    const findAddress = (memory: ArrayBufferLike): number => {
      const bytes = new Uint8Array(memory, 0, 1);
      return Number(copy(bytes, bytes, 0));
    };
    return {
      pageBytes: Number(system.func('int getpagesize()')()),
      addressOf: findAddress,
      isMapped: isGnuLibrary
        ? isMappedByGnu(koffi.sizeof('size_t'), { addressOf: findAddress, copyFrom: copyMemory })
        : () => true,
      reserve: system.func('int posix_fallocate(int, int64_t, int64_t)') as unknown as SystemCalls['reserve'],
      advise: system.func('int madvise(uintptr_t, size_t, int)') as unknown as SystemCalls['advise'],
      map: system.func('intptr_t mmap(uintptr_t, size_t, int, int, int, int64_t)') as unknown as SystemCalls['map'],
      mapAgain: system.func('intptr_t mremap(uintptr_t, size_t, size_t, int)') as unknown as SystemCalls['mapAgain'],
      unmap: system.func('int munmap(uintptr_t, size_t)') as unknown as SystemCalls['unmap'],
      copyFrom: copyMemory,
      ...(isGnuLibrary && {
        trim: system.func('int malloc_trim(size_t)') as unknown as SystemCalls['trim'] & {},
        setOption: system.func('int mallopt(int, int)') as unknown as SystemCalls['setOption'] & {},
      }),
    };
  } catch {
    return null; // koffi is an optional package.
  }
}

type Koffi = typeof import('koffi');

function isGnu({ load }: Koffi): boolean {
  try {
    load(null).func('const char *gnu_get_libc_version()');
    return true;
  } catch {
    return false; // Other libraries map all memory of this size separately.
  }
}

/** Flag in the size field that the GNU library stores before a block: the block was mapped separately. */
const IS_MMAPPED = 2;

/** Creates `isMapped` for the GNU library. @param bytes size of a size field */
function isMappedByGnu(
  bytes: number,
  { addressOf, copyFrom }: Pick<SystemCalls, 'addressOf' | 'copyFrom'>,
): SystemCalls['isMapped'] {
  return (memory) => {
    const sizeBytes = new Uint8Array(bytes);
    copyFrom(sizeBytes, addressOf(memory) - bytes, bytes);
    return (sizeBytes[endianness() === 'LE' ? 0 : bytes - 1]! & IS_MMAPPED) !== 0;
  };
}

/** Function memcpy. Calling it with 0 bytes returns the address of the destination. */
type MemoryCopy = (to: Uint8Array, from: Uint8Array, bytes: number) => number;

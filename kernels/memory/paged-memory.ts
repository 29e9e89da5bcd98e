import { closeSync, openSync, unlinkSync, write, writeSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemCalls } from './system-calls.js';

/** Limit of memory for a thread, and the folder for larger arrays. */
export interface MemoryLimit {
  /** Bytes of the panels of one store. */
  readonly panelBytes: number;
  /** Folder on a disk for paged memory; null where nothing is paged. */
  readonly folder: string | null;
  /**
   * True when files of memory from `ALONE_BYTES` on keep their names, for another process to open; the requester
   * removes them.
   */
  readonly keepsNames?: boolean;
  /** Folder in memory for what `handedMemory` gives; absent where there is none. */
  readonly sharedFolder?: string;
}

/** A file in place of memory. */
export interface PagedFile {
  readonly path: string;
  /** Bytes of the memory that lie before those of the file. */
  readonly before: number;
  /** Bytes of the file. What follows in memory is less than a page. */
  readonly bytes: number;
}

const GIB = 2 ** 30;

const USUAL: MemoryLimit = { panelBytes: Math.min(8 * GIB, totalmem() / 4), folder: null };

/** Limit of this thread. */
let limit = USUAL;

export function memoryLimit(): MemoryLimit {
  return limit;
}

/** Sets the limit of this thread. @returns takes it back, unless another has been set since */
export function limitMemory(given: MemoryLimit): () => void {
  limit = given;
  return () => {
    if (limit === given) limit = USUAL;
  };
}

/**
 * Returns true when the panels of a store of this size are paged: they are too large for memory, and paging is
 * available.
 */
export function isPaged(storeBytes: number): boolean {
  return storeBytes > limit.panelBytes && canPage();
}

/** Returns true when this thread has a folder and system calls to page memory. */
export function canPage(): boolean {
  return limit.folder !== null && systemCalls() !== null;
}

/**
 * Zeroed memory of one panel.
 * @param storeBytes of all panels of its store
 * @throws Error ENOSPC when it is paged and the disk has no room
 */
export function panelMemory(bytes: number, storeBytes = bytes): SharedArrayBuffer {
  if (!isPaged(storeBytes)) return new SharedArrayBuffer(bytes);
  return pagedMemory(bytes, { folder: limit.folder!, keepsNames: limit.keepsNames === true, isOnDisk: true }); // `isPaged` has asked for the folder
}

/**
 * As `panelMemory`, for a panel that another process is to have: a file in memory where there is room for it, so that neither
 * copies it and it is there once.
 */
export function handedMemory(bytes: number, storeBytes: number): SharedArrayBuffer {
  const { sharedFolder: folder } = limit;
  if (folder === undefined || bytes < ALONE_BYTES || isPaged(storeBytes) || systemCalls() === null)
    return panelMemory(bytes, storeBytes);
  try {
    return pagedMemory(bytes, { folder, keepsNames: true, isOnDisk: false });
  } catch (fault) {
    if (fault instanceof PagingFault && fault.code === 'ENOSPC') return panelMemory(bytes, storeBytes);
    throw fault;
  }
}

/** An array made from a store is paged from this share of the memory of panels on: threads keep several of them. */
const WORK_SHARE = 1 / 16;

/** Returns true when an array of this size derived from panels is paged. */
export function isWorkPaged(bytes: number): boolean {
  return isPaged(bytes / WORK_SHARE);
}

/** Zeroed memory of an array that is made from panels. @throws Error ENOSPC when it is paged and the disk has no room */
export function workMemory(bytes: number): SharedArrayBuffer {
  return panelMemory(bytes, bytes / WORK_SHARE);
}

/**
 * Minimum size of memory with a file that another process opens, provided that its pages hold nothing else. Smaller
 * memory is among other memory of its process (up to 32 MiB with the GNU library), which would be stored in the file as
 * well after a release; so would larger memory where that library has a free piece of this size.
 */
export const ALONE_BYTES = 33 * 2 ** 20;

/** True when the pages of memory hold nothing else and return to the system when it ends. */
function isAlone(memory: ArrayBufferLike): boolean {
  return memory.byteLength >= ALONE_BYTES && systemCalls()!.isMapped(memory); // callers have checked that they exist
}

/**
 * Shared memory whose pages are those of a file without a name: the system writes them to disk when memory is short and
 * reads them when they are touched, so that it uses disk instead of memory. The space is allocated at once, because a
 * write to memory cannot report a full disk. Memory and file end with the last reference, as other shared memory does.
 */
function pagedMemory(
  bytes: number,
  {
    folder,
    keepsNames,
    isOnDisk,
  }: { readonly folder: string; readonly keepsNames: boolean; readonly isOnDisk: boolean },
): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(bytes);
  const pages = pagesOf(memory);
  if (pages.bytes <= 0) return memory;
  const path = join(folder, `pages-${process.pid}-${process.hrtime.bigint()}`);
  const file = openSync(path, 'wx+', 0o600);
  const keepsName = keepsNames && isAlone(memory);
  try {
    if (!keepsName) unlinkSync(path);
    put(file, pages);
    paged.add(memory);
  } catch (fault) {
    closeSync(file);
    if (keepsName) unlinkSync(path);
    throw fault;
  }
  if (keepsName) {
    files.set(memory, { path, before: pages.before, bytes: pages.bytes });
    written.set(memory, { file, pages, isOnDisk });
    ended.register(memory, file);
  } else closeSync(file);
  return memory;
}

const files = new WeakMap<ArrayBufferLike, PagedFile>();

/**
 * Open files of paged memory that this process fills for another. Other memory has none: its thread may be ended, which
 * would leave the file its room.
 */
const written = new WeakMap<ArrayBufferLike, WrittenPlace>();
const ended = new FinalizationRegistry<number>((file) => closeSync(file));

/** Where `writeInto` writes the bytes of a memory. */
export interface WrittenPlace {
  /** Number of an open file. */
  readonly file: number;
  readonly pages: Pages;
  /** True when the file is on a disk, and not in memory. */
  readonly isOnDisk: boolean;
}

/** Where `writeInto` of this thread writes bytes of a memory to; undefined where it has no file. */
export function writtenPlace(memory: ArrayBufferLike): WrittenPlace | undefined {
  return written.get(memory);
}

/** Lets `writeInto` of this thread write to the file that another thread of the process has open. */
export function writeTo(memory: ArrayBufferLike, place: WrittenPlace): void {
  written.set(memory, place);
}

/** True when `writeInto` writes to the file of a memory. */
export function isWritten(memory: ArrayBufferLike): boolean {
  return written.has(memory);
}

/**
 * Puts bytes into memory, by its file where that is open: a page that a store touches first
 * takes the system 18 us, one of a write 0.4.
 */
export function writeInto(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): void {
  const { file, part, at } = edgesInto(memory, offset, bytes);
  for (let done = 0; done < part.length;) done += writeSync(file, part, done, part.length - done, at + done);
}

/** As `writeInto`, by a thread of the file system. Neither the bytes nor what they go to may be touched meanwhile. */
export async function writeIntoApart(memory: ArrayBufferLike, offset: number, bytes: Uint8Array): Promise<void> {
  const { file, part, at } = edgesInto(memory, offset, bytes);
  for (let done = 0; done < part.length;)
    done += (await writeApart(file, part, done, part.length - done, at + done)).bytesWritten;
}

const writeApart = promisify(write);

/**
 * Copies the bytes that are not in the memory's file to the memory. @returns the others, and their offset in the file
 */
function edgesInto(memory: ArrayBufferLike, offset: number, bytes: Uint8Array) {
  const { file, pages } = written.get(memory) ?? { file: -1, pages: { before: offset + bytes.length, bytes: 0 } };
  const before = Math.max(0, pages.before - offset);
  const inFile = Math.max(0, Math.min(bytes.length, pages.before + pages.bytes - offset) - before);
  new Uint8Array(memory, offset).set(bytes.subarray(0, before));
  new Uint8Array(memory, offset).set(bytes.subarray(before + inFile), before + inFile);
  return { file, part: bytes.subarray(before, before + inFile), at: offset + before - pages.before };
}

/** The file of paged memory that kept its name; undefined of other memory. */
export function pagedFile(memory: ArrayBufferLike): PagedFile | undefined {
  return files.get(memory);
}

/**
 * Maps a file of pages that another process wrote as memory, with spare space after them, and removes its name. The
 * edges of the memory that are not in the file are zero.
 * @param bytes as many as the other memory has, or more
 * @returns undefined where memory of this process begins at another place of a page or holds other things, too, or there is no
 *   room for more: the file is to be read then
 */
export function openPagedFile({ path, before }: PagedFile, bytes: number): SharedArrayBuffer | undefined {
  if (systemCalls() === null) return undefined;
  const memory = new SharedArrayBuffer(bytes);
  const pages = pagesOf(memory);
  if (pages.before !== before || !isAlone(memory)) return undefined;
  const file = openSync(path, 'r+');
  try {
    put(file, pages);
    paged.add(memory);
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
 * Returns the pages of memory with separate pages to the system: it then contains zeros, and uses memory again as it is
 * written. Nothing may read it during the call.
 * @returns false, with nothing done, of smaller memory, of paged memory, and where the system has no such call
 * @cost 0.1 s/GiB
 */
export function emptyMemory(memory: ArrayBufferLike): boolean {
  if (memory.byteLength < ALONE_BYTES || paged.has(memory) || systemCalls() === null) return false;
  const { from, before, bytes } = pagesOf(memory);
  if (systemCalls()!.advise(from, bytes, UNNEEDED) !== 0) return false;
  new Uint8Array(memory, 0, before).fill(0);
  new Uint8Array(memory, before + bytes).fill(0);
  return true;
}

/**
 * Returns values of memory to be read once. Values in a file are copied through a temporary mapping that ends with the
 * call: otherwise its pages would count as memory of the process, though nothing reads them again.
 * @param room for at least as many values, which are in it until it is given again
 * @returns the values themselves where they are of no file
 * @cost 0.3 s/GiB
 */
export function passingValues(values: Float64Array, room: Float64Array<ArrayBuffer>): Float64Array {
  const { buffer, byteOffset, byteLength, length } = values;
  if (systemCalls() === null || !isAlone(buffer)) return values;
  const { pageBytes, mapAgain, copyFrom, unmap } = systemCalls()!; // there are some
  const { from, before, bytes } = pagesOf(buffer);
  const begin = Math.max(0, byteOffset - before);
  const end = Math.min(bytes, byteOffset + byteLength - before);
  const ahead = begin % pageBytes;
  const at = end <= begin ? FAILED : mapAgain(from + begin - ahead, 0, ahead + end - begin, MAY_MOVE);
  if (at === FAILED) return values;
  const copy = new Uint8Array(room.buffer, room.byteOffset, byteLength);
  const [inCopy, behind] = [before + begin - byteOffset, before + end - byteOffset];
  copyFrom(copy.subarray(inCopy), at + ahead, end - begin);
  unmap(at, ahead + end - begin);
  copy.set(new Uint8Array(buffer, byteOffset, inCopy));
  copy.set(new Uint8Array(buffer, byteOffset + behind, byteLength - behind), behind);
  return room.subarray(0, length);
}

/**
 * Gives memory that has been freed back to the system, as far as it fills pages: the GNU library keeps what lies between
 * memory in use, and what was smaller than 32 MiB.
 * @cost 10 ms at most after a run of 3,000 names over 20 years; threads that ask for memory wait for a part of it
 */
export function trimMemory(): void {
  systemCalls()?.trim?.(0);
}

/** Memory of this thread on files, whose pages come back as they were. */
const paged = new WeakSet<ArrayBufferLike>();

export interface Pages {
  /** Address of the first. */
  readonly from: number;
  /** Bytes of the memory before them. */
  readonly before: number;
  readonly bytes: number;
}

/** Whole pages of memory. */
function pagesOf(memory: ArrayBufferLike): Pages {
  const { addressOf, pageBytes } = systemCalls()!; // callers have checked that they exist
  const begin = addressOf(memory);
  const from = Math.ceil(begin / pageBytes) * pageBytes;
  const bytes = Math.floor((begin + memory.byteLength) / pageBytes) * pageBytes - from;
  return { from, before: from - begin, bytes };
}

/** Puts a file in place of pages. */
function put(file: number, { from, bytes }: Pages): void {
  const { reserve, map } = systemCalls()!; // as above
  const failure = reserve(file, 0, bytes);
  if (failure !== 0) throw new PagingFault(failure === ENOSPC ? 'ENOSPC' : `error ${failure}`, bytes);
  if (map(from, bytes, READ_AND_WRITE, SHARED_AND_FIXED, file, 0) !== from) throw new PagingFault('not mapped', bytes);
}

/** Memory that could not be paged. */
class PagingFault extends Error {
  override readonly name = 'PagingFault';
  readonly code: string;

  constructor(code: string, bytes: number) {
    super(`${bytes} bytes of memory could not be paged to disk: ${code}.`);
    this.code = code;
  }
}

/** Of Linux, on every processor. */
const READ_AND_WRITE = 3;
const SHARED_AND_FIXED = 0x11;
const ENOSPC = 28;
const MAY_MOVE = 1;
const FAILED = -1;
/** Advice on pages: they are to be zero when they are next asked for. */
const UNNEEDED = 4;

import { closeSync, openSync, unlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { totalmem } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url);

/** Memory that a thread may fill, and where what is larger goes. */
export interface MemoryLimit {
  /** Bytes of the panels of one store. */
  readonly panelBytes: number;
  /** Folder on a disk for paged memory; null where nothing is paged. */
  readonly folder: string | null;
}

const GIB = 2 ** 30;

/** Of this thread, until it is told another. */
let limit: MemoryLimit = { panelBytes: Math.min(8 * GIB, totalmem() / 2), folder: null };

export function memoryLimit(): MemoryLimit {
  return limit;
}

/** Sets the limit of this thread. */
export function limitMemory(given: MemoryLimit): void {
  limit = given;
}

/** Whether the panels of a store of so many bytes are paged: they are too large for memory, and can be. */
export function isPaged(storeBytes: number): boolean {
  return storeBytes > limit.panelBytes && canPage();
}

/** Whether this thread has a folder and calls of the system to page memory with. */
export function canPage(): boolean {
  return limit.folder !== null && systemCalls() !== null;
}

/**
 * Zeroed memory of one panel.
 * @param storeBytes of all panels of its store
 * @throws Error ENOSPC when it is paged and the disk has no room
 */
export function panelMemory(bytes: number, storeBytes = bytes): SharedArrayBuffer {
  return isPaged(storeBytes) ? pagedMemory(bytes) : new SharedArrayBuffer(bytes);
}

/** An array made from a store is paged from this share of the memory of panels on: threads keep several of them. */
const WORK_SHARE = 1 / 16;

/** Zeroed memory of an array that is made from panels. @throws Error ENOSPC when it is paged and the disk has no room */
export function workMemory(bytes: number): SharedArrayBuffer {
  return panelMemory(bytes, bytes / WORK_SHARE);
}

/**
 * Shared memory whose pages are those of a file without a name: the system writes them to disk when memory is short and
 * reads them when they are touched, so that it takes disk instead of memory. The room is taken at once, for a write to
 * memory has nobody to report a full disk to. Memory and file end with the last reference, as other shared memory does.
 */
function pagedMemory(bytes: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(bytes);
  const calls = systemCalls()!; // `canPage` has asked
  const begin = calls.addressOf(memory);
  const from = Math.ceil(begin / PAGE_BYTES) * PAGE_BYTES;
  const length = Math.floor((begin + bytes) / PAGE_BYTES) * PAGE_BYTES - from;
  if (length <= 0) return memory;
  const file = openNameless(limit.folder!);
  try {
    const failure = calls.reserve(file, 0, length);
    if (failure !== 0) throw new PagingFault(failure === ENOSPC ? 'ENOSPC' : `error ${failure}`, length);
    if (calls.map(from, length, READ_AND_WRITE, SHARED_AND_FIXED, file, 0) !== from)
      throw new PagingFault('not mapped', length);
    return memory;
  } finally {
    closeSync(file);
  }
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

/** Largest page of any processor that Node runs on. */
const PAGE_BYTES = 65_536;
/** Of Linux, on every processor. */
const READ_AND_WRITE = 3;
const SHARED_AND_FIXED = 0x11;
const ENOSPC = 28;

let opened = 0;

function openNameless(folder: string): number {
  const path = join(folder, `pages-${process.pid}-${process.hrtime.bigint()}-${opened++}`);
  const file = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return file;
}

interface SystemCalls {
  addressOf(memory: SharedArrayBuffer): number;
  /** Takes room of a file; the number of an error, 0 without one. */
  readonly reserve: (file: number, from: number, bytes: number) => number;
  /** Puts a file in place of memory. */
  readonly map: (at: number, bytes: number, access: number, kind: number, file: number, from: number) => number;
}

let calls: SystemCalls | null | undefined;

/** Calls of Linux through koffi, null where there are none. */
function systemCalls(): SystemCalls | null {
  return (calls ??= process.platform === 'linux' ? openCalls() : null);
}

function openCalls(): SystemCalls | null {
  try {
    const { load } = require('koffi') as typeof import('koffi');
    const system = load(null);
    const copy = system.func('uintptr_t memcpy(void *, void *, size_t)') as unknown as Copy; // The prototypes in C are those of the types.
    return {
      addressOf(memory) {
        const bytes = new Uint8Array(memory, 0, 1);
        return Number(copy(bytes, bytes, 0));
      },
      reserve: system.func('int posix_fallocate(int, int64_t, int64_t)') as unknown as SystemCalls['reserve'],
      map: system.func('intptr_t mmap(uintptr_t, size_t, int, int, int, int64_t)') as unknown as SystemCalls['map'],
    };
  } catch {
    return null; // An optional package.
  }
}

/** Copies nothing, and returns where it would have. */
type Copy = (to: Uint8Array, from: Uint8Array, bytes: number) => number;

import { createRequire } from 'node:module';
import { endianness } from 'node:os';

const require = createRequire(import.meta.url);

/** System calls on memory. */
export interface SystemCalls {
  readonly pageBytes: number;
  addressOf(memory: ArrayBufferLike): number;
  /** Returns true if the system mapped the memory separately; always true if the library cannot report it. */
  isMapped(memory: ArrayBufferLike): boolean;
  /** Reserves space in a file; returns 0 or an error number. */
  readonly reserve: (file: number, from: number, bytes: number) => number;
  /** Advises the system about the use of pages; returns 0 on success. */
  readonly advise: (address: number, bytes: number, advice: number) => number;
  /** Maps a file over memory. */
  readonly map: (address: number, bytes: number, access: number, kind: number, file: number, from: number) => number;
  /**
   * Creates another mapping of the file pages that are mapped at an address (`heldBytes` is 0). Returns -1 if the pages
   * belong to no file.
   */
  readonly mapAgain: (address: number, heldBytes: number, bytes: number, kind: number) => number;
  /** Removes a mapping; returns 0 on success. */
  readonly unmap: (address: number, bytes: number) => number;
  /** Copies bytes from an address. */
  readonly copyFrom: (to: Uint8Array, from: number, bytes: number) => void;
  /** Returns freed memory to the system except for `keptBytes` bytes; absent if the library does not support it. */
  readonly trim?: (keptBytes: number) => number;
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
      ...(isGnuLibrary ? { trim: system.func('int malloc_trim(size_t)') as unknown as SystemCalls['trim'] & {} } : {}),
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

import { assert } from '../assert.js';

/** Size of a page of WebAssembly memory. */
const PAGE_BYTES = 65_536;

/**
 * Maximum number of pages of an arena: just under 2 GiB, so that every address is a positive int32. This suffices for a
 * covariance of 11,000 securities with its workspace. The kernel module is linked with the same limit.
 */
export const ARENA_PAGES_MAX = 32_767;

/** First allocatable address. The first page is never allocated, so that address 0 remains invalid. */
const FIRST_ADDRESS = PAGE_BYTES;

/** Alignment of allocations: a cache line. */
const LINE_BYTES = 64;

/**
 * Shared memory with a stack allocator. The memory grows to the largest size that was needed and never shrinks. To free
 * a large arena, a caller drops the whole arena.
 */
export interface Arena {
  readonly memory: WebAssembly.Memory;
  /**
   * Reserves bytes and returns their address. The address is valid until a caller releases the memory back to an
   * earlier mark. @throws RangeError past the maximum
   */
  reserve(bytes: number): number;
  mark(): number;
  release(mark: number): void;
  /** Returns a float64 array at an address of the arena. */
  view(address: number, length: number): Float64Array;
  /** Returns the address of an array in the arena; undefined for any other array. */
  addressOf(array: Float64Array | Int32Array): number | undefined;
  /** Returns the current size of the arena in bytes. */
  bytes(): number;
}

export function createArena(): Arena {
  const memory = new WebAssembly.Memory({ initial: 2, maximum: ARENA_PAGES_MAX, shared: true });
  // Growing a shared memory creates a new, longer buffer over the same bytes; existing arrays keep the old one.
  const buffers = new WeakSet<ArrayBufferLike>([memory.buffer]);
  let nextAddress = FIRST_ADDRESS;

  return {
    memory,
    reserve(bytes) {
      const address = nextAddress;
      const end = Math.ceil((address + bytes) / LINE_BYTES) * LINE_BYTES;
      const missingPages = Math.ceil((end - memory.buffer.byteLength) / PAGE_BYTES);
      if (missingPages > 0) {
        if (end > ARENA_PAGES_MAX * PAGE_BYTES) {
          throw new RangeError(
            `out of memory: the arena needs ${end} bytes and may have ${ARENA_PAGES_MAX * PAGE_BYTES}`,
          );
        }
        memory.grow(missingPages);
        buffers.add(memory.buffer);
      }
      nextAddress = end;
      return address;
    },
    mark: () => nextAddress,
    release(mark) {
      assert(mark >= FIRST_ADDRESS && mark <= nextAddress, `mark: ${mark} of an arena filled to ${nextAddress}`);
      nextAddress = mark;
    },
    view: (address, length) => new Float64Array(memory.buffer, address, length),
    addressOf: (array) => (buffers.has(array.buffer) ? array.byteOffset : undefined),
    bytes: () => memory.buffer.byteLength,
  };
}

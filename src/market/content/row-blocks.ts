import { isPaged, allocatePanels } from '#kernels/memory/paged-memory.js';

/** Binary logarithm of the number of rows allocated together. */
export const BLOCK_BITS = 14;
export const BLOCK_ROWS = 1 << BLOCK_BITS;

/** Number of bytes of paged blocks allocated together as one file. */
const SLAB_BYTES = 64 << 20;

/** Memory for a number of rows that is not known in advance. */
export interface RowBlocks {
  integers(): Int32Array;
  floats(): Float64Array;
}

/** Allocates blocks of zeros. When their total size exceeds the limit for panels, blocks are kept in files. */
export function createRowBlocks(): RowBlocks {
  let heldBytes = 0;
  let slab = allocatePanels(0);
  let usedRows = 0;

  /** Reserves space in a file. Returns undefined if blocks are still in memory. */
  function reserveSpace(bytes: number): { readonly slab: SharedArrayBuffer; readonly at: number } | undefined {
    heldBytes += bytes;
    if (!isPaged(heldBytes)) return undefined;
    if (usedRows + bytes > slab.byteLength) {
      slab = allocatePanels(SLAB_BYTES, heldBytes);
      usedRows = 0;
    }
    usedRows += bytes;
    return { slab, at: usedRows - bytes };
  }

  return {
    integers() {
      const pagedBlock = reserveSpace(BLOCK_ROWS * Int32Array.BYTES_PER_ELEMENT);
      return pagedBlock ? new Int32Array(pagedBlock.slab, pagedBlock.at, BLOCK_ROWS) : new Int32Array(BLOCK_ROWS);
    },
    floats() {
      const pagedBlock = reserveSpace(BLOCK_ROWS * Float64Array.BYTES_PER_ELEMENT);
      return pagedBlock ? new Float64Array(pagedBlock.slab, pagedBlock.at, BLOCK_ROWS) : new Float64Array(BLOCK_ROWS);
    },
  };
}

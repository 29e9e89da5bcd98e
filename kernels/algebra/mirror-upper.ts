import { assert } from '../assert.js';

/** Order of the square blocks that are copied, chosen so that source and destination stay in the cache. */
const BLOCK_ORDER = 32;

/**
 * Copies the upper triangle of a square matrix to the lower one.
 *
 * @param a  [n x n] row-major; becomes exactly symmetric.
 * @param n  Order, at least 0.
 * @returns  Nothing; the lower triangle of `a` is overwritten.
 * @throws   KernelFault on a shape mismatch.
 * @cost     n^2 / 2 copies in blocks of order 32, written row by row; memory-bound.
 * @source   Definition.
 */
export function mirrorUpper(a: Float64Array, n: number): void {
  assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  for (let ib = 0; ib < n; ib += BLOCK_ORDER) {
    for (let jb = ib; jb < n; jb += BLOCK_ORDER) mirrorBlock(a, n, ib, jb);
  }
}

function mirrorBlock(a: Float64Array, n: number, ib: number, jb: number): void {
  const iEnd = Math.min(ib + BLOCK_ORDER, n);
  const jEnd = Math.min(jb + BLOCK_ORDER, n);
  for (let j = jb; j < jEnd; j++) {
    const row = j * n;
    const end = Math.min(iEnd, j);
    for (let i = ib, from = ib * n + j; i < end; i++, from += n) a[row + i] = a[from]!;
  }
}

import type { DenseAlgebra } from './algebra.js';
import { solveBackward, solveForward } from './triangular-passes.js';

interface Shape {
  readonly rows: number;
  readonly columns: number;
}

/** Adds C' solved to the lower triangle of `products`. */
export function addProducts(
  c: Float64Array,
  solved: Float64Array,
  { rows, columns }: Shape,
  products: Float64Array,
): void {
  for (let p = 0; p < rows; p++) {
    const from = p * columns;
    for (let r = 0; r < columns; r++) {
      const value = c[from + r]!;
      if (value === 0) continue;
      const to = r * columns;
      for (let s = 0; s <= r; s++) products[to + s]! += value * solved[from + s]!;
    }
  }
}

/**
 * Solves for `columns` right-hand sides. A single right-hand side is solved by a pass over the factor, because a call
 * to an engine costs more.
 */
export function solveWith(algebra: DenseAlgebra, l: Float64Array, n: number, b: Float64Array, columns: number): void {
  if (columns === 1) {
    solveForward(l, b, { n, stride: n });
    solveBackward(l, b, { n, stride: n });
    return;
  }
  algebra.solveLower(l, n, b);
  algebra.solveLowerTransposed(l, n, b);
}

import type { DenseAlgebra } from './algebra.js';
import type { DenseMetric } from '../program/metric.js';
import { scaleRows } from './low-rank-passes.js';
import { solveWith } from './column-solves.js';

/** Curvature in two parts: a matrix of the securities that covary with others, and a diagonal of the rest. */
export interface PartialForm {
  /** Selects the free securities that covary with others and returns their number. */
  select(metric: DenseMetric, free: Int32Array, count: number): number;
  /** Factors the selected securities, and inverts the variances of the rest. @returns true if positive definite */
  factor(metric: DenseMetric, scale: number, diagonal: Float64Array, free: Int32Array, count: number): boolean;
  /** Inverts a diagonal curvature. @returns true if positive definite */
  factorDiagonal(diagonal: Float64Array, free: Int32Array, count: number): boolean;
  /** Computes b := H^-1 b, b [count x columns] row-major. */
  solve(b: Float64Array, columns: number): void;
  /** Performs the forward or backward half of `solve`: square roots of reciprocals are the factors of the diagonal. */
  solveHalf(b: Float64Array, columns: number, solveTriangle: DenseAlgebra['solveLower']): void;
}

export function createPartialForm(algebra: DenseAlgebra): PartialForm {
  let square = new Float64Array(0);
  let inverse = new Float64Array(0);
  let roots = new Float64Array(0);
  let coupling: { readonly of: DenseMetric; readonly isCoupled: Uint8Array } | undefined;
  let block = new Float64Array(0);
  let coupledVariables = new Int32Array(0);
  let [order, coupledCount] = [0, 0];

  function select(metric: DenseMetric, free: Int32Array, count: number): number {
    if (coupling?.of !== metric) coupling = { of: metric, isCoupled: findCoupledVariables(metric) };
    if (coupledVariables.length < count) coupledVariables = new Int32Array(count);
    coupledCount = 0;
    for (let p = 0; p < count; p++) if (coupling.isCoupled[free[p]!] === 1) coupledVariables[coupledCount++] = p;
    return coupledCount;
  }

  function factor(
    { matrix, n }: DenseMetric,
    scale: number,
    diagonal: Float64Array,
    free: Int32Array,
    count: number,
  ): boolean {
    const c = coupledCount;
    allocate(count);
    for (let p = 0; p < count; p++) {
      const i = free[p]!;
      const value = scale * matrix[i * n + i]! + diagonal[i]!;
      if (!(value > 0)) return false;
      inverse[p] = 1 / value;
    }
    if (square.length < c * c) square = new Float64Array(c * c);
    for (let a = 0; a < c; a++) {
      const i = free[coupledVariables[a]!]!;
      for (let b = 0; b <= a; b++) square[a * c + b] = scale * matrix[i * n + free[coupledVariables[b]!]!]!;
      square[a * c + a]! += diagonal[i]!;
    }
    return c === 0 || algebra.cholesky(square.subarray(0, c * c), c) === c;
  }

  function factorDiagonal(diagonal: Float64Array, free: Int32Array, count: number): boolean {
    coupledCount = 0;
    allocate(count);
    for (let p = 0; p < count; p++) {
      const value = diagonal[free[p]!]!;
      if (!(value > 0)) return false;
      inverse[p] = 1 / value;
    }
    return true;
  }

  function allocate(count: number): void {
    order = count;
    if (inverse.length < count) inverse = new Float64Array(count);
  }

  /**
   * Computes b := H^-1 b, or the forward or backward half of it, in two parts. Securities that covary use a triangular
   * factor; the others use scalar factors.
   */
  function solveParts(
    b: Float64Array,
    columns: number,
    factors: Float64Array,
    solveTriangle: DenseAlgebra['solveLower'],
  ): void {
    const c = coupledCount;
    if (block.length < c * columns) block = new Float64Array(c * columns);
    const rightSides = block.subarray(0, c * columns);
    for (let a = 0; a < c; a++)
      rightSides.set(b.subarray(coupledVariables[a]! * columns, (coupledVariables[a]! + 1) * columns), a * columns);
    if (c > 0) solveTriangle(square.subarray(0, c * c), c, rightSides);
    scaleRows(b, factors, order, columns);
    for (let a = 0; a < c; a++)
      b.set(rightSides.subarray(a * columns, (a + 1) * columns), coupledVariables[a]! * columns);
  }

  return {
    select,
    factor,
    factorDiagonal,
    solve: (b, columns) => solveParts(b, columns, inverse, (l, n, part) => solveWith(algebra, l, n, part, columns)),
    solveHalf(b, columns, solveTriangle) {
      if (roots.length < order) roots = new Float64Array(order);
      for (let p = 0; p < order; p++) roots[p] = Math.sqrt(inverse[p]!);
      solveParts(b, columns, roots, solveTriangle);
    },
  };
}

/**
 * Marks the securities whose row has nonzero entries besides the diagonal, [n]. In a full covariance, each scan of a
 * row ends at its first entries.
 */
function findCoupledVariables({ matrix, n }: DenseMetric): Uint8Array {
  const isCoupled = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    let j = 0;
    while (j < n && (j === i || matrix[row + j] === 0)) j++;
    if (j < n) isCoupled[i] = 1;
  }
  return isCoupled;
}

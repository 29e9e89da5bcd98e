import type { DenseAlgebra } from './algebra.js';
import type { Metric } from '../program/metric.js';
import { addProducts, solveWith } from './column-solves.js';
import { addLower, fillLower } from './lower-triangles.js';
import { createLowRankForm } from './low-rank-curvature.js';
import { createPartialForm } from './partial-curvature.js';
import { createSparseRows } from '../program/sparse-rows.js';

/**
 * Curvature H = scale P + diag(diagonal) on a subset of free securities, factored so that systems can be solved. It
 * reuses its arrays: further solves over the same securities allocate only views.
 */
export interface Curvature {
  /**
   * @param free      Indices of the free variables, ascending; only the first `count` entries are valid.
   * @param diagonal  Diagonal term by variable, [n].
   * @param outer     [rows x count], added to H as outer'outer.
   * @returns         True if H is positive definite to working precision.
   * @cost            count^3 / 6 over the variables that covary with any other, or count k^2 / 2 + k^3 / 6 if loadings
   *                  make that cheaper.
   */
  factor(
    metric: Metric | null,
    scale: number,
    diagonal: Float64Array,
    free: Int32Array,
    count: number,
    outer?: Float64Array,
  ): boolean;
  /** Computes b := H^-1 b, b [count x columns] row-major. */
  solve(b: Float64Array, columns: number): void;
  /**
   * Computes the columns of a Schur complement from C, [count x columns] row-major.
   * @param solved    overwritten with H^-1 C
   * @param products  [columns x columns]; its lower triangle is overwritten with C' H^-1 C
   * @cost            cost of `solve`, and count columns^2 / 2, less if most entries of L^-1 C are zero
   */
  solveWithProducts(c: Float64Array, columns: number, solved: Float64Array, products: Float64Array): void;
  /** Dense operations that factor the curvature. */
  readonly algebra: DenseAlgebra;
  /**
   * Returns L of H = L L', [count x count] row-major, valid until the next factorisation. Returns undefined if H was
   * factored in parts.
   */
  triangle(): Float64Array | undefined;
}

/** Minimum number of columns for which one kernel computes the products from L^-1 C. */
const HALVES_MIN = 64;

/** Number of free securities per factor. Below it, a dense factorisation is at least as fast as the low-rank form. */
const VARIABLES_PER_FACTOR = 1.8;

/**
 * Creates an empty curvature.
 * @cost    Memory as programs require; see `factor` and `solve`.
 * @source  Woodbury (1950), Inverting modified matrices, for loadings; Golub & Van Loan (2013), Matrix Computations,
 *          section 4.2, for the rest.
 */
export function createCurvature(algebra: DenseAlgebra): Curvature {
  let square = new Float64Array(0);
  let form: 'dense' | 'factor' | 'partial' = 'partial';
  let order = 0;
  const lowRank = createLowRankForm(algebra);
  const partialForm = createPartialForm(algebra);
  const halves = createSparseRows();

  function factor(
    metric: Metric | null,
    scale: number,
    diagonal: Float64Array,
    free: Int32Array,
    count: number,
    outer?: Float64Array,
  ): boolean {
    order = count;
    if (outer !== undefined) {
      const matrix = allocateDense(count);
      algebra.symmetricRankK(outer, count, matrix);
      addLower(metric, scale, diagonal, free, count, matrix);
      return algebra.cholesky(matrix, count) === count;
    }
    form = 'partial';
    if (metric === null || scale === 0) return partialForm.factorDiagonal(diagonal, free, count);
    if (metric.form === 'factor' && metric.factors === 0)
      return partialForm.factorDiagonal(
        diagonal.map((value, i) => value + scale * metric.specific[i]!),
        free,
        count,
      );
    if (metric.form === 'factor' && count > VARIABLES_PER_FACTOR * metric.factors) {
      form = 'factor';
      return lowRank.factor(metric, scale, diagonal, free, count);
    }
    if (metric.form === 'dense' && partialForm.select(metric, free, count) < count)
      return partialForm.factor(metric, scale, diagonal, free, count);
    const wholeMatrix = allocateDense(count);
    fillLower(metric, scale, diagonal, free, count, wholeMatrix);
    return algebra.cholesky(wholeMatrix, count) === count;
  }

  function allocateDense(count: number): Float64Array {
    form = 'dense';
    if (square.length < count * count) square = new Float64Array(count * count);
    return square.subarray(0, count * count);
  }

  function solve(b: Float64Array, columns: number): void {
    if (form === 'factor') lowRank.solve(b, columns);
    else if (form === 'partial') partialForm.solve(b, columns);
    else solveWith(algebra, square.subarray(0, order * order), order, b.subarray(0, order * columns), columns);
  }

  function solveWithProducts(c: Float64Array, columns: number, solved: Float64Array, products: Float64Array): void {
    const size = order * columns;
    solved.set(c.subarray(0, size));
    if (columns < HALVES_MIN || form === 'factor') {
      solve(solved, columns);
      addProducts(c, solved, { rows: order, columns }, products.fill(0, 0, columns * columns));
      return;
    }
    solveHalf(solved, columns, algebra.solveLower);
    halves.read(solved, order, columns);
    if (halves.isSparse()) halves.products(products);
    else algebra.symmetricRankK(solved.subarray(0, size), columns, products.subarray(0, columns * columns));
    solveHalf(solved, columns, algebra.solveLowerTransposed);
  }

  /** Performs the forward or backward half of `solve`. */
  function solveHalf(b: Float64Array, columns: number, solveTriangle: DenseAlgebra['solveLower']): void {
    if (form === 'partial') partialForm.solveHalf(b, columns, solveTriangle);
    else solveTriangle(square.subarray(0, order * order), order, b.subarray(0, order * columns));
  }

  return {
    factor,
    solve,
    solveWithProducts,
    algebra,
    triangle: () => (form === 'dense' ? square.subarray(0, order * order) : undefined),
  };
}

import type { DenseAlgebra } from './algebra.js';
import type { DenseMetric, FactorMetric, Metric } from '../program/metric.js';
import { addLoaded, subtractLoaded } from './low-rank-passes.js';
import { addProducts, solveWith } from './column-solves.js';
import { createSparseRows } from '../program/sparse-rows.js';

/**
 * Curvature H = scale P + diag(diagonal) on a subset of free securities, factored for solves. It reuses its arrays, so
 * solves over the same securities allocate only views.
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
   * Returns L of H = L L', [count x count] row-major, valid until the next factorisation; undefined if H was factored
   * in parts.
   */
  triangle(): Float64Array | undefined;
}

/** Minimum number of columns for which one kernel computes the products from L^-1 C. */
const HALVES_MIN = 64;

/** Number of free securities per factor below which a dense factorisation is at least as fast as the low-rank form. */
const VARIABLES_PER_FACTOR = 1.8;

/**
 * Creates an empty curvature.
 * @cost    Memory as programs require; see `factor` and `solve`.
 * @source  Woodbury (1950), Inverting modified matrices, for loadings; Golub & Van Loan (2013), Matrix Computations,
 *          section 4.2, for the rest.
 */
export function createCurvature(algebra: DenseAlgebra): Curvature {
  let square = new Float64Array(0);
  let scaled = new Float64Array(0);
  let inverse = new Float64Array(0);
  let roots = new Float64Array(0);
  let scores = new Float64Array(0);
  let form: 'diagonal' | 'dense' | 'factor' | 'partial' = 'diagonal';
  let order = 0;
  let loaded: FactorMetric | undefined;
  let coupling: { readonly of: DenseMetric; readonly isCoupled: Uint8Array } | undefined;
  let block = new Float64Array(0);
  let coupled = new Int32Array(0);
  let coupledCount = 0;
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
    if (inverse.length < count) inverse = new Float64Array(count);
    if (outer !== undefined) {
      form = 'dense';
      if (square.length < count * count) square = new Float64Array(count * count);
      const whole = square.subarray(0, count * count);
      algebra.symmetricRankK(outer, count, whole);
      addLower(metric, scale, diagonal, free, count, whole);
      return algebra.cholesky(whole, count) === count;
    }
    if (metric === null || scale === 0) {
      form = 'diagonal';
      return invertDiagonal(diagonal, free, count, inverse);
    }
    if (metric.form === 'factor' && metric.factors === 0) {
      form = 'diagonal';
      return invertDiagonal(
        diagonal.map((value, i) => value + scale * metric.specific[i]!),
        free,
        count,
        inverse,
      );
    }
    if (metric.form === 'factor' && count > VARIABLES_PER_FACTOR * metric.factors) {
      form = 'factor';
      return factorLowRank(metric, scale, diagonal, free, count);
    }
    if (metric.form === 'dense' && selectCoupled(metric, free, count) < count) {
      form = 'partial';
      return factorPartly(metric, scale, diagonal, free, count);
    }
    form = 'dense';
    if (square.length < count * count) square = new Float64Array(count * count);
    if (metric.form === 'dense') gatherLower(metric.matrix, metric.n, scale, diagonal, free, count, square);
    else computeLowerProduct(metric, scale, diagonal, free, count, square);
    return algebra.cholesky(square.subarray(0, count * count), count) === count;
  }

  /** Selects the positions of the free securities that covary with others and returns their number. */
  function selectCoupled(metric: DenseMetric, free: Int32Array, count: number): number {
    if (coupling?.of !== metric) coupling = { of: metric, isCoupled: findCoupledVariables(metric) };
    if (coupled.length < count) coupled = new Int32Array(count);
    coupledCount = 0;
    for (let p = 0; p < count; p++) if (coupling.isCoupled[free[p]!] === 1) coupled[coupledCount++] = p;
    return coupledCount;
  }

  /** Factors the securities that covary with others, and inverts the variances of the rest. */
  function factorPartly(
    { matrix, n }: DenseMetric,
    scale: number,
    diagonal: Float64Array,
    free: Int32Array,
    count: number,
  ): boolean {
    const c = coupledCount;
    for (let p = 0; p < count; p++) {
      const i = free[p]!;
      const value = scale * matrix[i * n + i]! + diagonal[i]!;
      if (!(value > 0)) return false;
      inverse[p] = 1 / value;
    }
    if (square.length < c * c) square = new Float64Array(c * c);
    for (let a = 0; a < c; a++) {
      const i = free[coupled[a]!]!;
      for (let b = 0; b <= a; b++) square[a * c + b] = scale * matrix[i * n + free[coupled[b]!]!]!;
      square[a * c + a]! += diagonal[i]!;
    }
    return c === 0 || algebra.cholesky(square.subarray(0, c * c), c) === c;
  }

  /**
   * Computes b := H^-1 b, or the forward or backward half of it, in two parts: with a triangular factor for securities
   * that covary, with scalar factors for the others.
   */
  function solveParts(
    b: Float64Array,
    columns: number,
    factors: Float64Array,
    solveTriangle: DenseAlgebra['solveLower'],
  ): void {
    const c = form === 'partial' ? coupledCount : 0;
    if (block.length < c * columns) block = new Float64Array(c * columns);
    const part = block.subarray(0, c * columns);
    for (let a = 0; a < c; a++) part.set(b.subarray(coupled[a]! * columns, (coupled[a]! + 1) * columns), a * columns);
    if (c > 0) solveTriangle(square.subarray(0, c * c), c, part);
    scaleRows(b, factors, order, columns);
    for (let a = 0; a < c; a++) b.set(part.subarray(a * columns, (a + 1) * columns), coupled[a]! * columns);
  }

  /** Factors H = D + L L' with L = sqrt(scale) loadings through I + L' D^-1 L, [k x k]. */
  function factorLowRank(
    metric: FactorMetric,
    scale: number,
    diagonal: Float64Array,
    free: Int32Array,
    count: number,
  ): boolean {
    const k = metric.factors;
    if (square.length < k * k) square = new Float64Array(k * k);
    if (scaled.length < count * k) scaled = new Float64Array(count * k);
    if (roots.length < count) roots = new Float64Array(count);
    loaded = metric;
    for (let p = 0; p < count; p++) {
      const i = free[p]!;
      const weight = scale * metric.specific[i]! + diagonal[i]!;
      if (!(weight > 0)) return false;
      roots[p] = Math.sqrt(1 / weight);
      const root = Math.sqrt(scale / weight);
      for (let f = 0; f < k; f++) scaled[p * k + f] = metric.loadings[i * k + f]! * root;
    }
    const inner = square.subarray(0, k * k);
    algebra.symmetricRankK(scaled.subarray(0, count * k), k, inner);
    for (let f = 0; f < k; f++) inner[f * k + f]! += 1;
    return algebra.cholesky(inner, k) === k;
  }

  function solve(b: Float64Array, columns: number): void {
    if (form === 'factor') solveLowRank(b, columns);
    else if (form === 'dense') {
      const l = square.subarray(0, order * order);
      solveWith(algebra, l, order, b.subarray(0, order * columns), columns);
    } else solveParts(b, columns, inverse, (l, n, part) => solveWith(algebra, l, n, part, columns));
  }

  /** Computes b := D^-1 b - D^-1/2 S (I + S'S)^-1 S' D^-1/2 b with S = D^-1/2 L, by Woodbury's identity. */
  function solveLowRank(b: Float64Array, columns: number): void {
    const k = loaded!.factors;
    if (scores.length < k * columns) scores = new Float64Array(k * columns);
    const inner = scores.subarray(0, k * columns).fill(0);
    const shape = { loadings: scaled, rows: order, factors: k, columns };
    scaleRows(b, roots, order, columns);
    addLoaded(shape, b, inner);
    solveWith(algebra, square.subarray(0, k * k), k, inner, columns);
    subtractLoaded(shape, inner, b);
    scaleRows(b, roots, order, columns);
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

  /**
   * Performs the forward or backward half of `solve`: with a triangular factor for securities that covary, with square
   * roots of reciprocals for the others.
   */
  function solveHalf(b: Float64Array, columns: number, solveTriangle: DenseAlgebra['solveLower']): void {
    if (form === 'dense') {
      solveTriangle(square.subarray(0, order * order), order, b.subarray(0, order * columns));
      return;
    }
    if (roots.length < order) roots = new Float64Array(order);
    for (let p = 0; p < order; p++) roots[p] = Math.sqrt(inverse[p]!);
    solveParts(b, columns, roots, solveTriangle);
  }

  return {
    factor,
    solve,
    solveWithProducts,
    algebra,
    triangle: () => (form === 'dense' ? square.subarray(0, order * order) : undefined),
  };
}

/**
 * Marks the securities whose row has nonzero entries besides the diagonal, [n]. In a covariance of prices the first
 * entries suffice.
 */
function findCoupledVariables({ matrix, n }: DenseMetric): Uint8Array {
  const found = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    let j = 0;
    while (j < n && (j === i || matrix[row + j] === 0)) j++;
    if (j < n) found[i] = 1;
  }
  return found;
}

function invertDiagonal(diagonal: Float64Array, free: Int32Array, count: number, inverse: Float64Array): boolean {
  for (let p = 0; p < count; p++) {
    const value = diagonal[free[p]!]!;
    if (!(value > 0)) return false;
    inverse[p] = 1 / value;
  }
  return true;
}

/** Adds the lower triangle of scale P_FF + diag to `out`. */
function addLower(
  metric: Metric | null,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  if (metric === null || scale === 0) {
    for (let p = 0; p < count; p++) out[p * count + p]! += diagonal[free[p]!]!;
    return;
  }
  const own = new Float64Array(count * count);
  if (metric.form === 'dense') gatherLower(metric.matrix, metric.n, scale, diagonal, free, count, own);
  else computeLowerProduct(metric, scale, diagonal, free, count, own);
  for (let e = 0; e < own.length; e++) out[e]! += own[e]!;
}

/** Writes the lower triangle of scale P_FF + diag, the only part that a Cholesky factorisation reads. */
function gatherLower(
  matrix: Float64Array,
  n: number,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  for (let p = 0; p < count; p++) {
    const row = free[p]! * n;
    const to = p * count;
    for (let q = 0; q <= p; q++) out[to + q] = scale * matrix[row + free[q]!]!;
    out[to + p]! += diagonal[free[p]!]!;
  }
}

function computeLowerProduct(
  metric: FactorMetric,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  const { loadings, specific, factors: k } = metric;
  for (let p = 0; p < count; p++) {
    const row = free[p]! * k;
    for (let q = 0; q <= p; q++) {
      const other = free[q]! * k;
      let total = 0;
      for (let f = 0; f < k; f++) total += loadings[row + f]! * loadings[other + f]!;
      out[p * count + q] = scale * total;
    }
    out[p * count + p]! += scale * specific[free[p]!]! + diagonal[free[p]!]!;
  }
}

function scaleRows(b: Float64Array, factors: Float64Array, rows: number, columns: number): void {
  for (let p = 0; p < rows; p++) {
    const factor = factors[p]!;
    for (let c = 0; c < columns; c++) b[p * columns + c]! *= factor;
  }
}

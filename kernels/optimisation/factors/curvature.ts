import { createSparseRows, type DenseMetric, type FactorMetric, type Metric } from '../program/metric.js';
import { type DenseAlgebra, solveBackward, solveForward } from './algebra.js';

interface Shape {
  readonly rows: number;
  readonly columns: number;
}

/** Adds C' solved to the lower triangle of `products`. */
function addProducts(c: Float64Array, solved: Float64Array, { rows, columns }: Shape, products: Float64Array): void {
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
function solveWith(algebra: DenseAlgebra, l: Float64Array, n: number, b: Float64Array, columns: number): void {
  if (columns === 1) {
    solveForward(l, b, { n, stride: n });
    solveBackward(l, b, { n, stride: n });
    return;
  }
  algebra.solveLower(l, n, b);
  algebra.solveLowerTransposed(l, n, b);
}

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
  const addedProducts = new Float64Array(count * count);
  fillLower(metric, scale, diagonal, free, count, addedProducts);
  for (let e = 0; e < addedProducts.length; e++) out[e]! += addedProducts[e]!;
}

/** Writes the lower triangle of scale P_FF + diag, the only part that a Cholesky factorisation reads. */
function fillLower(
  metric: Metric,
  scale: number,
  diagonal: Float64Array,
  free: Int32Array,
  count: number,
  out: Float64Array,
): void {
  if (metric.form === 'dense') gatherLower(metric, scale, diagonal, free, count, out);
  else computeLowerProduct(metric, scale, diagonal, free, count, out);
}

function gatherLower(
  { matrix, n }: DenseMetric,
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
      const otherRow = free[q]! * k;
      let total = 0;
      for (let f = 0; f < k; f++) total += loadings[row + f]! * loadings[otherRow + f]!;
      out[p * count + q] = scale * total;
    }
    out[p * count + p]! += scale * specific[free[p]!]! + diagonal[free[p]!]!;
  }
}

/** Panel of loadings, and the shape of the row-major right-hand sides that are multiplied by it. */
export interface LoadedRows {
  /** Loadings, [rows x factors]. */
  readonly loadings: Float64Array;
  readonly rows: number;
  readonly factors: number;
  /** Number of right-hand sides, stored by rows. */
  readonly columns: number;
}

/** Number of rows that are added in one pass over the sums. */
const ROWS_PER_PASS = 8;

/**
 * Computes sums += L' b with eight rows per pass over the sums. Each sum adds its terms in the order of the rows.
 * @param b     [rows x columns]
 * @param sums  [factors x columns], updated
 * @cost rows * factors * columns
 */
export function addLoaded(shape: LoadedRows, b: Float64Array, sums: Float64Array): void {
  const { loadings, rows, factors, columns } = shape;
  const wholeRows = rows - (rows % ROWS_PER_PASS);
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < wholeRows; p += ROWS_PER_PASS) addEight(shape, b, p * columns + c, p * factors, sums);
    for (let p = wholeRows; p < rows; p++) {
      const value = b[p * columns + c]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) sums[f * columns + c]! += loadings[e]! * value;
    }
  }
}

/**
 * Adds eight rows. @param from index of the first value; its column is that of the sums @param row start of its
 * loadings
 */
function addEight(
  { loadings: l, factors: k, columns }: LoadedRows,
  b: Float64Array,
  from: number,
  row: number,
  sums: Float64Array,
): void {
  const [s, t, u, v] = [b[from]!, b[from + columns]!, b[from + 2 * columns]!, b[from + 3 * columns]!];
  const next = from + 4 * columns;
  const [w, x, y, z] = [b[next]!, b[next + columns]!, b[next + 2 * columns]!, b[next + 3 * columns]!];
  const [k2, k3, k4, k5, k6, k7] = [2 * k, 3 * k, 4 * k, 5 * k, 6 * k, 7 * k];
  for (let e = row, position = from % columns; e < row + k; e++, position += columns) {
    const half = sums[position]! + l[e]! * s + l[e + k]! * t + l[e + k2]! * u + l[e + k3]! * v;
    sums[position] = half + l[e + k4]! * w + l[e + k5]! * x + l[e + k6]! * y + l[e + k7]! * z;
  }
}

/**
 * Computes b -= L x with four rows interleaved, so that each entry depends only on its own previous term. Terms are
 * added in the order of the factors.
 * @param x  [factors x columns]
 * @param b  [rows x columns], updated
 * @cost rows * factors * columns
 */
export function subtractLoaded(
  { loadings, rows, factors, columns }: LoadedRows,
  x: Float64Array,
  b: Float64Array,
): void {
  const wholeRows = rows & ~3;
  for (let c = 0; c < columns; c++) {
    for (let p = 0; p < wholeRows; p += 4) {
      const to = p * columns + c;
      let v = b[to]!;
      let w = b[to + columns]!;
      let y = b[to + 2 * columns]!;
      let z = b[to + 3 * columns]!;
      const end = (p + 1) * factors;
      for (let e = p * factors, position = c; e < end; e++, position += columns) {
        const value = x[position]!;
        v -= loadings[e]! * value;
        w -= loadings[e + factors]! * value;
        y -= loadings[e + 2 * factors]! * value;
        z -= loadings[e + 3 * factors]! * value;
      }
      b[to] = v;
      b[to + columns] = w;
      b[to + 2 * columns] = y;
      b[to + 3 * columns] = z;
    }
    for (let p = wholeRows; p < rows; p++) {
      const to = p * columns + c;
      let value = b[to]!;
      for (let e = p * factors, f = 0; f < factors; f++, e++) value -= loadings[e]! * x[f * columns + c]!;
      b[to] = value;
    }
  }
}

/** Multiplies each row of b, [rows x columns], by its factor. */
function scaleRows(b: Float64Array, factors: Float64Array, rows: number, columns: number): void {
  for (let p = 0; p < rows; p++) {
    const factor = factors[p]!;
    for (let c = 0; c < columns; c++) b[p * columns + c]! *= factor;
  }
}

/** Low-rank form of a curvature H = D + L L' with L = sqrt(scale) loadings. */
export interface LowRankForm {
  /** Factors H. @returns true if it is positive definite */
  factor(metric: FactorMetric, scale: number, diagonal: Float64Array, free: Int32Array, count: number): boolean;
  /** Computes b := H^-1 b, b [count x columns] row-major. */
  solve(b: Float64Array, columns: number): void;
}

/** @source Woodbury (1950), Inverting modified matrices */
function createLowRankForm(algebra: DenseAlgebra): LowRankForm {
  let inner = new Float64Array(0);
  let scaledLoadings = new Float64Array(0);
  let roots = new Float64Array(0);
  let scores = new Float64Array(0);
  let [order, k] = [0, 0];
  return {
    factor(metric, scale, diagonal, free, count) {
      [order, k] = [count, metric.factors];
      if (inner.length < k * k) inner = new Float64Array(k * k);
      if (scaledLoadings.length < count * k) scaledLoadings = new Float64Array(count * k);
      if (roots.length < count) roots = new Float64Array(count);
      for (let p = 0; p < count; p++) {
        const i = free[p]!;
        const weight = scale * metric.specific[i]! + diagonal[i]!;
        if (!(weight > 0)) return false;
        roots[p] = Math.sqrt(1 / weight);
        const root = Math.sqrt(scale / weight);
        for (let f = 0; f < k; f++) scaledLoadings[p * k + f] = metric.loadings[i * k + f]! * root;
      }
      const gram = inner.subarray(0, k * k);
      algebra.symmetricRankK(scaledLoadings.subarray(0, count * k), k, gram);
      for (let f = 0; f < k; f++) gram[f * k + f]! += 1;
      return algebra.cholesky(gram, k) === k;
    },
    /** Computes b := D^-1 b - D^-1/2 S (I + S'S)^-1 S' D^-1/2 b with S = D^-1/2 L, by Woodbury's identity. */
    solve(b, columns) {
      if (scores.length < k * columns) scores = new Float64Array(k * columns);
      const blockScores = scores.subarray(0, k * columns).fill(0);
      const shape = { loadings: scaledLoadings, rows: order, factors: k, columns };
      scaleRows(b, roots, order, columns);
      addLoaded(shape, b, blockScores);
      solveWith(algebra, inner.subarray(0, k * k), k, blockScores, columns);
      subtractLoaded(shape, blockScores, b);
      scaleRows(b, roots, order, columns);
    },
  };
}

/** Curvature in two parts: a matrix of the securities that covary with others, and a diagonal of the rest. */
export interface PartialForm {
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

function createPartialForm(algebra: DenseAlgebra): PartialForm {
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

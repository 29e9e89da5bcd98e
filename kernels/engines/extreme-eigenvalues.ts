import type { EigenvalueRange } from '../algebra/symmetric-eigen.js';
import { assert } from '../assert.js';
import type { Engine } from './engine.js';

/** Engine operations on vectors and factors. The matrix should be in the memory of the engine, to avoid copies. */
export type ExtremesEngine = Pick<
  Engine,
  | 'room'
  | 'scope'
  | 'gemv'
  | 'gemvTransposed'
  | 'symv'
  | 'cholesky'
  | 'solveLower'
  | 'solveLowerTransposed'
  | 'symmetricEigen'
>;

/**
 * Number of Lanczos steps after which the search stops with an estimate. A factorisation near the estimate then costs
 * less than more steps.
 */
const ESTIMATE_STEPS = { smallest: 16, largest: 24 } as const;

/** Maximum number of Lanczos steps with a factored shift. Ten to thirty are usual. */
const STEPS_MAX = 60;

/**
 * Minimum distance of a shift from an estimate, relative to the largest entry: far above the rounding errors of a
 * factorisation.
 */
const SHIFT_MIN = 1e-9;

/**
 * Maximum number of shifts that are tried for an extreme eigenvalue. Each shift is four times as far from the estimate
 * as the previous one.
 */
const SHIFTS_MAX = 3;

/** Relative error of a sum of squares that rounding can cause. */
const ROUNDING_ERROR = 1e-9;

/**
 * Minimum ratio of the smallest to the largest eigenvalue. Below this ratio, the factors have lost the digits of the
 * smallest eigenvalue.
 */
const SINGULAR_RATIO = 1e-8;

/**
 * Computes the smallest and the largest eigenvalue of a positive definite matrix without computing the others. A few
 * Lanczos steps estimate each of the two; then the matrix minus a shift just beyond the estimate is factored. A
 * successful factorisation proves that no eigenvalue lies beyond the shift, and Lanczos steps with its inverse converge
 * within tens of solves. A dominant largest eigenvalue, such as that of a market factor, needs no factorisation.
 *
 * @param engine  Engine that multiplies, factors and solves.
 * @param a       [n x n] row-major, exactly symmetric. Its lower triangle is the workspace, and is restored.
 * @param n       Order, at least 1.
 * @returns       Both eigenvalues, with rounding errors relative to the largest; undefined if the method fails: the
 *                matrix is not positive definite, is nearly singular or has entries that are not finite.
 * @throws        KernelFault on a shape mismatch.
 * @cost          Three factorisations, n^3 / 2 multiply-adds in all, and about 100 n^2; scratch of 61 n numbers.
 * @source        Parlett (1998), The Symmetric Eigenvalue Problem, ch. 13; Ericsson & Ruhe (1980), Math. Comp. 35(152),
 *                1251-1268 (shift and invert).
 */
export function findExtremeEigenvalues(
  engine: ExtremesEngine,
  a: Float64Array,
  n: number,
): EigenvalueRange | undefined {
  assert(n >= 1 && a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
  const diagonal = copyDiagonal(a, n);
  return engine.scope(() => {
    try {
      const problem = { engine, a, n, diagonal };
      const scale = diagonal.reduce((most, value) => Math.max(most, value), 0);
      const smallest = findSmallestEigenvalue(problem, scale);
      const largest = smallest === undefined ? undefined : findLargestEigenvalue(problem);
      if (smallest === undefined || largest === undefined || smallest < SINGULAR_RATIO * largest) return undefined;
      return { smallest, largest };
    } finally {
      fillLower(a, diagonal, 1, 0);
    }
  });
}

interface EigenProblem {
  readonly engine: ExtremesEngine;
  /** [n x n] Matrix in the upper triangle; factors in the lower one and the diagonal. */
  readonly a: Float64Array;
  readonly n: number;
  /** Diagonal of the matrix, [n]. */
  readonly diagonal: Float64Array;
}

interface RitzPair {
  readonly value: number;
  /** Upper bound on the distance to the nearest eigenvalue. */
  readonly residual: number;
  /** Estimate of the distance from the largest eigenvalue, quadratic in the residual. */
  readonly error: number;
  /** Unit vector, [n]. */
  readonly vector: Float64Array;
}

function findSmallestEigenvalue(problem: EigenProblem, scale: number): number | undefined {
  if (!factorShifted(problem, 1, 0)) return undefined;
  const { value, residual, vector } = runLanczos(problem, {
    start: drawVector(problem.n),
    steps: ESTIMATE_STEPS.smallest,
    multiply: createInverseProduct(problem),
    isDone: ({ error, value: inverted }) => error <= Number.EPSILON * inverted,
  });
  const distance = Math.min(0.5, residual / value) / value;
  return refineEigenvalue(problem, {
    sign: 1,
    estimate: 1 / value,
    off: Math.max(distance, SHIFT_MIN * scale),
    scale,
    vector,
  });
}

function findLargestEigenvalue(problem: EigenProblem): number | undefined {
  const { engine, a, n, diagonal } = problem;
  for (let i = 0; i < n; i++) a[i * (n + 1)] = diagonal[i]!;
  const squares = sumSquares(a, n);
  const isDone = ({ error, value }: Omit<RitzPair, 'vector'>): boolean => error <= Number.EPSILON * value;
  const ritzPair = runLanczos(problem, {
    start: drawVector(n),
    steps: ESTIMATE_STEPS.largest,
    multiply: (x, out) => engine.symv(a, x, out),
    isDone,
  });
  const { value, residual, vector } = ritzPair;
  // The sum of the squares of all eigenvalues is `squares`. An eigenvalue is the largest if its square is more than
  // half of this sum.
  if (isDone(ritzPair) && (value - residual) ** 2 > (0.5 + ROUNDING_ERROR) * squares) return value;
  const distance = Math.max(residual, SHIFT_MIN * value);
  return refineEigenvalue(problem, { sign: -1, estimate: value, off: distance, scale: value, vector });
}

/** Computes the sum of the squares of all entries from the upper triangle. */
function sumSquares(a: Float64Array, n: number): number {
  let diagonal = 0;
  let pairs = 0;
  for (let i = 0; i < n; i++) {
    diagonal += a[i * (n + 1)]! * a[i * (n + 1)]!;
    for (let position = i * (n + 1) + 1; position < (i + 1) * n; position++) pairs += a[position]! * a[position]!;
  }
  return diagonal + 2 * pairs;
}

interface ExtremeEigenvalue {
  /** 1 for the smallest eigenvalue, -1 for the largest. */
  readonly sign: 1 | -1;
  readonly estimate: number;
  /** Distance of the first shift from the estimate. */
  readonly off: number;
  /** Magnitude to which rounding errors of the result are relative. */
  readonly scale: number;
  readonly vector: Float64Array;
}

/** Converges to an extreme eigenvalue from a shift beyond it. Returns undefined if no shift succeeds. */
function refineEigenvalue(
  problem: EigenProblem,
  { sign, estimate, off, scale, vector }: ExtremeEigenvalue,
): number | undefined {
  for (let shifts = 0, distance = off; shifts < SHIFTS_MAX; shifts++, distance *= 4) {
    const shift = estimate - sign * distance;
    if (!factorShifted(problem, sign, shift)) continue;
    const isDone = ({ value, error }: Omit<RitzPair, 'vector'>): boolean =>
      error <= 0.25 * Number.EPSILON * scale * value * value;
    const ritzPair = runLanczos(problem, {
      start: vector,
      steps: STEPS_MAX,
      multiply: createInverseProduct(problem),
      isDone,
    });
    return isDone(ritzPair) ? shift + sign / ritzPair.value : undefined;
  }
  return undefined;
}

/** Factors sign (A - shift I) in the lower triangle; returns false if it is not positive definite. */
function factorShifted({ engine, a, n, diagonal }: EigenProblem, sign: 1 | -1, shift: number): boolean {
  fillLower(a, diagonal, sign, shift);
  return engine.cholesky(a, n) === n;
}

/** Returns a function that multiplies by the inverse of the factored matrix. */
function createInverseProduct({ engine, a, n }: EigenProblem) {
  return (x: Float64Array, out: Float64Array): void => {
    out.set(x);
    engine.solveLower(a, n, out);
    engine.solveLowerTransposed(a, n, out);
  };
}

interface LanczosTerms {
  /** Start vector, [n], not zero. */
  readonly start: Float64Array;
  readonly steps: number;
  readonly multiply: (x: Float64Array, out: Float64Array) => void;
  readonly isDone: (pair: Omit<RitzPair, 'vector'>) => boolean;
}

/**
 * Approximates the largest eigenvalue of an operator by Lanczos steps. Each new vector is orthogonalised twice against
 * all previous ones.
 */
function runLanczos({ engine, n }: EigenProblem, { start, steps, multiply, isDone }: LanczosTerms): RitzPair {
  return engine.scope(() => {
    const stepsMax = Math.min(steps, n);
    const basis = engine.room(stepsMax * n);
    const [next, along, products] = [engine.room(n), engine.room(n), engine.room(stepsMax)];
    const [alphas, betas]: [number[], number[]] = [[], []];
    next.set(start);
    let length = computeNorm(next);
    for (let k = 0; ; k++) {
      const vector = basis.subarray(k * n, (k + 1) * n);
      for (let i = 0; i < n; i++) vector[i] = next[i]! / length;
      multiply(vector, next);
      const earlierVectors = basis.subarray(0, (k + 1) * n);
      let alpha = 0;
      for (let pass = 0; pass < 2; pass++) {
        const coefficients = products.subarray(0, k + 1);
        engine.gemv(earlierVectors, next, coefficients);
        engine.gemvTransposed(earlierVectors, coefficients, along);
        for (let i = 0; i < n; i++) next[i]! -= along[i]!;
        alpha += coefficients[k]!;
      }
      length = computeNorm(next);
      alphas.push(alpha);
      betas.push(length);
      const isLast = k + 1 === stepsMax || !(length > Number.EPSILON * Math.abs(alpha));
      if (!isLast && !isCheckStep(k + 1)) continue;
      const { weights, ...found } = findTopPair(engine, alphas, betas);
      if (!isLast && !isDone(found)) continue;
      engine.gemvTransposed(earlierVectors, weights, along);
      return { ...found, vector: along.slice() };
    }
  });
}

/** Returns true for the numbers of steps after which convergence is checked. */
function isCheckStep(steps: number): boolean {
  return steps === 2 || steps % 4 === 0;
}

/**
 * Computes the largest eigenpair of the tridiagonal projection of the operator. The last beta couples it to the next
 * Lanczos vector.
 */
function findTopPair(engine: ExtremesEngine, alphas: readonly number[], betas: readonly number[]) {
  const k = alphas.length;
  const eigenpairs = computeTridiagonalEigenpairs(engine, alphas, betas);
  if (eigenpairs === undefined)
    return { value: Number.NaN, residual: Number.NaN, error: Number.NaN, weights: new Float64Array(k) };
  const { values, vectors } = eigenpairs;
  const weights = vectors.subarray((k - 1) * k);
  const value = values[k - 1]!;
  const residual = betas[k - 1]! * Math.abs(weights[k - 1]!);
  const gap = k === 1 ? 0 : value - values[k - 2]!;
  return { value, residual, error: residual === 0 ? 0 : (residual * residual) / Math.max(gap, residual), weights };
}

/**
 * Returns all eigenvalues of a symmetric tridiagonal matrix, ascending, and their eigenvectors as rows; undefined if an
 * entry is not finite.
 * @param off  entries next to the diagonal; a value after the last is ignored
 */
export function computeTridiagonalEigenpairs(
  engine: Pick<Engine, 'symmetricEigen'>,
  diagonal: ArrayLike<number>,
  off: ArrayLike<number>,
): { readonly values: Float64Array; readonly vectors: Float64Array } | undefined {
  const k = diagonal.length;
  const matrix = new Float64Array(k * k);
  for (let i = 0; i < k; i++) {
    matrix[i * (k + 1)] = diagonal[i]!;
    if (i + 1 < k) matrix[i * (k + 1) + 1] = matrix[(i + 1) * (k + 1) - 1] = off[i]!;
  }
  const [values, vectors] = [new Float64Array(k), new Float64Array(k * k)];
  return engine.symmetricEigen(matrix, k, values, vectors) ? { values, vectors } : undefined;
}

function computeNorm(x: Float64Array): number {
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += x[i]! * x[i]!;
  return Math.sqrt(squares);
}

/** Draws a seeded vector with entries around zero; no eigenvector of a matrix from real data is orthogonal to it. */
function drawVector(n: number): Float64Array {
  let state = 42;
  return Float64Array.from({ length: n }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state + 0.5) / 2 ** 31;
  });
}

function copyDiagonal(a: Float64Array, n: number): Float64Array {
  return Float64Array.from({ length: n }, (_, i) => a[i * (n + 1)]!);
}

/** Order of the square blocks that are copied, chosen so that source and destination stay in the cache. */
const BLOCK_ORDER = 32;

/** Writes sign (A - shift I) to the lower triangle and the diagonal, given the upper triangle and the diagonal of A. */
function fillLower(a: Float64Array, diagonal: Float64Array, sign: 1 | -1, shift: number): void {
  const n = diagonal.length;
  for (let ib = 0; ib < n; ib += BLOCK_ORDER)
    for (let jb = ib; jb < n; jb += BLOCK_ORDER)
      for (let j = jb; j < Math.min(jb + BLOCK_ORDER, n); j++) {
        const row = j * n;
        const end = Math.min(ib + BLOCK_ORDER, j);
        for (let i = ib, from = ib * n + j; i < end; i++, from += n) a[row + i] = sign * a[from]!;
      }
  for (let i = 0; i < n; i++) a[i * (n + 1)] = sign * (diagonal[i]! - shift);
}

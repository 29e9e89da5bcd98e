/** Linear response to factors, estimated by ordinary least squares with an intercept. */
export interface Response {
  /** Slope of each factor, [K]. */
  readonly slopes: Float64Array;
  readonly observations: number;
  /** R-squared; 0 for a constant response. */
  readonly rSquared: number;
  /** Returns the standard error of slopes'x that results from the estimation of the slopes. */
  errorOf(x: Float64Array): number;
}

/**
 * Estimates a response by regression.
 * @param responses [T], NaN if missing
 * @param factors K columns of [T]; rows with a missing value are excluded
 * @returns undefined with fewer than `least` rows, or if the factors are collinear
 */
export function estimateResponse(
  responses: Float64Array,
  factors: readonly Float64Array[],
  least: number,
): Response | undefined {
  const K = factors.length;
  const rows = listCompleteRows(responses, factors);
  const T = rows.length;
  if (T < Math.max(least, K + 2)) return undefined;
  const computeMean = (values: Float64Array) => rows.reduce((sum, t) => sum + values[t]!, 0) / T;
  const centre = factors.map(computeMean);
  const middle = computeMean(responses);
  const computeCrossProduct = (a: Float64Array, meanA: number, b: Float64Array, meanB: number) =>
    rows.reduce((sum, t) => sum + (a[t]! - meanA) * (b[t]! - meanB), 0);
  const moments = new Float64Array(K * K);
  const right = new Float64Array(K);
  for (let i = 0; i < K; i++) {
    right[i] = computeCrossProduct(factors[i]!, centre[i]!, responses, middle);
    for (let j = 0; j <= i; j++) {
      const value = computeCrossProduct(factors[i]!, centre[i]!, factors[j]!, centre[j]!);
      moments[i * K + j] = value;
      moments[j * K + i] = value;
    }
  }
  const root = factorCholesky(moments, K);
  if (root === undefined) return undefined;
  const slopes = solveBackward(root, solveForward(root, right, K), K);
  const total = computeCrossProduct(responses, middle, responses, middle);
  let residualSquares = 0;
  for (const t of rows) {
    let residual = responses[t]! - middle;
    for (let k = 0; k < K; k++) residual -= slopes[k]! * (factors[k]![t]! - centre[k]!);
    residualSquares += residual * residual;
  }
  const variance = residualSquares / (T - K - 1);
  return {
    slopes,
    observations: T,
    rSquared: total === 0 ? 0 : 1 - residualSquares / total,
    errorOf(x) {
      const y = solveForward(root, x, K);
      return Math.sqrt(variance * y.reduce((sum, value) => sum + value * value, 0));
    },
  };
}

function listCompleteRows(responses: Float64Array, factors: readonly Float64Array[]): number[] {
  const rows: number[] = [];
  for (let t = 0; t < responses.length; t++)
    if (!Number.isNaN(responses[t]!) && factors.every((factor) => !Number.isNaN(factor[t]!))) rows.push(t);
  return rows;
}

/** Fraction of a pivot's diagonal element below which the factor is collinear. */
const PIVOT_MIN = 1e-10;

/**
 * Returns the lower Cholesky factor of a symmetric matrix, [K x K]. Returns undefined if a row depends on earlier rows.
 */
function factorCholesky(matrix: Float64Array, K: number): Float64Array | undefined {
  const lower = new Float64Array(K * K);
  for (let i = 0; i < K; i++)
    for (let j = 0; j <= i; j++) {
      let value = matrix[i * K + j]!;
      for (let k = 0; k < j; k++) value -= lower[i * K + k]! * lower[j * K + k]!;
      if (i !== j) lower[i * K + j] = value / lower[j * K + j]!;
      else if (value > PIVOT_MIN * matrix[i * K + i]!) lower[i * K + i] = Math.sqrt(value);
      else return undefined;
    }
  return lower;
}

function solveForward(lower: Float64Array, right: Float64Array, K: number): Float64Array {
  const x = Float64Array.from(right);
  for (let i = 0; i < K; i++) {
    for (let k = 0; k < i; k++) x[i]! -= lower[i * K + k]! * x[k]!;
    x[i]! /= lower[i * K + i]!;
  }
  return x;
}

function solveBackward(lower: Float64Array, right: Float64Array, K: number): Float64Array {
  const x = Float64Array.from(right);
  for (let i = K - 1; i >= 0; i--) {
    for (let k = i + 1; k < K; k++) x[i]! -= lower[k * K + i]! * x[k]!;
    x[i]! /= lower[i * K + i]!;
  }
  return x;
}

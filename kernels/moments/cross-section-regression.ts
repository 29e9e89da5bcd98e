import { factoriseSemidefinite } from '../algebra/linear-systems.js';
import { assert } from '../assert.js';

/** Regressions on one design matrix, each for another cross-section of values. */
export interface CrossSectionRegression {
  /** (X'WX)^-1, [p x p]; rows and columns of linearly dependent columns are 0. */
  readonly inverse: Float64Array;
  /**
   * Fits one cross-section.
   * @param values        [n]; becomes the residuals.
   * @param coefficients  [p], overwritten; 0 for a dependent column.
   */
  fit(values: Float64Array, coefficients: Float64Array): CrossSectionFit;
}

export interface CrossSectionFit {
  /** Weighted sum of squared residuals over n - rank; 0 without degrees of freedom. */
  readonly residualVariance: number;
  /**
   * 1 - weighted sum of squared residuals over weighted sum of squares about the weighted mean; 0 if all values are
   * equal.
   */
  readonly rSquared: number;
}

/**
 * Prepares weighted least squares of cross-sections on one design matrix, which is factored once.
 *
 * @param design   [n x p] row-major; a column that depends linearly on earlier columns is omitted.
 * @param weights  [n], above 0.
 * @returns        Regression of values on the design.
 * @throws         KernelFault on a shape mismatch.
 * @cost           n p^2 / 2 once, 2 n p per fit.
 * @source         Normal equations, Cholesky factor with dependent columns omitted; Golub & Van Loan (2013), section
 *                 5.3.
 */
export function regressCrossSection(design: Float64Array, weights: Float64Array): CrossSectionRegression {
  const n = weights.length;
  const p = n === 0 ? 0 : design.length / n;
  assert(Number.isInteger(p), `design: ${design.length} values over ${n} names`);
  const { lower, rank } = factoriseSemidefinite(computeNormalMatrix(design, weights, p), p);
  const inverse = computeInverse(lower, p);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const moments = new Float64Array(p);
  return {
    inverse,
    fit(values, coefficients) {
      moments.fill(0);
      let mean = 0;
      for (let i = 0; i < n; i++) mean += (weights[i]! / total) * values[i]!;
      let spread = 0;
      for (let i = 0; i < n; i++) {
        const value = weights[i]! * values[i]!;
        spread += weights[i]! * (values[i]! - mean) ** 2;
        for (let k = 0; k < p; k++) moments[k]! += design[i * p + k]! * value;
      }
      for (let k = 0; k < p; k++) coefficients[k] = computeDotProduct(inverse, k * p, moments);
      let squares = 0;
      for (let i = 0; i < n; i++) {
        values[i]! -= computeDotProduct(design, i * p, coefficients);
        squares += weights[i]! * values[i]! * values[i]!;
      }
      return {
        residualVariance: n > rank ? squares / (n - rank) : 0,
        rSquared: spread > 0 ? 1 - squares / spread : 0,
      };
    },
  };
}

/** Returns the lower triangle of X'WX. */
function computeNormalMatrix(design: Float64Array, weights: Float64Array, p: number): Float64Array {
  const matrix = new Float64Array(p * p);
  for (let i = 0; i < weights.length; i++)
    for (let k = 0; k < p; k++) {
      const weightedEntry = weights[i]! * design[i * p + k]!;
      if (weightedEntry === 0) continue;
      for (let l = 0; l <= k; l++) matrix[k * p + l]! += weightedEntry * design[i * p + l]!;
    }
  return matrix;
}

/** Returns (L L')^-1 over the columns that are not omitted. */
function computeInverse(lower: Float64Array, p: number): Float64Array {
  const inverse = new Float64Array(p * p);
  const column = new Float64Array(p);
  for (let k = 0; k < p; k++) {
    if (lower[k * p + k] === 0) continue;
    column.fill(0);
    for (let i = k; i < p; i++) {
      const diagonal = lower[i * p + i]!;
      if (diagonal === 0) continue;
      let value = i === k ? 1 : 0;
      for (let j = k; j < i; j++) value -= lower[i * p + j]! * column[j]!;
      column[i] = value / diagonal;
    }
    for (let i = p - 1; i >= 0; i--) {
      const diagonal = lower[i * p + i]!;
      if (diagonal === 0) continue;
      let value = column[i]!;
      for (let j = i + 1; j < p; j++) value -= lower[j * p + i]! * inverse[j * p + k]!;
      inverse[i * p + k] = value / diagonal;
    }
  }
  return inverse;
}

function computeDotProduct(matrix: Float64Array, from: number, vector: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < vector.length; k++) sum += matrix[from + k]! * vector[k]!;
  return sum;
}

import { expect, test } from 'vitest';
import { regressCrossSection } from '#kernels/moments/cross-section-regression.js';
import { createRandomPanel } from '../engines/random-matrices.js';

const [n, p] = [20, 4];
const design = createRandomPanel(n, p, 1);
const weights = createRandomPanel(n, 1, 2).map((value) => 1 + value * value);
const values = createRandomPanel(n, 1, 3);

function fitCrossSection(columns: Float64Array, width: number) {
  const residuals = values.slice();
  const coefficients = new Float64Array(width);
  const fit = regressCrossSection(columns, weights).fit(residuals, coefficients);
  return { ...fit, residuals, coefficients };
}

test('leaves residuals that no column explains, and reports their size', () => {
  const { residuals, coefficients, residualVariance, rSquared } = fitCrossSection(design, p);
  for (let k = 0; k < p; k++) {
    const product = residuals.reduce((sum, value, i) => sum + weights[i]! * design[i * p + k]! * value, 0);
    expect(product).toBeCloseTo(0, 11);
  }
  residuals.forEach((residual, i) => {
    const explainedReturn = coefficients.reduce((sum, value, k) => sum + value * design[i * p + k]!, 0);
    expect(residual + explainedReturn).toBeCloseTo(values[i]!, 12);
  });
  const squares = residuals.reduce((sum, value, i) => sum + weights[i]! * value * value, 0);
  expect(residualVariance).toBeCloseTo(squares / (n - p), 12);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = weights.reduce((sum, weight, i) => sum + weight * values[i]!, 0) / total;
  const spread = weights.reduce((sum, weight, i) => sum + weight * (values[i]! - mean) ** 2, 0);
  expect(rSquared).toBeCloseTo(1 - squares / spread, 12);
});

test('leaves the same residuals where a column is a combination of others', () => {
  const doubledDesign = Float64Array.from({ length: n * (p + 1) }, (_, at) => {
    const [i, k] = [Math.floor(at / (p + 1)), at % (p + 1)];
    return k < p ? design[i * p + k]! : design[i * p]! - 2 * design[i * p + 1]!;
  });
  const { residuals, coefficients, residualVariance } = fitCrossSection(doubledDesign, p + 1);
  const plainFit = fitCrossSection(design, p);
  expect(coefficients[p]).toBe(0);
  residuals.forEach((value, i) => expect(value).toBeCloseTo(plainFit.residuals[i]!, 10));
  expect(residualVariance).toBeCloseTo(plainFit.residualVariance, 10);
});

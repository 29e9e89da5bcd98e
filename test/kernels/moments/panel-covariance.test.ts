import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import {
  estimateLowRankCovariance,
  expandCovariance,
  type LowRankCovariance,
  type Shrinkage,
} from '#kernels/moments/low-rank-covariance.js';
import {
  averageCorrelationSums,
  computeDeviations,
  countTriangleEntries,
  createPanelCovariance,
  fillCorrelationSums,
  fillCovarianceRows,
  findPanelEigenvalues,
} from '#kernels/moments/panel-covariance.js';
import { computeAverageCorrelation } from '#kernels/moments/shrinkage.js';
import { createRandomPanel } from '../engines/random-matrices.js';

const SETTINGS: readonly Shrinkage[] = [
  { target: 'constant_correlation', intensity: null, method: 'shape', scale: 252 },
  { target: 'constant_correlation', intensity: null, method: 'ledoit_wolf', scale: 252 },
  { target: 'scaled_identity', intensity: 0.3, method: 'shape', scale: 252 },
  { target: 'scaled_identity', intensity: 0, method: 'shape', scale: 1 },
];

function estimate(rows: number, assets: number, shrinkage: Shrinkage): LowRankCovariance {
  return estimateLowRankCovariance(openWasmEngine(), createRandomPanel(rows, assets), assets, shrinkage);
}

/** Returns rows [from, to) of a matrix. Each row starts at its diagonal element. */
function selectMatrixRows(matrix: Float64Array, assets: number, from: number, to: number): Float64Array {
  const rows = new Float64Array(countTriangleEntries(assets, from, to));
  for (let i = from, offset = 0; i < to; offset += assets - i, i++)
    rows.set(matrix.subarray(i * (assets + 1), (i + 1) * assets), offset);
  return rows;
}

describe('rows of a covariance by parts', () => {
  test.each(SETTINGS)('are bit-identical to the whole matrix: %o', (shrinkage) => {
    const [rows, assets] = [20, 1_030]; // more columns than one multiplication covers
    const wholeEstimate = estimate(rows, assets, shrinkage);
    const matrix = new Float64Array(assets * assets);
    expandCovariance(openWasmEngine(), wholeEstimate, matrix);
    const covariance = createPanelCovariance(wholeEstimate);
    const deviations = computeDeviations(covariance, wholeEstimate.variances);
    expect(deviations).toEqual(Float64Array.from({ length: assets }, (_, i) => Math.sqrt(matrix[i * (assets + 1)]!)));
    const sums = new Float64Array(assets);
    const engine = openWasmEngine();
    for (const [from, to] of [
      [0, 0],
      [0, 1],
      [1, 6],
      [6, 480],
      [480, 1_030],
    ] as const) {
      const out = new Float64Array(countTriangleEntries(assets, from, to)).fill(Number.NaN);
      fillCovarianceRows(engine, covariance, from, to, out);
      expect(Buffer.from(out.buffer).equals(Buffer.from(selectMatrixRows(matrix, assets, from, to).buffer))).toBe(true);
      fillCorrelationSums(out, from, deviations, sums.subarray(from, to));
    }
    expect(averageCorrelationSums(sums)).toBe(computeAverageCorrelation(matrix, assets));
  });

  test('are refused outside of the matrix, and in an array of another length', () => {
    const covariance = createPanelCovariance(estimate(5, 4, SETTINGS[0]!));
    expect(() => fillCovarianceRows(referenceEngine, covariance, 0, 5, new Float64Array(10))).toThrow(KernelFault);
    expect(() => fillCovarianceRows(referenceEngine, covariance, 0, 2, new Float64Array(8))).toThrow(KernelFault);
  });
});

describe('findPanelEigenvalues', () => {
  test.each([
    [40, 90],
    [90, 40],
    [30, 1],
    [2, 300],
    [150, 130],
  ])('finds the range of the matrix, %i observations of %i securities', (rows, assets) => {
    const engine = openWasmEngine();
    for (const shrinkage of SETTINGS) {
      const wholeEstimate = estimate(rows, assets, shrinkage);
      const matrix = new Float64Array(assets * assets);
      expandCovariance(engine, wholeEstimate, matrix);
      const exactRange = engine.eigenvalueRange(matrix, assets)!;
      const eigenvalues = findPanelEigenvalues(engine, createPanelCovariance(wholeEstimate));
      expect(Math.abs(eigenvalues.smallest - exactRange.smallest)).toBeLessThan(1e-12 * exactRange.largest);
      expect(Math.abs(eigenvalues.largest - exactRange.largest)).toBeLessThan(1e-12 * exactRange.largest);
    }
  });

  test('finds the range of a covariance of zeros, and of one of equal variances', () => {
    const zeros = { panel: new Float64Array(6), assets: 3, keep: 1, common: 0, scale: new Float64Array(3) };
    const findEigenvalues = (addedVariance: number) =>
      findPanelEigenvalues(referenceEngine, { ...zeros, addedVariances: new Float64Array(3).fill(addedVariance) });
    expect(findEigenvalues(0)).toEqual({ smallest: 0, largest: 0 });
    expect(findEigenvalues(0.25).smallest).toBeCloseTo(0.25, 15);
    expect(findEigenvalues(0.25).largest).toBeCloseTo(0.25, 15);
  });
});

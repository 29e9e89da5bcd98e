import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { estimateStructured } from '#kernels/moments/estimate-covariance.js';
import {
  denoise,
  estimateStructuredCovariance,
  shrinkEigenvalues,
  STRUCTURED_ESTIMATORS,
  type StructuredRequest,
} from '#kernels/moments/structured-covariance.js';
import { computeSampleCovariance, fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { createRandomPanel } from '../../engines/random-matrices.js';

type GoldenCovariances = Readonly<Record<StructuredRequest['estimator'], readonly (readonly number[])[]>> & {
  readonly returns: readonly (readonly number[])[];
  readonly threshold: number;
  readonly lags: number;
  readonly half_life: number;
};

const file = new URL('../../../../../test/golden/estimators/estimators.json', import.meta.url);
// the file has the format of its type
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly GoldenCovariances[] };

const DEFAULTS: Omit<StructuredRequest, 'estimator'> = { threshold: 0.5, lags: 0, scale: 1 };

function covariance(
  panel: Float64Array,
  assets: number,
  request: Partial<StructuredRequest>,
  engine = openWasmEngine(),
) {
  const out = new Float64Array(assets * assets);
  estimateStructuredCovariance(engine, panel.slice(), assets, { ...DEFAULTS, estimator: 'nonlinear', ...request }, out);
  return out;
}

/**
 * Compares values relative to the largest entry. The largest entry limits how accurate the small eigenvalues of a
 * sample are.
 */
function expectClose(actual: Float64Array, expected: ArrayLike<number>, digits = 1e-10): void {
  const size = Math.max(...Array.from(expected, Math.abs));
  for (let k = 0; k < actual.length; k++) expect(Math.abs(actual[k]! - expected[k]!)).toBeLessThan(digits * size);
}

const computeSample = (panel: Float64Array, assets: number) => {
  const out = new Float64Array(assets * assets);
  computeSampleCovariance(panel.slice(), assets, out);
  return out;
};

describe.each(STRUCTURED_ESTIMATORS)('the covariance by %s', (estimator) => {
  test.each(cases.map((one) => [one.returns.length, one.returns[0]!.length, one] as const))(
    'of %d observations of %d securities agrees with its paper, written out in numpy',
    (observations, assets, { returns, threshold, lags, half_life: halfLife, ...expected }) => {
      const weights = new Float64Array(observations);
      fillHalfLifeWeights(halfLife, weights);
      const panel = Float64Array.from(returns.flat());
      for (const engine of [referenceEngine, openWasmEngine()])
        expectClose(
          covariance(panel, assets, { estimator, threshold, lags, weights }, engine),
          expected[estimator].flat(),
        );
    },
  );

  test('is symmetric, scales with the returns and is positive semi-definite', () => {
    const panel = createRandomPanel(40, 12, 7);
    const plainCovariance = covariance(panel, 12, { estimator, lags: 2 });
    expectClose(
      covariance(
        panel.map((value) => 3 * value),
        12,
        { estimator, lags: 2, scale: 2 },
      ),
      plainCovariance.map((value) => 18 * value),
    );
    for (let i = 0; i < 12; i++)
      for (let j = 0; j < i; j++) expect(plainCovariance[i * 12 + j]).toBe(plainCovariance[j * 12 + i]);
    const servedMatrix = new Float64Array(144);
    const request = { ...DEFAULTS, estimator, lags: 2 };
    const { isPositiveSemiDefinite } = estimateStructured(openWasmEngine(), panel.slice(), 12, request, servedMatrix);
    expect(isPositiveSemiDefinite).toBe(true);
  });
});

describe('nonlinear shrinkage', () => {
  test('keeps the eigenvalues of many observations, and moves those of few observations together', () => {
    const values = Float64Array.of(1, 2, 3, 5, 8);
    shrinkEigenvalues(values, 10_000_000).forEach((value, k) =>
      expect(Math.abs(value / values[k]! - 1)).toBeLessThan(0.01),
    );
    const fewEigenvalues = shrinkEigenvalues(values, 20);
    expect(fewEigenvalues[4]! / fewEigenvalues[0]!).toBeLessThan(8);
  });

  test('gives a variance to more securities than observations', () => {
    const panel = createRandomPanel(20, 30, 3);
    const matrix = covariance(panel, 30, { estimator: 'nonlinear' });
    const values = new Float64Array(30);
    expect(referenceEngine.symmetricEigenvalues(matrix, 30, values)).toBe(true);
    // Except for rounding, the sample has no variance in ten directions.
    expect(values[0]! / values[29]!).toBeGreaterThan(1e-9);
  });
});

describe('denoising', () => {
  test('keeps the sum of the eigenvalues and those above the edge, and changes nothing when repeated', () => {
    const values = Float64Array.of(0.2, 0.3, 0.4, 0.5, 0.6, 4);
    const denoisedEigen = denoise(values, 60);
    expect(denoisedEigen.signals).toBe(1);
    expect(denoisedEigen.values[5]).toBe(4);
    expect(denoisedEigen.values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(6, 12);
    expect([...denoise(denoisedEigen.values, 60).values]).toEqual([...denoisedEigen.values]);
  });
});

test('without lags the Newey-West covariance is the sample covariance', () => {
  const panel = createRandomPanel(50, 6, 11);
  expectClose(covariance(panel, 6, { estimator: 'newey_west' }), computeSample(panel, 6));
});

test('the Gerber statistic without a threshold counts signs', () => {
  const panel = Float64Array.of(1, 2, -1, -3, 2, 1, -2, 1);
  const out = covariance(panel, 2, { estimator: 'gerber', threshold: 0 });
  const sample = computeSample(panel, 2);
  // In three of the four pairs both have the same sign. The last pair has both signs.
  expect(out[1]).toBeCloseTo(0.5 * Math.sqrt(sample[0]! * sample[3]!), 14);
});

import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import {
  computeLedoitWolfIntensity,
  measureTargetDistances,
  type ShrinkageTarget,
} from '#kernels/moments/shrinkage.js';
import { computeSampleCovariance } from '#kernels/moments/sample-covariance.js';
import { createMatrices } from '../arbitraries.js';
import { readGolden } from '../golden.js';
import { createMatrixTarget } from './shrinkage-target.js';
import type { CovarianceCase } from './sample-covariance.test.js';

function computeIntensity(returns: Float64Array, assets: number, kind: ShrinkageTarget, ddof = 1): number {
  const observations = returns.length / assets;
  const covariance = new Float64Array(assets * assets);
  const panel = returns.slice();
  computeSampleCovariance(panel, assets, covariance);
  const rescale = (observations - 1) / (observations - ddof);
  for (let k = 0; k < covariance.length; k++) covariance[k]! *= rescale;
  for (let k = 0; k < panel.length; k++) panel[k]! *= Math.sqrt(rescale);
  const target = createMatrixTarget(kind, covariance, assets);
  const dispersion = 1 / (observations - ddof);
  return computeLedoitWolfIntensity(panel, target, measureTargetDistances(covariance, target), {
    rowFactors: new Float64Array(observations).fill(dispersion),
    dispersion,
  });
}

/**
 * Computes the published formulas directly, with all intermediate products. It is slow and does not use code of the
 * kernel.
 */
function computeIntensityByDefinition(
  returns: Float64Array,
  assets: number,
  kind: ShrinkageTarget,
): { intensity: number; distance: number } {
  const observations = returns.length / assets;
  const n = observations - 1;
  const x = Array.from({ length: observations }, (_, t) =>
    Array.from({ length: assets }, (_, i) => returns[t * assets + i]!),
  );
  const means = x[0]!.map((_, i) => x.reduce((total, row) => total + row[i]!, 0) / observations);
  const d = x.map((row) => row.map((value, i) => value - means[i]!));
  const listPairs = (f: (row: number[], i: number, j: number) => number) =>
    means.map((_, i) => means.map((_, j) => d.reduce((total, row) => total + f(row, i, j), 0) / n));
  const s = listPairs((row, i, j) => row[i]! * row[j]!);
  const pi = listPairs((row, i, j) => row[i]! ** 2 * row[j]! ** 2).map((line, i) =>
    line.map((value, j) => value - s[i]![j]! ** 2),
  );
  let correlations = 0;
  for (let i = 0; i < assets; i++)
    for (let j = 0; j < assets; j++) if (i !== j) correlations += s[i]![j]! / Math.sqrt(s[i]![i]! * s[j]![j]!);
  const rbar = assets === 1 ? 0 : correlations / (assets * (assets - 1));
  const mean = s.reduce((total, line, i) => total + line[i]!, 0) / assets;
  const theta = listPairs((row, i, j) => row[i]! ** 3 * row[j]!).map((line, i) =>
    line.map((value, j) => value - s[i]![i]! * s[i]![j]!),
  );
  let piSum = 0;
  let gamma = 0;
  let rho = 0;
  for (let i = 0; i < assets; i++) {
    for (let j = 0; j < assets; j++) {
      const offDiagonal = kind === 'scaled_identity' ? 0 : rbar * Math.sqrt(s[i]![i]! * s[j]![j]!);
      const f = i === j ? (kind === 'scaled_identity' ? mean : s[i]![i]!) : offDiagonal;
      piSum += pi[i]![j]!;
      gamma += (f - s[i]![j]!) ** 2;
      if (kind === 'constant_correlation')
        rho += i === j ? pi[i]![i]! : rbar * Math.sqrt(s[j]![j]! / s[i]![i]!) * theta[i]![j]!;
    }
  }
  return { intensity: Math.min(Math.max((piSum - rho) / gamma / n, 0), 1), distance: gamma / mean ** 2 };
}

/** Random panels in which every security moves, and no two move in the same way. */
const panels = createMatrices({ rowsMin: 3, rowsMax: 25, columnsMin: 3, columnsMax: 5 }).filter(
  ({ rows, columns, data }) => {
    const covariance = new Float64Array(columns * columns);
    computeSampleCovariance(data.slice(), columns, covariance);
    const variances = Array.from({ length: columns }, (_, i) => covariance[i * columns + i]!);
    return (
      rows >= 3 &&
      Math.min(...variances) > 1e-2 &&
      Math.max(...Array.from(covariance, (value, i) => (i % (columns + 1) === 0 ? 0 : Math.abs(value)))) > 1e-2
    );
  },
);

describe('computeLedoitWolfIntensity', () => {
  test.each(['constant_correlation', 'scaled_identity'] as const)(
    'agrees with the published formulas for %s',
    (kind) => {
      fc.assert(
        fc.property(panels, ({ columns, data }) => {
          const { intensity, distance } = computeIntensityByDefinition(data, columns, kind);
          // If a sample nearly equals its target, the intensity is a quotient of rounding errors.
          fc.pre(distance > 1e-6);
          expect(Math.abs(computeIntensity(data, columns, kind) - intensity)).toBeLessThanOrEqual(1e-8);
        }),
      );
    },
  );

  test.each(readGolden<CovarianceCase[]>('covariance'))(
    'agrees with scikit-learn once both divide by T: $name',
    ({ returns, assets, sklearn_ledoit_wolf_ddof0: expected }) => {
      // A single security equals its target. The intensity is 0 by definition, as in scikit-learn.
      if (assets === 1) return;
      expect(computeIntensity(Float64Array.from(returns), assets, 'scaled_identity', 0)).toBeCloseTo(
        expected.intensity,
        12,
      );
    },
  );

  test('is 0 when the sample is its own target', () => {
    expect(computeIntensity(Float64Array.of(1, 2, 4, 3), 1, 'scaled_identity')).toBe(0);
    expect(computeIntensity(Float64Array.of(1, 2, 4, 3), 1, 'constant_correlation')).toBe(0);
  });

  test('is 0 for two securities under constant correlation: any two securities have one', () => {
    fc.assert(
      fc.property(createMatrices({ rowsMin: 3, rowsMax: 25, columnsMin: 2, columnsMax: 2 }), ({ data }) => {
        expect(computeIntensity(data, 2, 'constant_correlation')).toBe(0);
      }),
    );
  });

  test('does not fail on constant or duplicated securities', () => {
    for (const kind of ['constant_correlation', 'scaled_identity'] as const) {
      for (const panel of [
        [1, 5, 2, 5, 4, 5],
        [1, 1, 2, 2, 4, 4],
        [1, 1, 1, 1, 1, 1],
      ]) {
        const intensity = computeIntensity(Float64Array.from(panel), 2, kind);
        expect(intensity >= 0 && intensity <= 1).toBe(true);
      }
    }
  });

  test('refuses a panel of another shape', () => {
    const target = createMatrixTarget('scaled_identity', Float64Array.of(1), 1);
    const weights = { rowFactors: new Float64Array(3), dispersion: 1 };
    expect(() => computeLedoitWolfIntensity(new Float64Array(2), target, { frobenius2: 1, gamma: 1 }, weights)).toThrow(
      KernelFault,
    );
    expect(() => measureTargetDistances(new Float64Array(2), target)).toThrow(KernelFault);
  });
});

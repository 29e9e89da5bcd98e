import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeSampleCovariance, fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import { computeLedoitWolfIntensity, measureTargetDistances } from '#kernels/moments/shrinkage.js';
import {
  expandCovariance,
  estimateLowRankCovariance,
  multiplyLowRank,
  type Shrinkage,
} from '#kernels/moments/low-rank-covariance.js';
import { createMatrices } from '../arbitraries.js';
import { expectClose, expectCovariance } from '../closeness.js';
import { createRandomPanel } from '../engines/random-matrices.js';
import { computeTargetByDefinition, createMatrixTarget } from './shrinkage-target.js';

/** Computes the estimate with every intermediate matrix. */
function estimateByMatrices(returns: Float64Array, assets: number, shrinkage: Shrinkage) {
  const panel = returns.slice();
  const covariance = new Float64Array(assets * assets);
  const moments = computeSampleCovariance(panel, assets, covariance);
  const target = createMatrixTarget(shrinkage.target, covariance, assets);
  const observations = returns.length / assets;
  const intensity =
    shrinkage.intensity ??
    (shrinkage.method === 'shape'
      ? assets / (assets + observations)
      : computeLedoitWolfIntensity(panel, target, measureTargetDistances(covariance, target), moments));
  const expected = computeTargetByDefinition(shrinkage.target, covariance, assets);
  return {
    covariance: covariance.map((value, k) => shrinkage.scale * (intensity * expected[k]! + (1 - intensity) * value)),
    intensity,
  };
}

const shrinkages = fc.record({
  target: fc.constantFrom('constant_correlation' as const, 'scaled_identity' as const),
  intensity: fc.oneof(fc.constant(null), fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  method: fc.constantFrom('shape' as const, 'ledoit_wolf' as const),
  scale: fc.constant(252),
});

describe('estimateLowRankCovariance', () => {
  test('equals the shrunk covariance matrix, for more and for fewer observations than securities', () => {
    fc.assert(
      fc.property(
        createMatrices({ rowsMin: 3, rowsMax: 15, columnsMin: 1, columnsMax: 12 }),
        shrinkages,
        ({ columns, data }, shrinkage) => {
          const expected = estimateByMatrices(data, columns, shrinkage);
          const actual = estimateLowRankCovariance(referenceEngine, data.slice(), columns, shrinkage);
          const out = new Float64Array(columns * columns);
          expandCovariance(referenceEngine, actual, out);
          // If a sample equals its target, the intensity is undefined. But the resulting matrix does not depend on it.
          expectCovariance(out, expected.covariance, columns, 1e-12);
          for (let i = 0; i < columns; i++)
            for (let j = 0; j < i; j++) expect(out[i * columns + j]).toBe(out[j * columns + i]);
        },
      ),
    );
  });

  test.each([
    [60, 20],
    [20, 60],
    [40, 40],
  ])('finds the same Ledoit-Wolf intensity either way, %i observations of %i securities', (observations, assets) => {
    const returns = createRandomPanel(observations, assets, 12);
    for (const target of ['constant_correlation', 'scaled_identity'] as const) {
      const shrinkage: Shrinkage = { target, intensity: null, method: 'ledoit_wolf', scale: 1 };
      const expected = estimateByMatrices(returns, assets, shrinkage).intensity;
      expect(estimateLowRankCovariance(openWasmEngine(), returns.slice(), assets, shrinkage).intensity).toBeCloseTo(
        expected,
        12,
      );
    }
  });

  test('finds intensity 0 for two securities over forty years: any two securities have one correlation', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const [sharedPanel, ownPanel] = [createRandomPanel(10_000, 1, seed), createRandomPanel(10_000, 1, seed + 100)];
      const returns = Float64Array.from({ length: 20_000 }, (_, i) =>
        i % 2 === 0 ? sharedPanel[i / 2]! + ownPanel[i / 2]! : sharedPanel[(i - 1) / 2]!,
      );
      expect(
        estimateLowRankCovariance(referenceEngine, returns, 2, {
          target: 'constant_correlation',
          intensity: null,
          method: 'ledoit_wolf',
          scale: 1,
        }).intensity,
      ).toBe(0);
    }
  });

  test('finds intensity 0 for thirty equal securities over 25 sessions', () => {
    const panel = createRandomPanel(25, 1, 16);
    const returns = Float64Array.from({ length: 25 * 30 }, (_, i) => panel[Math.floor(i / 30)]!);
    expect(
      estimateLowRankCovariance(openWasmEngine(), returns, 30, {
        target: 'constant_correlation',
        intensity: null,
        method: 'ledoit_wolf',
        scale: 1,
      }).intensity,
    ).toBe(0);
  });

  test.each([1e-1, 1e-3, 1e-5])(
    'keeps the digits of the intensity if assets differ by %d of their common part, and sessions are fewer',
    (ownScale) => {
      const [observations, assets] = [20, 40];
      const sharedPanel = createRandomPanel(observations, 1, 17);
      const returns = createRandomPanel(observations, 1, 18);
      const panel = Float64Array.from(
        { length: observations * assets },
        (_, i) => sharedPanel[Math.floor(i / assets)]! + ownScale * Math.sin(i * i) * returns[Math.floor(i / assets)]!,
      );
      const shrinkage: Shrinkage = { target: 'constant_correlation', intensity: null, method: 'ledoit_wolf', scale: 1 };
      const expected = estimateByMatrices(panel, assets, shrinkage).intensity;
      // The distance is a difference of nearly equal entries. So its relative accuracy is 1e-16 divided by its relative
      // size.
      expect(
        Math.abs(estimateLowRankCovariance(openWasmEngine(), panel.slice(), assets, shrinkage).intensity - expected),
      ).toBeLessThan(Math.max(1e-12, 1e-14 / ownScale));
    },
  );

  test('has no Ledoit-Wolf intensity if powers of the returns overflow', () => {
    const returns = createRandomPanel(30, 3, 19).map((value) => value * 1e200);
    expect(
      estimateLowRankCovariance(openWasmEngine(), returns, 3, {
        target: 'constant_correlation',
        intensity: null,
        method: 'ledoit_wolf',
        scale: 1,
      }).intensity,
    ).toBeNaN();
  });

  test('multiplies as its matrix does, also with weights', () => {
    const engine = openWasmEngine();
    for (const [observations, assets] of [
      [50, 9],
      [9, 50],
    ] as const) {
      const weights = new Float64Array(observations);
      fillHalfLifeWeights(12, weights);
      const model = estimateLowRankCovariance(engine, createRandomPanel(observations, assets, 13), assets, {
        target: 'constant_correlation',
        intensity: 0.3,
        method: 'shape',
        weights,
        scale: 252,
      });
      const matrix = new Float64Array(assets * assets);
      expandCovariance(engine, model, matrix);
      const v = createRandomPanel(assets, 1, 14);
      const expected = new Float64Array(assets);
      engine.symv(matrix, v, expected);
      const actual = new Float64Array(assets);
      multiplyLowRank(engine, model, v, actual);
      expectClose(actual, expected, 1e-12);
    }
  });

  test('with intensity 0 is the sample covariance and with 1 the target, to the last bits', () => {
    const returns = createRandomPanel(30, 6, 15);
    const sample = new Float64Array(36);
    computeSampleCovariance(returns.slice(), 6, sample);
    const shrinkAtIntensity = (intensity: number) => {
      const out = new Float64Array(36);
      expandCovariance(
        referenceEngine,
        estimateLowRankCovariance(referenceEngine, returns.slice(), 6, {
          target: 'scaled_identity',
          intensity,
          method: 'shape',
          scale: 1,
        }),
        out,
      );
      return out;
    };
    expect([...shrinkAtIntensity(0)]).toEqual([...sample]);
    const mean = sample.reduce((total, value, k) => total + (k % 7 === 0 ? value / 6 : 0), 0);
    expectClose(
      shrinkAtIntensity(1),
      Float64Array.from({ length: 36 }, (_, k) => (k % 7 === 0 ? mean : 0)),
      1e-14,
    );
  });

  test('refuses an intensity outside its range and one observation', () => {
    const shrinkage: Shrinkage = { target: 'scaled_identity', intensity: 2, method: 'shape', scale: 1 };
    expect(() => estimateLowRankCovariance(referenceEngine, new Float64Array(6), 2, shrinkage)).toThrow(KernelFault);
    expect(() =>
      estimateLowRankCovariance(referenceEngine, new Float64Array(2), 2, { ...shrinkage, intensity: 0 }),
    ).toThrow(KernelFault);
  });
});

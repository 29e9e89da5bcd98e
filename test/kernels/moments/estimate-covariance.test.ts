import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { type CovarianceRequest, estimateCovariance } from '#kernels/moments/estimate-covariance.js';
import { expectCovariance } from '../closeness.js';
import { createRandomPanel } from '../engines/random-matrices.js';
import { readGolden } from '../golden.js';
import type { CovarianceCase } from './sample-covariance.test.js';

const defaults: CovarianceRequest = {
  target: 'constant_correlation',
  intensity: null,
  method: 'shape',
  scale: 252,
  repair: false,
};

function estimate(
  engine: Engine,
  returns: ArrayLike<number>,
  assets: number,
  request: Partial<CovarianceRequest> = {},
) {
  const out = new Float64Array(assets * assets);
  const diagnostics = estimateCovariance(engine, Float64Array.from(returns), assets, { ...defaults, ...request }, out);
  return { matrix: out, diagnostics };
}

/** Returns an engine whose first product is the given matrix. */
function createFixedEngine(engine: Engine, product: Float64Array): Engine {
  let isFirst = true;
  return {
    ...engine,
    symmetricRankK(x, columns, out) {
      if (isFirst) out.set(product);
      else engine.symmetricRankK(x, columns, out);
      isFirst = false;
    },
  };
}

describe.each([
  ['definitions', referenceEngine],
  ['WebAssembly', openWasmEngine()],
] as const)('estimateCovariance by %s', (_, engine) => {
  test.each(readGolden<CovarianceCase[]>('covariance'))(
    "with intensity 0 is numpy's covariance and its eigenvalues: $name",
    ({ returns, assets, covariance, eigenvalues }) => {
      const { matrix, diagnostics } = estimate(engine, returns, assets, { intensity: 0, scale: 1 });
      expectCovariance(matrix, covariance, assets, 1e-12);
      const largest = eigenvalues.at(-1)!;
      expect(Math.abs(diagnostics.smallestEigenvalue - eigenvalues[0]!)).toBeLessThanOrEqual(1e-12 * largest);
      expect(diagnostics).toMatchObject({ intensity: 0, isPositiveSemiDefinite: true, isRepaired: false });
      const isSingular = eigenvalues[0]! <= 1e-15 * assets * largest;
      if (isSingular) expect(diagnostics.conditionNumber).toBe(1e300);
      else expect(diagnostics.conditionNumber / (largest / eigenvalues[0]!)).toBeCloseTo(1, 9);
    },
  );

  test('shrinks by N / (N + T) by default', () => {
    expect(estimate(engine, createRandomPanel(60, 20), 20).diagnostics.intensity).toBe(20 / 80);
    expect(estimate(engine, createRandomPanel(60, 20), 20, { intensity: 0.4 }).diagnostics.intensity).toBe(0.4);
  });

  test('finds the same extreme eigenvalues through the rows as through the matrix', () => {
    for (const request of [
      { target: 'scaled_identity', intensity: 0.3 },
      { target: 'scaled_identity', intensity: null },
      { target: 'constant_correlation', intensity: 0 },
    ] as const) {
      const { matrix, diagnostics } = estimate(engine, createRandomPanel(25, 40), 40, request);
      const values = new Float64Array(40);
      engine.symmetricEigenvalues(matrix, 40, values);
      expect(Math.abs(diagnostics.smallestEigenvalue - values[0]!)).toBeLessThanOrEqual(1e-12 * values[39]!);
      if (diagnostics.conditionNumber < 1e300)
        expect(diagnostics.conditionNumber * diagnostics.smallestEigenvalue).toBeCloseTo(values[39]!, 8);
    }
  });

  test('of constant prices is 0 and singular, of one security its variance', () => {
    const flatEstimate = estimate(engine, new Float64Array(60), 3);
    expect([...flatEstimate.matrix]).toEqual(Array.from({ length: 9 }, () => 0));
    expect(flatEstimate.diagnostics).toMatchObject({
      averageCorrelation: 0,
      smallestEigenvalue: 0,
      conditionNumber: 1e300,
      isPositiveSemiDefinite: true,
    });
    const estimation = estimate(engine, [0.01, -0.01, 0.03, -0.03], 1);
    expect(estimation.matrix[0]).toBeCloseTo((252 * 0.002) / 3, 15);
    expect(estimation.diagnostics).toMatchObject({ averageCorrelation: 0, conditionNumber: 1 });
  });

  test('of duplicated securities is singular at intensity 0 and not once shrunk towards the identity', () => {
    const singlePanel = createRandomPanel(50, 1);
    const repeatedPanel = Float64Array.from({ length: 100 }, (__, i) => singlePanel[Math.floor(i / 2)]!);
    expect(estimate(engine, repeatedPanel, 2, { intensity: 0 }).diagnostics.conditionNumber).toBe(1e300);
    expect(
      estimate(engine, repeatedPanel, 2, { intensity: 0.5, target: 'scaled_identity' }).diagnostics.conditionNumber,
    ).toBeCloseTo(3, 10);
  });

  test('reports the mean off-diagonal correlation of the returned matrix', () => {
    for (const intensity of [0, 0.4, 1]) {
      const { matrix, diagnostics } = estimate(engine, createRandomPanel(60, 7), 7, {
        intensity,
        target: 'scaled_identity',
      });
      let total = 0;
      for (let i = 0; i < 7; i++)
        for (let j = 0; j < 7; j++)
          if (i !== j) total += matrix[i * 7 + j]! / Math.sqrt(matrix[i * 8]! * matrix[j * 8]!);
      expect(diagnostics.averageCorrelation).toBeCloseTo(total / 42, 14);
    }
  });

  test('counts a security that never moves in the mean correlation of the target, with 0', () => {
    const movingPanel = createRandomPanel(40, 2);
    const returns = Float64Array.from({ length: 120 }, (__, i) =>
      i % 3 === 2 ? 0 : movingPanel[2 * Math.floor(i / 3) + (i % 3)]!,
    );
    const sample = estimate(engine, returns, 3, { intensity: 0 }).matrix;
    const target = estimate(engine, returns, 3, { intensity: 1 }).matrix;
    expect(Math.abs(target[1]! - sample[1]! / 3)).toBeLessThan(1e-15); // one of the three pairs is correlated
    expect([target[2], target[5], target[8]]).toEqual([0, 0, 0]);
  });

  test.each([
    [1e-7, 1e14],
    [1e-8, 1e300],
  ])('reports a matrix as singular from 1e-15 per security on: volatilities %d apart', (ratio, condition) => {
    const returns = Float64Array.of(1, ratio, -1, ratio, 1, -ratio, -1, -ratio); // uncorrelated returns
    expect(estimate(engine, returns, 2, { intensity: 0 }).diagnostics.conditionNumber / condition).toBeCloseTo(1, 9);
  });

  test.each([
    [1e-4, 1e-8, true], // 1e-12 below 0 is rounding relative to 1
    [1e-4, 1e-5, false],
    [100, 1e-13, true],
    [100, 1e-9, false], // 1e-7 below 0 is too much: 2e-8 are allowed for an eigenvalue of 200
  ])(
    'takes a variance of %d with a correlation %d past 1 for semi-definite: %s',
    (variance, beyond, isSemidefinite) => {
      const covariance = variance * (1 + beyond);
      const product = Float64Array.of(variance, covariance, covariance, variance);
      const returns = createRandomPanel(5, 2);
      const { diagnostics } = estimate(createFixedEngine(engine, product), returns, 2, { intensity: 0, scale: 1 });
      expect(diagnostics).toMatchObject({ isPositiveSemiDefinite: isSemidefinite, isRepaired: false });
      const repairedEstimate = estimate(createFixedEngine(engine, product), returns, 2, {
        intensity: 0,
        scale: 1,
        repair: true,
      });
      expect(repairedEstimate.diagnostics).toMatchObject({ isPositiveSemiDefinite: true, isRepaired: !isSemidefinite });
      expect([repairedEstimate.matrix[0], repairedEstimate.matrix[3]]).toEqual([variance, variance]);
      if (!isSemidefinite)
        expect(Math.abs(repairedEstimate.diagnostics.smallestEigenvalue)).toBeLessThan(1e-14 * variance);
    },
  );

  test('repair does not change a semi-definite matrix', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 30 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 1000 }),
        (observations, assets, seed) => {
          const panel = createRandomPanel(observations, assets, seed);
          const repairedEstimate = estimate(engine, panel, assets, { repair: true });
          const plainEstimate = estimate(engine, panel, assets, { repair: false });
          expect(repairedEstimate.diagnostics.isRepaired).toBe(false);
          expect([...repairedEstimate.matrix]).toEqual([...plainEstimate.matrix]);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('repair corrects the errors of float32 products in float64', () => {
    // Products in float32 are slightly indefinite. This engine changes the diagonal by a hundredth in every product.
    const coarse: Engine = {
      ...engine,
      precision: 'float32',
      symmetricRankK: (x, columns, out) => {
        engine.symmetricRankK(x, columns, out);
        for (let i = 0; i < columns; i++) out[i * (columns + 1)]! *= 0.99;
      },
    };
    const panel = createRandomPanel(10, 30).map((value) => value / 10);
    const brokenEstimate = estimate(coarse, panel, 30, { intensity: 1e-9 });
    expect(brokenEstimate.diagnostics).toMatchObject({ isPositiveSemiDefinite: false, isRepaired: false });
    const repairedEstimate = estimate(coarse, panel, 30, { intensity: 1e-9, repair: true });
    expect(repairedEstimate.diagnostics).toMatchObject({ isPositiveSemiDefinite: true, isRepaired: true });
    for (let i = 0; i < 30; i++)
      for (let j = 0; j < i; j++) expect(repairedEstimate.matrix[i * 30 + j]).toBe(repairedEstimate.matrix[j * 30 + i]);
  });
});

test('both engines report each stage once, in order', () => {
  const stages: string[] = [];
  estimateCovariance(referenceEngine, createRandomPanel(30, 4), 4, defaults, new Float64Array(16), (stage) =>
    stages.push(stage),
  );
  expect(stages).toEqual(['moments', 'product', 'eigenvalues']);
});

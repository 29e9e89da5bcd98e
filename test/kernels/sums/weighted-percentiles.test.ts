import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeWeightedPercentiles } from '#kernels/sums/weighted-percentiles.js';

const SHARES = Float64Array.of(0.1, 0.5, 0.9);

/**
 * Computes a percentile by definition. It is the smallest value for which the given share of the weights is at or below
 * it.
 */
function computeByDefinition(values: readonly number[], weights: readonly number[], share: number): number {
  const positions = values.map((_, i) => i).filter((i) => weights[i] !== 0 && !Number.isNaN(values[i]!));
  const total = positions.reduce((sum, i) => sum + Math.abs(weights[i]!), 0);
  const sumUpTo = (limit: number) =>
    positions.reduce((sum, i) => sum + (values[i]! <= limit ? Math.abs(weights[i]!) : 0), 0);
  return Math.min(...positions.map((i) => values[i]!).filter((value) => sumUpTo(value) >= share * total - 1e-12));
}

const IMPLEMENTATIONS = [
  ['the definition', computeWeightedPercentiles],
  ['WebAssembly', openWasmEngine().weightedPercentiles],
] as const;

describe.each(IMPLEMENTATIONS)('%s', (_, computePercentiles) => {
  /** Returns the mean, the coverage and the percentiles of a date. */
  function computeFigures(values: readonly number[], weights: readonly number[]): number[] {
    const out = new Float64Array(2 + SHARES.length);
    const weightedValues = {
      values: Float64Array.from(values),
      weights: Float64Array.from(weights),
      count: values.length,
    };
    computePercentiles(weightedValues, SHARES, out);
    return [...out];
  }

  test('finds the smallest values that a share of the weights reaches, their mean and coverage', () => {
    const weights = [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1];
    // Means computed by hand. The first is 0.1 + 0.2 + 0.3 + 0.8 + 1 + 1.2 + 0.7. The mean of the third date, with the
    // short position, is -0.6 / 0.6.
    const dates = [
      { values: [1, 2, 3, 4, 5, 6, 7], weights, mean: 4.3, coverage: 1 },
      { values: [7, 6, 5, 4, 3, 2, 1], weights, mean: 3.7, coverage: 1 },
      // Ties, a missing value, a short position, and a security that is not held.
      {
        values: [2, 2, NaN, 9, -1, 3, 3],
        weights: [0.4, 0.3, 0.2, 0, -0.2, 0.1, 0.2],
        mean: 2.5 / 0.8,
        coverage: 6 / 7,
      },
    ];
    for (const date of dates) {
      const [mean, coverage, ...percentiles] = computeFigures(date.values, date.weights);
      expect(mean).toBeCloseTo(date.mean, 14);
      expect(coverage).toBeCloseTo(date.coverage, 14);
      expect(percentiles).toEqual([...SHARES].map((share) => computeByDefinition(date.values, date.weights, share)));
    }
  });

  test('has no figures without holdings, no mean of weights that sum to 0, and ignores values beyond the count', () => {
    expect(computeFigures([0, 0], [0, 0])).toEqual([NaN, 0, NaN, NaN, NaN]);
    expect(computeFigures([NaN], [1])).toEqual([NaN, 0, NaN, NaN, NaN]);
    expect(computeFigures([], [])).toEqual([NaN, 0, NaN, NaN, NaN]);
    expect(computeFigures([3, 5], [1, -1])).toEqual([NaN, 1, 3, 3, 5]);
    const out = new Float64Array(5);
    const [values, weights] = [Float64Array.of(2, 1, 9), Float64Array.of(1, 1, 9)];
    computePercentiles({ values, weights, count: 2 }, SHARES, out);
    expect([...out]).toEqual([1.5, 1, 1, 1, 2]);
  });

  test('agrees with the definition for many securities, some distant and some equal', () => {
    const names = Array.from({ length: 200 }, (_, i) => i);
    const spreads = [
      (i: number) => Math.sin(i * 12.9898),
      (i: number) => Math.exp(9 * Math.sin(i * 78.233)),
      (i: number) => Math.floor(5 * Math.sin(i * 4.1414)),
      (i: number) => (i === 7 ? Infinity : i % 3 === 0 ? NaN : 1 / (i + 1)),
      // Each part is divided again, up to the maximum depth.
      (i: number) => (i < 170 ? -(2 ** (-5 * i)) : i),
      () => 2,
    ];
    for (const spread of spreads) {
      const values = names.map(spread);
      for (const weights of [names.map(() => 1 / 256), names.map((i) => ((i * 7919) % 101) / 64 - 0.5)])
        expect(computeFigures(values, weights).slice(2)).toEqual(
          [...SHARES].map((share) => computeByDefinition(values, weights, share)),
        );
    }
  });

  test('refuses more values than the input has, and output for other shares', () => {
    const [values, weights] = [new Float64Array(3), new Float64Array(2)];
    expect(() => computePercentiles({ values, weights, count: 3 }, SHARES, new Float64Array(5))).toThrow(KernelFault);
    expect(() => computePercentiles({ values, weights, count: 2 }, SHARES, new Float64Array(4))).toThrow(KernelFault);
  });
});

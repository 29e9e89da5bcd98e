import { expect, test } from 'vitest';
import { weightedPercentiles, type WeightedPercentiles } from '#domain/analytics/weighted-percentiles.js';

const SHARES = [0.1, 0.5, 0.9];

/** By the definition: the least value at or below which the share of the weights lies. */
function byDefinition(values: readonly number[], weights: readonly number[], share: number): number {
  const held = values.map((_, i) => i).filter((i) => weights[i] !== 0 && !Number.isNaN(values[i]!));
  const total = held.reduce((sum, i) => sum + Math.abs(weights[i]!), 0);
  const below = (limit: number) => held.reduce((sum, i) => sum + (values[i]! <= limit ? Math.abs(weights[i]!) : 0), 0);
  return Math.min(...held.map((i) => values[i]!).filter((value) => below(value) >= share * total - 1e-12));
}

/** Percentiles of one date. */
function into(of: WeightedPercentiles, out: Float64Array, values: ArrayLike<number>, weights: ArrayLike<number>): void {
  of.values.set(values);
  of.part(values.length);
  of.by(Float64Array.from(weights), out);
}

test('percentiles are the least values that a share of the weights reaches', () => {
  const out = new Float64Array(SHARES.length);
  const percentiles = weightedPercentiles(7, SHARES);
  // The second date is the reverse of the first, the third has ties, a missing value, a short and names not held.
  const dates = [
    { values: [1, 2, 3, 4, 5, 6, 7], weights: [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1] },
    { values: [7, 6, 5, 4, 3, 2, 1], weights: [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1] },
    { values: [2, 2, NaN, 9, -1, 3, 3], weights: [0.4, 0.3, 0.2, 0, -0.2, 0.1, 0.2] },
  ];
  for (const { values, weights } of dates) {
    into(percentiles, out, values, weights);
    expect([...out]).toEqual(SHARES.map((share) => byDefinition(values, weights, share)));
  }
  into(percentiles, out, new Float64Array(7), new Float64Array(7));
  expect([...out]).toEqual([NaN, NaN, NaN]);
});

test('percentiles of a date do not depend on the dates before it', () => {
  const values = Float64Array.from({ length: 60 }, (_, i) => (i * 37) % 11);
  const weights = Float64Array.from({ length: 60 }, (_, i) => ((i * 29) % 17) / 7);
  const [after, alone] = [new Float64Array(SHARES.length), new Float64Array(SHARES.length)];
  const used = weightedPercentiles(60, SHARES);
  into(used, after, values.toReversed(), weights);
  into(used, after, values, weights);
  into(weightedPercentiles(60, SHARES), alone, values, weights);
  expect(after).toEqual(alone);
});

test('percentiles of many names, some far from the others and some equal, are those of the definition', () => {
  const names = Array.from({ length: 200 }, (_, i) => i);
  const spreads = [
    (i: number) => Math.sin(i * 12.9898),
    (i: number) => Math.exp(9 * Math.sin(i * 78.233)),
    (i: number) => Math.floor(5 * Math.sin(i * 4.1414)),
    (i: number) => (i === 7 ? Infinity : i % 3 === 0 ? NaN : 1 / (i + 1)),
    () => 2,
  ];
  const percentiles = weightedPercentiles(names.length, SHARES);
  const out = new Float64Array(SHARES.length);
  for (const spread of spreads) {
    const values = names.map(spread);
    for (const weights of [names.map(() => 1 / 256), names.map((i) => ((i * 7919) % 101) / 64 - 0.5)]) {
      into(percentiles, out, values, weights);
      expect([...out]).toEqual(SHARES.map((share) => byDefinition(values, weights, share)));
    }
  }
});

import { describe, expect, test } from 'vitest';
import { averageTail, poolEntropy, type TailView, type ViewRows } from '#kernels/weighting/entropy-pooling.js';
import { seeded } from '../../seeded.js';

const NO_ROWS: ViewRows = { values: new Float64Array(0), bounds: new Float64Array(0), equalities: new Uint8Array(0) };

const createRows = (
  rows: readonly (readonly [values: readonly number[], bound: number, isEqual?: boolean])[],
): ViewRows => ({
  values: Float64Array.from(rows.flatMap(([values]) => values)),
  bounds: Float64Array.from(rows, ([, bound]) => bound),
  equalities: Uint8Array.from(rows, ([, , isEqual = true]) => (isEqual ? 1 : 0)),
});

const even = (count: number) => new Float64Array(count).fill(1 / count);
const average = (values: readonly number[], p: Float64Array) =>
  values.reduce((sum, value, t) => sum + value * p[t]!, 0);
const computeEntropy = (p: ArrayLike<number>, q: ArrayLike<number>) =>
  Array.from(p).reduce((sum, value, t) => (value > 0 ? sum + value * Math.log(value / q[t]!) : sum), 0);

describe('probabilities nearest to a prior', () => {
  test('of a die with the average 4.5 are those that Jaynes published', () => {
    // E. T. Jaynes in The Maximum Entropy Formalism (1978), the Brandeis dice problem.
    const published = [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749];
    const { status, probabilities, entropy, bound } = poolEntropy(even(6), createRows([[[1, 2, 3, 4, 5, 6], 4.5]]));
    expect(status).toBe('solved');
    published.forEach((p, t) => expect(Math.abs(probabilities[t]! - p)).toBeLessThan(5.1e-6));
    // The published entropy of the probabilities is 1.61358; that of the prior is ln 6.
    expect(entropy).toBeCloseTo(Math.log(6) - 1.61358, 5);
    expect(entropy - bound).toBeLessThan(1e-12);
  });

  test('are the prior if it satisfies the views, and meet only violated lower bounds', () => {
    const values = [1, 2, 3];
    const idle = poolEntropy(even(3), createRows([[values, 1.9, false]]));
    expect([...idle.probabilities]).toEqual([...even(3)]);
    expect([idle.multipliers[0], idle.entropy]).toEqual([0, 0]);
    const raised = poolEntropy(even(3), createRows([[values, 2.2, false]]));
    expect(average(values, raised.probabilities)).toBeCloseTo(2.2, 12);
    expect(raised.multipliers[0]).toBeGreaterThan(0);
  });

  test('satisfy random views, have exponential form, and no feasible exchange lowers their entropy', () => {
    const random = seeded(7);
    for (let round = 0; round < 20; round++) {
      const count = 40;
      const q = Float64Array.from({ length: count }, () => 0.2 + random());
      const total = q.reduce((sum, value) => sum + value, 0);
      for (let t = 0; t < count; t++) q[t]! /= total;
      const series = [0, 1, 2].map(() => Array.from({ length: count }, () => random() - 0.5));
      // Bounds of probabilities that exist, so that the views are feasible.
      const other = Float64Array.from(q, (value) => value * (0.3 + random()));
      const otherTotal = other.reduce((sum, value) => sum + value, 0);
      const isEqual = [true, false, true];
      const rows = createRows(
        series.map((values, k) => [values, average(values, other) / otherTotal, isEqual[k]!] as const),
      );
      const { status, probabilities: p, multipliers, entropy, bound } = poolEntropy(q, rows);
      expect(status).toBe('solved');
      expect(p.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 13);
      series.forEach((values, k) => {
        const slack = average(values, p) - rows.bounds[k]!;
        if (isEqual[k]) expect(Math.abs(slack)).toBeLessThan(1e-11);
        else
          expect(Math.min(slack, 0) + Math.min(multipliers[k]!, 0) + Math.min(-slack * multipliers[k]!, 0)).toBeCloseTo(
            0,
            10,
          );
      });
      // ln(p / q) less the multipliers times the values is the same for all scenarios.
      const constants = Array.from(
        p,
        (value, t) =>
          Math.log(value / q[t]!) - series.reduce((sum, values, k) => sum + multipliers[k]! * values[t]!, 0),
      );
      expect(Math.max(...constants) - Math.min(...constants)).toBeLessThan(1e-9);
      expect(Math.abs(entropy - bound)).toBeLessThan(1e-12);
      expect(entropy).toBeLessThanOrEqual(
        computeEntropy(
          other.map((value) => value / otherTotal),
          q,
        ) + 1e-12,
      );
      // The multiplier is the slope of the entropy.
      const step = 1e-4;
      const moved = poolEntropy(q, {
        ...rows,
        bounds: rows.bounds.map((value, k) => (k === 0 ? value + step : value)),
      });
      const back = poolEntropy(q, { ...rows, bounds: rows.bounds.map((value, k) => (k === 0 ? value - step : value)) });
      expect((moved.entropy - back.entropy) / (2 * step)).toBeCloseTo(multipliers[0]!, 4);
    }
  });

  test('do not exist for views that contradict the scenarios or each other, which the multipliers prove', () => {
    const values = [1, 2, 3];
    expect(poolEntropy(even(3), createRows([[values, 3.5]])).status).toBe('infeasible');
    expect(
      poolEntropy(
        even(3),
        createRows([
          [values, 2.5],
          [values, 2.4],
        ]),
      ).status,
    ).toBe('infeasible');
    expect(
      poolEntropy(
        even(3),
        createRows([
          [values, 2.5],
          [values, 2.5],
        ]),
      ).status,
    ).toBe('solved');
  });
});

describe('a view on the average of the worst losses', () => {
  const losses = Float64Array.of(0, 1);
  const createTail = (bound: number, side: TailView['side'], share = 0.5): TailView => ({ losses, share, bound, side });

  test('of two scenarios gives the probability by hand', () => {
    // The worst half has the average min(p, 0.5) / 0.5, and the prior 0.25 / 0.5.
    const prior = Float64Array.of(0.75, 0.25);
    expect(averageTail({ losses, share: 0.5 }, prior)).toEqual({ average: 0.5, level: 0 });
    for (const [bound, side, p] of [
      [0.8, 'at_least', 0.4],
      [0.2, 'at_most', 0.1],
      [0.4, 'at_least', 0.25],
      [0.6, 'at_most', 0.25],
    ] as const) {
      const { status, probabilities, entropy, tailMultipliers } = poolEntropy(prior, NO_ROWS, [
        createTail(bound, side),
      ]);
      expect(status).toBe('solved');
      expect(probabilities[1]).toBeCloseTo(p, 11);
      expect(entropy).toBeCloseTo(computeEntropy([1 - p, p], prior), 11);
      if (p === 0.25) expect(tailMultipliers[0]).toBe(0);
    }
    expect(poolEntropy(prior, NO_ROWS, [createTail(-0.1, 'at_most')]).status).toBe('infeasible');
    expect(poolEntropy(prior, NO_ROWS, [createTail(1.1, 'at_least')]).status).toBe('infeasible');
  });

  test.each(['at_least', 'at_most'] as const)(
    '%s a bound has the least entropy of all sets of worst scenarios',
    (side) => {
      const random = seeded(side === 'at_most' ? 3 : 4);
      for (let round = 0; round < 6; round++) {
        const count = 12;
        const drawn = Array.from({ length: count }, () => random() ** 3);
        const tail = { losses: Float64Array.from(drawn), share: 0.2 };
        const values = Array.from({ length: count }, () => random());
        const rows = createRows([[values, average(values, even(count)) + 0.03]]);
        const { average: before } = averageTail(tail, poolEntropy(even(count), rows).probabilities);
        const bound = side === 'at_least' ? before + 0.3 * (Math.max(...drawn) - before) : 0.8 * before;
        const result = poolEntropy(even(count), rows, [{ ...tail, bound, side }]);
        expect(result.status).toBe('solved');
        expect(averageTail(tail, result.probabilities).average).toBeCloseTo(bound, 9);
        expect(average(values, result.probabilities)).toBeCloseTo(rows.bounds[0]!, 10);
        // The average is the least of level + excess / share over all levels: at least a bound if all of them are, and at
        // most a bound if one of them is.
        const excesses = drawn.map((level) => drawn.map((loss) => level + Math.max(loss - level, 0) / tail.share));
        const solveWith = (list: readonly (readonly number[])[], sign: number) =>
          poolEntropy(even(count), {
            values: Float64Array.from([...rows.values, ...list.flat().map((value) => sign * value)]),
            bounds: Float64Array.of(rows.bounds[0]!, ...list.map(() => sign * bound)),
            equalities: Uint8Array.of(1, ...list.map(() => 0)),
          });
        const least =
          side === 'at_least'
            ? solveWith(excesses, 1).entropy
            : Math.min(
                ...excesses.flatMap((excess) => {
                  const { status, entropy } = solveWith([excess], -1);
                  return status === 'solved' ? [entropy] : [];
                }),
              );
        expect(result.entropy).toBeCloseTo(least, 10);
        expect(Math.abs(result.entropy - result.bound)).toBeLessThan(1e-10);
      }
    },
  );
});

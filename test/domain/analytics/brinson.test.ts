import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { attributeByGroup, type GroupedPeriod } from '#domain/analytics/attribution.js';

const createPeriod = (weights: readonly number[], returns: readonly number[]): GroupedPeriod => ({
  weights: Float64Array.from(weights),
  contributions: Float64Array.from(weights, (weight, k) => weight * returns[k]!),
});

describe('Brinson-Fachler', () => {
  test('of one period is the textbook calculation', () => {
    // Portfolio: two groups of 60 and 40 % that return 10 and 2 %. Benchmark: groups of 50 and 50 % that return 8 and 4
    // %, so it returns 6 % in total.
    const period = createPeriod([0.6, 0.4], [0.1, 0.02]);
    const other = createPeriod([0.5, 0.5], [0.08, 0.04]);
    const { allocation, selection, interaction, portfolioReturn, benchmarkReturn, residual } = attributeByGroup({
      groups: 2,
      days: [19_000],
      portfolio: () => period,
      benchmark: () => other,
    });
    const expectClose = (actual: Float64Array, expected: number[]) =>
      expected.forEach((value, k) => expect(actual[k]).toBeCloseTo(value, 12));
    expectClose(allocation, [0.1 * 0.02, -0.1 * -0.02]);
    expectClose(selection, [0.5 * 0.02, 0.5 * -0.02]);
    expectClose(interaction, [0.1 * 0.02, -0.1 * -0.02]);
    expect([portfolioReturn, benchmarkReturn]).toEqual([expect.closeTo(0.068, 12), expect.closeTo(0.06, 12)]);
    expect(residual).toBeCloseTo(0, 15);
  });

  test('a group that is on one side only is attributed to allocation or interaction', () => {
    const { allocation, selection, interaction } = attributeByGroup({
      groups: 3,
      days: [19_000],
      portfolio: () => createPeriod([0.5, 0.5, 0], [0.1, 0.2, 0]),
      benchmark: () => createPeriod([0.5, 0, 0.5], [0.1, 0, 0.04]),
    });
    expect([allocation[1], selection[1]]).toEqual([0, 0]);
    expect(interaction[1]).toBeCloseTo(0.5 * (0.2 - 0.07), 12);
    expect(allocation[2]).toBeCloseTo(-0.5 * (0.04 - 0.07), 12);
    expect([selection[2], interaction[2]]).toEqual([0, expect.closeTo(0, 15)]);
  });

  test('over many periods adds up to the active return', () => {
    const weights = fc
      .array(fc.integer({ min: 0, max: 100 }), { minLength: 3, maxLength: 3 })
      .filter((parts) => parts.some((part) => part > 0));
    const side = fc
      .record({ weights, returns: fc.array(fc.integer({ min: -500, max: 500 }), { minLength: 3, maxLength: 3 }) })
      .map(({ weights: parts, returns }) => {
        const sum = parts.reduce((a, b) => a + b, 0);
        return createPeriod(
          parts.map((part) => part / sum),
          returns.map((value) => value / 1000),
        );
      });
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { minLength: 1, maxLength: 40 }), (periods) => {
        const effects = attributeByGroup({
          groups: 3,
          days: periods.map((_, p) => 19_000 + p),
          portfolio: (p) => periods[p]![0],
          benchmark: (p) => periods[p]![1],
        });
        expect(Math.abs(effects.residual)).toBeLessThanOrEqual(
          1e-12 * Math.max(1, Math.abs(effects.portfolioReturn), Math.abs(effects.benchmarkReturn)),
        );
      }),
    );
  });
});

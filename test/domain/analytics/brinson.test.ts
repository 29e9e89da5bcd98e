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

describe('geometric effects', () => {
  // C. Bacon, Practical Portfolio Performance Measurement and Attribution, 2nd ed., 2008, chapter 5: the example of
  // three markets with returns of 8.3 % against 6.4 %.
  const portfolio = createPeriod([0.4, 0.3, 0.3], [0.2, -0.05, 0.06]);
  const benchmark = createPeriod([0.4, 0.2, 0.4], [0.1, -0.04, 0.08]);
  const geometric = { groups: 3, linking: 'geometric' } as const;

  test('of one period are those of the published example', () => {
    const effects = attributeByGroup({
      ...geometric,
      days: [19_000],
      portfolio: () => portfolio,
      benchmark: () => benchmark,
    });
    const percent = (values: Float64Array) => [...values].map((value) => Number((100 * value).toFixed(2)) + 0);
    expect(percent(effects.allocation)).toEqual([0, -0.98, -0.15]);
    expect(percent(effects.selection)).toEqual([3.8, -0.29, -0.57]);
    expect(effects.totals.allocation).toBeCloseTo(1.052 / 1.064 - 1, 12);
    expect(effects.totals.selection).toBeCloseTo(1.083 / 1.052 - 1, 12);
    expect([effects.totals.interaction, effects.totals.currency]).toEqual([0, 0]);
    expect(effects.activeReturn).toBeCloseTo(1.083 / 1.064 - 1, 12);
    expect(effects.residual).toBeCloseTo(0, 14);
  });

  test('compound over periods, and their groups sum to them', () => {
    const periods = [
      [portfolio, benchmark],
      [createPeriod([0.5, 0.2, 0.3], [-0.1, 0.04, 0.02]), createPeriod([0.3, 0.3, 0.4], [-0.08, 0.05, 0.01])],
    ] as const;
    const effects = attributeByGroup({
      ...geometric,
      days: [19_000, 19_001],
      portfolio: (period) => periods[period]![0],
      benchmark: (period) => periods[period]![1],
    });
    const { totals } = effects;
    // By hand: S is 5.2 % and then 0.5 x -8 % + 0.2 x 5 % + 0.3 x 1 % = -2.7 %; B is 6.4 % and -0.5 %; R 8.3 % and -3.6 %.
    expect(totals.allocation).toBeCloseTo((1.052 / 1.064) * (0.973 / 0.995) - 1, 12);
    expect(totals.selection).toBeCloseTo((1.083 / 1.052) * (0.964 / 0.973) - 1, 12);
    expect((1 + totals.allocation) * (1 + totals.selection)).toBeCloseTo((1.083 * 0.964) / (1.064 * 0.995), 12);
    for (const name of ['allocation', 'selection'] as const)
      expect(effects[name].reduce((sum, value) => sum + value, 0)).toBeCloseTo(totals[name], 12);
  });
});

describe('currency effects', () => {
  // Two markets; the second gains 10 % in its currency, whose rate gains 5 %: 1.10 x 1.05 - 1 = 15.5 %.
  const createLocal = (
    weights: readonly number[],
    local: readonly number[],
    rates: readonly number[],
  ): GroupedPeriod => ({
    ...createPeriod(
      weights,
      local.map((value, k) => (1 + value) * (1 + rates[k]!) - 1),
    ),
    local: createPeriod(weights, local).contributions,
  });
  const portfolio = createLocal([0.4, 0.6], [0.02, 0.1], [0, 0.05]);
  const benchmark = createLocal([0.7, 0.3], [0.03, 0.08], [0, 0.05]);

  test('are the difference of the effects of exchange rates, and the others those of local returns', () => {
    const effects = attributeByGroup({
      groups: 2,
      days: [19_000],
      portfolio: () => portfolio,
      benchmark: () => benchmark,
    });
    const benchmarkLocal = 0.7 * 0.03 + 0.3 * 0.08;
    expect(effects.allocation[1]).toBeCloseTo(0.3 * (0.08 - benchmarkLocal), 12);
    expect(effects.selection[1]).toBeCloseTo(0.3 * 0.02, 12);
    expect(effects.currency[0]).toBeCloseTo(0, 15);
    expect(effects.currency[1]).toBeCloseTo(0.6 * 0.05 * 1.1 - 0.3 * 0.05 * 1.08, 12);
    expect(effects.residual).toBeCloseTo(0, 15);
  });

  test('of geometric effects are the ratio of the growth of total over local returns', () => {
    const { totals, activeReturn, residual } = attributeByGroup({
      groups: 2,
      linking: 'geometric',
      days: [19_000],
      portfolio: () => portfolio,
      benchmark: () => benchmark,
    });
    const [own, ownLocal] = [0.4 * 0.02 + 0.6 * 0.155, 0.4 * 0.02 + 0.6 * 0.1];
    const [other, otherLocal] = [0.7 * 0.03 + 0.3 * (1.08 * 1.05 - 1), 0.7 * 0.03 + 0.3 * 0.08];
    expect(totals.currency).toBeCloseTo((1 + own) / (1 + ownLocal) / ((1 + other) / (1 + otherLocal)) - 1, 12);
    expect(activeReturn).toBeCloseTo((1 + own) / (1 + other) - 1, 12);
    expect(residual).toBeCloseTo(0, 14);
  });
});

import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import {
  attributeByGroup,
  computeGroupReturn,
  createGroupReturns,
  type GroupedPeriod,
} from '#domain/analytics/attribution.js';

const createPeriod = (weights: readonly number[], contributions: readonly number[]): GroupedPeriod => ({
  weights: Float64Array.from(weights),
  contributions: Float64Array.from(contributions),
});

function compoundPeriods(periods: readonly GroupedPeriod[]): readonly (number | null)[] {
  const groups = periods[0]!.weights.length;
  const returns = createGroupReturns(groups);
  for (const period of periods) returns.add(period);
  return Array.from({ length: groups }, (_, k) => returns.get(k));
}

test('the return of a group over one period is its contribution divided by its weight', () => {
  expect(compoundPeriods([createPeriod([0.5, 0.4, -0.1], [0.05, -0.02, 0.01])])).toEqual([
    expect.closeTo(0.1, 12),
    expect.closeTo(-0.05, 12),
    expect.closeTo(-0.1, 12),
  ]);
});

test('the returns of the periods in which a group has a weight are compounded', () => {
  // The first group returns 10 % and, after a period without a weight, -20 %: 1.1 x 0.8 = 0.88. The second returns 2, 3
  // and 4 %: 1.02 x 1.03 x 1.04 = 1.092624. Its weight changes, which does not change its return.
  const [first, second] = compoundPeriods([
    createPeriod([0.5, 0.5], [0.05, 0.01]),
    createPeriod([0, 1], [0.007, 0.03]),
    createPeriod([0.25, 0.75], [-0.05, 0.03]),
  ]);
  expect(first).toBeCloseTo(-0.12, 12);
  expect(second).toBeCloseTo(0.092624, 12);
});

test('a group without a weight has no return, although it has a contribution', () => {
  expect(compoundPeriods([createPeriod([1, 0, 1e-12], [0.1, 0.02, 0.01])])).toEqual([
    expect.closeTo(0.1, 12),
    null,
    null,
  ]);
});

test('a group that lost its weight has a return of -1, and one that lost more has none', () => {
  const periods = [createPeriod([0.1, 0.02], [-0.1, -0.03]), createPeriod([0.3, 0.3], [0.03, 0.03])];
  expect(compoundPeriods(periods)).toEqual([-1, null]);
});

const randomPeriod = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: -500, max: 500 })), {
    minLength: 3,
    maxLength: 3,
  })
  .filter((groups) => groups.some(([part]) => part > 0))
  .map((groups) => {
    const sum = groups.reduce((total, [part]) => total + part, 0);
    return createPeriod(
      groups.map(([part]) => part / sum),
      groups.map(([part, value]) => (part / sum) * (value / 1000)),
    );
  });

test('the effects of one period follow from weights and group returns', () => {
  fc.assert(
    fc.property(randomPeriod, randomPeriod, (portfolio, benchmark) => {
      const effects = attributeByGroup({
        groups: 3,
        days: [19_000],
        portfolio: () => portfolio,
        benchmark: () => benchmark,
      });
      const benchmarkReturn = benchmark.contributions.reduce((sum, part) => sum + part, 0);
      for (let k = 0; k < 3; k++) {
        const [w, b] = [portfolio.weights[k]!, benchmark.weights[k]!];
        const other = effects.benchmarkGroupReturns.get(k);
        const own = computeGroupReturn(portfolio, k);
        expect([own === null, other === null]).toEqual([w === 0, b === 0]);
        if (own === null || other === null) continue;
        expect(effects.allocation[k]).toBeCloseTo((w - b) * (other - benchmarkReturn), 12);
        expect(effects.selection[k]).toBeCloseTo(b * (own - other), 12);
        expect(effects.interaction[k]).toBeCloseTo((w - b) * (own - other), 12);
      }
    }),
  );
});

test('a group that is the whole portfolio has the return of the portfolio', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -900, max: 900 }), { minLength: 1, maxLength: 40 }), (returns) => {
      const periods = returns.map((value) => createPeriod([1], [value / 1000]));
      const effects = attributeByGroup({
        groups: 1,
        days: returns.map((_, p) => 19_000 + p),
        portfolio: (p) => periods[p]!,
        benchmark: (p) => periods[p]!,
      });
      expect(effects.benchmarkGroupReturns.get(0)).toBeCloseTo(effects.benchmarkReturn, 10);
    }),
  );
});

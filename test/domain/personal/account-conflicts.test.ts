import { describe, expect, test } from 'vitest';
import { lotOf, smallBatch, solved } from './small-batch.js';

const common = smallBatch([1 / 3, 1 / 3, 1 / 3]);
/** 60 % in one security with a gain of half its price. */
const held = { cash: 40_000, lots: [lotOf('A', 600, 50)] };
/** Annual volatility of each security. */
const VOLATILITY = 0.2;

describe('the conflict of an account without permitted trades', () => {
  test.each([
    {
      rules: 'an exclusion and a limit',
      batch: common,
      account: { cash: 100_000, exclusions: ['A'], tracking_error_limit: 0.01 },
      // Without A the tracking error is at least that of a third; with a limit of 1 % A misses at most 5 % of the value.
      amounts: { tracking_error_limit: VOLATILITY / 3 - 0.01, exclusions: 1 / 3 - 0.05 },
    },
    {
      rules: 'a budget and a limit',
      batch: common,
      account: { ...held, tax: { budget: 0 }, tracking_error_limit: 0.01 },
      // 60 % less a third, less 5 % that the limit allows, are sold with a gain of half their price.
      amounts: {
        tracking_error_limit: VOLATILITY * (0.6 - 1 / 3) - 0.01,
        'tax.budget': 100_000 * (0.6 - 1 / 3 - 0.05) * 0.5,
      },
    },
    {
      rules: 'exclusions and a maximum of cash',
      batch: common,
      account: { cash: 100_000, exclusions: ['A', 'B', 'C'], tracking_error_limit: 0.5 },
      amounts: { cash_maximum: 0.99, exclusions: 0.99 },
    },
    {
      rules: 'a minimum of cash and a budget',
      batch: smallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_minimum: 0.2, cash_maximum: 1 } }),
      account: { lots: [lotOf('A', 1000, 50)], tax: { budget: 0 }, exclusions: ['C'] },
      amounts: { cash_minimum: 0.2, 'tax.budget': 100_000 * 0.2 * 0.5 },
    },
    {
      rules: 'whole shares and a limit',
      batch: smallBatch([1 / 3, 1 / 3, 1 / 3], { whole_shares: true, objective: { cash_maximum: 1 } }),
      account: { cash: 1000, tracking_error_limit: 0.001 },
      // Three shares of each of ten.
      amounts: { tracking_error_limit: (VOLATILITY / 30) * Math.sqrt(3) - 0.001, whole_shares: null },
    },
  ])('is $rules', ({ batch, account, amounts }) => {
    const result = solved(batch, account);
    expect(result.status).toBe('infeasible');
    expect(result.conflicts.toSorted()).toEqual(Object.keys(amounts).toSorted());
    for (const [rule, amount] of Object.entries(amounts)) {
      const own = result.conflict_amounts[rule]!;
      if (amount === null) expect(own).toBeNull();
      else expect(own / amount).toBeCloseTo(1, 3);
    }
  });

  test('ends where one rule gives by its amount', () => {
    const account = { cash: 100_000, exclusions: ['A'], tracking_error_limit: 0.01 };
    const { conflict_amounts: amounts } = solved(
      smallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_maximum: 1 } }),
      account,
    );
    const wider = { ...account, tracking_error_limit: 0.01 + amounts['tracking_error_limit']! + 1e-5 };
    const batch = smallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_maximum: 1 } });
    expect(solved(batch, wider).status).not.toBe('infeasible');
    expect(solved(batch, { ...account, exclusions: [] }).status).not.toBe('infeasible');
  });
});

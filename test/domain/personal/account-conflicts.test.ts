import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { createLot, createSmallBatch, requireResult } from './small-batch.js';

const commonBatch = createSmallBatch([1 / 3, 1 / 3, 1 / 3]);
/** Account with 60 % in one security. Half of the price of this security is gain. */
const heldAccount = { cash: 40_000, lots: [createLot('A', 600, 50)] };
/** Annual volatility of each security. */
const VOLATILITY = 0.2;

describe('the conflict of an account without permitted trades', () => {
  test.each([
    {
      rules: 'an exclusion and a limit',
      batch: createSmallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_maximum: 1 } }),
      account: { cash: 100_000, exclusions: ['A'], tracking_error_limit: 0.01 },
      // Without A the tracking error is at least as large as if a third were missing. With a limit of 1 %, A can be at
      // most 5 % below its target.
      amounts: { tracking_error_limit: VOLATILITY / 3 - 0.01, exclusions: 1 / 3 - 0.05 },
    },
    {
      rules: 'an exclusion and a limit that is not the only obstacle',
      batch: commonBatch,
      account: { cash: 100_000, exclusions: ['A'], tracking_error_limit: 0.01 },
      // B and C may exceed a third by at most 5 points. So too much cash remains without any limit. If A is `a` below
      // its target and 1 % is in cash, B and C are each (a - 0.01) / 2 above their targets: 1.5 a^2 - 0.01 a = 0.00245.
      amounts: { tracking_error_limit: null, exclusions: 1 / 3 - (0.01 + Math.sqrt(0.0148)) / 3 },
    },
    {
      rules: 'a budget and a limit',
      batch: commonBatch,
      account: { ...heldAccount, tax: { budget: 0 }, tracking_error_limit: 0.01 },
      // All cash buys B and C. Each is below its target by half of the excess a of A, which gives a tracking error of
      // 0.2 a sqrt(1.5).
      amounts: {
        tracking_error_limit: VOLATILITY * (0.6 - 1 / 3) * Math.sqrt(1.5) - 0.01,
        'tax.budget': 100_000 * (0.6 - 1 / 3 - 0.05 / Math.sqrt(1.5)) * 0.5,
      },
    },
    {
      rules: 'exclusions and a maximum of cash',
      batch: commonBatch,
      account: { cash: 100_000, exclusions: ['A', 'B', 'C'], tracking_error_limit: 0.5 },
      amounts: { cash_maximum: 0.99, exclusions: 0.99 },
    },
    {
      rules: 'a minimum of cash and a budget',
      batch: createSmallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_minimum: 0.2, cash_maximum: 1 } }),
      account: { lots: [createLot('A', 1000, 50)], tax: { budget: 0 }, exclusions: ['C'] },
      amounts: { cash_minimum: 0.2, 'tax.budget': 100_000 * 0.2 * 0.5 },
    },
    {
      rules: 'whole shares and a limit',
      batch: createSmallBatch([1 / 3, 1 / 3, 1 / 3], { whole_shares: true, objective: { cash_maximum: 1 } }),
      account: { cash: 1000, tracking_error_limit: 0.001 },
      // The account buys three shares of each security. Its value is ten shares.
      amounts: { tracking_error_limit: (VOLATILITY / 30) * Math.sqrt(3) - 0.001, whole_shares: null },
    },
  ])('is $rules', ({ batch, account, amounts }) => {
    const result = requireResult(batch, account);
    expect(result.status).toBe('infeasible');
    expect(result.conflicts.toSorted()).toEqual(Object.keys(amounts).toSorted());
    for (const [rule, amount] of Object.entries(amounts)) {
      const conflictAmount = result.conflict_amounts[rule]!;
      if (amount === null) expect(conflictAmount).toBeNull();
      else expect(conflictAmount / amount).toBeCloseTo(1, 3);
    }
  });

  test.each([
    { name: 'fractions', terms: { objective: { cash_maximum: 1 } }, cash: 100_000 },
    { name: 'whole shares', terms: { objective: { cash_maximum: 1 }, whole_shares: true }, cash: 1000 },
    { name: 'little cash', terms: { objective: { cash_maximum: 0.05 }, whole_shares: true }, cash: 2000 },
  ])('ends where one rule gives by its amount: $name', ({ cash, terms }) => {
    const batch = createSmallBatch([0.1, 0.5, 0.4], terms);
    const account = {
      cash,
      lots: [createLot('C', 6, 50)],
      exclusions: ['A'],
      tracking_error_limit: 0.01,
      tax: { budget: 0 },
    };
    const result = requireResult(batch, account);
    const { conflict_amounts: amounts, conflict_exclusions: staying } = result;
    expect(result.status).toBe('infeasible');
    expect(result.trades).toEqual([]);
    const limit = amounts['tracking_error_limit'];
    const { exclusions } = amounts;
    if (exclusions !== undefined) expect(staying).toEqual({ A: exclusions });
    const changes = [
      ...(limit == null ? [] : [{ tracking_error_limit: 0.01 + limit + 1e-6 }]),
      ...(exclusions === undefined ? [] : [{ exclusions: [] }]),
    ];
    expect(changes.length).toBeGreaterThan(0);
    for (const change of changes) expect(requireResult(batch, { ...account, ...change }).status).not.toBe('infeasible');
  });
});

test('an account that can sell enough for its minimum of cash is not infeasible, even if the order of lots is not convex', () => {
  // Value 175 x 29 + 125 x 48 = 11,075; a quarter in cash is the sale of less than half of the lots.
  const batch = createSmallBatch([0.5, 0.5, 0], {
    objective: { cash_minimum: 0.25, cash_maximum: 1 },
  });
  const correlated = {
    ...batch,
    asOf: parseValidDay('2023-06-28'),
    prices: new Float64Array([48, 29, 100]),
    loadings: new Float64Array([0.2, 0.25, 0]),
    specific: new Float64Array([0.02, 0.03, 0.04]),
  };
  const result = requireResult(correlated, {
    lots: [
      { identifier: 'B', shares: 100, cost: 55, acquired: '2022-06-27' },
      { identifier: 'A', shares: 25, cost: 20, acquired: '2023-05-29' },
      { identifier: 'A', shares: 100, cost: 35, acquired: '2023-06-20' },
      { identifier: 'B', shares: 75, cost: 55, acquired: '2023-05-29' },
    ],
    tax: { lot_method: 'fifo', short_rate: 0.37, long_rate: 0.2 },
    recent: [{ identifier: 'B', date: '2023-05-20', shares: 15, price: 50 }],
  });
  expect(result.conflicts).toEqual([]);
  const proceeds = result.trades.reduce((sum, { side, value }) => sum + (side === 'sell' ? value : -value), 0);
  expect(proceeds).toBeGreaterThanOrEqual(0.25 * 11_075 - 0.01);
  expect(result.certificate.gap).toBeGreaterThanOrEqual(0);
});

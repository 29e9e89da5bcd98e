import { describe, expect, test } from 'vitest';
import { Account } from '#domain/personal/account.js';
import { verifyResult } from '#domain/personal/verification.js';
import { createLot, sumShares, createSmallBatch, requireResult } from './small-batch.js';

/**
 * Returns the tax of an account in which both securities are excluded. 20 shares of A and 40 of B are sold at 100,
 * whatever the tax.
 */
const computeTax = (short: number, long: number, tax: object): number =>
  requireResult(createSmallBatch([0, 0, 1]), {
    cash: 1000,
    lots: [createLot('A', 20, 100 - short / 20, 'short'), createLot('B', 40, 100 - long / 40)],
    exclusions: ['A', 'B'],
    tax,
  }).tax;

describe('the tax of short-term gains at 37 % and long-term gains at 20 %', () => {
  test.each([
    { short: 1000, long: 400, us: 450, separate: 450 }, // 370 + 80
    { short: 1000, long: -400, us: 222, separate: 370 }, // 0.37 x 600
    { short: 400, long: -1000, us: 0, separate: 148 },
    { short: -400, long: 1000, us: 120, separate: 200 }, // 0.2 x 600
    { short: -1000, long: 400, us: 0, separate: 80 },
    { short: -400, long: -1000, us: 0, separate: 0 },
  ])('is $us with netting and $separate without for $short and $long', ({ short, long, us, separate }) => {
    expect(computeTax(short, long, {})).toBeCloseTo(us, 8);
    expect(computeTax(short, long, { netting: 'separate' })).toBeCloseTo(separate, 8);
  });

  test.each([
    { short: 1000, long: 400, us: 339, separate: 339 }, // 0.37 x 700 + 80
    { short: 1000, long: -400, us: 111, separate: 259 }, // 0.37 x 300; 0.37 x 700
    { short: 200, long: 400, us: 60, separate: 80 }, // losses exceed the short-term gains by 100: 0.2 x 300
    { short: -400, long: 1000, us: 60, separate: 200 }, // 0.2 x (1000 - 700)
  ])('is $us and $separate with losses of 300 carried forward', ({ short, long, us, separate }) => {
    expect(computeTax(short, long, { carry_forward: 300 })).toBeCloseTo(us, 8);
    expect(computeTax(short, long, { carry_forward: 300, netting: 'separate' })).toBeCloseTo(separate, 8);
  });

  test('adds gains of the year realised before the trades', () => {
    const gains = { short: 100, long: -600 };
    expect(computeTax(1000, 400, { realised: gains })).toBeCloseTo(0.37 * 900, 8); // 1100 - 200
    expect(computeTax(1000, 400, { realised: gains, carry_forward: 900 })).toBeCloseTo(0, 8);
  });

  test('values a net loss at its value for later years', () => {
    expect(computeTax(-400, -1000, { loss_value: 0.1 })).toBeCloseTo(-140, 8);
    expect(computeTax(400, -1000, { loss_value: 0.1 })).toBeCloseTo(-60, 8);
    expect(computeTax(400, -1000, { loss_value: 0.1, netting: 'separate' })).toBeCloseTo(148 - 100, 8);
  });
});

/**
 * The account has 100 shares of A with a gain of 50 each. The target is half A and half B. If a share x of the value is
 * sold and reinvested, the variance is 0.08 (0.5 - x)^2 and the tax 0.1 x. The sum 0.8 (0.5 - x)^2 + 0.1 x is smallest
 * at 0.4375.
 */
describe('the budget of net gains', () => {
  const solveWithTax = (tax: object) =>
    requireResult(createSmallBatch([0.5, 0.5, 0]), { lots: [createLot('A', 100, 50)], tax });

  test('is not needed where the tax limits sales', () => {
    const result = solveWithTax({});
    expect(sumShares(result, 'sell', 'A')).toBeCloseTo(43.75, 6);
    expect(sumShares(result, 'buy', 'B')).toBeCloseTo(43.75, 6);
    expect(result.tax).toBeCloseTo(0.2 * 50 * 43.75, 5);
    expect(solveWithTax({ budget: 5000 }).tax).toBeCloseTo(result.tax, 5);
  });

  test.each([
    ['of 1000', {}, 20],
    ['after losses of 500 carried forward', { carry_forward: 500 }, 30],
    ['after gains of 400 this year', { realised: { short: 400, long: 0 } }, 12],
    ['after losses of 300 this year', { realised: { short: 0, long: -300 } }, 26],
  ])('%s limits the shares sold', (_, tax, shares) => {
    const result = solveWithTax({ ...tax, budget: 1000 });
    expect(sumShares(result, 'sell', 'A')).toBeCloseTo(shares, 6);
    expect(result.long_gain).toBeCloseTo(50 * shares, 4);
    expect(result.status).toBe('optimal');
  });

  test('has the shadow price of its row', () => {
    // The slope at x = 0.2 is -1.6 x 0.3 + 0.1 = -0.38. Each x realises gains of 0.5 x. So a unit of gains is worth
    // 0.76 of the value of 10,000.
    expect(solveWithTax({ budget: 1000 }).shadow_prices.rows['tax.budget']).toBeCloseTo(7600, 2);
  });
});

describe('a weight of the tax', () => {
  const lots = [createLot('A', 60, 40), createLot('A', 40, 130, 'short'), createLot('B', 50, 150)];
  const parent = createSmallBatch([0.2, 0.3, 0.5], { objective: { cash_maximum: 0 } });

  test.each(
    [0, 1e-300, 1e-12, 1e-6].flatMap((weight) =>
      (['specific', 'hifo', 'fifo'] as const).flatMap((lot_method) =>
        (['us', 'separate'] as const).map((netting) => ({ weight, lot_method, netting })),
      ),
    ),
  )('of $weight permits a tracking error of 0 ($lot_method, $netting)', (tax) => {
    const result = requireResult(parent, { lots, tax });
    expect(result.status).toBe('optimal');
    expect(result.tracking_error).toBeLessThan(1e-4);
    expect(sumShares(result, 'buy', 'C')).toBeCloseTo(75, 2);
    expect(verifyResult(parent, Account.parse({ account_id: 'X', lots, tax }), result)).toEqual([]);
    expect(JSON.stringify(result)).not.toMatch(/"(?!until|lot|one_more_bp_saves|branches|regions)\w+":null/);
  });

  test('of 0 leaves the tax in the result, and sells the lots with the lowest tax first', () => {
    const result = requireResult(parent, { lots: [lots[0]!, lots[1]!], tax: { weight: 0 } });
    // The account sells 80 of 100 shares of A: 40 lose 30 each, short-term, and 40 gain 60 each, long-term.
    expect([result.short_gain, result.long_gain]).toEqual([expect.closeTo(-1200, 0), expect.closeTo(2400, 0)]);
    expect(result.tax).toBeCloseTo(0.2 * (2400 - 1200), 0);
  });
});

/**
 * The account has 100 shares of A with a long-term gain of 50 each, taxed at 20 %: 10 of tax for each share. Without a
 * limit it sells 43.75 shares.
 */
describe('a limit of the tax', () => {
  const lots = [createLot('A', 100, 50)];
  const parent = createSmallBatch([0.5, 0.5, 0]);
  const solveWithTax = (tax: object) => requireResult(parent, { lots, tax });

  test.each([
    ['of 300', { limit: 300 }, 30],
    ['of 300, after short-term gains of 200 taxed at 74', { limit: 300, realised: { short: 200, long: 0 } }, 22.6],
    ['of 300, after short-term losses of 500', { limit: 300, realised: { short: -500, long: 0 } }, 40],
    [
      'of 300, with separate netting, after short-term losses of 500',
      { limit: 300, netting: 'separate', realised: { short: -500, long: 0 } },
      30,
    ],
    ['of 300, without a weight of the tax', { limit: 300, weight: 0 }, 30],
    ['of 300, below a budget of net gains of 1000', { limit: 300, budget: 1000 }, 20],
    ['of 0', { limit: 0 }, 0],
  ])('%s limits the shares sold', (_, tax, shares) => {
    const result = solveWithTax(tax);
    expect(sumShares(result, 'sell', 'A')).toBeCloseTo(shares, 4);
    expect(result.tax).toBeLessThanOrEqual(300 + 1e-4);
    expect(result.status).toBe('optimal');
    expect(verifyResult(parent, Account.parse({ account_id: 'X', lots, tax }), result)).toEqual([]);
  });

  test('has the shadow price of its row', () => {
    // The slope at x = 0.3 is -1.6 x 0.2 + 0.1 = -0.22, and each x costs a tax of 0.1: 2.2 of the value of 10,000.
    expect(solveWithTax({ limit: 300 }).shadow_prices.rows['tax.limit']).toBeCloseTo(22_000, 0);
  });

  test('that conflicts with an exclusion states by how much the tax exceeds it', () => {
    const result = requireResult(createSmallBatch([0, 1, 0]), { lots, exclusions: ['A'], tax: { limit: 300 } });
    expect([result.status, result.conflicts]).toEqual(['infeasible', ['exclusions', 'tax.limit']]);
    expect(result.conflict_amounts['tax.limit']).toBeCloseTo(1000 - 300, 4);
  });

  test('holds for whole shares', () => {
    const whole = createSmallBatch([0.5, 0.5, 0], { whole_shares: true, objective: { cash_maximum: 0.02 } });
    const result = requireResult(whole, { lots, tax: { limit: 305 } });
    expect([sumShares(result, 'sell', 'A'), result.tax]).toEqual([30, expect.closeTo(300, 6)]);
  });
});

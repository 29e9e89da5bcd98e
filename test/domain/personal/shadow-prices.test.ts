import { describe, expect, test } from 'vitest';
import { createLot, createSmallBatch, requireResult } from './small-batch.js';

const commonBatch = createSmallBatch([1 / 3, 1 / 3, 1 / 3]);
/**
 * Account with 60 % in one security. Half of the price of this security is gain, so a lower tracking error requires
 * taxable sales.
 */
const heldAccount = { cash: 40_000, lots: [createLot('A', 600, 50)] };
const computeSpentCost = ({ tax, costs }: ReturnType<typeof requireResult>): number => tax + costs;
const computeCost = ({ certificate, value }: ReturnType<typeof requireResult>): number => certificate.objective * value;

describe('prices in money', () => {
  test.each([0.005, 0.01, 0.02])('one more basis point of a limit of %f saves nearly the stated amount', (limit) => {
    const [near, far] = [limit, limit + 1e-4].map((cashLimit) =>
      requireResult(commonBatch, { ...heldAccount, tracking_error_limit: cashLimit }),
    );
    expect(near!.tracking_error).toBeCloseTo(limit, 6);
    const savedCost = computeSpentCost(near!) - computeSpentCost(far!);
    expect(savedCost).toBeGreaterThan(1);
    expect(near!.one_more_bp_saves).toBeGreaterThan(savedCost * (1 - 1e-6));
    expect(near!.one_more_bp_saves).toBeLessThan(savedCost * 1.02);
    // The limit costs less than the tax that it saves, because the objective also includes the variance.
    expect(near!.shadow_prices.tracking_error_bp).toBeGreaterThan(0);
    expect(near!.shadow_prices.tracking_error_bp).toBeLessThan(savedCost);
  });

  test('no saving is stated if it is mostly within the gap', () => {
    // The account holds three shares of a security and is worth ten shares. So rounding costs more than a basis point.
    const wholeBatch = createSmallBatch([0.5, 0.3, 0.2], { whole_shares: true, objective: { cash_maximum: 0.1 } });
    const { certificate, one_more_bp_saves: saving } = requireResult(wholeBatch, {
      ...heldAccount,
      cash: 450,
      lots: [createLot('A', 5, 50)],
    });
    expect(certificate.gap).toBeGreaterThan(1e-5);
    expect(saving).toBeNull();
  });

  test('a larger budget of gains lowers the objective by its shadow price', () => {
    const [near, far] = [5000, 5010].map((budget) => requireResult(commonBatch, { ...heldAccount, tax: { budget } }));
    const lower = computeCost(near!) - computeCost(far!);
    expect(lower).toBeGreaterThan(0);
    expect(((near!.shadow_prices.rows['tax.budget'] ?? 0) * 10) / near!.value / lower).toBeCloseTo(1, 2);
  });

  test('an exclusion costs its shadow price for the first unit of weight', () => {
    const batch = createSmallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_maximum: 1 } });
    const account = { cash: 100_000, exclusions: ['A'] };
    const unlimitedResult = requireResult(batch, account);
    // The account holds a thousandth in A, which may not be bought.
    const lots = [createLot('A', 1, 100)];
    const recent = [{ identifier: 'A', date: '2024-06-18', shares: -1, price: 90 }];
    const lower = computeCost(unlimitedResult) - computeCost(requireResult(batch, { cash: 99_900, lots, recent }));
    expect((unlimitedResult.shadow_prices.exclusions['A']! * 0.001) / lower).toBeCloseTo(1, 2);
    expect(lower).toBeGreaterThan(1);
  });

  test('an excluded security that would not be held has no price', () => {
    expect(
      requireResult(createSmallBatch([0, 0.5, 0.5]), { cash: 100_000, exclusions: ['A'] }).shadow_prices.exclusions,
    ).toEqual({});
  });

  test('without a minimum trade the objective is lower by at most its shadow price', () => {
    const account = {
      cash: 2000,
      lots: [createLot('A', 326, 100), createLot('B', 326, 100), createLot('C', 328, 100)],
    };
    const batch = createSmallBatch([1 / 3, 1 / 3, 1 / 3], { objective: { cash_maximum: 0.1 } });
    const [large, none] = [5000, 0].map((minimum_trade) => requireResult(batch, { ...account, minimum_trade }));
    const savedCost = computeCost(large!) - computeCost(none!);
    expect(savedCost).toBeGreaterThan(0);
    expect(large!.shadow_prices.minimum_trade).toBeGreaterThan(savedCost * (1 - 1e-6));
    expect(none!.shadow_prices.minimum_trade).toBe(0);
  });
});

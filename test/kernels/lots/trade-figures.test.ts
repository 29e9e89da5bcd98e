import { describe, expect, it } from 'vitest';
import type { AccountProgram } from '#kernels/lots/account-program.js';
import { HARD_PENALTY } from '#kernels/lots/interior-point.js';
import { computeTradeFigures, computeMerit, createTrades } from '#kernels/lots/trade-figures.js';
import { createUsSides } from './random-account.js';

const row = { short: 0, long: 0, cost: 0 };

/** Account with 70 % in three lots of the first security and 20 % in the second. The target is one half each. */
const ACCOUNT: AccountProgram = {
  n: 2,
  k: 1,
  loadings: Float64Array.of(1, 0.5),
  specific: Float64Array.of(0.04, 0.01),
  target: Float64Array.of(0.5, 0.5),
  heldWeights: Float64Array.of(0.7, 0.2),
  lotStart: Int32Array.of(0, 3, 4),
  lotSize: Float64Array.of(0.1, 0.1, 0.5, 0.2),
  lotShort: Float64Array.of(0.2, 0, 0.3, 0),
  lotLong: Float64Array.of(0, -0.3, 0, 0.1),
  isOrdered: new Uint8Array(2),
  buyLimit: Float64Array.of(0, 1),
  costRate: Float64Array.of(0.001, 0.002),
  unit: new Float64Array(2),
  minimumTrade: new Float64Array(2),
  lower: new Float64Array(2),
  upper: Float64Array.of(1, 0.35),
  aversion: 10,
  varianceLimit: 0.002,
  taxWeight: 1,
  fixedShort: 0.05,
  fixedLong: 0,
  sides: createUsSides(0.37, 0.2),
  rows: [
    // At least 95 % must be invested, and at least 50 % must be in the second security, which has a price of 2.
    { ...row, weights: Float64Array.of(-1, -1), constant: 0.95, penalty: Infinity },
    { ...row, weights: Float64Array.of(0, -1), constant: 0.5, penalty: 2 },
  ],
};
const TRADES = { bought: Float64Array.of(0, 0.2), sold: Float64Array.of(0.1, 0.1, 0, 0) };

describe('the figures of trades', () => {
  const figures = computeTradeFigures(ACCOUNT, TRADES);

  it('follow from their definition', () => {
    expect(Array.from(figures.weights)).toEqual([expect.closeTo(0.5, 15), expect.closeTo(0.4, 15)]);
    expect(figures.variance).toBeCloseTo(0.01 * 0.1 ** 2 + 0.05 ** 2, 15);
    expect([figures.short, figures.long]).toEqual([expect.closeTo(0.07, 15), expect.closeTo(-0.03, 15)]);
    expect(figures.tax).toBeCloseTo(0.37 * 0.04, 15);
    expect(figures.cost).toBeCloseTo(0.2 * 0.001 + 0.2 * 0.002, 15);
    expect(figures.objective).toBeCloseTo(10 * 0.0026 + 0.0006 + 0.0148 + 2 * 0.1, 15);
  });

  it('state the largest violation of a hard limit', () => {
    expect(Array.from(figures.violations)).toEqual([expect.closeTo(0.05, 15), expect.closeTo(0.1, 15)]);
    expect(figures.worst).toBeCloseTo(0.05, 15); // the violation by cash; an upper bound is violated by 0.05 as well, the variance by 0.0006
    expect(computeMerit(figures)).toBeCloseTo(figures.objective + HARD_PENALTY * 0.05 + 1, 12);
  });
});

describe('the trades of net amounts', () => {
  it('sell the lots that are cheapest at the prices of gains', () => {
    const { bought, sold } = createTrades(ACCOUNT, Float64Array.of(-0.25, 0.1), { short: 0.37, long: 0.2 });
    expect(Array.from(bought)).toEqual([0, 0.1]);
    expect(Array.from(sold)).toEqual([0.1, 0.1, expect.closeTo(0.05, 15), 0]);
  });

  it('sell the lots of an ordered security in their order', () => {
    const orderedAccount = { ...ACCOUNT, isOrdered: Uint8Array.of(1, 0) };
    const { sold } = createTrades(orderedAccount, Float64Array.of(-0.05, 0), { short: 0.37, long: 0.2 });
    expect(Array.from(sold)).toEqual([0.05, 0, 0, 0]);
  });
});

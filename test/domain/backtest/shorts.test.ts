import { describe, expect, test } from 'vitest';
import { createReconcileView } from '#views/reconcile.js';
import { CONSTITUENT } from './event-case.js';
import { type Treatment, type Weights, createHolding, simulateSigned } from './signed-case.js';
import { listPortfolioTransactions } from './transactions.js';
import { readHeldOn, close, closeTo, listLevels, repeatPrice } from './shorts-case.js';
import { createColumns } from './random-run.js';

describe('a short position', () => {
  test('loses what its name gains, and drifts with it', () => {
    const run = simulateSigned({
      close: { A: [100, 100, 110, 110, 110, 110], B: [50, 60, 60, 60, 60, 60] },
      weights: { A: 1.4, B: -0.4 },
    });
    close(listLevels(run), [100, 92, 106, 106, 106, 106]);
    closeTo(readHeldOn(run.index.book, 1), { A: 1.4 / 0.92, B: -0.48 / 0.92 });
  });

  test('pays dividends in full: nothing is withheld from its payments', () => {
    const listLevelsPaying = (weights: Weights, treatment: Treatment) =>
      listLevels(
        simulateSigned({
          close: { A: repeatPrice(100), B: repeatPrice(50) },
          actions: [
            { name: 'A', type: 'DIVIDEND', value: 10, ex: '2024-03-06' },
            { name: 'B', type: 'DIVIDEND', value: 5, ex: '2024-03-06' },
          ],
          weights,
          treatment,
        }),
      )[2]!;
    const net = { dividends: 'net', withholding_tax: 0.2 } as const;
    close(
      [listLevelsPaying({ A: 1.5, B: -0.5 }, {}), listLevelsPaying({ A: 1.5, B: -0.5 }, { dividends: 'total' })],
      [100, 110],
    );
    // A has a weight of 1.5 and pays 8 %. B has a short weight of 0.5 and costs 10 %.
    close([listLevelsPaying({ A: 1.5, B: -0.5 }, net), listLevelsPaying({ A: 0.5, B: 0.5 }, net)], [107, 108]);
  });

  test('pays special dividends, splits and changes currency as a long one does', () => {
    const run = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 26, 26, 26, 26], EURUSD: [1, 1, 1, 1.1, 1.1, 1.1] },
      reference: { B: { CURRENCY: 'EUR' } },
      actions: [
        { name: 'B', type: 'SPLIT', value: 2, ex: '2024-03-06' },
        { name: 'B', type: 'SPECIAL_DIVIDEND', value: 1.5, ex: '2024-03-11' },
      ],
      treatment: CONSTITUENT,
      weights: { A: 1.2, B: -0.2 },
    });
    const shortPrices = [20, 20, 20.8, 22.88, 22.88, 22.88 * (27.5 / 26)];
    close(
      listLevels(run),
      shortPrices.map((money) => 120 - money),
    );
    expect(run.index.book.divisor[5]).toBeCloseTo(1 + (shortPrices[5]! * (1.5 / 27.5)) / (120 - shortPrices[5]!), 12);
  });

  test('owes the child of a spin-off, and becomes one in the other security of a merger', () => {
    const spunRun = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 40, 40, 40, 40], KID: [null, null, 20, 25, 25, 25] },
      actions: [{ name: 'B', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' }],
      weights: { A: 1.5, B: -0.5 },
    });
    close(listLevels(spunRun), [100, 100, 100, 97.5, 97.5, 97.5]);
    closeTo(readHeldOn(spunRun.index.book, 2), { A: 1.5, B: -0.4, KID: -0.1 });
    const mergedRun = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 55, null, null, null] },
      actions: [{ name: 'B', type: 'MERGER', value: 0.6, ex: '2024-03-06', related: 'A' }],
      weights: { A: 1.5, B: -0.5 },
    });
    // The short position in B becomes 0.6 shares of A at 100, which is 60 for 50.
    close(listLevels(mergedRun), [100, 100, 90, 90, 90, 90]);
    closeTo(readHeldOn(mergedRun.index.book, 2), { A: 1 });
  });

  test('is a sale at the first purchase and a purchase when it is covered, both of positive notional', () => {
    const run = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 50, 50, 50, 50] },
      weights: { A: 1.5, B: -0.5 },
      request: {
        transaction_cost_bps: 100,
        createDecider: createHolding((session) => (session === 0 ? { A: 1.5, B: -0.5 } : { A: 1 })),
      },
      rebalance: { frequency: 'custom', dates: ['2024-03-06'] },
    });
    const rows = listPortfolioTransactions(run);
    expect(rows.map(({ date, asset, side }) => [date, asset, side])).toEqual([
      ['2024-03-04', 'A', 'buy'],
      ['2024-03-04', 'B', 'sell'],
      ['2024-03-06', 'A', 'sell'],
      ['2024-03-06', 'B', 'buy'],
    ]);
    const start = 1_000_000 / 1.02;
    // V' + 0.01 (1.5 V - V' + 0.5 V) = V
    const remaining = (start * (1 - 0.02)) / 0.99;
    close(
      rows.map(({ notional }) => notional! / 1e6),
      [1.5 * start, 0.5 * start, 1.5 * start - remaining, 0.5 * start].map((money) => money / 1e6),
    );
    close([run.portfolio.value[2]! / 1e6], [remaining / 1e6]);
  });
});

describe('a security that leaves a book with short positions', () => {
  const runWithout = (name: string, weights: Weights, value: number | null = null, costBps = 0) =>
    simulateSigned({
      close: {
        A: repeatPrice(100),
        B: repeatPrice(50),
        C: repeatPrice(10),
        D: repeatPrice(20),
        [name]: [100, 100, null, null, null, null],
      },
      actions: [
        { name, type: 'DELISTING', ex: '2024-03-07', ...(value === null ? { value: 0, isUnpriced: true } : { value }) },
      ],
      weights,
      request: { transaction_cost_bps: costBps },
    });

  test('long, leaves its weight to the long securities: long, short and net exposure stay', () => {
    const run = runWithout('A', { A: 0.4, B: 0.6, C: 0.3, D: -0.3 });
    closeTo(readHeldOn(run.index.book, 3), { B: 0.6 + 0.4 * (0.6 / 0.9), C: 0.3 + 0.4 * (0.3 / 0.9), D: -0.3 });
    expect([...run.index.book.cash]).toEqual([0, 0, 0, 0, 0, 0]);
    expect([...run.index.book.divisor]).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test('short, is covered at its price, which the other short securities pay for', () => {
    const run = runWithout('C', { A: 0.8, B: 0.7, C: -0.2, D: -0.3 }, 120);
    // The position was sold at 100 and is covered at 120, which loses 0.24 of 1. So the portfolio is worth 0.96.
    close(listLevels(run), [100, 100, 100, 96, 96, 96]);
    closeTo(readHeldOn(run.index.book, 3), { A: 0.8 / 0.96, B: 0.7 / 0.96, D: -0.54 / 0.96 });
  });

  test('as the last short one is paid from cash, then by selling long securities', () => {
    closeTo(readHeldOn(runWithout('D', { A: 0.5, B: 0.4, D: -0.2 }).index.book, 3), { A: 0.5, B: 0.4 });
    expect(runWithout('D', { A: 0.5, B: 0.4, D: -0.2 }).index.book.cash[3]).toBeCloseTo(0.1, 12);
    const run = runWithout('D', { A: 0.6, B: 0.6, D: -0.2 });
    closeTo(readHeldOn(run.index.book, 3), { A: 0.5, B: 0.5 });
    expect(run.index.book.cash[3]).toBe(0);
  });

  test('as the last long one leaves cash', () => {
    const run = runWithout('A', { A: 1.2, D: -0.2 });
    closeTo(readHeldOn(run.index.book, 3), { D: -0.2 });
    expect(run.index.book.cash[3]).toBeCloseTo(1.2, 12);
  });

  test('is a free trade, at its proceeds or cost; the security that takes over its weight is paid for', () => {
    const run = runWithout('C', { A: 0.8, B: 0.7, C: -0.2, D: -0.3 }, 120, 100);
    const start = 1_000_000 / 1.02;
    const rows = listPortfolioTransactions(run).filter(({ date }) => date === '2024-03-07');
    expect(rows.map(({ asset, side, reason, price }) => [asset, side, reason, price])).toEqual([
      ['C', 'buy', 'delisting', 120],
      ['D', 'sell', 'delisting', 20],
    ]);
    const takenValue = 0.24 * start;
    close(
      rows.flatMap(({ notional, cost }) => [notional! / 1e6, cost! / 1e6]),
      [takenValue, 0, takenValue / 0.99, takenValue / 99].map((money) => money / 1e6),
    );
    expect(createReconcileView(createColumns(run), () => []).reconciles).toBe(true);
  });

  test('pays its last dividend whole when it was short', () => {
    const run = simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, null, null, null, null] },
      actions: [
        { name: 'B', type: 'DELISTING', value: 55, ex: '2024-03-06' },
        { name: 'B', type: 'DIVIDEND', value: 5, ex: '2024-03-06' },
      ],
      treatment: { ...CONSTITUENT, dividends: 'net', withholding_tax: 0.5 },
      weights: { A: 1.5, B: -0.5 },
    });
    close(listLevels(run), [100, 100, 90, 90, 90, 90]);
    expect(
      listPortfolioTransactions(run).find(({ date, asset }) => date === '2024-03-06' && asset === 'B'),
    ).toMatchObject({ side: 'buy', price: 60 });
  });
});

describe('short positions that lose more than there was', () => {
  const simulateSqueeze = (end: string | null, value = 200) =>
    simulateSigned({
      close: { A: repeatPrice(100), B: [50, 50, 100, value, value, value] },
      weights: { A: 1.5, B: -0.5 },
      request: { end },
    });

  test('are refused by the day, with what the index was worth before and then', () => {
    expect(() => simulateSqueeze(null)).toThrow(
      expect.objectContaining({
        code: 'NUMERIC_FAILURE',
        message:
          'The index X is worth -50 on 2024-03-07 after 50 the session before: its short positions lost more than its value. Choose an end date before 2024-03-07.',
        detail: { date: '2024-03-07' },
      }),
    );
    expect(() => simulateSqueeze('2024-03-07')).toThrow(expect.objectContaining({ code: 'NUMERIC_FAILURE' }));
  });

  test('are measured up to the day before', () => close(listLevels(simulateSqueeze('2024-03-06')), [100, 100, 50]));
});

import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { listPortfolioTransactions } from './transactions.js';
import {
  CONSTITUENT,
  type Treatment,
  createDefinition,
  simulate,
  listCodes,
  listLevels,
  readWeights,
  close,
  repeatPrice,
} from './event-case.js';
import { runResultJson } from './run-texts.js';

describe('an index whose value falls to zero', () => {
  const simulateLoss = (end: string | null) =>
    simulate({
      close: { A: [100, 100, null, null, null, null], KID: repeatPrice(50) },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, ex: '2024-03-07' }],
      treatment: { delisting: 'zero' },
      end,
    });
  const createResult = (run: Run) =>
    JSON.parse(
      new TextDecoder().decode(
        runResultJson(run, {
          runAt: '2026-01-01T00:00:00+00:00',
          runHash: 'h',
          storeContentHash: 's',
          engineVersion: '0',
        }),
      ),
    ) as { metrics: unknown; returns: { data: number[] } };

  test('is reported with the day on which nothing is left: returns from 0 have no value', () => {
    expect(() => createResult(simulateLoss(null))).toThrow(
      expect.objectContaining({
        code: 'NUMERIC_FAILURE',
        message:
          'The value of the portfolio is 0 from 2024-03-07 on, so later returns are undefined. Choose an end date of 2024-03-07 or earlier.',
        detail: { date: '2024-03-07' },
      }),
    );
  });

  test('is measured up to that day', () => {
    const { metrics, returns } = createResult(simulateLoss('2024-03-07'));
    expect(returns.data).toEqual([0, 0, -1]);
    expect(metrics).toMatchObject({ total_return: -1, annualised_return: -1, max_drawdown: -1 });
  });
});

describe('a security that ends by an action', () => {
  const simulateDelisting = (
    value: number | null,
    treatment: Treatment = {},
    type: 'DELISTING' | 'ACQUISITION' = 'DELISTING',
  ) =>
    simulate({
      close: { A: [100, 100, null, null, null, null], B: repeatPrice(50) },
      actions: [
        { name: 'A', type, ex: '2024-03-07', ...(value === null ? { value: 0, isUnpriced: true } : { value }) },
      ],
      treatment,
    });

  test('leaves at its proceeds on the first session on or after the ex day; the rest takes its weight', () => {
    const run = simulateDelisting(80);
    close(listLevels(run), [100, 100, 100, 90, 90, 90]);
    expect(readWeights(run, 2)).toEqual({ A: 0.5, B: 0.5 });
    expect(readWeights(run, 3)).toEqual({ B: 1 });
    expect(run.rebalances).toHaveLength(1);
    close(run.index.book.divisor, [1, 1, 1, 5 / 9, 5 / 9, 5 / 9]);
  });

  test('is written off if it pays 0, or if the treatment requires it and no payment is stated', () => {
    close(listLevels(simulateDelisting(0)), [100, 100, 100, 50, 50, 50]);
    close(listLevels(simulateDelisting(0, {}, 'ACQUISITION')), [100, 100, 100, 50, 50, 50]);
    close(listLevels(simulateDelisting(0, { delisting: 'zero' })), [100, 100, 100, 50, 50, 50]);
    close(listLevels(simulateDelisting(null, { delisting: 'zero' })), [100, 100, 100, 50, 50, 50]);
    close(listLevels(simulateDelisting(null)), [100, 100, 100, 100, 100, 100]);
    close(listLevels(simulateDelisting(80, { delisting: 'zero' })), [100, 100, 100, 90, 90, 90]);
    close(listLevels(simulateDelisting(80, { delisting: 'last_price' })), [100, 100, 100, 100, 100, 100]);
    close(listLevels(simulateDelisting(null, { delisting: 'zero' }, 'ACQUISITION')), [100, 100, 100, 100, 100, 100]);
  });

  test('that was the last one leaves cash at level', () => {
    const run = simulate({
      close: { A: [100, 110, 120, null, null, 999] },
      actions: [{ name: 'A', type: 'DELISTING', value: 60, ex: '2024-03-07' }],
    });
    close(listLevels(run), [100, 110, 120, 60, 60, 60]);
    expect([...run.index.book.cash]).toEqual([0, 0, 0, 1, 1, 1]);
  });

  test('causes costs of the portfolio only for purchases with the proceeds', () => {
    const run = simulate({
      close: { A: [100, 100, null, null, null, null], B: repeatPrice(50) },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, isUnpriced: true, ex: '2024-03-07' }],
      costBps: 100,
    });
    const start = 1_000_000 / 1.01;
    const boughtShares = start / 2 / 1.01;
    close([run.portfolio.value[3]! / 1e6], [(start / 2 + boughtShares) / 1e6]);
    const rows = listPortfolioTransactions(run).filter(({ date }) => date === '2024-03-07');
    expect(rows.map(({ asset, side, reason }) => [asset, side, reason])).toEqual([
      ['A', 'sell', 'delisting'],
      ['B', 'buy', 'delisting'],
    ]);
    close([rows[0]!.cost, rows[1]!.notional / 1e6, rows[1]!.cost / 1e6], [0, boughtShares / 1e6, boughtShares / 1e8]);
  });

  test('and merges turns into shares of the other at its close', () => {
    const run = simulate({
      close: { A: [100, 100, 110, null, null, null], B: [50, 50, 60, 60, 66, 66] },
      actions: [{ name: 'A', type: 'MERGER', value: 2, ex: '2024-03-06', related: 'B' }],
    });
    // Each A becomes two B at 60, which is 120 for 100. B itself has risen from 50 to 60.
    close(listLevels(run), [100, 100, 120, 120, 132, 132]);
    expect(readWeights(run, 2)).toEqual({ B: 1 });
  });

  test('by a change of ticker continues under the new one', () => {
    const run = simulate({
      close: { A: [100, 110, null, null, null, null], B: repeatPrice(50), KID: [null, null, 121, 121, 121, 121] },
      actions: [{ name: 'A', type: 'TICKER_CHANGE', value: 0, ex: '2024-03-06', related: 'KID' }],
    });
    close(listLevels(run), [100, 105, 110.5, 110.5, 110.5, 110.5]);
    expect(Object.keys(readWeights(run, 2))).toEqual(['B', 'KID']);
  });

  test('by a change of ticker continues under the new one although another company takes over the old one', () => {
    const actions = [{ name: 'A', type: 'TICKER_CHANGE', value: 0, ex: '2024-03-06', related: 'KID' }] as const;
    const KID = [null, null, 121, 110, 132, 132];
    const run = simulate({ close: { A: [100, 110, 9, 9, 8, 8], B: repeatPrice(50), KID }, actions });
    // Half of the index was bought at 100 and is worth 121, 110 and 132 then.
    close(listLevels(run), [100, 105, 110.5, 105, 116, 116]);
    for (const t of [2, 3, 5]) expect(Object.keys(readWeights(run, t))).toEqual(['B', 'KID']);
  });

  test('by a change of ticker continues under the old one until the new one has a price', () => {
    const actions = [{ name: 'A', type: 'TICKER_CHANGE', value: 0, ex: '2024-03-06', related: 'KID' }] as const;
    const KID = [20, 20, null, null, 132, 110];
    const run = simulate({ close: { A: [100, 110, 115, 120, null, null], B: repeatPrice(50), KID }, actions });
    // The bars of KID before the ex-date, at 20, belong to another company.
    close(listLevels(run), [100, 105, 107.5, 110, 116, 105]);
    expect(Object.keys(readWeights(run, 3))).toEqual(['A', 'B']);
    expect(Object.keys(readWeights(run, 4))).toEqual(['B', 'KID']);
  });
});

describe('a security whose bars stop without an action', () => {
  test('is carried, reported as gaps and leaves at the close of the last patient session', () => {
    const sketch = {
      close: { A: [100, 80, null, null, 40, 40], B: repeatPrice(50) },
      treatment: { max_stale_sessions: 2 },
    };
    const run = simulate(sketch);
    close(listLevels(run), [100, 90, 90, 90, 90, 90]);
    expect(Object.keys(readWeights(run, 2))).toEqual(['A', 'B']);
    expect(readWeights(run, 3)).toEqual({ B: 1 });
    expect(listCodes(run)).toEqual(['SILENT_DELISTING']);
    expect(run.findings.find(({ code }) => code === 'SILENT_DELISTING')).toMatchObject({
      places: ['A'],
      first_date: '2024-03-07',
    });
    expect(run.gaps.map(({ session }) => session)).toEqual([2, 3]);
    const methodologyText = createMethodology(createDefinition(sketch)).join(' ');
    expect(methodologyText).toContain(
      `without a price on ${run.gaps.length} consecutive sessions of its exchange leaves`,
    );
    expect(methodologyText).toContain('are distributed over the others');
  });

  test('is reported by a run that ends without its bar while it is held, and by no other', () => {
    const listFindings = (end: string | null) =>
      simulate({
        close: { A: [100, 80, null, null, 40, null], B: repeatPrice(50) },
        treatment: { max_stale_sessions: 3 },
        end,
      }).findings.filter(({ code }) => code === 'PARTIAL_DATE');
    expect(listFindings('2024-03-08')).toEqual([]);
    expect(listFindings(null)).toMatchObject([{ count: 1, places: ['A'], path: '' }]);
  });

  test('leaves at its first gap when gaps exclude, and fails the run when they fail', () => {
    const sketch = { close: { A: [100, 80, null, 40, 40, 40], B: repeatPrice(50) } };
    expect(readWeights(simulate({ ...sketch, treatment: { missing_prices: 'exclude' } }), 2)).toEqual({ B: 1 });
    expect(() => simulate({ ...sketch, treatment: { missing_prices: 'fail' } })).toThrow(
      expect.objectContaining({ code: 'MISSING_PRICE' }),
    );
    close(listLevels(simulate(sketch)), [100, 90, 90, 70, 70, 70]);
  });

  test('on a holiday of its exchange has no gap', () => {
    const sketch = {
      close: { A: [100, 80, null, 80, 80, 80], B: repeatPrice(50) },
      treatment: { missing_prices: 'fail' } as const,
    };
    expect(simulate({ ...sketch, reference: { A: { EXCHANGE: 'OTHER' } } }).gaps).toEqual([]);
  });
});

describe('a spin-off', () => {
  const simulateSpinOff = (kid: (number | null)[], treatment: Treatment = {}) =>
    simulate({
      close: { A: [100, 100, 90, 90, 90, 90], B: repeatPrice(50), KID: kid },
      actions: [{ name: 'A', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' }],
      treatment,
    });

  test('enters at zero and is worth its price from its first bar on', () => {
    const run = simulateSpinOff([null, null, 20, 24, 24, 24]);
    close(listLevels(run), [100, 100, 100, 101, 101, 101]);
    expect(readWeights(run, 2)['KID']).toBeCloseTo(0.05, 12);
    close(listLevels(simulateSpinOff([null, null, null, 20, 24, 24])), [100, 100, 95, 100, 101, 101]);
  });

  test('without a bar in time, or ignored, is worth nothing', () => {
    close(
      listLevels(simulateSpinOff([null, null, null, null, null, 20], { max_stale_sessions: 2 })),
      [100, 100, 95, 95, 95, 95],
    );
    close(
      listLevels(simulateSpinOff([null, null, 20, 24, 24, 24], { spin_offs: 'ignore' })),
      [100, 100, 95, 95, 95, 95],
    );
  });
});

describe('cash and ratios', () => {
  test('a special dividend buys more of its security in every variant, an ordinary one by the variant', () => {
    const listLevelsPaying = (type: 'DIVIDEND' | 'SPECIAL_DIVIDEND', treatment: Treatment) =>
      listLevels(
        simulate({
          close: { A: [100, 100, 95, 95, 95, 95] },
          actions: [{ name: 'A', type, value: 10, ex: '2024-03-06' }],
          treatment: { ...CONSTITUENT, ...treatment },
        }),
      )[2]!;
    close(
      [listLevelsPaying('SPECIAL_DIVIDEND', {}), listLevelsPaying('SPECIAL_DIVIDEND', { special_dividends: 'ignore' })],
      [105, 95],
    );
    close(
      [
        listLevelsPaying('DIVIDEND', {}),
        listLevelsPaying('DIVIDEND', { dividends: 'total' }),
        listLevelsPaying('DIVIDEND', { dividends: 'net', withholding_tax: 0.15 }),
      ],
      [95, 105, 103.5],
    );
  });

  test('the divisor falls by the cash that buys more of its security', () => {
    const run = simulate({
      close: { A: [100, 100, 95, 95, 95, 95] },
      actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 10, ex: '2024-03-06' }],
      treatment: CONSTITUENT,
    });
    // One share is held. Its market value falls from 105 to 95, but the level stays 105 = 95 / divisor.
    close(run.index.book.divisor, [1, 1, 95 / 105, 95 / 105, 95 / 105, 95 / 105]);
  });

  test('a rights issue compares with the price ex rights and raises the divisor by the money raised', () => {
    const run = simulate({
      close: { A: [100, 100, 92, 92, 92, 92] },
      actions: [{ name: 'A', type: 'RIGHTS_ISSUE', value: 0.5, ex: '2024-03-06', subscription: 70 }],
      treatment: CONSTITUENT,
    });
    close(listLevels(run), [100, 100, (100 * 92) / 90, (100 * 92) / 90, (100 * 92) / 90, (100 * 92) / 90]);
    expect(run.index.book.divisor[2]).toBeCloseTo(1.35, 12);
    const plainRun = simulate({
      close: { A: [100, 100, 92, 92, 92, 92] },
      actions: [{ name: 'A', type: 'RIGHTS_ISSUE', value: 0.5, ex: '2024-03-06' }],
    });
    close(listLevels(plainRun).slice(2, 3), [92]);
    expect(listCodes(plainRun)).toEqual(['RIGHTS_NOT_ADJUSTED']);
  });

  test('an ex day that is no session acts on the next one; a cancelled action never', () => {
    const split = (cancelled: boolean) =>
      listLevels(
        simulate({
          close: { A: [100, 100, 100, 100, 100, 50] },
          actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-09', cancelled }],
        }),
      )[5];
    close([split(false)!, split(true)!], [100, 50]);
  });

  test('an action on a session without a bar is not lost', () => {
    const run = simulate({
      close: { A: [100, 100, null, 49, 49, 49] },
      actions: [
        { name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-06' },
        { name: 'A', type: 'DIVIDEND', value: 1, ex: '2024-03-06' },
      ],
      treatment: { dividends: 'total' },
    });
    // The holding keeps its price of 50 and has 1 of cash. Then it is sold at 49.
    close(listLevels(run).slice(0, 4), [100, 100, 102, 102 * 0.98]);
  });

  test('a store adjusted for splits, or for everything, has nothing applied twice', () => {
    const sketch = {
      close: { A: repeatPrice(100) },
      actions: [
        { name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-06' },
        { name: 'A', type: 'DIVIDEND', value: 5, ex: '2024-03-07' },
      ] as const,
    };
    const treatment = { dividends: 'total' } as const;
    close(listLevels(simulate({ ...sketch, treatment, adjustment: 'splits' })).slice(2, 4), [100, 105]);
    close(listLevels(simulate({ ...sketch, treatment, adjustment: 'total' })).slice(2, 4), [100, 100]);
  });
});

describe('another currency', () => {
  const simulateAbroad = (rates: Record<string, (number | null)[]>, currency = 'EUR') =>
    simulate({ close: { A: repeatPrice(100), ...rates }, reference: { A: { CURRENCY: currency } } });

  test('moves the level by the rate, carried forward, from either pair', () => {
    close(listLevels(simulateAbroad({ EURUSD: [1, 1.1, null, 1.21, 1.21, 1.21] })), [100, 110, 110, 121, 121, 121]);
    close(listLevels(simulateAbroad({ USDEUR: [1, 0.8, 0.8, 0.5, 0.5, 0.5] })), [100, 125, 125, 200, 200, 200]);
  });

  test('in minor units is a hundredth of the major one', () => {
    const run = simulateAbroad({ GBPUSD: [1.5, 1.5, 1.5, 1.5, 1.5, 3] }, 'GBX');
    close(listLevels(run), [100, 100, 100, 100, 100, 200]);
    expect(listPortfolioTransactions(run)[0]!.price).toBeCloseTo(1.5, 12);
  });

  test('without its rate is refused', () => {
    expect(() => simulateAbroad({})).toThrow(expect.objectContaining({ code: 'FX_MISSING' }));
    expect(() => simulateAbroad({ EURUSD: [null, 1, 1, 1, 1, 1] })).toThrow(
      expect.objectContaining({ code: 'FX_MISSING' }),
    );
  });
});

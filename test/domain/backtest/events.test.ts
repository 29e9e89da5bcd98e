import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { runToColumns } from '#domain/backtest/run-file/write.js';
import { formatDay } from '#domain/days.js';
import { IndexDocument, type IndexDocument as Definition } from '#domain/documents/index-document.js';
import { attributionView } from '#views/attribution-view.js';
import { runResultJson } from '#views/run-json.js';
import { portfolioTransactionsOf } from './transactions.js';
import { buildMarket, weekdayCalendars, type MarketSketch } from './market-builder.js';
import { runOn } from './random-run.js';

const WEEK = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08', '2024-03-11'];
const CALENDARS = weekdayCalendars({
  MAIN: { from: '2024-01-01', to: '2024-12-31' },
  OTHER: { from: '2024-01-01', to: '2024-12-31', holidays: ['2024-03-06'] },
});

type Treatment = Partial<NonNullable<Definition['pipeline']>['treatment']>;

interface Case extends Omit<MarketSketch, 'dates'> {
  readonly dates?: readonly string[];
  readonly treatment?: Treatment;
  readonly rebalance?: Partial<Definition['rebalance']>;
  readonly costBps?: number;
  readonly start?: string;
  readonly end?: string | null;
}

/** Equal weights from 4 March on, never rebalanced unless said. */
function simulate({
  dates = WEEK,
  treatment = {},
  rebalance = { frequency: 'none' },
  costBps = 0,
  start,
  end = null,
  ...sketch
}: Case): Run {
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: dates[0],
    rebalance,
    universe: {
      kind: 'list',
      identifiers: Object.keys(sketch.close).filter((name) => !/^[A-Z]{6}$/.test(name) && name !== 'KID'),
    },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
  });
  return runOn(CALENDARS, buildMarket({ dates, ...sketch }), document, {
    transaction_cost_bps: costBps,
    start: start ?? null,
    end,
  });
}

/** Codes of what a run warns of, but for the currency that markets of tests do not declare. */
const codesOf = ({ findings }: Run) =>
  findings.map(({ code }): string => code).filter((code) => code !== 'CURRENCY_ASSUMED');
const STAMP = { runAt: 't', runHash: 'h', storeContentHash: 's', engineVersion: '0' };

const levels = (run: Run): number[] => [...run.index.book.value];

function weightsOf({ index: { book } }: Run, at: number): Record<string, number> {
  const { sm, columns, weights } = book;
  return Object.fromEntries(
    [...columns].flatMap((column, slot) =>
      weights[at * columns.length + slot]! > 0 ? [[sm.identifiers[column]!, weights[at * columns.length + slot]!]] : [],
    ),
  );
}

function close(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => expect(actual[i]).toBeCloseTo(value, 10));
}

const flat = (price: number) => [price, price, price, price, price, price];

describe('an index that loses everything', () => {
  const lost = (end: string | null) =>
    simulate({
      close: { A: [100, 100, null, null, null, null], KID: flat(50) },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, ex: '2024-03-07' }],
      treatment: { delisting: 'zero' },
      end,
    });
  const result = (run: Run) =>
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

  test('is told with the day on which nothing is left: returns from 0 have no value', () => {
    expect(() => result(lost(null))).toThrow(
      expect.objectContaining({
        code: 'NUMERIC_FAILURE',
        message:
          'The portfolio is worth nothing from 2024-03-07 on, and returns from 0 have no value. A run that ends on 2024-03-07 or before can be measured.',
        detail: { date: '2024-03-07' },
      }),
    );
  });

  test('is measured up to that day', () => {
    const { metrics, returns } = result(lost('2024-03-07'));
    expect(returns.data).toEqual([0, 0, -1]);
    expect(metrics).toMatchObject({ total_return: -1, annualised_return: -1, max_drawdown: -1 });
  });
});

describe('a name that ends by an action', () => {
  const delisted = (value: number, treatment: Treatment = {}, type: 'DELISTING' | 'ACQUISITION' = 'DELISTING') =>
    simulate({
      close: { A: [100, 100, null, null, null, null], B: flat(50) },
      actions: [{ name: 'A', type, value, ex: '2024-03-07' }],
      treatment,
    });

  test('leaves at its proceeds on the first session on or after the ex day; the rest takes its weight', () => {
    const run = delisted(80);
    close(levels(run), [100, 100, 100, 90, 90, 90]);
    expect(weightsOf(run, 2)).toEqual({ A: 0.5, B: 0.5 });
    expect(weightsOf(run, 3)).toEqual({ B: 1 });
    expect(run.rebalances).toHaveLength(1);
    close(run.index.book.divisor, [1, 1, 1, 5 / 9, 5 / 9, 5 / 9]);
  });

  test('is written off only when it brings nothing and the treatment says so', () => {
    close(levels(delisted(0, { delisting: 'zero' })), [100, 100, 100, 50, 50, 50]);
    close(levels(delisted(0)), [100, 100, 100, 100, 100, 100]);
    close(levels(delisted(80, { delisting: 'zero' })), [100, 100, 100, 90, 90, 90]);
    close(levels(delisted(80, { delisting: 'last_price' })), [100, 100, 100, 100, 100, 100]);
    close(levels(delisted(0, { delisting: 'zero' }, 'ACQUISITION')), [100, 100, 100, 100, 100, 100]);
  });

  test('that was the last one leaves cash at level', () => {
    const run = simulate({
      close: { A: [100, 110, 120, null, null, 999] },
      actions: [{ name: 'A', type: 'DELISTING', value: 60, ex: '2024-03-07' }],
    });
    close(levels(run), [100, 110, 120, 60, 60, 60]);
    expect([...run.index.book.cash]).toEqual([0, 0, 0, 1, 1, 1]);
  });

  test('costs the portfolio only what is bought with the proceeds', () => {
    const run = simulate({
      close: { A: [100, 100, null, null, null, null], B: flat(50) },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, ex: '2024-03-07' }],
      costBps: 100,
    });
    const start = 1_000_000 / 1.01;
    const bought = start / 2 / 1.01;
    close([run.portfolio.value[3]! / 1e6], [(start / 2 + bought) / 1e6]);
    const rows = portfolioTransactionsOf(run).filter(({ date }) => date === '2024-03-07');
    expect(rows.map(({ asset, side, reason }) => [asset, side, reason])).toEqual([
      ['A', 'sell', 'delisting'],
      ['B', 'buy', 'delisting'],
    ]);
    close([rows[0]!.cost, rows[1]!.notional / 1e6, rows[1]!.cost / 1e6], [0, bought / 1e6, bought / 1e8]);
  });

  test('and merges turns into shares of the other at its close', () => {
    const run = simulate({
      close: { A: [100, 100, 110, null, null, null], B: [50, 50, 60, 60, 66, 66] },
      actions: [{ name: 'A', type: 'MERGER', value: 2, ex: '2024-03-06', related: 'B' }],
    });
    // One A becomes two B at 60: 120 for 100, beside B's own 60 for 50.
    close(levels(run), [100, 100, 120, 120, 132, 132]);
    expect(weightsOf(run, 2)).toEqual({ B: 1 });
  });

  test('by a change of ticker goes on under the new one', () => {
    const run = simulate({
      close: { A: [100, 110, null, null, null, null], B: flat(50), KID: [null, null, 121, 121, 121, 121] },
      actions: [{ name: 'A', type: 'TICKER_CHANGE', value: 0, ex: '2024-03-06', related: 'KID' }],
    });
    close(levels(run), [100, 105, 110.5, 110.5, 110.5, 110.5]);
    expect(Object.keys(weightsOf(run, 2))).toEqual(['B', 'KID']);
  });
});

describe('a name whose bars stop without an action', () => {
  test('is carried, reported as gaps and leaves at the close of the last patient session', () => {
    const run = simulate({
      close: { A: [100, 80, null, null, 40, 40], B: flat(50) },
      treatment: { max_stale_sessions: 2 },
    });
    close(levels(run), [100, 90, 90, 90, 90, 90]);
    expect(Object.keys(weightsOf(run, 2))).toEqual(['A', 'B']);
    expect(weightsOf(run, 3)).toEqual({ B: 1 });
    expect(codesOf(run)).toEqual(['SILENT_DELISTING']);
    expect(run.gaps.map(({ session }) => session)).toEqual([2, 3]);
  });

  test('leaves at its first gap when gaps exclude, and fails the run when they fail', () => {
    const sketch = { close: { A: [100, 80, null, 40, 40, 40], B: flat(50) } };
    expect(weightsOf(simulate({ ...sketch, treatment: { missing_prices: 'exclude' } }), 2)).toEqual({ B: 1 });
    expect(() => simulate({ ...sketch, treatment: { missing_prices: 'fail' } })).toThrow(
      expect.objectContaining({ code: 'MISSING_PRICE' }),
    );
    close(levels(simulate(sketch)), [100, 90, 90, 70, 70, 70]);
  });

  test('on a holiday of its own exchange has no gap', () => {
    const sketch = {
      close: { A: [100, 80, null, 80, 80, 80], B: flat(50) },
      treatment: { missing_prices: 'fail' } as const,
    };
    expect(simulate({ ...sketch, reference: { A: { EXCHANGE: 'OTHER' } } }).gaps).toEqual([]);
  });
});

describe('a spin-off', () => {
  const spun = (kid: (number | null)[], treatment: Treatment = {}) =>
    simulate({
      close: { A: [100, 100, 90, 90, 90, 90], B: flat(50), KID: kid },
      actions: [{ name: 'A', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' }],
      treatment,
    });

  test('enters at zero and is worth its price from its first bar on', () => {
    const run = spun([null, null, 20, 24, 24, 24]);
    close(levels(run), [100, 100, 100, 101, 101, 101]);
    expect(weightsOf(run, 2)['KID']).toBeCloseTo(0.05, 12);
    close(levels(spun([null, null, null, 20, 24, 24])), [100, 100, 95, 100, 101, 101]);
  });

  test('without a bar in time, or ignored, is worth nothing', () => {
    close(levels(spun([null, null, null, null, null, 20], { max_stale_sessions: 2 })), [100, 100, 95, 95, 95, 95]);
    close(levels(spun([null, null, 20, 24, 24, 24], { spin_offs: 'ignore' })), [100, 100, 95, 95, 95, 95]);
  });
});

describe('cash and ratios', () => {
  test('a special dividend is reinvested in every variant, an ordinary one by the variant', () => {
    const paying = (type: 'DIVIDEND' | 'SPECIAL_DIVIDEND', treatment: Treatment) =>
      levels(
        simulate({
          close: { A: [100, 100, 95, 95, 95, 95] },
          actions: [{ name: 'A', type, value: 10, ex: '2024-03-06' }],
          treatment,
        }),
      )[2]!;
    close([paying('SPECIAL_DIVIDEND', {}), paying('SPECIAL_DIVIDEND', { special_dividends: 'ignore' })], [105, 95]);
    close(
      [
        paying('DIVIDEND', {}),
        paying('DIVIDEND', { dividends: 'total' }),
        paying('DIVIDEND', { dividends: 'net', withholding_tax: 0.15 }),
      ],
      [95, 105, 103.5],
    );
  });

  test('the divisor falls by the cash that leaves', () => {
    const run = simulate({
      close: { A: [100, 100, 95, 95, 95, 95] },
      actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 10, ex: '2024-03-06' }],
    });
    // One share: market value 95 after 105, level 105 = 95 / divisor.
    close(run.index.book.divisor, [1, 1, 95 / 105, 95 / 105, 95 / 105, 95 / 105]);
  });

  test('a rights issue compares with the price ex rights and raises the divisor by the money raised', () => {
    const run = simulate({
      close: { A: [100, 100, 92, 92, 92, 92] },
      actions: [{ name: 'A', type: 'RIGHTS_ISSUE', value: 0.5, ex: '2024-03-06', subscription: 70 }],
    });
    close(levels(run), [100, 100, (100 * 92) / 90, (100 * 92) / 90, (100 * 92) / 90, (100 * 92) / 90]);
    expect(run.index.book.divisor[2]).toBeCloseTo(1.35, 12);
    const plain = simulate({
      close: { A: [100, 100, 92, 92, 92, 92] },
      actions: [{ name: 'A', type: 'RIGHTS_ISSUE', value: 0.5, ex: '2024-03-06' }],
    });
    close(levels(plain).slice(2, 3), [92]);
    expect(codesOf(plain)).toEqual(['RIGHTS_NOT_ADJUSTED']);
  });

  test('an ex day that is no session acts on the next one; a cancelled action never', () => {
    const split = (cancelled: boolean) =>
      levels(
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
    // Carried at 50 with 1 of cash, then 49 for 50.
    close(levels(run).slice(0, 4), [100, 100, 102, 102 * 0.98]);
  });

  test('a store adjusted for splits, or for everything, has nothing applied twice', () => {
    const sketch = {
      close: { A: flat(100) },
      actions: [
        { name: 'A', type: 'SPLIT', value: 2, ex: '2024-03-06' },
        { name: 'A', type: 'DIVIDEND', value: 5, ex: '2024-03-07' },
      ] as const,
    };
    const treatment = { dividends: 'total' } as const;
    close(levels(simulate({ ...sketch, treatment, adjustment: 'splits' })).slice(2, 4), [100, 105]);
    close(levels(simulate({ ...sketch, treatment, adjustment: 'total' })).slice(2, 4), [100, 100]);
  });
});

describe('another currency', () => {
  const abroad = (rates: Record<string, (number | null)[]>, currency = 'EUR') =>
    simulate({ close: { A: flat(100), ...rates }, reference: { A: { CURRENCY: currency } } });

  test('moves the level by the rate, carried forward, from either pair', () => {
    close(levels(abroad({ EURUSD: [1, 1.1, null, 1.21, 1.21, 1.21] })), [100, 110, 110, 121, 121, 121]);
    close(levels(abroad({ USDEUR: [1, 0.8, 0.8, 0.5, 0.5, 0.5] })), [100, 125, 125, 200, 200, 200]);
  });

  test('in minor units is a hundredth of the major one', () => {
    const run = abroad({ GBPUSD: [1.5, 1.5, 1.5, 1.5, 1.5, 3] }, 'GBX');
    close(levels(run), [100, 100, 100, 100, 100, 200]);
    expect(portfolioTransactionsOf(run)[0]!.price).toBeCloseTo(1.5, 12);
  });

  test('without its rate is refused', () => {
    expect(() => abroad({})).toThrow(expect.objectContaining({ code: 'FX_MISSING' }));
    expect(() => abroad({ EURUSD: [null, 1, 1, 1, 1, 1] })).toThrow(expect.objectContaining({ code: 'FX_MISSING' }));
  });
});

describe('the schedule', () => {
  const twoWeeks = [
    '2024-03-04',
    '2024-03-05',
    '2024-03-06',
    '2024-03-07',
    '2024-03-08',
    '2024-03-11',
    '2024-03-12',
    '2024-03-13',
    '2024-03-14',
    '2024-03-15',
  ];

  test('with a lag decides before and takes effect later, leaving out what has gone', () => {
    const run = simulate({
      dates: twoWeeks,
      close: {
        A: [1, 1, 1, 1, 1, 1, null, null, null, null],
        B: twoWeeks.map(() => 1),
        C: [null, null, null, null, null, 1, 1, 1, 1, 1],
      },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, ex: '2024-03-12' }],
      rebalance: { frequency: 'custom', dates: ['2024-03-08', '2024-03-13'], effective_lag: 2 },
    });
    expect(run.rebalances.map(({ announced }) => announced === null)).toEqual([true, false, false]);
    // Decided on the 6th and on the 11th: C was not there yet, then A was still there.
    expect(run.rebalances.map(({ columns }) => [...columns])).toEqual([
      [0, 1],
      [0, 1],
      [1, 2],
    ]);
    close(run.rebalances[2]!.weights, [0.5, 0.5]);
  });

  test('unadjusted keeps the date and takes effect at the close before', () => {
    const run = simulate({
      dates: twoWeeks,
      close: { A: twoWeeks.map((_, t) => 100 + t), B: twoWeeks.map(() => 100) },
      rebalance: { frequency: 'custom', dates: ['2024-03-09'], roll: 'unadjusted' },
    });
    const second = run.rebalances[1]!;
    expect([second.date - second.session, run.portfolio.sm.sessions[second.session]]).toEqual([19_791 - 4, 19_790]);
    expect(weightsOf(run, 4)).toEqual({ A: 0.5, B: 0.5 });
  });

  test('unadjusted is carried out once for two dates that come to one session, and reports both', () => {
    const both = ['2024-03-09', '2024-03-10'];
    const run = simulate({
      dates: twoWeeks,
      close: { A: twoWeeks.map((_, t) => 100 + t), B: twoWeeks.map(() => 100) },
      rebalance: { frequency: 'custom', dates: both, roll: 'unadjusted' },
    });
    expect(run.rebalances.map(({ date, also }) => [date, ...also].map(formatDay))).toEqual([['2024-03-04'], both]);
    const result = JSON.parse(new TextDecoder().decode(runResultJson(run, STAMP)));
    expect(result.rebalances.map((snapshot: { schedule_dates: string[] }) => snapshot.schedule_dates)).toEqual([
      ['2024-03-04'],
      both,
    ]);
    expect(result.rebalance_pricing).toEqual([
      { date: '2024-03-04', priced_from: '2024-03-04' },
      { date: '2024-03-09', priced_from: '2024-03-08' },
      { date: '2024-03-10', priced_from: '2024-03-08' },
    ]);
  });

  test('on an unscheduled closure takes effect at the close before', () => {
    const run = simulate({
      close: { A: [100, 110, 120, null, 120, 120], B: [100, 100, 100, null, 100, 100] },
      rebalance: { frequency: 'custom', dates: ['2024-03-07'] },
    });
    expect(run.rebalances.map(({ session }) => session)).toEqual([0, 2]);
    expect(weightsOf(run, 2)).toEqual({ A: 0.5, B: 0.5 });
  });
});

describe('a target without a bar on the day of the rebalance', () => {
  // B has no bar on the 6th, on which the weights of 1/2 are taken again.
  const close_ = { A: [100, 110, 120, 120, 120, 120], B: [100, 100, null, 130, 130, 130] };
  const rebalance: Partial<Definition['rebalance']> = { frequency: 'custom', dates: ['2024-03-06'] };

  test('is traded at its carried price, which the rebalance and a warning report', () => {
    const run = simulate({ close: close_, rebalance });
    expect(weightsOf(run, 2)).toEqual({ A: 0.5, B: 0.5 });
    const result = JSON.parse(new TextDecoder().decode(runResultJson(run, STAMP)));
    expect(result.rebalances.map((snapshot: { stale_fills: unknown }) => snapshot.stale_fills)).toEqual([
      [],
      [{ identifier: 'B', last_bar: '2024-03-05', sessions_old: 1 }],
    ]);
    expect(run.findings.filter(({ code }) => code === 'STALE_FILL')).toEqual([
      {
        severity: 'warning',
        code: 'STALE_FILL',
        path: 'pipeline.treatment.stale_targets',
        value: 1,
        message: expect.stringContaining('1 trade of 1 rebalance was filled'),
      },
    ]);
    // Half of 220 in B at the 100 of the 5th, worth 130 on the 7th.
    expect(run.index.book.value[3]).toBeCloseTo(run.index.book.value[2]! * (0.5 + 0.5 * 1.3), 12);
  });

  test('is not traded before its next bar when the treatment defers it, by the index as by the portfolio', () => {
    const run = simulate({ close: close_, rebalance, treatment: { stale_targets: 'defer' } });
    // The index stands at 1.1 with A at 6/11 and B at 5/11; A is sold to 1/2, and what is meant for B waits in cash.
    close(Object.values(weightsOf(run, 2)), [0.5, 5 / 11]);
    expect(run.index.book.cash[2]).toBeCloseTo(0.5 - 5 / 11, 12);
    // On the 7th B has gone from 100 to 130; then the cash is spent on it.
    const grown = 0.5 + (5 / 11) * 1.3 + (0.5 - 5 / 11);
    expect(run.index.book.value[3]! / run.index.book.value[2]!).toBeCloseTo(grown, 12);
    close(Object.values(weightsOf(run, 3)), [0.5 / grown, (grown - 0.5) / grown]);
    expect(run.index.book.cash[3]).toBeCloseTo(0, 12);
    close(run.level, [...run.indexLevel]);
    expect(run.portfolio.unfilled).toMatchObject([{ side: 'buy', target: 0.5, reason: 'stale_price', filledAt: 3 }]);
    expect(run.findings.filter(({ code }) => code === 'STALE_FILL')).toEqual([]);
  });

  test('is waited for at its whole weight by a portfolio that begins while the index waits', () => {
    const run = simulate({ close: close_, rebalance, treatment: { stale_targets: 'defer' }, start: '2024-03-06' });
    expect(run.portfolio.unfilled).toMatchObject([{ side: 'buy', reason: 'stale_price', filledAt: 1 }]);
    expect(run.portfolio.unfilled[0]!.target).toBeCloseTo(0.5, 12);
    close([...run.portfolio.weights.slice(2, 4), run.portfolio.cash[1]!], [0.5, 0.5, 0]);
  });

  test('is not stale where its exchange was closed', () => {
    const run = simulate({
      close: { A: close_.A, B: [100, 100, null, 130, 130, 130] },
      rebalance,
      reference: { B: { EXCHANGE: 'OTHER' } },
      treatment: { stale_targets: 'defer' },
    });
    expect([weightsOf(run, 2), run.portfolio.unfilled]).toEqual([{ A: 0.5, B: 0.5 }, []]);
    expect(run.findings.filter(({ code }) => code === 'STALE_FILL')).toEqual([]);
  });
});

describe('a portfolio', () => {
  test('pays for its first purchase out of its capital, before the level begins', () => {
    const run = simulate({ close: { A: flat(100) }, costBps: 50 });
    close([run.portfolio.value[0]! / 1e6, run.totalCosts / 1e6], [1 / 1.005, 0.005 / 1.005]);
    expect([run.level[0], run.metrics.total_return]).toEqual([100, 0]);
  });

  test('waits with its money for a target without a price and buys at its next bar', () => {
    const run = simulate({
      close: { A: [100, 100, null, 100, 100, 100], B: [50, 50, 100, 100, 100, 100] },
      rebalance: { frequency: 'custom', dates: ['2024-03-06'], effective_lag: 1 },
      treatment: { max_stale_sessions: 0 },
    });
    // Held 50 and 100 of 150: A lacks 25, which B brings; they wait in cash until A trades again.
    expect(run.portfolio.unfilled).toEqual([
      {
        at: 2,
        slot: 0,
        side: 'buy',
        target: 0.5,
        held: expect.closeTo(1 / 3, 12),
        notional: expect.closeTo(250_000, 6),
        reason: 'stale_price',
        filledAt: 3,
        replacedAt: null,
      },
    ]);
    close(run.portfolio.cash, [0, 0, 1 / 6, 0, 0, 0]);
    close([...run.portfolio.weights.subarray(6, 8)], [0.5, 0.5]);
    expect(portfolioTransactionsOf(run).at(-1)).toMatchObject({
      date: '2024-03-07',
      asset: 'A',
      side: 'buy',
      reason: 'retry',
      notional: expect.closeTo(250_000, 6),
    });
  });

  test('that starts later starts with what the index holds', () => {
    const run = simulate({ close: { A: [100, 200, 300, 300, 300, 300], B: flat(100) }, start: '2024-03-06' });
    expect(run.days).toHaveLength(4);
    const first = [...run.portfolio.weights.subarray(0, 2)];
    close(first, [0.75, 0.25]);
    expect([run.rebalances.length, run.rebalancesWithin, run.index.book.length]).toEqual([1, 0, 6]);
  });
});

describe('a portfolio that starts while its index waits for a spun-off name', () => {
  const KID = [null, null, null, null, 20, 24];
  const prices = { A: [100, 100, 90, 90, 90, 90], B: flat(50), KID };
  const spinOff = { name: 'A', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' } as const;

  test('is owed it as the index is: their levels are one', () => {
    const run = simulate({ close: prices, actions: [spinOff], start: '2024-03-07' });
    // Half of 100 in A is half a share, which is owed a quarter of the child.
    close(run.level, [100, 10_000 / 95, 10_100 / 95]);
    close(run.indexLevel, [...run.level]);
  });

  test('is worth the same whether an order has to wait later or not, bit for bit', () => {
    const dates = [...WEEK, '2024-03-12', '2024-03-13', '2024-03-14'];
    const longer = Object.fromEntries(
      Object.entries(prices).map(([name, bars]) => [name, [...bars, bars[5]!, bars[5]!, bars[5]!]]),
    );
    const levelsWhen = (suspended: boolean) => {
      const bars = suspended ? [...longer['B']!.slice(0, 6), null, null, null] : longer['B']!;
      const run = simulate({
        dates,
        close: { ...longer, B: bars },
        actions: [spinOff],
        start: '2024-03-07',
        treatment: { max_stale_sessions: 2 },
        rebalance: { frequency: 'custom', dates: ['2024-03-14'], effective_lag: 3 },
      });
      expect(run.portfolio.unfilled.length > 0).toBe(suspended);
      return [...run.level.subarray(0, 3)];
    };
    expect(levelsWhen(true)).toEqual(levelsWhen(false));
  });

  test('has the first price of a spun-off name as a contribution of that name', () => {
    const run = simulate({ close: prices, actions: [spinOff] });
    const bytes = runToColumns(run, { contentHash: 's' });
    const { contributions } = attributionView(
      openColumns((start, end) => bytes.slice(start, end)),
      { start: '2024-03-07', end: '2024-03-08' },
    );
    expect(contributions.map(({ asset_id: id, contribution }) => [id, contribution])).toEqual([
      ['KID', expect.closeTo(5 / 95, 12)],
      ['A', 0],
      ['B', 0],
    ]);
  });
});

describe('ranges', () => {
  const sketch = { close: { A: flat(100) } };

  test.each([
    ['after the store', '2024-04-01', 'NO_DATA_IN_RANGE'],
    ['after the calendar', '2026-04-01', 'CALENDAR_NOT_COVERED'],
    ['of one session', '2024-03-11', 'RANGE_TOO_SHORT'],
  ])('%s is refused', (_name, start, code) => {
    expect(() => simulate({ ...sketch, start })).toThrow(expect.objectContaining({ code }));
  });

  test('that a calendar covers in part are cut and say so', () => {
    const calendars = weekdayCalendars({ MAIN: { from: '2024-03-05', to: '2024-03-08' } });
    const document = IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: '2024-03-04',
      rebalance: { frequency: 'none' },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    const { days, index } = runOn(calendars, buildMarket({ dates: WEEK, ...sketch }), document);
    expect(days).toHaveLength(4);
    expect(index.coverage).toMatchObject({ calendar: 'MAIN', trimmedStart: true, trimmedEnd: true });
  });
});

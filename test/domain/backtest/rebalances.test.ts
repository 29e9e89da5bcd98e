import { describe, expect, test } from 'vitest';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { type IndexDocument as Definition } from '#domain/definition/index-document.js';
import { createAttributionView } from '#views/attribution.js';
import { selectScheduleAround } from '#domain/definition/index-schedule.js';
import { createRebalanceView, listRebalances } from '#views/rebalances.js';
import { createSummaryView } from '#views/performance.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { listPortfolioTransactions } from './transactions.js';
import { buildMarket, createWeekdayCalendars } from './market-builder.js';
import { runOn, createColumns } from './random-run.js';
import { createDefinition, WEEK, simulate, STAMP, readWeights, close, repeatPrice } from './event-case.js';
import { runOverviewJson, runResultJson } from './run-texts.js';
import { createDocument } from '../index-document.js';

const EMPTY = { runId: 'X', benchmark: null, findShares: () => null, risk: null, activeRisk: null };

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

  test('with a lag decides before and takes effect later, without securities that have left', () => {
    const run = simulate({
      dates: twoWeeks,
      close: {
        A: [1, 1, 1, 1, 1, 1, null, null, null, null],
        B: twoWeeks.map(() => 1),
        C: [null, null, null, null, null, 1, 1, 1, 1, 1],
      },
      actions: [{ name: 'A', type: 'DELISTING', value: 0, isUnpriced: true, ex: '2024-03-12' }],
      rebalance: { frequency: 'custom', dates: ['2024-03-08', '2024-03-13'], effective_lag: 2 },
    });
    expect(run.rebalances.map(({ announced }) => announced === null)).toEqual([true, false, false]);
    // One decision is on the 6th, when C was not yet listed. The other is on the 11th, when A still existed.
    expect(run.rebalances.map(({ columns }) => [...columns])).toEqual([
      [0, 1],
      [0, 1],
      [1, 2],
    ]);
    close(run.rebalances[2]!.weights, [0.5, 0.5]);
    // A had left before the last rebalance, which therefore removes nothing.
    expect(
      listRebalances(createColumns(run)).rebalances.map((row) => [row.largest_added, row.largest_removed]),
    ).toEqual([
      [['A', 'B'], []],
      [[], []],
      [['C'], []],
    ]);
  });

  test('unadjusted keeps the date and takes effect at the close before', () => {
    const run = simulate({
      dates: twoWeeks,
      close: { A: twoWeeks.map((_, t) => 100 + t), B: twoWeeks.map(() => 100) },
      rebalance: { frequency: 'custom', dates: ['2024-03-09'], roll: 'unadjusted' },
    });
    const second = run.rebalances[1]!;
    expect([second.date - second.session, run.portfolio.sm.sessions[second.session]]).toEqual([19_791 - 4, 19_790]);
    expect(readWeights(run, 4)).toEqual({ A: 0.5, B: 0.5 });
  });

  test('on a session without any price is decided and traded at the close before', () => {
    const prices = twoWeeks.map((_, t) => (t === 3 ? null : 100 + t));
    const columns = createColumns(
      simulate({
        dates: twoWeeks,
        close: { A: prices, B: prices.map((price) => price && 2 * price - 100) },
        rebalance: { frequency: 'custom', dates: [twoWeeks[3]!] },
      }),
    );
    const dates = listRebalances(columns).rebalances.map((row) => [row.date, row.decision_date, row.traded_on]);
    expect(dates).toEqual([
      ['2024-03-04', '2024-03-04', '2024-03-04'],
      ['2024-03-07', '2024-03-06', '2024-03-06'],
    ]);
    expect(createRebalanceView(columns, '2024-03-08').decision_date).toBe('2024-03-06');
  });

  test('unadjusted names no date after the requested one', () => {
    const sketch = {
      dates: twoWeeks,
      close: { A: twoWeeks.map((_, t) => 100 + t), B: twoWeeks.map(() => 100) },
      rebalance: { frequency: 'custom' as const, dates: ['2024-03-09'], roll: 'unadjusted' as const },
    };
    const columns = createColumns(simulate(sketch));
    const readRebalanceDates = (asOf: string) => {
      const weights = readPositiveWeights(columns, asOf);
      const view = createWeightsView({ ...EMPTY, requestedAsOf: asOf, weights });
      return [view.rebalance_date, view.drift === null, createRebalanceView(columns, asOf).traded_on];
    };
    // The rebalance on a Saturday takes effect at the close of Friday. So its date is the Friday.
    expect(readRebalanceDates('2024-03-07')).toEqual(['2024-03-04', false, '2024-03-04']);
    expect(readRebalanceDates('2024-03-08')).toEqual(['2024-03-08', true, '2024-03-08']);
    expect(readRebalanceDates('2024-03-11')).toEqual(['2024-03-09', false, '2024-03-08']);
    const cut = simulate({ ...sketch, end: '2024-03-08' });
    const overview = JSON.parse(new TextDecoder().decode(runOverviewJson(cut))) as {
      last_rebalance: string;
      end: string;
    };
    expect(overview).toMatchObject({ last_rebalance: '2024-03-08', end: '2024-03-08' });
    expect(createSummaryView(createColumns(cut)).last_rebalance).toBe('2024-03-08');
    const calendar = cut.index.book.sm.calendar;
    const { rebalance, base_date: base } = createDefinition(sketch);
    const cadence = { rebalance, calendar };
    const schedule = { baseDay: parseValidDay(base), cadences: [cadence], called: [] };
    const findSurroundingRebalances = (asOf: string) =>
      selectScheduleAround({ schedule, asOf: parseValidDay(asOf), limit: 4 });
    expect(findSurroundingRebalances('2024-03-08').recent.map(({ date }) => formatDay(date))).toEqual(['2024-03-04']);
    expect(findSurroundingRebalances('2024-03-11').recent.map(({ date }) => formatDay(date))).toEqual([
      '2024-03-09',
      '2024-03-04',
    ]);
  });

  test('unadjusted is carried out once for two dates that come to one session, and reports both', () => {
    const bothDays = ['2024-03-09', '2024-03-10'];
    const run = simulate({
      dates: twoWeeks,
      close: { A: twoWeeks.map((_, t) => 100 + t), B: twoWeeks.map(() => 100) },
      rebalance: { frequency: 'custom', dates: bothDays, roll: 'unadjusted' },
    });
    expect(run.rebalances.map(({ date, also }) => [date, ...also].map(formatDay))).toEqual([['2024-03-04'], bothDays]);
    const result = JSON.parse(new TextDecoder().decode(runResultJson(run, STAMP)));
    expect(result.rebalances.map((snapshot: { schedule_dates: string[] }) => snapshot.schedule_dates)).toEqual([
      ['2024-03-04'],
      bothDays,
    ]);
    const columns = createColumns(run);
    expect(listRebalances(columns).rebalances.map(({ schedule_dates }) => schedule_dates)).toEqual([
      ['2024-03-04'],
      bothDays,
    ]);
    expect(createRebalanceView(columns, bothDays[1]!)).toMatchObject({ date: bothDays[0], schedule_dates: bothDays });
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
    expect(readWeights(run, 2)).toEqual({ A: 0.5, B: 0.5 });
  });
});

describe('a target without a bar on the day of the rebalance', () => {
  // B has no price on the 6th, when the weights are reset to 1/2.
  const close_ = { A: [100, 110, 120, 120, 120, 120], B: [100, 100, null, 130, 130, 130] };
  const rebalance: Partial<Definition['rebalance']> = { frequency: 'custom', dates: ['2024-03-06'] };

  test('is traded at its carried price, which the rebalance and a warning report', () => {
    const run = simulate({ close: close_, rebalance });
    expect(readWeights(run, 2)).toEqual({ A: 0.5, B: 0.5 });
    const result = JSON.parse(new TextDecoder().decode(runResultJson(run, STAMP)));
    expect(result.rebalances.map((snapshot: { stale_fills: unknown }) => snapshot.stale_fills)).toEqual([
      [],
      [{ identifier: 'B', last_bar: '2024-03-05', sessions_old: 1 }],
    ]);
    expect(listRebalances(createColumns(run)).rebalances.map(({ stale_fills }) => stale_fills)).toEqual([
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
    // Half of 220 was in B at its close of 100 on the 5th. On the 7th it is worth 130 / 100 of this amount.
    expect(run.index.book.value[3]).toBeCloseTo(run.index.book.value[2]! * (0.5 + 0.5 * 1.3), 12);
  });

  test('is not traded before its next bar when the treatment defers it, by the index as by the portfolio', () => {
    const run = simulate({ close: close_, rebalance, treatment: { stale_targets: 'defer' } });
    // The index is at 1.1 with 6/11 in A and 5/11 in B. A is reduced to 1/2. The purchase of B has to wait.
    close(Object.values(readWeights(run, 2)), [0.5, 5 / 11]);
    expect(run.index.book.cash[2]).toBeCloseTo(0.5 - 5 / 11, 12);
    // B rises from 100 to 130 by the 7th. On that day the cash buys it.
    const grownValue = 0.5 + (5 / 11) * 1.3 + (0.5 - 5 / 11);
    expect(run.index.book.value[3]! / run.index.book.value[2]!).toBeCloseTo(grownValue, 12);
    close(Object.values(readWeights(run, 3)), [0.5 / grownValue, (grownValue - 0.5) / grownValue]);
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
    expect([readWeights(run, 2), run.portfolio.unfilled]).toEqual([{ A: 0.5, B: 0.5 }, []]);
    expect(run.findings.filter(({ code }) => code === 'STALE_FILL')).toEqual([]);
  });
});

describe('a portfolio', () => {
  test('pays for its first purchase out of its capital, before the level begins', () => {
    const run = simulate({ close: { A: repeatPrice(100) }, costBps: 50 });
    close([run.portfolio.value[0]! / 1e6, run.totalCosts / 1e6], [1 / 1.005, 0.005 / 1.005]);
    expect([run.level[0], run.metrics.total_return]).toEqual([100, 0]);
  });

  test('waits with its money for a target without a price and buys at its next bar', () => {
    const run = simulate({
      close: { A: [100, 100, null, 100, 100, 100], B: [50, 50, 100, 100, 100, 100] },
      rebalance: { frequency: 'custom', dates: ['2024-03-06'], effective_lag: 1, weights_as: 'weights' },
      treatment: { stale_targets: 'defer' },
    });
    // Holdings of 50 and 100 sum to 150. A is 25 below its half. B is sold for this amount, which stays in cash until A
    // trades again.
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
    expect(listPortfolioTransactions(run).at(-1)).toMatchObject({
      date: '2024-03-07',
      asset: 'A',
      side: 'buy',
      reason: 'retry',
      notional: expect.closeTo(250_000, 6),
    });
  });

  test('that starts later starts with what the index holds', () => {
    const run = simulate({ close: { A: [100, 200, 300, 300, 300, 300], B: repeatPrice(100) }, start: '2024-03-06' });
    expect(run.days).toHaveLength(4);
    const first = [...run.portfolio.weights.subarray(0, 2)];
    close(first, [0.75, 0.25]);
    expect([run.rebalances.length, run.rebalancesWithin, run.index.book.length]).toEqual([1, 0, 6]);
  });
});

describe('a portfolio that starts while its index waits for a spun-off name', () => {
  const KID = [null, null, null, null, 20, 24];
  const prices = { A: [100, 100, 90, 90, 90, 90], B: repeatPrice(50), KID };
  const spinOff = { name: 'A', type: 'SPIN_OFF', value: 0.5, ex: '2024-03-06', related: 'KID' } as const;

  test('is owed it as the index is: their levels are one', () => {
    const run = simulate({ close: prices, actions: [spinOff], start: '2024-03-07' });
    // Half of 100 buys half a share of A. It entitles the holder to a quarter of a share of the child.
    close(run.level, [100, 10_000 / 95, 10_100 / 95]);
    close(run.indexLevel, [...run.level]);
  });

  test('is worth the same whether an order has to wait later or not, bit for bit', () => {
    const dates = [...WEEK, '2024-03-12', '2024-03-13', '2024-03-14'];
    const longerCloses = Object.fromEntries(
      Object.entries(prices).map(([name, bars]) => [name, [...bars, bars[5]!, bars[5]!, bars[5]!]]),
    );
    const computeLevelsWhen = (isSuspended: boolean) => {
      const bars = isSuspended ? [...longerCloses['B']!.slice(0, 6), null, null, null] : longerCloses['B']!;
      const run = simulate({
        dates,
        close: { ...longerCloses, B: bars },
        actions: [spinOff],
        start: '2024-03-07',
        treatment: { stale_targets: 'defer' },
        rebalance: { frequency: 'custom', dates: ['2024-03-14'], effective_lag: 3 },
      });
      expect(run.portfolio.unfilled.length > 0).toBe(isSuspended);
      return [...run.level.subarray(0, 3)];
    };
    expect(computeLevelsWhen(true)).toEqual(computeLevelsWhen(false));
  });

  test('has the first price of a spun-off name as a contribution of that name', () => {
    const run = simulate({ close: prices, actions: [spinOff] });
    const bytes = createRunColumns(run, { contentHash: 's' });
    const { contributions } = createAttributionView(
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
  const sketch = { close: { A: repeatPrice(100) } };

  test.each([
    ['after the store', '2024-04-01', 'NO_DATA_IN_RANGE'],
    ['after the calendar', '2026-04-01', 'CALENDAR_NOT_COVERED'],
    ['of one session', '2024-03-11', 'RANGE_TOO_SHORT'],
  ])('%s is refused', (_name, start, code) => {
    expect(() => simulate({ ...sketch, start })).toThrow(expect.objectContaining({ code }));
  });

  test('that a calendar covers in part are cut and reported', () => {
    const calendars = createWeekdayCalendars({ MAIN: { from: '2024-03-05', to: '2024-03-08' } });
    const document = createDocument({ base_date: '2024-03-04', rebalance: { frequency: 'none' } });
    const { days, index } = runOn(calendars, buildMarket({ dates: WEEK, ...sketch }), document);
    expect(days).toHaveLength(4);
    expect(index.coverage).toMatchObject({ calendar: 'MAIN', trimmedStart: true, trimmedEnd: true });
  });
});

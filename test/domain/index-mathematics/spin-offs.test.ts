import { describe, expect, test } from 'vitest';
import { computeGrowth, readGrowthRow } from '#domain/market/growth.js';
import { addSpinOffValue, createSecurityTerms } from '#domain/market/action-effects.js';
import { alignMarket } from '#domain/market/session-market.js';
import { computeDailyReturns } from '#domain/risk/return-panel.js';
import { computePriceSeries } from '#market/serve/price-series.js';
import { buildMarket, type MarketSketch } from '../backtest/market-builder.js';
import { CALENDARS, listWeekdays, runIndexCase, readLevels } from './index-case.js';

const DATES = listWeekdays(5);
const EX_DATE = 2;
const SPIN_OFF = { name: 'A', type: 'SPIN_OFF', value: 0.5, ex: DATES[EX_DATE]!, related: 'C' } as const;

function createMarket(close: MarketSketch['close'], others: Partial<MarketSketch> = {}) {
  return buildMarket({ dates: DATES, close, actions: [SPIN_OFF], ...others });
}

/** Returns the growth of A on every session after the first. */
function growParent(close: MarketSketch['close'], others: Partial<MarketSketch> = {}): number[] {
  const sm = alignMarket({
    market: createMarket(close, others),
    calendar: CALENDARS.get('MAIN')!,
    calendars: CALENDARS,
  });
  const growth = computeGrowth(sm, createSecurityTerms('total', 'USD'));
  const first = sm.sessionAt(sm.market.dates[0]!);
  return DATES.slice(1).map((_, t) => growth[readGrowthRow(sm, first + t + 1) + sm.columnOf('A')]!);
}

describe('the return of a security over a spin-off', () => {
  test('includes the distributed shares at their first close', () => {
    const growth = growParent({ A: [120, 120, 91, 91, 91], C: [null, null, 61, 70, 50] });
    // A holder of one share has 91 + 0.5 x 61 after 120.
    expect(growth).toEqual([1, (91 + 30.5) / 120, 1, 1]);
  });

  test('converts the distributed shares to the currency of the parent', () => {
    const growth = growParent(
      { A: [120, 120, 90, 90, 90], C: [null, null, 48, 48, 48], EURUSD: [1.25, 1.25, 1.25, 1.25, 1.25] },
      { reference: { A: { CURRENCY: 'USD' }, C: { CURRENCY: 'EUR' } } },
    );
    expect(growth).toEqual([1, 1, 1, 1]); // 90 + 0.5 x 48 x 1.25 = 120
  });

  test('is 0 on the ex-date if the distributed security has no price yet', () => {
    expect(growParent({ A: [120, 120, 90, 99, 99], C: [null, null, null, 60, 61] })).toEqual([1, 1, 1.1, 1]);
    expect(growParent({ A: [120, 120, 90, 99, 99] })).toEqual([1, 1, 1.1, 1]);
  });

  test.each([
    ['a return of the ex-date, with an unknown value of the shares', 'RETURN', null, 2, 1],
    ['a return of a later date', 'RETURN', null, 3, 0],
    ['a return of the ex-date, with a known value of the shares', 'RETURN', 60, 2, 0],
    ['no return', 'CLOSE', null, 2, 0],
  ])('is reported as unknown in a decision that reads %s', (_, field, child, review, count) => {
    const run = runIndexCase({
      close: {
        A: [120, 120, 90, 99, 99],
        B: [100, 100, 100, 100, 100],
        C: [null, null, child, 60, 61],
      },
      actions: [SPIN_OFF],
      universe: ['A', 'B'],
      selection: [{ id: 'top', type: 'TopN', params: { field, count: 2 } }],
      rebalance: { frequency: 'custom', dates: [DATES[review]] },
      document: { base_date: DATES[1] },
    });
    const findings = run.findings.filter(({ code }) => code === 'ACTION_WITHOUT_PRICE');
    expect(findings).toHaveLength(count);
    for (const { message } of findings)
      expect(message).toBe(
        `C, spun off from A on ${DATES[EX_DATE]}, has no price on that date. Its value is unknown, so the return of A on that date counts as 0 (RETURN).`,
      );
  });

  test('reduces the previous close of a parent that has no bar on the ex-date', () => {
    const growth = growParent({ A: [120, 120, null, 99, 99], C: [null, null, 60, 60, 60] });
    expect(growth).toEqual([1, 1, 99 / 90, 1]);
  });

  test('is that of the price if the prices are already adjusted for all distributions', () => {
    const growth = growParent({ A: [120, 120, 90, 90, 90], C: [null, null, 60, 60, 60] }, { adjustment: 'total' });
    expect(growth[1]).toBe(0.75);
  });

  test('is the same in the estimate of a risk model, with or without the distributed security', () => {
    const dates = listWeekdays(80);
    const close = {
      A: dates.map((_, t) => (t < 40 ? 120 : 90)),
      B: dates.map(() => 10),
      C: dates.map((_, t) => (t < 40 ? null : 60)),
    };
    const market = buildMarket({ dates, close, actions: [{ ...SPIN_OFF, ex: dates[40]! }] });
    const { coverage, read } = computeDailyReturns(
      market,
      { columns: [0, 1], from: null, to: null },
      createSecurityTerms('total', ''),
    );
    const returns = new Float64Array(coverage.sessions.length * 2);
    read(returns, {
      selectColumns: () => {
        throw new Error('returns are read from closes');
      },
    });
    expect(Math.max(...returns.map(Math.abs))).toBe(0);
  });

  test('is the growth of the adjusted closes', () => {
    const market = createMarket({ A: [120, 130, 91, 92, 93], C: [null, null, 61, 70, 50] });
    const table = computePriceSeries(
      {
        dates: market.dates,
        fields: [{ name: 'CLOSE', values: market.fields.get('CLOSE')! }],
        names: 2,
        position: 0,
        actions: market.actions.map((action) => addSpinOffValue(market, action)),
        adjustment: 'none',
      },
      { start: null, end: null, interval: 'native', columns: ['CLOSE'], adjust: 'total' },
    );
    const [before, base, ex] = table.columns[0]!.values;
    expect(ex! / base!).toBeCloseTo((91 + 30.5) / 130, 14);
    expect(base! / before!).toBeCloseTo(130 / 120, 14);
    expect(ex).toBe(91);
  });

  test('leaves the level of an index that holds both securities unchanged', () => {
    const close = { A: [120, 120, 90, 90, 90], B: [100, 100, 100, 100, 100], C: [null, null, 60, 60, 60] };
    const run = runIndexCase({ close, actions: [SPIN_OFF], universe: ['A', 'B'] });
    for (const level of readLevels(run, 'total')) expect(level).toBeCloseTo(100, 12);
  });
});

test.each([
  [
    'SPIN_OFF',
    { name: 'A', type: 'SPIN_OFF', ex: '2024-03-06', value: 0.5, related: 'K' },
    'SPIN_OFF of A on 2024-03-06, 0.5 shares of K per share: the store has no value of K, so nothing was received.',
  ],
  [
    'MERGER',
    { name: 'A', type: 'MERGER', ex: '2024-03-06', value: 2, related: 'K' },
    'MERGER of A on 2024-03-06, 2 shares of K per share: the store has no value of K, so its last price was paid instead.',
  ],
  [
    'TICKER_CHANGE',
    { name: 'A', type: 'TICKER_CHANGE', ex: '2024-03-06', value: 1, related: 'K' },
    'TICKER_CHANGE of A on 2024-03-06, change to K: the store has no value of K, so the change was not applied.',
  ],
] as const)('a run reports a %s of a held security to a security without any value', (_, action, message) => {
  const close = { A: [80, 80, 60, 60, 60], B: [100, 100, 100, 100, 100] };
  const listMessages = (universe: string[]) =>
    runIndexCase({ close, actions: [action], universe })
      .findings.filter(({ code }) => code === 'ACTION_WITHOUT_PRICE')
      .map((finding) => finding.message);
  expect(listMessages(['A', 'B'])).toEqual([message]);
  expect(listMessages(['B'])).toEqual([]);
});

test('a run reports shares of a security that ended before: the last price is paid, or nothing is received', () => {
  const run = (
    action: { readonly type: 'MERGER' | 'SPIN_OFF'; readonly value: number; readonly ex: string },
    end = 2,
  ) =>
    runIndexCase({
      close: {
        A: [80, 80, 80, 80, null],
        B: [100, 100, 100, 100, 100],
        D: DATES.map((_, t) => (t < end ? 50 : null)),
      },
      universe: ['A', 'B'],
      actions: [
        { name: 'D', type: 'DELISTING', value: 40, ex: DATES[end]! },
        { name: 'A', related: 'D', ...action },
      ],
    });
  const listMessages = (...terms: Parameters<typeof run>) =>
    run(...terms)
      .findings.filter(({ code }) => code === 'ACTION_WITHOUT_PRICE')
      .map(({ message }) => message);
  expect(listMessages({ type: 'MERGER', value: 2, ex: '2024-03-08' })).toEqual([
    'MERGER of A on 2024-03-08, 2 shares of D per share: D ended before, so its last price was paid instead.',
  ]);
  expect(listMessages({ type: 'SPIN_OFF', value: 1, ex: '2024-03-07' })).toEqual([
    'SPIN_OFF of A on 2024-03-07, 1 shares of D per share: D ended before, so nothing was received.',
  ]);
  // An acquirer that ends on the session of the merger gives its own payment: 2 x 40 for each A of 80.
  expect(listMessages({ type: 'MERGER', value: 2, ex: '2024-03-08' }, 4)).toEqual([]);
  expect(readLevels(run({ type: 'MERGER', value: 2, ex: '2024-03-08' }, 4), 'price').at(-1)).toBeCloseTo(100, 12);
});

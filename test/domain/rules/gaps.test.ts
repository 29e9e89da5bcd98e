import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createGrowthTerms } from '#domain/market/action-effects.js';
import type { MarketData } from '#domain/market/market-data.js';
import { alignMarket, markWindow, type SessionMarket } from '#domain/market/session-market.js';
import { createBarHistory } from '#domain/risk/return-panel.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import { AGGREGATES, createLatestRequest, type FieldRequest } from '#domain/datapoints/fields.js';
import { alignDays, CALENDARS, createTableMarket, WEEKDAYS } from './rule-market.js';
import { computeDeviation, computeMean, computeMedian, slowMarket, type SlowMarket } from './slow-market.js';
import { IS_SOAK } from '../../soak.js';

const SESSIONS = 36;
const NAMES = 5;
const FIRST = WEEKDAYS.sessions.findIndex((day) => formatDay(day) === '2020-01-01');
const ALL_COLUMNS = Int32Array.from({ length: NAMES }, (_, column) => column);
const treatment = TreatmentSpec.parse({ special_dividends: 'constituent' });

/**
 * Random prices of a security. Some prices are missing, or a range that may reach either end, or every second or third
 * price, or all but one, or none.
 */
const bars = fc.oneof(
  fc.array(
    fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0),
    { minLength: SESSIONS, maxLength: SESSIONS },
  ),
  fc
    .tuple(fc.nat(SESSIONS), fc.nat(SESSIONS))
    .map(([a, b]) => Array.from({ length: SESSIONS }, (_, s) => s < Math.min(a, b) || s >= Math.max(a, b))),
  fc.constantFrom(2, 3).map((step) => Array.from({ length: SESSIONS }, (_, s) => s % step > 0)),
  fc.nat(SESSIONS - 1).map((only) => Array.from({ length: SESSIONS }, (_, s) => s === only)),
  fc.constant(Array.from({ length: SESSIONS }, () => true)),
);

/** Random dividends and splits on any session, with or without a price. */
const action = fc.record({
  name: fc.nat(NAMES - 1),
  session: fc.integer({ min: 1, max: SESSIONS - 1 }),
  type: fc.constantFrom('DIVIDEND', 'SPECIAL_DIVIDEND', 'SPLIT'),
});

const markets = fc
  .record({
    has: fc.array(bars, { minLength: NAMES, maxLength: NAMES }),
    steps: fc.array(fc.integer({ min: -30, max: 30 }), { minLength: SESSIONS * NAMES, maxLength: SESSIONS * NAMES }),
    actions: fc.uniqueArray(action, { maxLength: 15, selector: ({ name, session }) => session * NAMES + name }),
  })
  .map(({ has, steps, actions }) => {
    const identifiers = Array.from(ALL_COLUMNS, (column) => `N${column}`);
    const prices = identifiers.map(() => 100);
    const close = Array.from({ length: SESSIONS }, (_, s) =>
      identifiers.map((_name, i) => {
        prices[i]! *= 1 + steps[s * NAMES + i]! / 1000;
        return has[i]![s] ? prices[i]! : null;
      }),
    );
    return createTableMarket({
      identifiers,
      fields: { CLOSE: close },
      actions: actions
        .map(({ name, session, type }) => ({
          identifier: identifiers[name]!,
          type,
          value: type === 'SPLIT' ? 2 : 1.5,
          exDay: WEEKDAYS.sessions[FIRST + session]!,
        }))
        .toSorted((a, b) => (a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.exDay - b.exDay)),
    });
  });

const questions = fc.array(
  fc.record({
    session: fc.integer({ min: 1, max: SESSIONS - 1 }),
    window: fc.integer({ min: 1, max: SESSIONS }),
    lag: fc.constantFrom(0, 0, 3),
    columns: fc.subarray([...ALL_COLUMNS], { minLength: 1 }).map((columns) => Int32Array.from(columns)),
  }),
  { minLength: 1, maxLength: 4 },
);

const FIELDS: readonly Partial<FieldRequest>[] = [
  { name: 'VOLATILITY' },
  { name: 'MOMENTUM' },
  { name: 'BETA' },
  ...AGGREGATES.filter((aggregate) => aggregate !== 'last').flatMap((aggregate) => [
    { name: 'RETURN', aggregate },
    { name: 'PRICE_RETURN', aggregate },
  ]),
];

const STATISTICS: Readonly<Record<string, (values: number[]) => number | null>> = {
  mean: computeMean,
  median: computeMedian,
  sum: (values) => values.reduce((total, value) => total + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  std: (values) => (values.length < 2 ? null : computeDeviation(values)),
  count: (values) => values.length,
};

function computeGapByDefinition(slow: SlowMarket, field: FieldRequest, session: number, name: string): number | null {
  const t = session - field.lag;
  const window = field.window!;
  if (t < 0) return null;
  if (field.name === 'VOLATILITY') return slow.volatility(name, t, window);
  if (field.name === 'MOMENTUM') return slow.momentum(name, session, window, field.lag);
  if (field.name === 'RETURN' || field.name === 'PRICE_RETURN')
    return slow.over(field.name, name, t, window, STATISTICS[field.aggregate]!);
  const sessions = Array.from({ length: window }, (_, k) => t - window + 1 + k).filter((s) => s >= 0);
  const pairs = sessions.flatMap((s) => {
    const all = slow.identifiers.map((other) => slow.betweenBars(other, s)).filter((value) => value !== null);
    const ownReturn = slow.betweenBars(name, s);
    return ownReturn === null ? [] : [{ own: ownReturn, all: computeMean(all) }];
  });
  if (pairs.length < Math.max(2, window / 2)) return null;
  const [ownMean, marketMean] = [
    computeMean(pairs.map((pair) => pair.own)),
    computeMean(pairs.map((pair) => pair.all)),
  ];
  const variance = pairs.reduce((sum, pair) => sum + (pair.all - marketMean) ** 2, 0);
  if (variance / (pairs.length - 1) < 1e-18) return null;
  return pairs.reduce((sum, pair) => sum + (pair.own - ownMean) * (pair.all - marketMean), 0) / variance;
}

const createSections = (sm: SessionMarket) => createIndexCrossSections({ market: sm, treatment, currency: 'USD' });
const computeTotalGrowth = (sm: SessionMarket) => computeGrowth(sm, createGrowthTerms(treatment, 'USD', 'total'));

/** Returns the market as known at the close of a session. */
function cutMarketAt(market: MarketData, session: number): MarketData {
  const cells = (session + 1) * NAMES;
  return {
    ...market,
    dates: market.dates.slice(0, session + 1),
    fields: new Map([['CLOSE', market.fields.get('CLOSE')!.slice(0, cells)]]),
  };
}

describe('windows over names with missing bars', () => {
  test('use the returns between bars on consecutive sessions, and MOMENTUM uses the whole growth', () => {
    fc.assert(
      fc.property(markets, questions, (market, requests) => {
        const slow = slowMarket(market);
        const sections = createSections(alignDays(market));
        for (const { session, window, lag, columns } of requests) {
          for (const part of FIELDS) {
            const field = createLatestRequest(part.name!, { ...part, window, lag });
            const values = sections.at(session, ALL_COLUMNS).numbers(field, columns);
            columns.forEach((column, k) => {
              const expected = computeGapByDefinition(slow, field, session, market.identifiers[column]!);
              if (expected === null) expect(values[k]).toBeNaN();
              else expect(values[k]).toBeCloseTo(expected, 9);
            });
          }
        }
      }),
      { numRuns: IS_SOAK ? 120 : 40 },
    );
  });

  test('report the number of returns, and their first and last date', () => {
    fc.assert(
      fc.property(markets, questions, (market, requests) => {
        const slow = slowMarket(market);
        const sm = alignDays(market);
        const history = createBarHistory(sm, computeTotalGrowth(sm));
        for (const { session, window, lag, columns } of requests) {
          for (const part of FIELDS) {
            const cross = createSections(sm).at(session, ALL_COLUMNS);
            const t = session - lag;
            const name = sm.identifiers[columns[0]!]!;
            const sessions = Array.from({ length: window }, (_, k) => t - window + 1 + k);
            const matches = sessions.filter((s) => s >= 0 && slow.betweenBars(name, s) !== null);
            const formatDate = (s: number | undefined) => (s === undefined ? null : formatDay(sm.sessions[s]!));
            expect(cross.read(createLatestRequest(part.name!, { ...part, window, lag }), columns[0]!)).toMatchObject({
              from: formatDate(matches[0]),
              to: formatDate(matches.at(-1)),
              observations: matches.length,
            });
            // The return history of a risk model contains the same number of returns.
            if (t >= 0) expect(history.returns(columns[0]!, Math.max(0, t - window), t)).toBe(matches.length);
          }
        }
      }),
      { numRuns: IS_SOAK ? 60 : 20 },
    );
  });

  test('are bit-identical on the market as known then, and on only the part that they look back to', () => {
    fc.assert(
      fc.property(markets, questions, (market, requests) => {
        const sections = createSections(alignDays(market));
        for (const { session, window, lag, columns } of requests) {
          const cutSections = createSections(alignDays(cutMarketAt(market, session)));
          const first = session - lag - window - 1;
          const mark = first > 0 ? markWindow({ market, calendar: WEEKDAYS, session: first, later: null }) : undefined;
          const narrowMarket = alignMarket({
            market,
            calendar: WEEKDAYS,
            calendars: CALENDARS,
            ...(mark === undefined ? {} : { mark }),
          });
          for (const part of FIELDS) {
            const field = createLatestRequest(part.name!, { ...part, window, lag });
            const values = sections.at(session, ALL_COLUMNS).numbers(field, columns);
            expect(cutSections.at(session, ALL_COLUMNS).numbers(field, columns)).toEqual(values);
            expect(createSections(narrowMarket).at(session, ALL_COLUMNS).numbers(field, columns)).toEqual(values);
          }
        }
      }),
      { numRuns: IS_SOAK ? 60 : 20 },
    );
  });

  test('of a security are bit-identical whatever bars other securities lack, except BETA', () => {
    fc.assert(
      fc.property(markets, questions, fc.nat(NAMES - 1), (market, requests, column) => {
        const full = market.fields.get('CLOSE')!.map((price, i) => (i % NAMES === column ? price : 100 + (i % 7)));
        const sections = createSections(alignDays(market));
        const otherSections = createSections(alignDays({ ...market, fields: new Map([['CLOSE', full]]) }));
        for (const { session, window, lag } of requests) {
          for (const part of FIELDS.filter(({ name }) => name !== 'BETA')) {
            const field = createLatestRequest(part.name!, { ...part, window, lag });
            const values = sections.at(session, ALL_COLUMNS).numbers(field, Int32Array.of(column));
            expect(otherSections.at(session, ALL_COLUMNS).numbers(field, ALL_COLUMNS)[column]).toEqual(values[0]);
          }
        }
      }),
      { numRuns: IS_SOAK ? 40 : 15 },
    );
  });
});

test('a missing bar leaves two returns out of the volatility and no growth out of the momentum', () => {
  const prices = [100, 110, 99, 108.9, 98.01, 107.811, 97.0299, 106.73289];
  const close = prices.map((price, s) => [s === 3 ? null : price, price]);
  const sm = alignDays(createTableMarket({ identifiers: ['A', 'B'], fields: { CLOSE: close } }));
  const cross = createSections(sm).at(7, Int32Array.of(0, 1));
  const read = (name: string) => cross.numbers(createLatestRequest(name, { window: 7 }), Int32Array.of(0, 1));
  // Returns alternate between 10 % and -10 %. There are seven returns. Five remain without sessions 3 and 4.
  const spread = (up: number, down: number) => {
    const centre = (0.1 * (up - down)) / (up + down);
    return Math.sqrt(((up * (0.1 - centre) ** 2 + down * (-0.1 - centre) ** 2) / (up + down - 1)) * 252);
  };
  expect(read('VOLATILITY')[0]).toBeCloseTo(spread(3, 2), 12);
  expect(read('VOLATILITY')[1]).toBeCloseTo(spread(4, 3), 12);
  expect(read('MOMENTUM')[0]).toBeCloseTo(0.0673289, 12);
  expect(read('MOMENTUM')[1]).toBeCloseTo(0.0673289, 12);
  expect(cross.read(createLatestRequest('VOLATILITY', { window: 7 }), 0).observations).toBe(5);
  expect(cross.read(createLatestRequest('VOLATILITY', { window: 7 }), 1).observations).toBe(7);
});

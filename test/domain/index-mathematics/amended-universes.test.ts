import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn, type RunRequest } from '../backtest/random-run.js';
import { CALENDARS, expectNear, runIndexCase, listWeekdays } from './index-case.js';
import { createDocument } from '../index-document.js';

const DAYS = listWeekdays(30); // from Monday 4 March 2024; reviews are on Fridays
const repeatPrice = (value: number): number[] => DAYS.map(() => value);
const listRows = (start: number, step: number): number[] => DAYS.map((_, t) => start + step * t);
const weekly = { frequency: 'weekly', anchor: 'first_session' };
const list = (...identifiers: string[]) => ({ universe: { kind: 'list', identifiers } });

/** Returns the weights by identifier for each review date. */
function listReviews({ index: { compositions } }: Run): Record<string, Record<string, number>> {
  const { sm } = compositions;
  return Object.fromEntries(
    compositions.list.map(({ session, columns, weights }) => [
      formatDay(sm.sessions[session]!),
      Object.fromEntries([...columns].map((column, k) => [sm.identifiers[column]!, weights[k]!])),
    ]),
  );
}

function readHeldOn({ index: { book } }: Run, date: string): string[] {
  const row = DAYS.indexOf(date);
  return Array.from(book.columns)
    .filter((_, slot) => book.weights[row * book.columns.length + slot] !== 0)
    .map((column) => book.sm.identifiers[column]!);
}

describe('an amended universe', () => {
  test('is that by which a suspended constituent stays or leaves', () => {
    const close = { A: DAYS.map((_, t) => (t < 3 ? 100 : null)), B: repeatPrice(100), C: repeatPrice(100) };
    const runSuspended = (changes: object) =>
      runIndexCase({
        close,
        rebalance: weekly,
        treatment: { max_stale_sessions: null },
        document: { amendments: [{ effective_from: '2024-03-20', changes }] },
      });
    expect(readHeldOn(runSuspended({}), '2024-03-22')).toEqual(['A', 'B', 'C']);
    const run = runSuspended(list('B', 'C'));
    expect(readHeldOn(run, '2024-03-21')).toEqual(['A', 'B', 'C']);
    expect(readHeldOn(run, '2024-03-22')).toEqual(['B', 'C']);
  });

  test('is that which an acquirer is in or outside of', () => {
    const runMergerWith = (changes: object) =>
      runIndexCase({
        close: { A: repeatPrice(100), B: DAYS.map((_, t) => (t < 20 ? 100 : null)), C: repeatPrice(50) },
        universe: ['A', 'B'],
        actions: [{ name: 'B', type: 'MERGER', value: 2, related: 'C', ex: DAYS[20]! }],
        rebalance: weekly,
        events: { acquirer: 'remove' },
        document: { amendments: [{ effective_from: '2024-03-12', changes }] },
      });
    expect(readHeldOn(runMergerWith({}), DAYS[20]!)).toEqual(['A']);
    expect(readHeldOn(runMergerWith(list('A', 'B', 'C')), DAYS[20]!)).toEqual(['A', 'C']);
  });
});

test('decisions on the data known at the time follow each text of a methodology', () => {
  // On 26 March, the share counts of A are corrected from 100 to 500 for all dates.
  const createContentWithCount = (securityCount: number): MarketData =>
    buildMarket({
      dates: DAYS,
      close: { A: listRows(100, 1), B: listRows(50, -0.5), C: repeatPrice(20) },
      fields: { SHARES_OUTSTANDING: { A: repeatPrice(securityCount), B: repeatPrice(300), C: repeatPrice(1000) } },
    });
  const [firstContent, laterContent] = [createContentWithCount(100), createContentWithCount(500)];
  const correctionDay = parseValidDay('2024-03-26');
  const document = createDocument({
    base_date: DAYS[0],
    rebalance: weekly,
    ...list('A', 'B'),
    pipeline: { weighting: { type: 'MarketCapWeight' } },
    amendments: [
      { effective_from: '2024-03-14', changes: list('A', 'B', 'C') },
      { effective_from: '2024-04-03', changes: { pipeline: { weighting: { type: 'EqualWeight' } } } },
    ],
  });
  const knownMarkets = { at: (day: number) => (day < correctionDay ? firstContent : laterContent) };
  const result = listReviews(
    runOn(CALENDARS, laterContent, document, { createDecider: indexDecider, known: knownMarkets }),
  );
  const closeFunctions = { A: (t: number) => 100 + t, B: (t: number) => 50 - 0.5 * t, C: () => 20 };
  for (const [date, holdings] of Object.entries(result)) {
    const t = DAYS.indexOf(date);
    const shareCounts = { A: date < '2024-03-26' ? 100 : 500, B: 300, C: 1000 };
    const members = date < '2024-03-14' ? (['A', 'B'] as const) : (['A', 'B', 'C'] as const);
    const values = members.map((name) => (date < '2024-04-03' ? shareCounts[name] * closeFunctions[name](t) : 1));
    const sum = values.reduce((total, value) => total + value, 0);
    expect(Object.keys(holdings), date).toEqual([...members]);
    members.forEach((name, i) => expectNear(holdings[name]!, values[i]! / sum));
  }
  expect(Object.keys(result)).toHaveLength(7);
});

describe('an index on an amended one', () => {
  const market = buildMarket({
    dates: DAYS,
    close: { A: listRows(100, 1), B: listRows(50, -0.2), C: listRows(20, 0.3), D: listRows(80, 0.1) },
    fields: { FORECAST: { A: repeatPrice(0.1), B: repeatPrice(0.08), C: repeatPrice(0.06), D: repeatPrice(0.2) } },
  });
  const begin = { calendar: 'MAIN', base_date: DAYS[0], rebalance: weekly };
  const parent = IndexDocument.parse({
    ...begin,
    id: 'P',
    name: 'P',
    ...list('A', 'B', 'C'),
    pipeline: { weighting: { type: 'EqualWeight' } },
    amendments: [
      { effective_from: '2024-03-20', changes: list('B', 'C', 'D') },
      { effective_from: '2024-04-02', rebalance: true, changes: list('A', 'C') },
    ],
  });
  const run = (body: object, request: RunRequest = {}) =>
    listReviews(
      runOn(CALENDARS, market, IndexDocument.parse({ ...begin, id: 'X', name: 'X', ...body }), {
        createDecider: indexDecider,
        documents: { P: parent },
        ...request,
      }),
    );
  const listParentOn = (date: string): string[] =>
    date < '2024-03-22' ? ['A', 'B', 'C'] : date < '2024-04-02' ? ['B', 'C', 'D'] : ['A', 'C'];

  test('by rules has the members that the parent has, by its own texts', () => {
    const result = run({
      universe: { kind: 'index', id: 'P' },
      pipeline: { weighting: { type: 'EqualWeight' } },
      amendments: [{ effective_from: '2024-03-13', changes: { pipeline: { weighting: { type: 'PriceWeight' } } } }],
    });
    for (const [date, holdings] of Object.entries(result)) {
      const t = DAYS.indexOf(date);
      const price = { A: 100 + t, B: 50 - 0.2 * t, C: 20 + 0.3 * t, D: 80 + 0.1 * t };
      const members = listParentOn(date);
      const values = members.map((name) => (date < '2024-03-13' ? 1 : price[name as 'A']));
      expect(Object.keys(holdings), date).toEqual(members);
      members.forEach((name, i) => expectNear(holdings[name]!, values[i]! / values.reduce((a, b) => a + b), 1e-11));
    }
  });

  test.each([false, true])(
    'that is optimised solves over them under its own rows (on data known at the time: %s)',
    (isKnown) => {
      const limitWeights = (upper: number) => [{ id: 'most', type: 'PositionBounds', params: { lower: 0, upper } }];
      const indexRun = run(
        {
          derivation: {
            source_index_id: 'P',
            objective: { type: 'max_return' },
            expected_returns: { type: 'field', field: 'FORECAST' },
            constraints: limitWeights(0.6),
          },
          amendments: [{ effective_from: '2024-03-27', changes: { derivation: { constraints: limitWeights(0.7) } } }],
        },
        isKnown ? { known: { at: () => market } } : {},
      );
      const forecast = { A: 0.1, B: 0.08, C: 0.06, D: 0.2 };
      for (const [date, holdings] of Object.entries(indexRun)) {
        // The security with the largest forecast is at its upper bound. The security with the next largest forecast
        // receives the rest.
        const [best, next] = listParentOn(date).toSorted((a, b) => forecast[b as 'A'] - forecast[a as 'A']);
        const upper = date < '2024-03-27' ? 0.6 : 0.7;
        expectNear(holdings[best!]!, upper, 1e-6);
        expectNear(holdings[next!]!, 1 - upper, 1e-6);
        expect(Object.values(holdings).filter((weight) => weight > 1e-6)).toHaveLength(2);
      }
      expect(Object.keys(indexRun)).toHaveLength(7);
    },
  );
});

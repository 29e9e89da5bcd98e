import { expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createAttributionView } from '#views/attribution.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run, createColumns } from '../backtest/random-run.js';
import { createOverlayIndex, addRates } from './overlay-case.js';
import { createDocument } from '../index-document.js';

/** Days on which at least one of two exchanges is open: MAIN is closed on 15 January, OTHER on 22 and 23 January. */
const dates = ['10', '11', '12', '15', '16', '17', '18', '19', '22', '23', '24', '25'].map((day) => `2024-01-${day}`);
const CLOSED = { MAIN: ['2024-01-15'], OTHER: ['2024-01-22', '2024-01-23'] };
const listDays = (calendar: keyof typeof CLOSED): string[] => dates.filter((date) => !CLOSED[calendar].includes(date));
const prices = {
  A: [100, 103, 101, null, 107, 104, 109, 111, 105, 113, 118, 116],
  B: [50, 49, 52, null, 51, 54, 53, 50, 55, 57, 52, 56],
};
const market = addRates(buildMarket({ dates, close: prices }));
const parentDocument = createDocument({
  base_date: dates[0],
  rebalance: { frequency: 'daily' },
  universe: { kind: 'list', identifiers: ['A', 'B'] },
});
const documents = { X: parentDocument };

/** Returns the return of a security over the session of MAIN that ends on a date. */
const computeReturn = (name: keyof typeof prices, date: string): number => {
  const readClose = (of: string) => prices[name][dates.indexOf(of)]!;
  const sessions = listDays('MAIN');
  return readClose(date) / readClose(sessions[sessions.indexOf(date) - 1]!) - 1;
};
/** Computes the level. After every close both securities have a weight of one half. */
const readLevelOn = (date: string): number =>
  listDays('MAIN')
    .filter((session) => session > dates[0]! && session <= date)
    .reduce((level, session) => level * (1 + (computeReturn('A', session) + computeReturn('B', session)) / 2), 100);

test('on sessions that only it has, an overlay has the last known underlying level at the rate of the day', () => {
  const document = createOverlayIndex(
    { type: 'currency', to: 'GBP' },
    { calendar: 'OTHER', base_date: dates[0], currency: 'GBP' },
  );
  const { book, days: sessions } = run(market, document, { documents }).index;
  expect(Array.from(sessions, formatDay)).toEqual(listDays('OTHER'));
  const { days: seriesDays, closes } = market.series!.get('GBPUSD')!;
  const convertToDollars = (date: string): number =>
    closes[seriesDays.findLastIndex((day) => day <= parseValidDay(date))]!;
  listDays('OTHER').forEach((date, t) => {
    const expected = (readLevelOn(date) * convertToDollars(dates[0]!)) / convertToDollars(date);
    expect(book.value[t]! / expected).toBeCloseTo(1, 12);
  });
});

test('securities contribute their returns on the sessions that an overlay lacks, including the rebalances there', () => {
  const document = createOverlayIndex({ type: 'leverage', factor: 2 }, { calendar: 'OTHER', base_date: dates[0] });
  const result = run(market, document, { documents });
  const { book } = result.index;
  const row = listDays('OTHER').indexOf('2024-01-24');
  expect(book.value[row]! / book.value[row - 1]! - 1).toBeCloseTo(
    2 * (readLevelOn('2024-01-24') / readLevelOn('2024-01-19') - 1),
    12,
  );
  const view = createAttributionView(createColumns(result), { start: '2024-01-19', end: '2024-01-24' });
  for (const name of ['A', 'B'] as const) {
    const returns = ['2024-01-22', '2024-01-23', '2024-01-24'].map((date, k) => {
      const dateBefore = ['2024-01-19', '2024-01-22', '2024-01-23'][k]!;
      return (readLevelOn(dateBefore) / readLevelOn('2024-01-19')) * computeReturn(name, date);
    });
    const contribution = view.contributions.find(({ asset_id: id }) => id === name)!.contribution;
    // The overlay holds the index twice, and half of the index is the security.
    expect(contribution).toBeCloseTo(
      returns.reduce((sum, own) => sum + own, 0),
      12,
    );
  }
  expect(Math.abs(view.residual)).toBeLessThan(1e-12);
});

test('a blend of indices on two calendars values each at its last known level', () => {
  const other = IndexDocument.parse({
    ...parentDocument,
    id: 'Y',
    calendar: 'OTHER',
    universe: { kind: 'list', identifiers: ['A'] },
  });
  const parts = [
    { index_id: 'X', weight: 0.5 },
    { index_id: 'Y', weight: 0.5 },
  ];
  const blend = createOverlayIndex({ type: 'blend', parts, rebalance: { frequency: 'none' } }, { base_date: dates[0] });
  const { book } = run(market, blend, { documents: { X: parentDocument, Y: other } }).index;
  /** Returns the last price of A on or before a session of OTHER. */
  const findLastLevel = (date: string): number => {
    const knownPrices = dates.flatMap((day, t) => {
      const price = prices.A[t];
      return price == null || day > date || CLOSED.OTHER.includes(day) ? [] : [price];
    });
    return knownPrices.at(-1)!;
  };
  listDays('MAIN').forEach((date, t) => {
    expect(book.value[t]! / (readLevelOn(date) / 2 + findLastLevel(date) / 2)).toBeCloseTo(1, 12);
  });
});

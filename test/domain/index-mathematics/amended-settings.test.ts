import { describe, expect, test } from 'vitest';
import { createIndexShares } from '#domain/books/index-run.js';
import type { Run } from '#domain/backtest/run.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';
import { createOverlayIndex } from '../overlays/overlay-case.js';
import {
  CALENDARS,
  expectNear,
  readLevels,
  runIndexCase,
  listShareChanges,
  type IndexCase,
  listWeekdays,
  readHeldAt,
} from './index-case.js';

// Weekdays from Monday 4 March 2024 on. The reviews are on the Fridays 8, 15 and 22 March, which are sessions 4, 9 and
// 14.
const DAYS = listWeekdays(16);
const REVIEW = 9;
/** Returns prices that change on the given sessions. */
const listSteps = (first: number, changes: Readonly<Record<number, number>> = {}): number[] => {
  let price = first;
  return DAYS.map((_, t) => (price = changes[t] ?? price));
};

/** Returns a price of 100 up to a session, and no price afterwards. */
const listPricesUntil = (last: number): (number | null)[] => DAYS.map((_, t) => (t <= last ? 100 : null));

/** Runs an index. Its settings change at the review of 15 March. */
function runAmended(changes: object, members: Partial<IndexCase>): Run {
  return runIndexCase({
    close: { A: listSteps(100), B: listSteps(100) },
    rebalance: { frequency: 'weekly', anchor: 'first_session' },
    ...members,
    document: { ...members.document, amendments: [{ effective_from: '2024-03-13', changes }] },
  });
}

describe('an amendment of the treatment', () => {
  test('holds for the actions after the close of its first review: special dividends are ignored, then adjust closes', () => {
    const run = runAmended(
      { pipeline: { treatment: { special_dividends: 'adjust' } } },
      {
        treatment: { special_dividends: 'ignore' },
        close: { A: listSteps(100, { 2: 70, [REVIEW]: 63, 11: 49, 12: 98 }), B: listSteps(100) },
        actions: [
          { name: 'A', type: 'SPECIAL_DIVIDEND', value: 30, ex: DAYS[2]! },
          { name: 'A', type: 'SPECIAL_DIVIDEND', value: 7, ex: DAYS[REVIEW]! },
          { name: 'A', type: 'SPECIAL_DIVIDEND', value: 14, ex: DAYS[11]! },
        ],
      },
    );
    const price = readLevels(run, 'price');
    expectNear(price[2]!, 85); // half of the index falls by 30 %
    expectNear(price[REVIEW]!, 80.75); // the earlier settings still apply on the session of the review
    expectNear(price[11]!, 80.75); // the previous close, less the dividend, is 49
    // Before A doubles, A is worth 49 and B 63. Both were worth 63 at the review.
    expectNear(price[12]!, (80.75 * (2 * 49 + 63)) / (49 + 63));
    expectNear(run.index.book.divisor[11]! / run.index.book.divisor[REVIEW]!, (49 + 63) / (63 + 63));
  });

  test('changes the tax that is withheld from dividends', () => {
    const run = runAmended(
      { pipeline: { treatment: { withholding_tax: 0.3 } } },
      {
        treatment: { dividends: 'net' },
        close: { A: listSteps(100, { 2: 90, 11: 80 }), B: listSteps(100) },
        actions: [
          { name: 'A', type: 'DIVIDEND', value: 10, ex: DAYS[2]! },
          { name: 'A', type: 'DIVIDEND', value: 10, ex: DAYS[11]! },
        ],
      },
    );
    const net = readLevels(run, 'net');
    expectNear(net[REVIEW]!, 100);
    expectNear(net[11]!, 100 * (0.5 * (80 / 90) + 0.5 + (0.7 * 0.5 * 10) / 90));
    expectNear(readLevels(run, 'total')[11]!, 100);
  });

  test('of a parent is followed by the index derived from its prices: an overlay on it', () => {
    const parent = IndexDocument.parse({
      ...createDocument({
        pipeline: { treatment: { special_dividends: 'ignore' }, weighting: { type: 'EqualWeight' } },
      }),
      amendments: [
        { effective_from: '2024-03-13', changes: { pipeline: { treatment: { special_dividends: 'adjust' } } } },
      ],
    });
    const market = buildMarket({
      dates: DAYS,
      close: { A: listSteps(100, { 2: 70, 11: 49 }), B: listSteps(100) },
      actions: [
        { name: 'A', type: 'SPECIAL_DIVIDEND', value: 30, ex: DAYS[2]! },
        { name: 'A', type: 'SPECIAL_DIVIDEND', value: 21, ex: DAYS[11]! },
      ],
    });
    const overlay = createOverlayIndex({ type: 'fee', percent: 0 }, { base_date: DAYS[0] });
    const { index } = runOn(CALENDARS, market, overlay, { documents: { X: parent } });
    expectNear(index.book.value[2]!, 85);
    expectNear(index.book.value[11]!, 85);
  });
});

const createDocument = (rest: object): object => ({
  id: 'X',
  name: 'X',
  calendar: 'MAIN',
  base_date: DAYS[0],
  rebalance: { frequency: 'weekly', anchor: 'first_session' },
  ...rest,
});

test('an amendment of the rounding makes index shares whole from its first review on, without a change of the level', () => {
  const sketch = { close: { A: listSteps(7), B: listSteps(11, { 5: 12 }) }, document: { base_market_value: 1000 } };
  const [plainRun, run] = [runAmended({ rounding: {} }, sketch), runAmended({ rounding: { shares: 0 } }, sketch)];
  const readShares = (of: Run, review: number): number[] =>
    Array.from(createIndexShares(of.index.book, of.index.compositions)(of.index.compositions.list[review]!).shares!);
  expect(readShares(run, 1)).toEqual(readShares(plainRun, 1));
  const roundedShares = readShares(plainRun, 2).map(Math.round);
  readShares(run, 2).forEach((shareCount, k) => expectNear(shareCount, roundedShares[k]!));
  expect(readShares(plainRun, 2).every((shareCount) => Math.abs(shareCount - Math.round(shareCount)) > 1e-3)).toBe(
    true,
  );
  expect(run.index.book.value.slice(0, REVIEW + 1)).toEqual(plainRun.index.book.value.slice(0, REVIEW + 1));
});

describe('an amendment of the changes between reviews', () => {
  test('lets share changes wait for reviews before it, and apply after it', () => {
    const run = runAmended(
      { events: { share_changes: 'effective' } },
      {
        weighting: { type: 'MarketCapWeight' },
        fields: { SHARES_OUTSTANDING: { A: listSteps(100, { 2: 150, 11: 300 }), B: listSteps(100) } },
      },
    );
    expect(listShareChanges(run)).toEqual([{ session: 11, column: 0, before: 150, after: 300 }]);
    expect(readHeldAt(run, 3)).toEqual({ A: 0.5, B: 0.5 });
    expect(readHeldAt(run, 4)).toEqual({ A: 0.6, B: 0.4 });
    expect(readHeldAt(run, 11)).toEqual({ A: 0.75, B: 0.25 });
  });

  test('replaces constituents that leave after its first review, and none before', () => {
    const run = runAmended(
      { events: { replacement: 'next_ranked' } },
      {
        close: { A: listPricesUntil(2), B: listPricesUntil(11), C: listSteps(100), D: listSteps(100) },
        fields: { SHARES_OUTSTANDING: { A: listSteps(4), B: listSteps(3), C: listSteps(2), D: listSteps(1) } },
        selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 2 } }],
        actions: [
          { name: 'A', type: 'ACQUISITION', value: 100, ex: DAYS[2]! },
          { name: 'B', type: 'ACQUISITION', value: 100, ex: DAYS[11]! },
        ],
      },
    );
    expect(readHeldAt(run, 2)).toEqual({ B: 1 });
    expect(readHeldAt(run, REVIEW)).toEqual({ B: 0.5, C: 0.5 });
    expect(readHeldAt(run, 11)).toEqual({ C: 0.5, D: 0.5 });
  });

  test('adds a review of weights', () => {
    const schedule = { frequency: 'weekly', anchor: 'first_session' };
    const run = runAmended(
      { reviews: [{ id: 'capping', schedule, scope: 'weights' }] },
      { rebalance: { frequency: 'monthly' } },
    );
    expect(run.index.compositions.list.map(({ session }) => session)).toEqual([0, REVIEW, 14]);
  });
});

test('an amendment of an overlay is followed from the close of its date on, from the level of that close', () => {
  const market = buildMarket({ dates: DAYS, close: { A: listSteps(100), B: listSteps(100, { 12: 120 }) } });
  const X = IndexDocument.parse(createDocument({ pipeline: { weighting: { type: 'EqualWeight' } } }));
  const overlay = createOverlayIndex(
    { type: 'fee', percent: 10 },
    { base_date: DAYS[0], amendments: [{ effective_from: '2024-03-13', changes: { overlay: { percent: 0 } } }] },
  );
  const { index } = runOn(CALENDARS, market, overlay, { documents: { X } });
  const { value } = index.book;
  expectNear(value[7]!, 100 * 0.9 ** (9 / 365)); // on Wednesday 13 March, nine days after the first session
  expectNear(value[11]!, value[7]!);
  expectNear(value[12]!, value[7]! * 1.1);
});

import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { Run } from '#domain/backtest/run.js';
import { createComposer } from '#domain/books/composer.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { type AnnouncedFile, createAnnouncedFile, createOpeningFile, type IndexFile } from '#views/index-files.js';
import { produceProforma } from '#views/exports/tables.js';
import { fc } from '../../fast-check.js';
import type { ActionSketch } from '../../domain/backtest/market-builder.js';
import {
  CALENDARS,
  expectNear,
  readLevels,
  runIndexCase,
  listWeekdays,
} from '../../domain/index-mathematics/index-case.js';
import { createColumns } from '../../domain/backtest/random-run.js';

const DAYS = listWeekdays(16);

/** Returns the pro forma file of a run on a date. The composer has no data after this date. */
function createAnnouncement(run: Run, date: string): AnnouncedFile {
  const { document, sm } = run.index.compositions;
  const day = parseValidDay(date);
  const composer = createComposer({
    market: sm.market,
    calendars: CALENDARS,
    documents: { X: document },
    until: day,
    createDecider: indexDecider,
  });
  return createAnnouncedFile(composer, { indexId: 'X', day });
}

const mapShares = ({ names, shares }: IndexFile): Map<string, number> =>
  new Map(names.flatMap((name, i) => (shares[i] === 0 ? [] : [[name, shares[i]!]])));

const computeWorth = ({ shares, price, fx }: IndexFile): number =>
  shares.reduce((sum, shareCount, i) => (shareCount === 0 ? sum : sum + shareCount * price[i]! * fx[i]!), 0);

/** Monthly schedule. Reference dates are a week before the effective dates. */
const MONTHLY = {
  frequency: 'monthly',
  anchor: 'second_friday',
  reference: { rule: 'sessions_before', sessions: 5 },
  announcement: { rule: 'sessions_before', sessions: 3 },
};

describe('two securities of equal market value on the reference date, by hand', () => {
  // The run begins on Monday 4 March. The reference date is Friday 8 March. The announcement is on Tuesday 12 March,
  // and the effective date is 15 March.
  const run = runIndexCase({
    close: {
      A: [100, 100, 100, 100, 100, 100, 200, 200, 100, 100, 100, 100],
      B: [50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50],
    },
    fields: { SHARES_OUTSTANDING: { A: Array(12).fill(100), B: Array(12).fill(200) } },
    weighting: { type: 'MarketCapWeight' },
    actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: DAYS[8]! }],
    rebalance: { ...MONTHLY, anchor: 'third_friday' },
    document: { base_market_value: 20_000 },
  });

  test('nothing is announced before the announcement date, and the next dates are stated', () => {
    expect(() => createAnnouncement(run, DAYS[6]!)).not.toThrow();
    expect(() => createAnnouncement(run, DAYS[5]!)).toThrow(
      'No rebalance of X is announced on 2024-03-11: the next one, effective on 2024-03-15, is announced on 2024-03-12.',
    );
  });

  test('index shares are adjusted for a split, and their weights follow prices', () => {
    const [before, after] = [createAnnouncement(run, DAYS[7]!), createAnnouncement(run, DAYS[8]!)];
    expect([before.effective, after.effective].map((day) => formatDay(day))).toEqual([DAYS[9], DAYS[9]]);
    expectNear(before.shares[0]! / before.shares[1]!, 100 / 200);
    expectNear(after.shares[0]! / after.shares[1]!, 200 / 200);
    // The file has 100 shares of A at 200 and 200 of B at 50, as the index itself does. The split changes neither
    // weight.
    for (const file of [before, after]) {
      expectNear((file.shares[0]! * file.price[0]!) / computeWorth(file), 2 / 3);
      expectNear(computeWorth(file), 30_000);
      expectNear(file.divisor, 200);
    }
  });

  test('the table has the effective date, and its rows in the order of identifiers', () => {
    const announcement = createAnnouncement(run, DAYS[8]!);
    const window = { start: null, end: null };
    const [batch] = [
      ...produceProforma(
        { columns: createColumns(run), window, market: run.index.book.sm.market, announced: announcement },
        0,
      ),
    ];
    const { columns } = batch!;
    expect(Array.from(columns.effective_date, formatDay)).toEqual([DAYS[9], DAYS[9]]);
    expect(columns.identifier.texts).toEqual(['A', 'B']);
    expectNear(columns.weight[0]!, 2 / 3);
    expectNear(columns.weighting_factor[1]!, 1);
  });
});

const randomCase = fc.record({
  steps: fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 64, maxLength: 64 }),
  events: fc.uniqueArray(
    fc.record({
      name: fc.nat(3),
      at: fc.integer({ min: 1, max: 15 }),
      type: fc.constantFrom<ActionSketch['type']>('SPLIT', 'SPECIAL_DIVIDEND', 'DIVIDEND', 'ACQUISITION'),
      size: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 5, selector: ({ name }) => name },
  ),
  weighting: fc.constantFrom('EqualWeight', 'PriceWeight', 'MarketCapWeight'),
  rounding: fc.constantFrom({}, { rounding: { shares: 0, divisor: 6 }, base_market_value: 1e12 }),
});

type RandomCase = typeof randomCase extends fc.Arbitrary<infer T> ? T : never;

function runOf({ steps, events, weighting, rounding }: RandomCase): Run {
  const names = ['A', 'B', 'C', 'D'];
  const listPath = (n: number): number[] => {
    let price = 40 + 20 * n;
    return DAYS.map((_, t) => (price *= 1 + steps[(5 * t + 17 * n) % 64]! / 1000));
  };
  const ownEvents = events.filter(({ name, type }) => name > 0 || type !== 'ACQUISITION');
  const endSessions = new Map(ownEvents.flatMap(({ name, at, type }) => (type === 'ACQUISITION' ? [[name, at]] : [])));
  return runIndexCase({
    close: {
      ...Object.fromEntries(
        names.map((name, n) => [name, listPath(n).map((price, t) => (t > (endSessions.get(n) ?? 99) ? null : price))]),
      ),
      EURUSD: listPath(9),
    },
    fields: { SHARES_OUTSTANDING: Object.fromEntries(names.map((name, n) => [name, DAYS.map(() => 1000 * (n + 1))])) },
    reference: { C: { CURRENCY: 'EUR' } },
    universe: names,
    actions: ownEvents.map(({ name, at, type, size }) => ({
      name: names[name]!,
      type,
      ex: DAYS[at]!,
      value: { SPLIT: 1 + size, ACQUISITION: 30 * size }[type as 'SPLIT'] ?? 0.5 * size,
    })),
    weighting: { type: weighting },
    rebalance: { ...MONTHLY, anchor: 'third_friday' },
    document: rounding,
  });
}

test('on random markets the value of a pro forma file equals its level, and on its effective date it opens the session after', () => {
  fc.assert(
    fc.property(randomCase, (sketch) => {
      const run = runOf(sketch);
      const price = readLevels(run, 'price');
      const files = [6, 7, 8, 9].map((t) => createAnnouncement(run, DAYS[t]!));
      files.forEach((file, k) => {
        const isRounded = 'rounding' in sketch.rounding;
        expectNear(computeWorth(file) / file.divisor, price[6 + k]!, isRounded ? 1e-5 : 1e-10);
        if (isRounded && sketch.weighting !== 'PriceWeight') expect(file.shares.every(Number.isInteger)).toBe(true);
        if (k === 0) return;
        // From one session to the next, the ratio of the shares of two securities changes only by splits.
        const before = mapShares(files[k - 1]!);
        const changes = [...mapShares(file)].map(([name, shareCount]) => {
          const splits = sketch.events.filter(
            ({ name: n, at, type }) => 'ABCD'[n] === name && type === 'SPLIT' && at === 6 + k,
          );
          const isPriceWeighted = sketch.weighting === 'PriceWeight';
          return (
            shareCount / before.get(name)! / (isPriceWeighted ? 1 : splits.reduce((f, { size }) => f * (1 + size), 1))
          );
        });
        for (const change of changes) expectNear(change, changes[0]!, isRounded ? 1e-5 : 1e-10);
      });
      const openedFile = createOpeningFile(createColumns(run), DAYS[10]!, run.index.book.sm.market);
      const hasEvents = sketch.events.some(({ at }) => at === 10);
      if (hasEvents) return;
      const [next, last] = [mapShares(openedFile), mapShares(files[3]!)];
      expect([...next.keys()].toSorted()).toEqual([...last.keys()].toSorted());
      for (const [name, shareCount] of last) expectNear(next.get(name)!, shareCount, 1e-10);
      expectNear(openedFile.divisor, files[3]!.divisor, 1e-10);
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 25) },
  );
});

import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { formatDay } from '#domain/base/time.js';
import { createClosingFile, createOpeningFile, type IndexFile } from '#views/index-files.js';
import { produceClosing } from '#views/exports/tables.js';
import { fc } from '../../fast-check.js';
import type { ActionSketch } from '../../domain/backtest/market-builder.js';
import {
  expectNear,
  readLevels,
  runIndexCase,
  listShareChanges,
  listWeekdays,
  type IndexCase,
} from '../../domain/index-mathematics/index-case.js';
import { createColumns } from '../../domain/backtest/random-run.js';

const DAYS = listWeekdays(16);
/** Divisor, and index shares and prices by identifier. */
interface IndexFileContent extends Pick<IndexFile, 'divisor'> {
  readonly shares: ReadonlyMap<string, number>;
  readonly money: number;
}

function read(names: readonly string[], { shares, price, fx, divisor }: IndexFile): IndexFileContent {
  const heldNames = names.flatMap((name, i) => (shares[i] === 0 ? [] : [[name, i] as const]));
  return {
    divisor,
    shares: new Map(heldNames.map(([name, i]) => [name, shares[i]!])),
    money: heldNames.reduce((sum, [, i]) => sum + shares[i]! * price[i]! * fx[i]!, 0),
  };
}

/** Returns the opening and closing file of every session of a run. The first session has no opening file. */
function createFiles(run: Run): { closing: IndexFileContent; opening: IndexFileContent | null }[] {
  const columns = createColumns(run);
  const { names } = columns.header;
  const { market } = run.index.book.sm;
  return [...columns.i32('days')].map((day, t) => ({
    closing: read(names, createClosingFile(columns, formatDay(day), market)),
    opening: t === 0 ? null : read(names, createOpeningFile(columns, formatDay(day), market)),
  }));
}

test('two securities through a split, a special dividend and a rebalance, by hand', () => {
  const run = runIndexCase({
    close: { A: [100, 110, 55, 60], B: [50, 50, 40, 44] },
    actions: [
      { name: 'A', type: 'SPLIT', value: 2, ex: DAYS[2]! },
      { name: 'B', type: 'SPECIAL_DIVIDEND', value: 10, ex: DAYS[2]! },
    ],
    document: { base_value: 100, base_market_value: 1000 },
  });
  const [first, second, third] = createFiles(run);
  // Each security has 500: 5 shares of A and 10 of B, with a divisor of 10.
  expect([...first!.closing.shares]).toEqual([
    ['A', 5],
    ['B', 10],
  ]);
  expect([first!.closing.divisor, first!.closing.money]).toEqual([10, 1000]);
  expectNear(second!.closing.money, 5 * 110 + 10 * 50);
  expectNear(third!.opening!.shares.get('A')!, 10);
  expectNear(third!.opening!.money, 10 * 55 + 10 * 40);
  expectNear(third!.opening!.divisor, (10 * 950) / 1050);
  expectNear(third!.closing.money, 10 * 55 + 10 * 40);
  expectNear(third!.closing.divisor, third!.opening!.divisor);
});

test('a security that leaves has its proceeds while the portfolio waits for the price of another', () => {
  const run = runIndexCase({
    close: {
      A: DAYS.map((_, t) => 100 + t),
      B: DAYS.map((_, t) => (t > 2 && t < 14 ? null : 50)),
      C: DAYS.map((_, t) => (t < 12 ? 80 : null)),
    },
    actions: [{ name: 'C', type: 'ACQUISITION', value: 60, ex: DAYS[12]! }],
    rebalance: { frequency: 'weekly' },
  });
  const columns = createColumns(run);
  expect(columns.header.has_index_weights).toBe(true);
  const { names } = columns.header;
  const { price, shares } = createClosingFile(columns, DAYS[12]!, run.index.book.sm.market);
  expect(shares[names.indexOf('C')]).toBeGreaterThan(0);
  expectNear(price[names.indexOf('C')]!, 60);
  const levels = readLevels(run, 'price');
  createFiles(run).forEach(({ closing: { money, divisor } }, t) => expectNear(money / divisor, levels[t]!));
});

test('a change of a share count is in the opening file of its date, by hand', () => {
  const run = runIndexCase({
    close: { A: [100, 100, 110], B: [100, 100, 100] },
    fields: { SHARES_OUTSTANDING: { A: [100, 100, 150], B: [100, 100, 100] } },
    weighting: { type: 'MarketCapWeight' },
    events: { share_changes: 'effective' },
    document: { base_market_value: 20_000 },
  });
  const [, second, third] = createFiles(run);
  expectNear(second!.closing.shares.get('A')!, 100);
  expectNear(second!.closing.divisor, 200);
  // A has 150 shares before the session. The market value and the divisor rise by a quarter. The level does not change.
  expectNear(third!.opening!.shares.get('A')!, 150);
  expectNear(third!.opening!.shares.get('B')!, 100);
  expectNear(third!.opening!.money, 25_000);
  expectNear(third!.opening!.divisor, 250);
  expectNear(third!.closing.shares.get('A')!, 150);
  expectNear(third!.closing.money, 150 * 110 + 100 * 100);
  expectNear(third!.closing.divisor, 250);
});

describe('the export', () => {
  const run = runIndexCase({
    close: { A: [10, 20], B: [10, 10] },
    fields: { SHARES_OUTSTANDING: { A: [100, 100], B: [300, 300] }, FREE_FLOAT: { A: [0.5, 0.5], B: [1, 1] } },
    reference: { A: { ISIN: 'US01', NAME: 'Alpha', CURRENCY: 'USD' }, B: { ISIN: 'US02', CURRENCY: 'USD' } },
    weighting: { type: 'MarketCapWeight' },
    actions: [{ name: 'B', type: 'DIVIDEND', value: 1, ex: DAYS[1]! }],
    document: { base_market_value: 3500 },
  });

  test('has identifiers, share counts, weighting factors and dividend points', () => {
    const { market } = run.index.book.sm;
    const [batch] = [...produceClosing({ columns: createColumns(run), window: { start: null, end: null }, market }, 0)];
    const { columns } = batch!;
    expect(columns.isin.texts).toEqual(['US01', 'US02']);
    expect([...columns.index_shares].map((shareCount) => Math.round(shareCount * 1e6) / 1e6)).toEqual([50, 300]);
    expect([...columns.shares]).toEqual([100, 300]);
    expect([...columns.float]).toEqual([0.5, 1]);
    expect([...columns.weighting_factor].map((factor) => Math.round(factor * 1e6) / 1e6)).toEqual([1, 1]);
    expectNear(columns.weight[0]!, 1000 / 4000);
    expectNear(columns.dividend_points[1]!, 300 / 35);
    expectNear(columns.divisor[0]!, 35);
  });

  test('before the first session is refused', () => {
    expect(() => createClosingFile(createColumns(run), '2020-01-01', null)).toThrow(/before the first session/);
    expect(() => createOpeningFile(createColumns(run), DAYS[0]!, null)).toThrow(/no opening file for that day/);
  });
});

/** Returns the share counts of a security. They grow by its splits and by the given changes. */
function readCounts(
  counts: readonly { readonly name: number; readonly at: number; readonly percent: number }[],
  events: readonly { readonly name: number; readonly at: number; readonly type: string; readonly size: number }[],
  n: number,
): number[] {
  return DAYS.map((_, t) => {
    const selectOwn = <T extends { readonly name: number; readonly at: number }>(all: readonly T[]): T[] =>
      all.filter(({ name, at }) => name === n && at <= t);
    const split = selectOwn(events).reduce(
      (ratio, { type, size }) => (type === 'SPLIT' ? ratio * (1 + size) : ratio),
      1,
    );
    return selectOwn(counts).reduce((count, { percent }) => count * (1 + percent / 100), 1000 * (n + 1) * split);
  });
}

const randomCase = fc
  .record({
    steps: fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 64, maxLength: 64 }),
    events: fc.uniqueArray(
      fc.record({
        name: fc.nat(3),
        at: fc.integer({ min: 1, max: 15 }),
        type: fc.constantFrom<ActionSketch['type']>(
          'SPLIT',
          'SPECIAL_DIVIDEND',
          'RIGHTS_ISSUE',
          'DIVIDEND',
          'ACQUISITION',
        ),
        size: fc.integer({ min: 1, max: 4 }),
      }),
      { maxLength: 6, selector: ({ name }) => name },
    ),
    frequency: fc.constantFrom('none', 'weekly'),
    rights: fc.constantFrom('subscribe', 'price_only'),
    weighting: fc.constantFrom('EqualWeight', 'PriceWeight', 'MarketCapWeight'),
    counts: fc.array(
      fc.record({ name: fc.nat(3), at: fc.integer({ min: 1, max: 15 }), percent: fc.integer({ min: -20, max: 30 }) }),
      {
        maxLength: 5,
      },
    ),
    rounding: fc.constantFrom({}, { rounding: { divisor: 5, shares: 3 }, base_market_value: 1e7 }),
  })
  .map(
    ({
      steps,
      events,
      frequency,
      rights,
      weighting,
      counts,
      rounding,
    }): Omit<IndexCase, 'events'> & { drawn: typeof events; events: object } => {
      const findPath = (n: number): (number | null)[] => {
        let price = 40 + 20 * n;
        return DAYS.map((_, t) => (price *= 1 + steps[(5 * t + 17 * n) % 64]! / 1000));
      };
      const endSessions = new Map(
        events.flatMap(({ name, at, type }) => (type === 'ACQUISITION' && name > 0 ? [[name, at]] : [])),
      );
      const names = ['A', 'B', 'C', 'D'];
      return {
        drawn: events,
        close: {
          ...Object.fromEntries(
            names.map((name, n) => [
              name,
              findPath(n).map((price, t) => (t > (endSessions.get(n) ?? 99) ? null : price)),
            ]),
          ),
          EURUSD: findPath(9),
        },
        reference: { C: { CURRENCY: 'EUR' } },
        universe: names,
        actions: events
          .filter(({ name, type }) => name > 0 || type !== 'ACQUISITION')
          .map(({ name, at, type, size }) => ({
            name: names[name]!,
            type,
            ex: DAYS[at]!,
            value: { SPLIT: 1 + size, RIGHTS_ISSUE: 0.1 * size, ACQUISITION: 30 * size }[type as 'SPLIT'] ?? 0.5 * size,
            ...(type === 'RIGHTS_ISSUE' ? { subscription: 20 } : {}),
          })),
        treatment: { rights, dividends: 'total' },
        weighting: { type: weighting },
        rebalance: { frequency },
        fields: {
          SHARES_OUTSTANDING: Object.fromEntries(names.map((name, n) => [name, readCounts(counts, events, n)])),
        },
        events: { share_changes: 'effective', threshold: 0 },
        document: rounding,
      };
    },
  );

test('on random markets market value over divisor is the level, and an opening file equals the closing file before it after the events', () => {
  fc.assert(
    fc.property(randomCase, ({ drawn: events, ...sketch }) => {
      const run = runIndexCase(sketch);
      const price = readLevels(run, 'price');
      const files = createFiles(run);
      const changes = run.index.book.shareChanges === undefined ? [] : listShareChanges(run);
      const { sm } = run.index.book;
      const rebalanceSessions = new Set(
        run.index.compositions.list.map(({ session }) => session - run.index.book.from),
      );
      const isPriceWeighted = (sketch.weighting as { type: string }).type === 'PriceWeight';
      const { rights } = sketch.treatment as { rights: string };
      const isRounded = 'rounding' in sketch.document!;
      files.forEach(({ closing, opening }, t) => {
        // The level of the first close is stated before its divisor is rounded.
        expectNear(closing.money / closing.divisor, price[t]!, t === 0 && isRounded ? 1e-5 : 1e-10);
        if (opening === null) return;
        expectNear(opening.money / opening.divisor, price[t - 1]!, isRounded ? (isPriceWeighted ? 1e-5 : 1e-7) : 1e-10);
        // Index shares do not change between the opening and the close of a session.
        expect([...opening.shares.keys()]).toEqual([...closing.shares.keys()]);
        for (const [name, shareCount] of opening.shares) expectNear(closing.shares.get(name)!, shareCount, 1e-10);
        if (rebalanceSessions.has(t - 1)) return;
        for (const [name, before] of files[t - 1]!.closing.shares) {
          const nameEvents = events.filter((event) => 'ABCD'[event.name] === name);
          if (nameEvents.some(({ type, at }) => type === 'ACQUISITION' && name !== 'A' && at === t - 1)) {
            expect(opening.shares.has(name)).toBe(false);
            continue;
          }
          const factor = nameEvents
            .filter(({ at }) => at === t)
            .reduce((product, { type, size }) => {
              if (type === 'SPLIT') return isPriceWeighted ? product : product * (1 + size);
              return type === 'RIGHTS_ISSUE' && rights === 'subscribe' ? product * (1 + 0.1 * size) : product;
            }, 1);
          const countedChange = changes.find((one) => one.session === t && sm.identifiers[one.column] === name);
          const growth = countedChange === undefined ? 1 : countedChange.after / countedChange.before;
          expectNear(opening.shares.get(name)!, before * factor * growth, isRounded ? 1e-4 : 1e-10);
        }
      });
    }),
    { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 60) },
  );
});

import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectNear, listWeekdays, readLevels, runIndexCase } from './index-case.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { createShareReader, toShareTime } from '#domain/books/book.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import { createClosesView, findDifferingCloses } from '#views/closes.js';

const DAYS = listWeekdays(12);

const PRICES = {
  A: DAYS.map((_, t) => 97.31 + 3.7 * Math.sin(t)),
  B: DAYS.map((_, t) => 41.07 + 1.9 * Math.cos(2 * t)),
  C: DAYS.map((_, t) => 12.93 + 0.6 * Math.sin(3 * t + 1)),
};

const DIVIDENDS = [
  { name: 'A', type: 'DIVIDEND' as const, value: 1.7, ex: DAYS[3]! },
  { name: 'B', type: 'DIVIDEND' as const, value: 0.4, ex: DAYS[6]! },
];

test('price, total and net levels have the same bits whichever return variant the document names', () => {
  const runs = (['price', 'total', 'net'] as const).map((dividends) =>
    runIndexCase({ close: PRICES, actions: DIVIDENDS, treatment: { dividends, withholding_tax: 0.15 } }),
  );
  for (const variant of ['price', 'total', 'net'] as const) {
    const [first, ...others] = runs.map((run) => [...readLevels(run, variant)]);
    for (const levels of others) expect(levels).toEqual(first);
  }
  const [first, ...others] = runs.map(({ index }) => [...index.book.divisor]);
  for (const divisor of others) expect(divisor).toEqual(first);
});

const readPublished = (run: Run) => {
  const bytes = createRunColumns(run, { contentHash: 'test' });
  return createClosesView(openColumns((start, end) => bytes.subarray(start, end)));
};

test('a published close has the same bits whichever return variant the document names, also with reinvestment in the constituent', () => {
  const weightings = [
    { type: 'EqualWeight' },
    { type: 'PriceWeight' },
    { type: 'FixedWeight', params: { weights: { A: 0.5, B: 0.3, C: 0.2 } } },
  ];
  for (const weighting of weightings)
    for (const weightsAs of ['shares', 'weights']) {
      const runs = (['price', 'total', 'net'] as const).map((dividends) =>
        runIndexCase({
          close: PRICES,
          actions: [...DIVIDENDS, { name: 'C', type: 'SPECIAL_DIVIDEND', value: 0.3, ex: DAYS[7]! }],
          treatment: { dividends, withholding_tax: 0.15, reinvestment: 'constituent' },
          weighting,
          rebalance: {
            frequency: 'custom',
            dates: [DAYS[4], DAYS[9]],
            effective_lag: weightsAs === 'shares' ? 2 : 0,
            weights_as: weightsAs,
          },
        }),
      );
      const [first, ...others] = runs.map(readPublished);
      for (const closes of others) expect(closes).toEqual(first);
    }
});

test('with reinvestment in the constituent, the published divisor and composition are those of the price return', () => {
  // A: 100, then 90 after a dividend of 10. Price return 95, weights 90/190 and 100/190. Total return 100, weights 1/2.
  const [price, total] = (['price', 'total'] as const).map((dividends) =>
    runIndexCase({
      close: { A: [100, 90], B: [100, 100] },
      actions: [{ name: 'A', type: 'DIVIDEND', value: 10, ex: DAYS[1]! }],
      treatment: { dividends, reinvestment: 'constituent' },
    }),
  );
  const closes = readPublished(total!);
  expect([closes.price[1], closes.total[1]]).toEqual([95, 100]);
  expect(Array.from(total!.index.book.weights.subarray(2))).toEqual([0.5, 0.5]);
  const [a, b] = price!.index.book.weights.slice(2);
  expectNear(a!, 90 / 190);
  expect(closes.composition_hash[1]).toBe(createHash('sha256').update(`{"A":${a},"B":${b}}`).digest('hex'));
  expect(closes.divisor).toEqual([...price!.index.book.divisor]);
  expect(closes.divisor).toEqual([1, 1]);
});

test('a session on which no price moves has exactly the level of the session before it, whatever the weights', () => {
  // Reviews, a price-weighted index and a session with an action of another security start from levels that are no
  // exact quotients.
  const rest = (values: readonly number[]): number[] => DAYS.map((_, t) => values[Math.min(Math.floor(t / 3), 2)]!);
  const close = {
    A: rest([97.31, 99.17, 97.31]),
    B: rest([41.07, 40.01, 41.07]),
    C: rest([12.93, 13.07, 12.93]),
    E: rest([7.77, 7.71, 7.77]),
    F: rest([3.33, 3.41, 3.33]),
    D: DAYS.map(() => 5),
  };
  for (const weighting of [{ type: 'EqualWeight' }, { type: 'PriceWeight' }])
    for (const count of [2, 3, 5]) {
      const run = runIndexCase({
        close,
        universe: Object.keys(close).slice(0, count),
        weighting,
        actions: [
          { name: 'D', type: 'SPLIT', value: 3, ex: DAYS[2]! },
          { name: 'D', type: 'DELISTING', value: 0, ex: DAYS[5]! },
        ],
        rebalance: { frequency: 'custom', dates: [DAYS[1], DAYS[4], DAYS[7]] },
      });
      const levels = [...run.index.book.value];
      for (const [t, level] of levels.entries()) if (t % 3 > 0 || t > 8) expect(level).toBe(levels[t - 1]);
      expect(levels[0]).toBe(100);
    }
});

test('one corrected close changes the level of its session and no bit of later levels', () => {
  const corrected = { ...PRICES, A: PRICES.A.map((price, t) => (t === 4 ? price + 0.01 : price)) };
  const [before, after] = [PRICES, corrected].map((close) =>
    runIndexCase({ close, actions: DIVIDENDS, treatment: { dividends: 'total' } }),
  );
  for (const variant of ['price', 'total', 'net'] as const) {
    const later = readLevels(after!, variant);
    const differing = [...readLevels(before!, variant)].flatMap((level, t) => (later[t] === level ? [] : [t]));
    expect(differing).toEqual([4]);
  }
});

test('a recomputation differs from published closes only by corrections that exceed the rounding of the index', () => {
  const correct = (change: number) =>
    readPublished(
      runIndexCase({
        close: { ...PRICES, A: PRICES.A.map((price, t) => (t === 4 ? price + change : price)) },
        document: { rounding: { level: 1 } },
      }),
    );
  const published = correct(0);
  const entries = published.dates.map((date, i) => ({
    date,
    price: published.price[i]!,
    total: published.total[i]!,
    net: published.net[i]!,
    divisor: published.divisor[i]!,
    composition_hash: published.composition_hash[i]!,
  })) as PublicationEntry[];
  const corrected = correct(0.001);
  expect(corrected.composition_hash[4]).not.toBe(published.composition_hash[4]);
  expect(findDifferingCloses(entries, corrected)).toEqual([]);
  const [difference, ...others] = findDifferingCloses(entries, correct(1));
  expect([difference!.date, difference!.member, others]).toEqual([published.dates[4], 'price', []]);
});

test('index shares keep their bits on sessions without an event of a constituent', () => {
  // D is not a constituent, but its merger and its split are events of the market.
  const run = runIndexCase({
    close: { ...PRICES, D: DAYS.map(() => 5) },
    actions: [
      ...DIVIDENDS,
      { name: 'D', type: 'SPLIT', value: 3, ex: DAYS[2]! },
      { name: 'D', type: 'DELISTING', value: 0, ex: DAYS[5]! },
    ],
    universe: ['A', 'B', 'C'],
  });
  const { shares, columns, length } = run.index.book;
  const read = createShareReader(shares!, columns.length);
  const first = [...read(toShareTime(0, 'after'))];
  expect(first.filter((count) => count !== 0)).toHaveLength(3);
  for (let t = 1; t < length; t++) expect([...read(toShareTime(t, 'after'))]).toEqual(first);
});

test('a price-weighted index holds exactly its factor of each member, through splits, exits and reviews', () => {
  const run = runIndexCase({
    close: { ...PRICES, B: PRICES.B.map((price, t) => (t < 4 ? price : price / 3)) },
    fields: { FACTOR: { A: DAYS.map(() => 1), B: DAYS.map(() => 0.35), C: DAYS.map(() => 7.1) } },
    actions: [
      { name: 'B', type: 'SPLIT', value: 3, ex: DAYS[4]! },
      { name: 'C', type: 'ACQUISITION', value: 13, ex: DAYS[8]! },
    ],
    weighting: { type: 'PriceWeight', params: { factor_field: 'FACTOR' } },
    rebalance: { frequency: 'custom', dates: [DAYS[6]], effective_lag: 1 },
  });
  const { shares, columns, sm, length, divisor, value } = run.index.book;
  const read = createShareReader(shares!, columns.length);
  for (let t = 0; t < length; t++) {
    const held = [...read(toShareTime(t, 'after'))].filter((count) => count !== 0);
    expect(held).toEqual(t < 8 ? [1, 0.35, 7.1] : [1, 0.35]);
    const money = held.reduce((sum, count, k) => sum + count * sm.closeAt(t, columns[k]!), 0);
    expectNear(divisor[t]!, money / value[t]!, 1e-12);
  }
});

test('a split of a price-weighted index on a session without moves keeps the level, and the divisor is prices over level', () => {
  const run = runIndexCase({
    close: { P: [400, 400, 100, 100], Q: [100, 100, 100, 100] },
    fields: { PF: { P: [2, 2, 2, 2], Q: [0.5, 0.5, 0.5, 0.5] } },
    actions: [{ name: 'P', type: 'SPLIT', value: 4, ex: DAYS[2]! }],
    weighting: { type: 'PriceWeight', params: { factor_field: 'PF' } },
  });
  // 2 x 400 + 0.5 x 100 = 850, then 2 x 100 + 0.5 x 100 = 250.
  expect([...run.index.book.value]).toEqual([100, 100, 100, 100]);
  expect([...run.index.book.divisor]).toEqual([8.5, 8.5, 2.5, 2.5]);
});

test('a special dividend that the paying security keeps buys more of its shares and leaves the divisor', () => {
  const run = runIndexCase({
    close: { A: [100, 70, 77], B: [100, 100, 100] },
    actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND', value: 30, ex: DAYS[1]! }],
    treatment: { special_dividends: 'constituent' },
  });
  const { shares, columns, divisor, value } = run.index.book;
  // 0.5 shares of each. The dividend of 15 buys 15 / 70 shares of A at its close: 0.5 x 100 / 70.
  const read = createShareReader(shares!, columns.length);
  const held = [...read(toShareTime(1, 'close'))].filter((count) => count !== 0);
  expectNear(held[0]!, 50 / 70);
  expectNear(held[1]!, 0.5);
  expect([...divisor]).toEqual([1, 1, 1]);
  expectNear(value[1]!, 100);
  expectNear(value[2]!, (50 / 70) * 77 + 50);
});

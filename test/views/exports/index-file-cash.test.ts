import { expect, test } from 'vitest';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import { CHECK_CATALOGUE } from '#domain/definition/daily-plan-checks.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { formatDay } from '#domain/base/time.js';
import { createComposition } from '#services/daily-plans/checks.js';
import { produceClosing, produceOpening } from '#views/exports/tables.js';
import { produceLevels } from '#views/levels.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { run, createColumns } from '../../domain/backtest/random-run.js';
import { simulateSigned, WEEK } from '../../domain/backtest/signed-case.js';
import {
  OVERLAID_PARENTS,
  EVERY_OVERLAY,
  ON_OVERLAYS,
  createOverlayIndex,
  addRates,
} from '../../domain/overlays/overlay-case.js';
import { createDocument } from '../../domain/index-document.js';

/** Weekdays of the test calendar. */
const DATES = Array.from({ length: 40 }, (_, k) => new Date(Date.UTC(2023, 11, 27 + k)))
  .filter((day) => day.getUTCDay() % 6 !== 0 && day.getUTCMonth() * 100 + day.getUTCDate() !== 15)
  .map((day) => day.toISOString().slice(0, 10));

const MARKET: MarketData = addRates(
  buildMarket({
    dates: DATES,
    close: {
      A: DATES.map((_, t) => 50 + 4 * Math.sin(t / 3)),
      B: DATES.map((_, t) => 20 + 3 * Math.cos(t / 5)),
      EURGBP: DATES.map((_, t) => 0.85 + 0.01 * Math.sin(t)),
      EURUSD: DATES.map((_, t) => 1.08 + 0.01 * Math.cos(t)),
    },
    reference: { B: { CURRENCY: 'EUR' } },
    actions: [
      { name: 'A', type: 'SPECIAL_DIVIDEND', value: 5, ex: DATES[10]! },
      { name: 'B', type: 'SPLIT', value: 2, ex: DATES[12]! },
      { name: 'B', type: 'DIVIDEND', value: 1, ex: DATES[14]! },
    ],
  }),
);

const createIndex = (treatment: object, rest: object = {}): IndexDocument =>
  createDocument({
    base_date: '2023-12-27',
    rebalance: { frequency: 'monthly' },
    universe: { kind: 'list', identifiers: ['A', 'B'] },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
    ...rest,
  });

type Row = Record<string, string | number | null>;

interface FileInput {
  readonly columns: RunColumns;
  readonly market: MarketData;
}
const readRun = (of: Run): FileInput => ({ columns: createColumns(of), market: of.index.book.sm.market });

function listRows(
  table: typeof produceClosing | typeof produceOpening | typeof produceLevels,
  read: FileInput,
  end: string,
): Row[] {
  const source = { ...read, window: { start: null, end } };
  return [...(table as typeof produceClosing)(source, 0)].flatMap(({ count, columns }) =>
    Array.from({ length: count }, (_, k) =>
      Object.fromEntries(
        Object.entries(columns).map(([name, values]) => {
          if (!('texts' in values)) return [name, Number.isNaN(values[k]!) ? null : values[k]!];
          return [name, values.texts[values.codes[k]!] ?? null];
        }),
      ),
    ),
  );
}

/**
 * Returns the findings of the checks of divisor and weights. It checks the first sessions, the last session, and sessions
 * with corporate actions.
 */
function listFindings(run: Run, decimals: object = {}, maySellShort = true): string[] {
  const of = readRun(run);
  const days = [...of.columns.i32('days')];
  const all = listRows(produceLevels, of, formatDay(days.at(-1)!)).map(({ date, price, total, net }) => [
    date as number,
    { price, total, net } as { price: number | null; total: number | null; net: number | null },
  ]) as [number, { price: number | null; total: number | null; net: number | null }][];
  return days.slice(1).flatMap((date, k) => {
    if (!(k < 5 || k === days.length - 2 || (k > 8 && k < 14))) return [];
    const input = {
      date,
      previous: days[k]!,
      closing: createComposition(listRows(produceClosing, of, formatDay(date))),
      opening: createComposition(listRows(produceOpening, of, formatDay(date))),
      levels: new Map(all),
      decimals: { level: null, divisor: null, weights: null, ...decimals },
      maySellShort,
    } as never; // both checks read no other member
    const { divisor, weights } = CHECK_CATALOGUE;
    return [
      ...divisor.judge(input, divisor.schema.parse({ check: 'divisor' })),
      ...weights.judge(input, weights.schema.parse({ check: 'weights' })),
    ].map(({ message }) => `${formatDay(date)}: ${message}`);
  });
}

const TREATMENTS = [
  { dividends: 'price' },
  { dividends: 'total', reinvestment: 'index' },
  { dividends: 'net', reinvestment: 'constituent' },
];

test.each(TREATMENTS)(
  'market value over divisor is the level of an index and of each overlay on it: %o',
  (treatment) => {
    const X = createIndex(treatment);
    const documents = { X, Y: IndexDocument.parse({ ...X, id: 'Y', name: 'Y' }), ...OVERLAID_PARENTS };
    expect(listFindings(run(MARKET, X), {}, false)).toEqual([]);
    for (const [overlay, rest] of [...EVERY_OVERLAY, ...ON_OVERLAYS])
      expect([overlay, listFindings(run(MARKET, createOverlayIndex(overlay, rest), { documents }))]).toEqual([
        overlay,
        [],
      ]);
  },
);

test('the check does not hold by definition: a level that is 1 bp off is found at its close', () => {
  const index = run(MARKET, createIndex({ dividends: 'total' }));
  index.variants.price!.level[5]! *= 1.0001;
  expect(listFindings(index).join()).toContain('The market value divided by the divisor at the close');
});

test('rounded levels, divisors, shares and weights agree within their decimals', () => {
  const rounding = { level: 2, divisor: 4, shares: 0, weights: 4 };
  const index = run(MARKET, createIndex({ dividends: 'total' }, { rounding, base_market_value: 1e9 }));
  expect(listFindings(index, rounding, false)).toEqual([]);
});

test('a file of a doubled index has a row of cash owed, by hand', () => {
  const documents = { X: createIndex({ dividends: 'price' }) };
  const doubledRun = readRun(run(MARKET, createOverlayIndex({ type: 'leverage', factor: 2 }), { documents }));
  const rows = listRows(produceClosing, doubledRun, DATES[4]!);
  const { price } = listRows(produceLevels, doubledRun, DATES[4]!).at(-1)!;
  expect(rows.map(({ identifier, name }) => [identifier, name])).toEqual([
    ['A', null],
    ['B', null],
    ['CASH/USD', 'Cash'],
  ]);
  const cash = rows[2]!;
  expect(cash).toMatchObject({ currency: 'USD', price: 1, fx: 1, shares: null, dividend_points: 0, variant: 'price' });
  expect(cash['market_value']).toBeCloseTo(-(price as number), 8);
  expect(cash['weight']).toBeCloseTo(-1, 12);
});

test.each([
  { A: 0.6, B: 0.3 },
  { A: 0.8, B: 0.4, C: -0.2 },
  { A: 1.5, B: -0.5 },
  { A: 0.5, B: -0.5 },
])('market value over divisor is the level of an index with cash and short positions: %o', (weights) => {
  const signedRun = simulateSigned({
    close: { A: [10, 11, 12, 6, 6, 7], B: [20, 20, 19, 20, 21, 21], C: [30, 31, 30, 29, 31, 30] },
    weights,
    actions: [
      { name: 'A', type: 'SPLIT', value: 2, ex: WEEK[3]! },
      { name: 'B', type: 'SPECIAL_DIVIDEND', value: 1, ex: WEEK[2]! },
      { name: 'B', type: 'DIVIDEND', value: 1, ex: WEEK[4]! },
    ],
    rebalance: { frequency: 'weekly' },
  });
  expect(listFindings(signedRun)).toEqual([]);
  const owedRows = listRows(produceClosing, readRun(signedRun), WEEK[1]!).filter(
    ({ identifier }) => identifier === 'CASH/USD',
  );
  const sum = Object.values(weights).reduce((total, weight) => total + weight, 0);
  expect(owedRows).toHaveLength(Math.abs(sum - 1) < 1e-9 ? 0 : 1);
});

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { createIndexShares } from '#domain/books/index-run.js';
import { fc } from '../../fast-check.js';
import { expectNear, readLevels, runIndexCase, listWeekdays } from './index-case.js';

/**
 * Command of a Python with numpy. It replays indices without code of this project. Undefined if no such Python is
 * installed.
 */
const python = ['python3', '/usr/bin/python3'].find((path) => spawnSync(path, ['-c', 'import numpy']).status === 0);
if (python === undefined) console.log('skipped: no Python with numpy is on this machine');

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 25);
const SESSIONS = 60;
const DAYS = listWeekdays(SESSIONS); // from Monday 4 March 2024
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G'];
const COUNT = 4;
const IN_EUR = new Set(['C', 'D', 'G']);

interface ReplayedLevels {
  readonly price: number[];
  readonly total: number[];
  readonly divisor: number[];
  readonly shares: Readonly<Record<string, number[]>>;
}

const drawnCase = fc.record({
  steps: fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 500, maxLength: 500 }),
  paid: fc.uniqueArray(
    fc.record({
      name: fc.nat(NAMES.length - 1),
      at: fc.integer({ min: 1, max: SESSIONS - 1 }),
      type: fc.constantFrom('DIVIDEND', 'DIVIDEND', 'SPECIAL_DIVIDEND', 'SPLIT'),
      size: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 14, selector: ({ name, at }) => `${name} ${at}` },
  ),
  lag: fc.integer({ min: 0, max: 6 }),
});

type RandomCase = typeof drawnCase extends fc.Arbitrary<infer T> ? T : never;

function runCase({ steps, paid, lag }: RandomCase): { readonly run: Run; readonly input: object } {
  const listPath = (start: number, n: number): number[] => {
    let value = start;
    return DAYS.map((_, t) => (value *= 1 + steps[(7 * t + n * 31) % steps.length]! / 1000));
  };
  const close = Object.fromEntries(NAMES.map((name, n) => [name, listPath(30 + 12 * n, n)]));
  const euro = listPath(1.1, 77);
  const counts = Object.fromEntries(NAMES.map((name, n) => [name, DAYS.map((_, t) => 1000 * (n + 1) + 10 * t)]));
  const run = runIndexCase({
    close: { ...close, EURUSD: euro },
    fields: { SHARES_OUTSTANDING: counts },
    reference: Object.fromEntries(NAMES.map((name) => [name, { CURRENCY: IN_EUR.has(name) ? 'EUR' : 'USD' }])),
    universe: NAMES,
    actions: paid.map(({ name, at, type, size }) => ({
      name: NAMES[name]!,
      type: type as 'SPLIT',
      value: type === 'SPLIT' ? 1 + size : 0.4 * size,
      ex: DAYS[at]!,
    })),
    treatment: { dividends: 'total' },
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: COUNT } }],
    weighting: { type: 'MarketCapWeight' },
    rebalance: { frequency: 'monthly', anchor: 'third_friday', effective_lag: lag },
    reviews: [
      {
        id: 'equal',
        scope: 'weights',
        schedule: { frequency: 'monthly', anchor: 'nth_weekday', nth: 1, weekday: 4, effective_lag: lag },
        weighting: { type: 'EqualWeight' },
      },
    ],
  });
  const listCells = (getCell: (name: string, t: number) => number): number[][] =>
    DAYS.map((_, t) => NAMES.map((name) => getCell(name, t)));
  const sum = (type: string, unit: number) =>
    listCells((name, t) =>
      paid
        .filter((one) => one.type === type && NAMES[one.name] === name && one.at === t)
        .reduce((total, { size }) => total + unit * size, 0),
    );
  const input = {
    close: listCells((name, t) => close[name]![t]!),
    counts: listCells((name, t) => counts[name]![t]!),
    rate: listCells((name, t) => (IN_EUR.has(name) ? euro[t]! : 1)),
    ordinary: sum('DIVIDEND', 0.4),
    special: sum('SPECIAL_DIVIDEND', 0.4),
    split: sum('SPLIT', 1).map((row) => row.map((size) => 1 + size)),
    count: COUNT,
    reviews: listReviews(lag),
  };
  return { run, input };
}

/**
 * Returns the reviews on Fridays, computed by hand. The first Friday of a month reviews weights. The third Friday
 * selects securities.
 */
function listReviews(lag: number): object[] {
  const fridays = DAYS.flatMap((day, t) => (new Date(day).getUTCDay() === 5 ? [t] : []));
  const scheduledSessions = fridays.flatMap((t) => {
    const nth = Math.ceil(Number(DAYS[t]!.slice(8)) / 7);
    if (t === 0 || (nth !== 1 && nth !== 3)) return [];
    return [{ effective: t, reference: Math.max(0, t - lag), scope: nth === 3 ? 'membership' : 'weights' }];
  });
  return [{ effective: 0, reference: 0, scope: 'membership' }, ...scheduledSessions];
}

test.skipIf(python === undefined)('levels, divisor and index shares are those that numpy computes', () => {
  const cases = fc.sample(drawnCase, { numRuns: RUNS, seed: 20240304 }).map(runCase);
  const { stdout, stderr } = spawnSync(python!, ['test/domain/index-mathematics/numpy_replay.py'], {
    input: cases.map(({ input }) => JSON.stringify(input)).join('\n'),
    maxBuffer: 1 << 28,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const replayedLevels = JSON.parse(stdout) as ReplayedLevels[];
  for (const [k, { run }] of cases.entries()) {
    const { price, total, divisor, shares } = replayedLevels[k]!;
    readLevels(run, 'price').forEach((level, t) => expectNear(level, price[t]!, 1e-11));
    readLevels(run, 'total').forEach((level, t) => expectNear(level, total[t]!, 1e-11));
    run.index.book.divisor.forEach((value, t) => expectNear(value, divisor[t]!, 1e-11));
    const indexShares = createIndexShares(run.index.book, run.index.compositions);
    expect(run.index.compositions.list).toHaveLength(Object.keys(shares).length);
    for (const composition of run.index.compositions.list) {
      const expected = shares[String(composition.session - run.index.book.from)]!;
      const heldShares = indexShares(composition).shares!;
      expect(composition.columns).toHaveLength(expected.filter((weight) => weight > 0).length);
      composition.columns.forEach((column, i) => {
        expectNear(heldShares[i]!, expected[NAMES.indexOf(run.index.book.sm.identifiers[column]!)]!, 1e-11);
      });
    }
  }
});

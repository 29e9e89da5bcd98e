import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { checkRounding } from '#domain/definition/index-checks.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { createIndexShares } from '#domain/books/index-run.js';
import { roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createClosesView } from '#views/closes.js';
import { produceLevels as exportedLevels, roundLevels } from '#views/levels.js';
import { createSummaryView } from '#views/performance.js';
import { formatWeight } from '#views/report/figures.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn, createColumns } from '../backtest/random-run.js';
import { CALENDARS, expectNear, readLevels, runIndexCase, listWeekdays } from './index-case.js';
import { createDocument } from '../index-document.js';

test.each([
  [1.005, 2, 1.01],
  [-1.005, 2, -1.01],
  [2.5, 0, 3],
  [-2.5, 0, -3],
  [0.000_000_45, 7, 0.000_000_5],
  [1e21, 2, 1e21],
  [123.4549, 2, 123.45],
  [0.04, 1, 0],
])('%d is, to %i decimals, %d', (value, decimals, expected) => {
  expect(roundHalfAwayFromZero(value, decimals)).toBe(expected);
});

const DAYS = listWeekdays(8);
const listShares = (run: Run, review: number): number[] => [
  ...createIndexShares(run.index.book, run.index.compositions)(run.index.compositions.list[review]!).shares!,
];

describe('a base market value', () => {
  test('is the market value of the first session: the divisor begins at it over the base value', () => {
    const run = runIndexCase({
      close: { A: [10, 11], B: [20, 20] },
      document: { base_value: 1000, base_market_value: 5e6 },
    });
    expect(run.index.book.divisor[0]).toBe(5000);
    expect(listShares(run, 0)).toEqual([250_000, 125_000]);
    expectNear(readLevels(run, 'price')[1]!, (250_000 * 11 + 125_000 * 20) / 5000);
  });
});

describe('rounded index shares', () => {
  // Each security receives a third of 1,000 at prices 7, 11 and 13: 47.619, 30.303 and 25.641 shares.
  const run = runIndexCase({
    close: { A: [7, 8, 9, 9], B: [11, 11, 12, 12], C: [13, 14, 14, 7] },
    actions: [{ name: 'C', type: 'SPLIT', value: 1.5, ex: DAYS[3]! }],
    document: { base_market_value: 1000, rounding: { shares: 0 } },
  });

  test('are whole numbers, and the divisor compensates the difference in value', () => {
    expect(listShares(run, 0).map((shareCount) => Math.round(shareCount * 1e9) / 1e9)).toEqual([48, 30, 26]);
    const M = 48 * 7 + 30 * 11 + 26 * 13;
    expectNear(run.index.book.divisor[0]!, M / 100);
    expectNear(readLevels(run, 'price')[2]!, (48 * 9 + 30 * 12 + 26 * 14) / (M / 100));
  });

  test('stay whole through a split of three for two, without a change of the level', () => {
    const D = (48 * 7 + 30 * 11 + 26 * 13) / 100;
    expectNear(readLevels(run, 'price')[3]!, (48 * 9 + 30 * 12 + 39 * 7) / D);
    const oddRun = runIndexCase({
      close: { A: [10, 10, 10], B: [10, 10, 11] },
      actions: [{ name: 'B', type: 'SPLIT', value: 1.5, ex: DAYS[1]! }],
      document: { base_market_value: 150, rounding: { shares: 0 } },
    });
    // 7.5 shares of each security are rounded to 8. The 8 shares of B become 12 at 10 / 1.5.
    const divisor = 160 / 100;
    expectNear(readLevels(oddRun, 'price')[1]!, (8 * 10 + 12 * 10) / divisor);
    const unevenRun = runIndexCase({
      close: { A: [10, 10, 10], B: [10, 10, 11] },
      actions: [{ name: 'B', type: 'SPLIT', value: 1.45, ex: DAYS[1]! }],
      document: { base_market_value: 160, rounding: { shares: 0 } },
    });
    // The 8 shares of B become 11.6 and are rounded to 12. So the market value rises by 0.4 shares at 10 / 1.45, and
    // the divisor rises in proportion.
    const before = 8 * 10 + 8 * 10;
    const after = 8 * 10 + (12 * 10) / 1.45;
    const changedCount = (1.6 * after) / before;
    expectNear(unevenRun.index.book.divisor[1]!, changedCount);
    expectNear(readLevels(unevenRun, 'price')[1]!, (8 * 10 + 12 * 10) / changedCount);
    expectNear(readLevels(unevenRun, 'price')[2]!, (8 * 10 + 12 * 11) / changedCount);
  });

  test('are whole after a change of the share count', () => {
    const countedRun = runIndexCase({
      close: { A: [10, 10, 11], B: [10, 10, 10] },
      fields: { SHARES_OUTSTANDING: { A: [100, 110, 110], B: [100, 100, 100] } },
      weighting: { type: 'MarketCapWeight' },
      events: { share_changes: 'effective' },
      document: { base_market_value: 150, rounding: { shares: 0 } },
    });
    // 7.5 shares of each security are rounded to 8. 8.8 shares of A are rounded to 9. So the market value rises from
    // 160 to 170.
    expectNear(countedRun.index.book.divisor[1]!, 1.7);
    expectNear(readLevels(countedRun, 'price')[1]!, 100);
    expectNear(readLevels(countedRun, 'price')[2]!, (9 * 11 + 80) / 1.7);
    const { before, after } = countedRun.index.book.shareChanges!;
    expectNear(after[0]! / before[0]!, 9 / 8);
  });

  test('are whole after a merger and after a rebalance', () => {
    const mergedRun = runIndexCase({
      close: { A: [10, 10, 10, 12], B: [20, 20, null, null], C: [30, 30, 30, 33] },
      actions: [{ name: 'B', type: 'MERGER', value: 0.7, ex: DAYS[2]!, related: 'A' }],
      document: { base_market_value: 900, rounding: { shares: 0 } },
    });
    const [level, divisor] = [readLevels(mergedRun, 'price'), mergedRun.index.book.divisor];
    // 15 shares of B become 10.5 of A. The index already holds 30, so 40.5 are rounded to 41 shares of A. It also has
    // 10 shares of C.
    expectNear(divisor[2]!, (divisor[1]! * (41 * 10 + 10 * 30)) / (40.5 * 10 + 10 * 30));
    expectNear(level[3]!, (41 * 12 + 10 * 33) / divisor[2]!);
    const daily = runIndexCase({
      close: { A: [7, 8, 9, 9], B: [11, 11, 12, 12] },
      rebalance: { frequency: 'daily' },
      document: { base_market_value: 1e6, rounding: { shares: 0, divisor: 4 } },
    });
    daily.index.compositions.list.forEach((_, r) =>
      listShares(daily, r).forEach((shareCount) => expectNear(shareCount, Math.round(shareCount), 1e-10)),
    );
  });
});

describe('a rounded divisor', () => {
  const sketch = {
    close: { A: [100, 70, 77, 80], B: [100, 100, 100, 90] },
    actions: [{ name: 'A', type: 'SPECIAL_DIVIDEND' as const, value: 30, ex: DAYS[1]! }],
    treatment: { dividends: 'total' },
  };

  test('is rounded when it changes, and levels follow from it: 0.85 to one decimal is 0.9', () => {
    const run = runIndexCase({ ...sketch, document: { rounding: { divisor: 1 } } });
    expect([...run.index.book.divisor]).toEqual([1, 0.9, 0.9, 0.9]);
    const M = [100, 85, 88.5, 85];
    readLevels(run, 'price').forEach((level, t) => expectNear(level, M[t]! / (t === 0 ? 1 : 0.9)));
    expectNear(run.index.book.gross[1]!, 85 / 0.9 / 100);
    run.index.book.value.forEach((value, t) => expectNear(value, readLevels(run, 'total')[t]!));
  });

  test('changes levels from the session after a close on which a security left', () => {
    const run = runIndexCase({
      close: { A: [100, 110, 120, 130], B: [100, 100, null, null], C: [100, 90, 95, 99] },
      actions: [{ name: 'B', type: 'ACQUISITION', value: 100, ex: DAYS[2]! }],
      document: { rounding: { divisor: 2 } },
    });
    const q = 1 / 3;
    expectNear(readLevels(run, 'price')[2]!, q * (120 + 100 + 95));
    const exactWeight = (120 + 95) / (120 + 100 + 95);
    expect(run.index.book.divisor[2]).toBe(roundHalfAwayFromZero(exactWeight, 2));
    expectNear(readLevels(run, 'price')[3]!, (q * (130 + 99)) / 0.68);
  });

  // One share each, worth 100.3: the divisor 1.003 becomes 1.00, and after the split 80.3 / 100.3 = 0.8006 becomes 0.80.
  test('is the one of the next session without a move of prices, and that to which a split of one share is applied', () => {
    const run = runIndexCase({
      close: { A: [40, 40, 20, 20], B: [60.3, 60.3, 60.3, 60.3] },
      actions: [{ name: 'A', type: 'SPLIT', value: 2, ex: DAYS[2]! }],
      weighting: { type: 'PriceWeight' },
      document: { rounding: { divisor: 2 } },
    });
    expect([...run.index.book.divisor]).toEqual([1, 1, 0.8, 0.8]);
    readLevels(run, 'price').forEach((level, t) => expectNear(level, [100, 100.3, 100.375, 100.375][t]!));
  });

  test('that would be 0 is refused with both numbers', () => {
    const ask = () => runIndexCase({ ...sketch, document: { base_market_value: 20, rounding: { divisor: 0 } } });
    expect(ask).toThrow(/divisor 0.170* .*which is 0 with 0 decimals|divisor 0.200* .*which is 0 with 0 decimals/);
  });
});

const roundTo = (decimals: number, value: number): number => Math.round(value * 10 ** decimals) / 10 ** decimals;

describe('levels and weights of a document with decimals', () => {
  const sketch = { close: { A: [3, 3.1, 3.3], B: [7, 7.2, 6.9] } };
  const wholeRun = runIndexCase(sketch);
  const run = runIndexCase({ ...sketch, document: { rounding: { level: 2, weights: 4 } } });
  const columns = createColumns(run);
  const levels = readLevels(wholeRun, 'price').map((level) => roundTo(2, level));
  const firstWeight = roundTo(4, 3.3 / 3 / (3.3 / 3 + 6.9 / 7));

  test('are computed in full', () => expect(readLevels(run, 'price')).toEqual(readLevels(wholeRun, 'price')));

  test('are shown to them by every view and export', () => {
    expect(createClosesView(columns).price).toEqual(levels);
    expect([...roundLevels(columns, { variant: 'price', start: null, end: null }).levels]).toEqual(levels);
    expect(createSummaryView(columns).level).toBe(levels[2]);
    const window = { start: null, end: null };
    const [exported] = [...exportedLevels({ columns, window, market: null }, 0)];
    expect([...exported!.columns.price]).toEqual(levels);
    const view = createWeightsView({
      runId: 'X',
      requestedAsOf: null,
      weights: readPositiveWeights(columns, null),
      benchmark: null,
      findShares: () => null,
      risk: null,
      activeRisk: null,
    });
    expect(view.weights.find(({ identifier }) => identifier === 'A')!.weight).toBe(firstWeight);
  });

  test('are printed in reports with two decimals fewer as percent', () => {
    expect(formatWeight(0.123_456, 5)).toBe('12.346%');
    expect(formatWeight(0.123_456, 2)).toBe('12%');
    expect(formatWeight(0.123_456, null)).toBe('12.35%');
  });
});

test('an amendment changes the decimals of the levels after its first review, not of those before', () => {
  const { market, document } = runAmendable();
  const columns = createColumns(runOn(CALENDARS, market, document, { createDecider: indexDecider }));
  const exactLevels = columns.f64('levelPrice');
  const shownLevels = [...roundLevels(columns, { variant: 'price', start: null, end: null }).levels];
  // Reviews are on Fridays. Up to the review of 8 March, and on that day, levels have the earlier number of decimals.
  expect(shownLevels).toEqual([...exactLevels].map((level, t) => roundTo(t <= 4 ? 1 : 3, level)));
  expect(createClosesView(columns).price).toEqual(shownLevels);
});

/**
 * Runs an index with weekly reviews. Its levels have one decimal until the review of 8 March, and three decimals
 * afterwards.
 */
function runAmendable() {
  const dates = listWeekdays(8);
  const close = { A: [3, 3.1, 3.3, 3.35, 3.4, 3.46, 3.51, 3.57], B: [7, 7.2, 6.9, 6.93, 7.01, 7.07, 7.13, 7.19] };
  const market = buildMarket({ dates, close });
  const document = createDocument({
    base_date: dates[0],
    rebalance: { frequency: 'weekly' },
    universe: { kind: 'list', identifiers: ['A', 'B'] },
    rounding: { level: 1 },
    amendments: [{ effective_from: '2024-03-07', changes: { rounding: { level: 3 } } }],
  });
  return { market, document };
}

describe('a document', () => {
  const body = {
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: DAYS[0],
    pipeline: { weighting: { type: 'EqualWeight' } },
  };
  const listFindings = (rest: object) =>
    validateIndex({ ...body, ...rest }, {
      calendars: [...CALENDARS.list()],
      indexOf: () => undefined,
    } as never).findings.filter(({ path }) => /^(rounding|base_market)/.test(path));

  test('that rounds shares needs a base market value, and has no unknown member in rounding', () => {
    expect(listFindings({ rounding: { shares: 0 } })).toMatchObject([{ severity: 'error', path: 'base_market_value' }]);
    expect(listFindings({ rounding: { shares: 0 }, base_market_value: 1e9 })).toEqual([]);
    expect(listFindings({ rounding: { prices: 2 } })).toMatchObject([{ severity: 'error', path: 'rounding.prices' }]);
    expect(listFindings({ rounding: { level: 16 } })).toMatchObject([{ severity: 'error', path: 'rounding.level' }]);
  });

  test('is warned of a rounding that nothing reads', () => {
    const pipeline = { treatment: { reinvestment: 'constituent' } };
    const alone = { indexOf: () => undefined };
    expect(checkRounding({ rounding: { divisor: 6 }, pipeline }, alone)).toMatchObject([{ code: 'NO_EFFECT' }]);
    expect(checkRounding({ rounding: { divisor: 6 }, overlay: {} }, alone)).toMatchObject([{ code: 'NO_EFFECT' }]);
  });

  test.each(['constituent', 'index'] as const)(
    'that is derived from an index with reinvestment %s is warned accordingly',
    (reinvestment) => {
      const source = IndexDocument.parse({
        ...body,
        id: 'PARENT',
        pipeline: { ...body.pipeline, treatment: { reinvestment } },
      });
      const findings = checkRounding(
        { rounding: { divisor: 6, shares: 0 }, base_market_value: 1e9, derivation: { source_index_id: 'PARENT' } },
        { indexOf: (id) => (id === 'PARENT' ? source : undefined) },
      );
      const paths = reinvestment === 'constituent' ? ['rounding.divisor', 'rounding.shares'] : [];
      expect(findings.map(({ path }) => path)).toEqual(paths);
      for (const { code, message } of findings)
        expect([code, message.includes('the source index PARENT')]).toEqual(['NO_EFFECT', true]);
    },
  );
});

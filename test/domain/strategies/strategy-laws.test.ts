import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeAnnualReturns, computeDrawdown, computeReturns } from '#domain/analytics/returns.js';
import type { StrategyTerms } from '#domain/definition/backtest-plan.js';
import type { Run } from '#domain/backtest/run.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import { createAttributionView } from '#views/attribution.js';
import { randomMarket } from '../backtest/random-market.js';
import { randomDecider, randomDocument, randomRequest, tryRun } from '../backtest/random-run.js';
import { runRecordJson } from '../backtest/run-texts.js';
import { simulateSigned, WEEK } from '../backtest/signed-case.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 10);
const STAMP = { runAt: '2026-01-01T00:00:00+00:00', runHash: 'h', storeContentHash: 's', engineVersion: '0' };
const PLAIN_TERMS: StrategyTerms = { rebalance: null, drift_tolerance: null, exposure: 1 };

const randomTerms: fc.Arbitrary<StrategyTerms> = fc.record({
  rebalance: fc.constantFrom(
    null,
    RebalanceSpec.parse({ frequency: 'none' }),
    RebalanceSpec.parse({ frequency: 'weekly' }),
    RebalanceSpec.parse({ frequency: 'daily' }),
  ),
  drift_tolerance: fc.constantFrom(null, 0, 0.01, 0.1),
  exposure: fc.constantFrom(0, 0.4, 0.97, 1),
});

function checkOnStrategies(law: (run: Run, terms: StrategyTerms) => void): void {
  fc.assert(
    fc.property(
      randomMarket,
      randomDocument,
      randomRequest,
      randomDecider,
      randomTerms,
      ({ market }, document, request, createDecider, strategy) => {
        const result = tryRun(market, document, { ...request, createDecider, strategy });
        if (result) law(result, strategy);
      },
    ),
    { numRuns: RUNS },
  );
}

function expectClose(actual: number, expected: number, scale = 1, tolerance = 1e-10): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(tolerance * Math.max(scale, Math.abs(expected)));
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

describe('a strategy on random markets', () => {
  test('returns compound to the level and annual returns to the total', () => {
    checkOnStrategies(({ level, days, metrics }) => {
      expectClose([...computeReturns(level)].reduce((product, r) => product * (1 + r), 1) - 1, metrics.total_return);
      expectClose(level.at(-1)! / 100 - 1, metrics.total_return);
      expectClose(
        computeAnnualReturns(days, level).reduce((product, [, r]) => product * (1 + r), 1) - 1,
        metrics.total_return,
        1,
        1e-12,
      );
      expect(metrics.max_drawdown).toBe(Math.min(...computeDrawdown(level)));
    });
  });

  test('weights and cash are the whole value; cash is never negative, nor is a weight if the index is long', () => {
    checkOnStrategies(({ portfolio: { length, columns, weights, cash, value }, index }) => {
      const isLong = index.book.weights.every((weight) => weight >= 0);
      for (let t = 0; t < length; t++) {
        if (!(value[t]! > 0)) continue;
        const row = weights.subarray(t * columns.length, (t + 1) * columns.length);
        expectClose(sum(row) + cash[t]!, 1);
        expect(cash[t]!).toBeGreaterThanOrEqual(0);
        if (isLong) for (const weight of row) expect(weight).toBeGreaterThanOrEqual(0);
      }
    });
  });

  test('value is cash and positions, costs are those of the transactions', () => {
    checkOnStrategies((run) => {
      const record = JSON.parse(new TextDecoder().decode(runRecordJson(run, STAMP)));
      const { nav, cash, positions, transactions, initial_capital: capital } = record.portfolio;
      expect(nav.data[0]).toBe(capital);
      const valueByDate = new Map<string, number>();
      for (const [date, , , , value] of positions.data) valueByDate.set(date, (valueByDate.get(date) ?? 0) + value);
      nav.index
        .slice(1)
        .forEach((date: string, t: number) =>
          expectClose(cash.data[t + 1] + (valueByDate.get(date) ?? 0), nav.data[t + 1], capital),
        );
      expectClose(sum(transactions.data.map((row: number[]) => row[6]!)), run.totalCosts, capital * 1e-3);
    });
  });

  test('contributions add up to its return', () => {
    checkOnStrategies((run) => {
      if (run.level.some((value) => value === 0)) return;
      const bytes = createRunColumns(run, { contentHash: 's' });
      const view = createAttributionView(
        openColumns((start, end) => bytes.slice(start, end)),
        { start: null, end: null },
      );
      expectClose(sum(view.contributions.map(({ contribution }) => contribution)), run.metrics.total_return);
      expect(view.reconciles).toBe(true);
    });
  });

  test('rebalances sum to 1 and are within the run', () => {
    checkOnStrategies(({ rebalances, portfolio, index }) => {
      for (const { weights, session } of rebalances) {
        const inCash = session >= index.book.from ? index.book.cash[session - index.book.from]! : 0;
        // Purchases of the index that wait are part of the target. Sales that wait are held in addition to it.
        const { unfilled } = index.book;
        if (unfilled.length === 0) expectClose(sum(weights), 1 - inCash);
        else if (unfilled.every(({ side }) => side === 'buy')) expect(sum(weights)).toBeGreaterThan(1 - inCash - 1e-9);
        expect(sum(weights)).toBeLessThan(1 + 1e-9);
        expect(session).toBeLessThan(portfolio.from + portfolio.length);
      }
    });
  });

  test('on plain terms equals the backtest of its index, bit for bit', () => {
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        randomRequest,
        randomDecider,
        ({ market }, document, request, createDecider) => {
          const plainRun = tryRun(market, document, { ...request, createDecider });
          const strategy = tryRun(market, document, { ...request, createDecider, strategy: PLAIN_TERMS });
          expect(strategy === undefined).toBe(plainRun === undefined);
          if (!plainRun || !strategy) return;
          expect(strategy.level).toEqual(plainRun.level);
          expect(strategy.metrics).toEqual(plainRun.metrics);
          expect(strategy.portfolio.weights).toEqual(plainRun.portfolio.weights);
          expect(strategy.portfolio.costs).toEqual(plainRun.portfolio.costs);
          expect(strategy.rebalances).toEqual(plainRun.rebalances);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('a tolerance of 0 trades as no tolerance does', () => {
    fc.assert(
      fc.property(randomMarket, randomDocument, randomRequest, randomTerms, ({ market }, document, request, terms) => {
        const all = tryRun(market, document, { ...request, strategy: { ...terms, drift_tolerance: null } });
        const zeroRun = tryRun(market, document, { ...request, strategy: { ...terms, drift_tolerance: 0 } });
        if (!all || !zeroRun || all.portfolio.unfilled.length > 0 || all.index.book.unfilled.length > 0) return;
        all.level.forEach((value, t) => expectClose(zeroRun.level[t]!, value, 1, 1e-9));
      }),
      { numRuns: RUNS },
    );
  });

  test.each([null, 0])(
    'with the tolerance %s that holds an index includes the rounding of its divisor',
    (tolerance) => {
      // The special dividend reduces the market value by half of 10 %, and the divisor from 1.23 to 1.1685, rounded to 1.17.
      const run = simulateSigned({
        close: { AA: [100, 100, 90, 90, 90, 90], BB: WEEK.map(() => 50) },
        actions: [{ name: 'AA', type: 'SPECIAL_DIVIDEND', value: 10, ex: WEEK[2]! }],
        weights: { AA: 0.5, BB: 0.5 },
        document: { base_market_value: 123, rounding: { divisor: 2 } },
        request: { strategy: { ...PLAIN_TERMS, drift_tolerance: tolerance } },
      });
      expectClose(run.level.at(-1)!, (100 * 1.1685) / 1.17);
    },
  );
});

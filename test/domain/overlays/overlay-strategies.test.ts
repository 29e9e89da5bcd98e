import { expect, test } from 'vitest';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import { createAttributionView } from '#views/attribution.js';
import { createReconcileView } from '#views/reconcile.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run, createColumns } from '../backtest/random-run.js';
import { createOverlayIndex } from './overlay-case.js';
import { createDocument } from '../index-document.js';

const dates = ['02', '03', '04', '05', '08', '09', '10', '11', '12'].map((day) => `2024-01-${day}`);
const A = [100, 109, 103, 112, 104, 111, 115, 108, 117];
const market = buildMarket({ dates, close: { A } });
const base = { base_date: dates[0] };
const parentDocument = createDocument({
  ...base,
  rebalance: { frequency: 'none' },
  pipeline: { weighting: { type: 'EqualWeight' } },
});
const doubledIndex = createOverlayIndex({ type: 'leverage', factor: 2 }, base);
const weekly = RebalanceSpec.parse({ frequency: 'weekly' });
const runStrategyOn = (terms: object, request: object = {}) =>
  run(market, doubledIndex, {
    documents: { X: parentDocument },
    strategy: { rebalance: weekly, drift_tolerance: null, exposure: 0.5, ...terms },
    initial_capital: 1000,
    ...request,
  });

test('a strategy holds a fraction in an overlay and the rest in cash, restored at its rebalances', () => {
  /**
   * Returns the value of an account that invests half of its money in the index with a factor of two. The fourth date
   * ends a week.
   */
  const computeAccount = (isRestored: (t: number) => boolean): number[] => {
    let [invested, cash] = [500, 500];
    return A.map((price, t) => {
      if (t > 0) invested *= 1 + 2 * (price / A[t - 1]! - 1);
      const value = invested + cash;
      if (isRestored(t)) [invested, cash] = [value / 2, value / 2];
      return value;
    });
  };
  const expectClose = (actual: Float64Array, expected: readonly number[]): void =>
    actual.forEach((value, t) => expect(value / expected[t]!).toBeCloseTo(1, 12));
  const restoredRun = runStrategyOn({});
  expectClose(
    restoredRun.portfolio.value,
    computeAccount((t) => t === 3 || t === 8),
  );
  expectClose(
    runStrategyOn({ drift_tolerance: 0.2 }).portfolio.value,
    computeAccount(() => false),
  );
  const wholeRun = runStrategyOn({ exposure: 1 });
  expectClose(
    wholeRun.portfolio.value,
    Array.from(wholeRun.index.book.value, (level) => 10 * level),
  );
  expect([...runStrategyOn({ exposure: 0 }).portfolio.value]).toEqual(A.map(() => 1000));
  const columns = createColumns({ ...restoredRun, plan: { ...restoredRun.plan, runId: 'S' } });
  expect(createReconcileView(columns, () => []).checks.filter(({ holds }) => !holds)).toEqual([]);
  const {
    contributions,
    overlay_parts: parts,
    total_return: total,
  } = createAttributionView(columns, { start: null, end: null });
  const sum = [...contributions, ...parts!].reduce((all, { contribution }) => all + contribution, 0);
  expect(sum).toBeCloseTo(total, 12);
});

test('costs and constraint sets of a portfolio are refused for an overlay, each with its path', () => {
  const catchPath = (work: () => unknown): unknown => {
    try {
      work();
    } catch (thrown) {
      return (thrown as { detail: { findings: { path: string }[] } }).detail.findings.map(({ path }) => path);
    }
    return null;
  };
  expect(catchPath(() => runStrategyOn({}, { transaction_cost_bps: 5 }))).toEqual(['transaction_cost_bps']);
  expect(catchPath(() => runStrategyOn({ constraints: [] }))).toEqual(['constraint_set_id']);
});

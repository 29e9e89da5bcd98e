import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { StrategyTerms } from '#domain/definition/backtest-plan.js';
import { type IndexDocument as Definition, IndexDocument } from '#domain/definition/index-document.js';
import { createReconcileView } from '#views/reconcile.js';
import { buildMarket } from './market-builder.js';
import { type RunRequest, runOn, createColumns } from './random-run.js';
import { CALENDARS, WEEK } from './signed-case.js';
import { readHeldOn, closeTo } from './shorts-case.js';
import { createDocument } from '../index-document.js';

describe('a derived index with a short position', () => {
  const close = { A: [100, 110, 121, 121, 121, 121], B: [50, 50, 50, 55, 55, 55], X: [20, 22, 22, 22, 11, 11] };
  const parent = createDocument({ id: 'P', base_date: WEEK[0], rebalance: { frequency: 'weekly' } });
  const deriveIndex = (constraints: { type: string; params: Record<string, unknown> }[]) =>
    IndexDocument.parse({
      ...parent,
      id: 'D',
      name: 'D',
      pipeline: undefined,
      universe: undefined,
      derivation: {
        source_index_id: 'P',
        objective: 'min_tracking_error',
        constraints: constraints.map((row, i) => ({ id: `r${i}`, ...row })),
      },
    });
  const run = (rows: Parameters<typeof deriveIndex>[0]) =>
    runOn(CALENDARS, buildMarket({ dates: WEEK, close }), deriveIndex(rows), {
      documents: { P: parent },
      createDecider: indexDecider,
    });
  const shortRun = run([{ type: 'PositionBounds', params: { lower: -0.05, upper: -0.05, identifiers: ['X'] } }]);

  test('holds it at its rebalance, and its weights sum to 1', () => {
    expect(Object.keys(readHeldOn(shortRun.index.book, 0))).toEqual(['A', 'B', 'X']);
    expect(readHeldOn(shortRun.index.book, 0)['X']).toBeCloseTo(-0.05, 12);
    expect(Object.values(readHeldOn(shortRun.index.book, 0)).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(
      1,
      12,
    );
  });

  test('ends where its own weights and the growth of its names lead', () => {
    let level = 100;
    for (let t = 1; t < WEEK.length; t++) {
      const before = readHeldOn(shortRun.index.book, t - 1);
      level *= Object.entries(before).reduce(
        (sum, [name, weight]) => sum + (weight * close[name as 'A'][t]!) / close[name as 'A'][t - 1]!,
        0,
      );
      expect(shortRun.index.book.value[t]).toBeCloseTo(level, 10);
    }
  });

  test('reconciles, as one that leaves cash does', () => {
    const cash = run([{ type: 'WeightSum', params: { lower: 0, upper: 0.6 } }]);
    const bothRun = run([
      { type: 'WeightSum', params: { lower: 0.2, upper: 0.6 } },
      { type: 'PositionBounds', params: { lower: -0.3, upper: -0.1, identifiers: ['X'] } },
    ]);
    expect(cash.index.book.cash[0]).toBeCloseTo(0.4, 6);
    for (const indexRun of [shortRun, cash, bothRun])
      expect(createReconcileView(createColumns(indexRun), () => []).checks.filter(({ holds }) => !holds)).toEqual([]);
  });
});

describe('an index derived from one with a short position', () => {
  const prices = { A: [100, 110, 121, 121, 121, 121], B: [50, 50, 50, 55, 55, 55], X: [20, 22, 22, 22, 11, 11] };
  const commonFields = { calendar: 'MAIN', base_date: WEEK[0], rebalance: { frequency: 'none' } };
  const parent = IndexDocument.parse({
    ...commonFields,
    id: 'P',
    name: 'P',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  const derive = (id: string, from: string, constraints: { type: string; params: Record<string, unknown> }[]) =>
    IndexDocument.parse({
      ...commonFields,
      id,
      name: id,
      derivation: { source_index_id: from, constraints: constraints.map((row, i) => ({ id: `r${i}`, ...row })) },
    });
  const shortIndex = derive('S', 'P', [
    { type: 'PositionBounds', params: { lower: -0.2, upper: -0.2, identifiers: ['X'] } },
  ]);
  const run = (document: Definition, request: RunRequest = {}) =>
    runOn(CALENDARS, buildMarket({ dates: WEEK, close: prices }), document, {
      documents: { P: parent, S: shortIndex },
      createDecider: indexDecider,
      ...request,
    });

  test('by optimising it holds multiples of its short weights', () => {
    const rows = [
      { type: 'PositionBounds', params: { lower: -1 } },
      { type: 'RelativePositionBounds', params: { lower: 1.5, upper: 2, identifiers: ['X'] } },
    ];
    const derivedRun = run(derive('D', 'S', rows));
    expect(readHeldOn(derivedRun.index.book, 0)['X']).toBeCloseTo(-0.3, 8);
    expect(createReconcileView(createColumns(derivedRun), () => []).checks.filter(({ holds }) => !holds)).toEqual([]);
  });

  test('by its universe has the short securities to choose from', () => {
    const child = IndexDocument.parse({
      ...commonFields,
      id: 'C',
      name: 'C',
      universe: { kind: 'index', id: 'S' },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    closeTo(readHeldOn(run(child).index.book, 0), { A: 1 / 3, B: 1 / 3, X: 1 / 3 });
  });

  test('is followed by a strategy, whose shorts scale with its exposure and have separate limits', () => {
    const runFollower = (strategy: StrategyTerms) => readHeldOn(run(shortIndex, { strategy }).portfolio, 0);
    closeTo(runFollower({ rebalance: null, drift_tolerance: null, exposure: 0.5 }), { A: 0.3, B: 0.3, X: -0.1 });
    const limits = [{ id: '', type: 'PositionBounds', params: { lower: -0.05, upper: 1 } }];
    closeTo(runFollower({ rebalance: null, drift_tolerance: 0.01, exposure: 1, constraints: limits }), {
      A: 0.525,
      B: 0.525,
      X: -0.05,
    });
  });
});

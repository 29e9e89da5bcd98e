import { describe, expect, test } from 'vitest';
import { isSameRequest, listDefinitionChanges } from '#domain/backtest/plan.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { BacktestFields } from '#domain/definition/runs.js';
import { IndexDocument } from '#domain/definition/index-document.js';

const createIndex = (id: string, rest: object = {}) =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'XNYS',
    base_date: '2020-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...rest,
  });
const createFollower = (id: string, source: string) => createIndex(id, { universe: { kind: 'index', id: source } });
const createBenchmark = (id: string) => ({ benchmark: { id, kind: 'index' } });

function plan(indices: readonly IndexDocument[], request: object = {}, rest: Partial<BacktestPlan> = {}): BacktestPlan {
  return {
    runId: 'A',
    name: 'A',
    indexId: 'A',
    documents: Object.fromEntries(indices.map((one) => [one.id, one])),
    request: BacktestFields.parse(request),
    ...rest,
  };
}

const listChanges = (before: BacktestPlan, now: BacktestPlan) => listDefinitionChanges({ plan: before }, { plan: now });

describe('the definitions of two plans', () => {
  test('are equal for different requests', () => {
    expect(listChanges(plan([createIndex('A')]), plan([createIndex('A')], { transaction_cost_bps: 5 }))).toEqual([]);
    expect(
      listChanges(
        plan([createIndex('A')]),
        plan([createIndex('A'), createFollower('B', 'C'), createIndex('C')], createBenchmark('B')),
      ),
    ).toEqual([]);
    expect(
      listChanges(
        plan([createIndex('A'), createIndex('B')], createBenchmark('B')),
        plan([createIndex('A'), createIndex('C')], createBenchmark('C')),
      ),
    ).toEqual([]);
  });

  test('differ where a stored risk model was estimated again, by its id', () => {
    const model = { asset_ids: ['X'], observed_end: '2020-01-02', covariance: 'ab' };
    const createModelPlan = (covariance: string) =>
      plan([createIndex('A')], {}, { models: { core: { ...model, covariance } } });
    expect(listChanges(createModelPlan('ab'), createModelPlan('ab'))).toEqual([]);
    expect(listChanges(createModelPlan('ab'), createModelPlan('cd'))).toEqual([
      'The risk model core changed since this run.',
    ]);
  });

  test('differ where the index, one that it reaches or its benchmark does, by the fields that do', () => {
    expect(listChanges(plan([createIndex('A')]), plan([createIndex('A', { base_value: 7, name: 'Other' })]))).toEqual([
      'The index A changed since this run: base value, name.',
    ]);
    const capped = { pipeline: { ...createIndex('A').pipeline, weighting: { type: 'MarketCapWeight', cap: 0.5 } } };
    expect(listChanges(plan([createIndex('A')]), plan([createIndex('A', capped as Partial<IndexDocument>)]))).toEqual([
      'The index A changed since this run: weighting.',
    ]);
    expect(
      listChanges(
        plan([createFollower('A', 'B'), createIndex('B')]),
        plan([createFollower('A', 'B'), createIndex('B', { currency: 'EUR' })]),
      ),
    ).toEqual(['The index B changed since this run: currency.']);
    expect(
      listChanges(
        plan([createIndex('A'), createIndex('B')], createBenchmark('B')),
        plan([createIndex('A'), createIndex('B', { base_value: 7 })], createBenchmark('B')),
      ),
    ).toEqual(['The index B changed since this run: base value.']);
    expect(
      listChanges(
        plan([createFollower('A', 'B'), createIndex('B')]),
        plan([createFollower('A', 'C'), createIndex('C')]),
      ),
    ).toEqual(['The index A changed since this run: universe.']);
  });

  test('differ if a strategy completes the same request differently, but not if another strategy was requested', () => {
    const strategy = { rebalance: null, drift_tolerance: null, exposure: 1 };
    const before = plan([createIndex('A')], { transaction_cost_bps: 5 }, { runId: 'S', strategy });
    const now = plan([createIndex('A')], { transaction_cost_bps: 9 }, { runId: 'S', strategy });
    expect(listDefinitionChanges({ plan: before, asked: {} }, { plan: now, asked: {} })).toEqual([
      'The strategy S changed since this run: transaction cost.',
    ]);
    expect(
      listDefinitionChanges({ plan: before, asked: {} }, { plan: now, asked: { transaction_cost_bps: 9 } }),
    ).toEqual([]);
    expect(listChanges(before, { ...before, strategy: { ...strategy, exposure: 0.5 } })).toEqual([
      'The strategy S changed since this run: exposure.',
    ]);
    expect(
      listChanges(before, { ...before, indexId: 'B', documents: { A: createIndex('A'), B: createIndex('B') } }),
    ).toEqual(['The indices that the run depends on changed from A to B.']);
  });

  test('do not include the request, which is compared separately because its end may move', () => {
    expect(
      isSameRequest(plan([createIndex('A')], { end: '2020-06-30' }), plan([createIndex('A')], { end: '2021-06-30' })),
    ).toBe(true);
    expect(isSameRequest(plan([createIndex('A')], { start: '2020-06-30' }), plan([createIndex('A')]))).toBe(false);
  });
});

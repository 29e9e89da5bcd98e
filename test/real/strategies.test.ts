import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { openLiveService, type LiveService } from './live.js';

const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8'));
const INDEX = { ...fixture.index, id: 'FOUR' };

interface FindingBody {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
}

interface RefusalBody {
  readonly error: ErrorDetail & { readonly detail: { readonly findings?: readonly FindingBody[] } | null };
}

interface Result {
  readonly level: { readonly data: readonly number[] };
  readonly total_costs: number;
  readonly initial_capital: number;
}

let service: LiveService;

beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  await service.ok('POST', '/data/import', fixture.import);
  await service.ok('POST', '/indices', INDEX);
});
afterAll(() => service?.close());

const createStrategy = (id: string, terms: Record<string, unknown> = {}) => ({
  id,
  name: `Strategy ${id}`,
  index_id: 'FOUR',
  ...terms,
});

async function createRefusal(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; code: string; findings: readonly FindingBody[] }> {
  const answer = await service.ask<RefusalBody>(method, path, body);
  return { status: answer.status, code: answer.body.error.code, findings: answer.body.error.detail?.findings ?? [] };
}

describe('strategies over HTTP', () => {
  test('a strategy is stored with its defaults and read back', async () => {
    const { strategy: saved, findings } = await service.ok<{ strategy: Record<string, unknown>; findings: unknown[] }>(
      'POST',
      '/strategies',
      createStrategy('S1'),
    );
    expect(findings).toEqual([]);
    expect(saved).toMatchObject({
      id: 'S1',
      benchmark: null,
      start: null,
      end: null,
      initial_capital: 1_000_000,
      transaction_cost_bps: 0,
      constraint_set_id: null,
      rebalance: null,
      drift_tolerance: null,
      exposure: 1,
    });
    expect(await service.ok('GET', '/strategies/S1')).toEqual({
      strategy: saved,
      problems: [],
      has_run: false,
      run_at: null,
    });
    expect((await service.ok<{ strategies: unknown[] }>('GET', '/strategies')).strategies).toEqual([
      { strategy: saved, problems: [], has_run: false, run_at: null },
    ]);
  });

  test('an existing id is a conflict for POST and replaced by PUT', async () => {
    expect(await createRefusal('POST', '/strategies', createStrategy('S1'))).toMatchObject({
      status: 409,
      code: 'STRATEGY_EXISTS',
    });
    await service.ok('PUT', '/strategies/S1', createStrategy('S1', { name: 'Renamed' }));
    expect((await service.ok<{ strategy: { name: string } }>('GET', '/strategies/S1')).strategy.name).toBe('Renamed');
    expect((await service.ask('PUT', '/strategies/NEW', createStrategy('NEW'))).status).toBe(200);
    expect(await createRefusal('PUT', '/strategies/NEW', createStrategy('OTHER'))).toMatchObject({
      status: 422,
      code: 'ID_MISMATCH',
    });
  });

  test('all errors of a document are reported at once, and a save refuses them', async () => {
    const brokenStrategy = {
      ...createStrategy('FOUR', {
        index_id: 'GONE',
        exposure: 1.5,
        start: '2024-02-01',
        end: '2024-01-01',
        drift_tolerance: -1,
        rebalance: { frequency: 'monthly', anchor: 'day_of_month' },
        benchmark: { id: 'NOWHERE', kind: 'index' },
      }),
      colour: 'red',
    };
    const report = await service.ok<{ valid: boolean; findings: readonly FindingBody[] }>(
      'POST',
      '/strategies/validate',
      brokenStrategy,
    );
    expect(report.valid).toBe(false);
    const reportedFindings = report.findings.map(({ severity, code, path }) => [severity, code, path]);
    expect(reportedFindings).toEqual([
      ['error', 'UNKNOWN_INDEX', 'benchmark.id'],
      ['error', 'OUT_OF_RANGE', 'drift_tolerance'],
      ['error', 'OUT_OF_RANGE', 'exposure'],
      ['error', 'DUPLICATE_ID', 'id'],
      ['error', 'UNKNOWN_INDEX', 'index_id'],
      ['error', 'MISSING_PARAMETER', 'rebalance.day'],
      ['error', 'INVALID_RANGE', 'start'],
      ['warning', 'UNKNOWN_FIELD', 'colour'],
    ]);
    const refusal = await createRefusal('POST', '/strategies', brokenStrategy);
    expect([refusal.status, refusal.code]).toEqual([422, 'VALIDATION_FAILED']);
    expect(refusal.findings.map(({ severity, code, path }) => [severity, code, path])).toEqual(reportedFindings);
    expect((await service.ok<{ valid: boolean }>('POST', '/strategies/validate', createStrategy('S1'))).valid).toBe(
      true,
    );
  });

  test('indices and strategies share their ids', async () => {
    const refusal = await createRefusal('POST', '/indices', { ...INDEX, id: 'S1' });
    expect(refusal.findings).toMatchObject([{ code: 'DUPLICATE_ID', path: 'id' }]);
    expect((await createRefusal('PUT', '/indices/S1', { ...INDEX, id: 'S1' })).findings).toMatchObject([
      { code: 'DUPLICATE_ID', path: 'id' },
    ]);
    expect((await createRefusal('POST', '/strategies', createStrategy('validate'))).findings).toMatchObject([
      { code: 'BAD_IDENTIFIER', path: 'id' },
    ]);
    expect(await createRefusal('GET', '/strategies/FOUR')).toMatchObject({ status: 404, code: 'STRATEGY_NOT_FOUND' });
  });

  test('on its own default terms it runs as its index does', async () => {
    const plainResult = await service.job<Result>('/analytics/FOUR/backtest', fixture.backtest);
    const strategyResult = await service.job<Result>('/analytics/S1/backtest', fixture.backtest);
    expect(strategyResult.error).toBeNull();
    expect(strategyResult.result.level).toEqual(plainResult.result.level);
    expect(strategyResult.result.total_costs).toBe(plainResult.result.total_costs);
  });

  test('fields of the body override those of the strategy, and the others apply', async () => {
    await service.ok(
      'PUT',
      '/strategies/S2',
      createStrategy('S2', { initial_capital: 5000, transaction_cost_bps: 25, exposure: 0.5 }),
    );
    const strategyResult = await service.job<Result>('/analytics/S2/backtest');
    expect(strategyResult.request).toMatchObject({ initial_capital: 5000, transaction_cost_bps: 25 });
    const freeResult = await service.job<Result>('/analytics/S2/backtest', { transaction_cost_bps: 0 });
    expect([strategyResult.result.initial_capital, freeResult.result.initial_capital]).toEqual([5000, 5000]);
    expect(freeResult.result.total_costs).toBe(0);
    // Half of the money is invested at a cost of 25 basis points. So V' (1 + 0.00125) = 5000.
    const record = await service.job<Result>('/analytics/S2/backtest', { end: '2024-01-03' });
    expect(Math.abs(record.result.total_costs - (5000 - 5000 / 1.00125))).toBeLessThan(1e-9);
  });

  test('its cadence and its tolerance are those of its document', async () => {
    interface Run extends Result {
      readonly rebalances: readonly { readonly date: string; readonly weights: Record<string, number> }[];
    }
    const readDays = async (id: string) =>
      new Set(
        (
          await service.ok<{ portfolio: { transactions: { data: [string, ...unknown[]][] } } }>(
            'GET',
            `/analytics/${id}/record`,
          )
        ).portfolio.transactions.data.map(([date]) => date),
      );
    await service.ok(
      'PUT',
      '/strategies/S4',
      createStrategy('S4', { rebalance: { frequency: 'custom', dates: ['2024-01-04'] } }),
    );
    const { rebalances } = (await service.job<Run>('/analytics/S4/backtest')).result;
    expect(rebalances.map(({ date }) => date)).toEqual(['2024-01-02', '2024-01-04']);
    await service.job('/analytics/FOUR/backtest');
    const { weights } = await service.ok<{ weights: { identifier: string; weight: number }[] }>(
      'GET',
      '/analytics/FOUR/weights?as_of=2024-01-04',
    );
    for (const { identifier, weight } of weights) expect(rebalances[1]!.weights[identifier]).toBeCloseTo(weight, 14);
    await service.ok('PUT', '/strategies/S4', createStrategy('S4', { drift_tolerance: 1 }));
    expect((await service.job<Run>('/analytics/S4/backtest')).result.rebalances.map(({ date }) => date)).toEqual([
      '2024-01-02',
      '2024-01-08',
    ]);
    expect([await readDays('FOUR'), await readDays('S4')]).toEqual([
      new Set(['2024-01-02', '2024-01-08']),
      new Set(['2024-01-02']),
    ]);
    await service.ok('DELETE', '/strategies/S4');
  });

  test('every view answers under its id', async () => {
    await service.job('/analytics/S2/backtest');
    for (const view of [
      'record',
      'overview',
      'attribution',
      'weights',
      'levels',
      'weights?risk=false&as_of=2024-01-05',
    ])
      expect((await service.ask('GET', `/analytics/S2/${view}`)).status, view).toBe(200);
    const { reconciles } = await service.ok<{ reconciles: boolean }>('GET', '/analytics/S2/attribution');
    expect(reconciles).toBe(true);
    const { checks } = await service.ok<{ checks: { name: string; holds: boolean }[] }>(
      'GET',
      '/analytics/S2/reconcile',
    );
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    const { weights } = await service.ok<{ weights: { weight: number }[] }>('GET', '/analytics/S2/weights');
    expect(weights.reduce((sum, { weight }) => sum + weight, 0)).toBeGreaterThan(0.45);
    expect(weights.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThan(0.55);
    expect(
      (await service.ok<{ has_run: boolean; run_at: string | null }>('GET', '/strategies/S2')).run_at,
    ).not.toBeNull();
    expect((await service.ok<{ index_ids: string[] }>('GET', '/analytics/compare?ids=FOUR,S2')).index_ids).toEqual([
      'FOUR',
      'S2',
    ]);
  });

  test('with an exposure of 0 keeps its value, without risk', async () => {
    await service.ok('PUT', '/strategies/S4', createStrategy('S4', { exposure: 0 }));
    const { result } = await service.job<Result & { metrics: Record<string, number> }>('/analytics/S4/backtest');
    expect([
      result.total_costs,
      result.metrics['total_return'],
      result.metrics['sharpe_ratio'],
      new Set(result.level.data),
    ]).toEqual([0, 0, 0, new Set([100])]);
    expect(await service.ok('GET', '/analytics/S4/weights?risk=true')).toMatchObject({
      weights: [],
      risk: { volatility: 0, covered_weight: 0, uncovered: [] },
      concentration: { constituents: 0 },
    });
    expect(await service.ok('GET', '/analytics/S4/attribution')).toMatchObject({
      contributions: [],
      total_return: 0,
      reconciles: true,
      cost_drag: null,
    });
    expect(await service.ok('GET', '/analytics/S4/attribution/groups?by=SECTOR')).toMatchObject({
      groups: [{ group: 'CASH', average_weight: 1, contribution: 0 }],
    });
    expect(await service.ok('GET', '/analytics/S4/reconcile')).toMatchObject({ reconciles: true });
    await service.ok('DELETE', '/strategies/S4');
  });

  test('an etag guards the document, independent of other parts of an answer', async () => {
    const get = await service.ask('GET', '/strategies/S2');
    const etag = get.headers.get('etag')!;
    const send = (method: string, match: string) =>
      fetch(new URL('/strategies/S2', service.url), {
        method,
        headers: { 'content-type': 'application/json', 'if-match': match },
        ...(method === 'PUT' ? { body: JSON.stringify(createStrategy('S2')) } : {}),
      });
    expect((await send('PUT', '"nothing"')).status).toBe(412);
    const unchangedAnswer = await fetch(new URL('/strategies/S2', service.url), { headers: { 'if-none-match': etag } });
    // its problems and its run may change without the document
    expect([unchangedAnswer.status, unchangedAnswer.headers.get('etag')]).toEqual([200, etag]);
    expect((await send('PUT', etag)).status).toBe(200);
    expect((await send('DELETE', etag)).status).toBe(412);
    expect((await service.ask('GET', '/strategies/S2')).headers.get('etag')).not.toBe(etag);
  });

  test('a constraint set must exist, is applied, and is a problem once it is deleted', async () => {
    expect(
      (await createRefusal('POST', '/strategies', createStrategy('S3', { constraint_set_id: 'limits' }))).findings,
    ).toMatchObject([{ code: 'CONSTRAINT_SET_NOT_FOUND', path: 'constraint_set_id' }]);
    await service.ok('POST', '/optimise/constraint-sets', {
      id: 'limits',
      name: 'Limits',
      constraints: [{ type: 'PositionBounds', params: { upper: 0.3 } }],
    });
    await service.ok('POST', '/strategies', createStrategy('S3', { constraint_set_id: 'limits' }));
    const { error, result } = await service.job<Result & { rebalances: { weights: Record<string, number> }[] }>(
      '/analytics/S3/backtest',
    );
    expect(error).toBeNull();
    expect(result.rebalances.length).toBe(2);
    expect(await service.ok('GET', '/analytics/S3/reconcile')).toMatchObject({ reconciles: true });
    expect((await service.job('/analytics/S3/replay')).result).toMatchObject({ equal: true, inputs_equal: true });
    for (const { weights } of result.rebalances)
      expect(Math.max(...Object.values(weights))).toBeLessThanOrEqual(0.3 + 1e-9);
    await service.ok('DELETE', '/optimise/constraint-sets/limits');
    expect((await service.ok<{ problems: readonly FindingBody[] }>('GET', '/strategies/S3')).problems).toMatchObject([
      { code: 'CONSTRAINT_SET_NOT_FOUND', path: 'constraint_set_id' },
    ]);
    expect((await createRefusal('POST', '/analytics/S3/backtest', {})).findings).toMatchObject([
      { code: 'CONSTRAINT_SET_NOT_FOUND' },
    ]);
    await service.ok('DELETE', '/strategies/S3');
  });

  test('when its index is deleted it remains, reports that, keeps its run and runs no more', async () => {
    await service.ok('DELETE', '/indices/FOUR');
    const { problems } = await service.ok<{ problems: readonly FindingBody[] }>('GET', '/strategies/S1');
    expect(problems).toMatchObject([{ code: 'UNKNOWN_INDEX', path: 'index_id' }]);
    expect(
      (await service.ok<{ strategies: { problems: unknown[] }[] }>('GET', '/strategies')).strategies.every(
        ({ problems: all }) => all.length === 1,
      ),
    ).toBe(true);
    expect((await service.ask('GET', '/analytics/S1/overview')).status).toBe(200);
    const refusal = await createRefusal('POST', '/analytics/S1/backtest', {});
    expect([refusal.status, refusal.code, refusal.findings[0]?.code]).toEqual([
      422,
      'VALIDATION_FAILED',
      'UNKNOWN_INDEX',
    ]);
    await service.ok('POST', '/indices', INDEX);
    expect((await service.ok<{ problems: unknown[] }>('GET', '/strategies/S1')).problems).toEqual([]);
  });

  test('it goes with its run and its results', async () => {
    expect(await service.ok('DELETE', '/strategies/S1')).toEqual({
      strategy_id: 'S1',
      backtest_record_deleted: true,
      backtest_results_deleted: 2,
    });
    expect(await service.ok('DELETE', '/strategies/NEW')).toEqual({
      strategy_id: 'NEW',
      backtest_record_deleted: false,
      backtest_results_deleted: 0,
    });
    expect(await createRefusal('GET', '/strategies/S1')).toMatchObject({ status: 404, code: 'STRATEGY_NOT_FOUND' });
    expect(await createRefusal('GET', '/jobs/backtest:S1')).toMatchObject({ status: 404, code: 'JOB_NOT_FOUND' });
    expect(await createRefusal('DELETE', '/strategies/S1')).toMatchObject({ status: 404, code: 'STRATEGY_NOT_FOUND' });
    expect(await createRefusal('GET', '/analytics/S1/overview')).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SweepView } from '#contract/sweeps.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { openLiveService, type LiveService } from './live.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.log('skipped: the worth of a choice against Python, as there is no python3 on this machine');

interface FindingBody {
  readonly code: string;
  readonly path: string;
}

interface Result {
  readonly metrics: Record<string, number>;
  readonly total_costs: number;
  readonly level: { readonly data: readonly number[] };
}

const BASE = {
  id: 'TEN',
  name: 'Ten',
  calendar: 'XNYS',
  base_date: '2019-01-02',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { count: 10 } }],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight' },
  },
};

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '2']);
  const result = await service.job('/data/synthetic', {
    store_id: 'made',
    seed: 11,
    assets: 40,
    start: '2019-01-02',
    end: '2021-12-31',
    sectors: 5,
  });
  expect(result.error).toBeNull();
  await service.ok('POST', '/indices', BASE);
});
afterAll(() => service?.close());

async function createRefusal(
  body: unknown,
): Promise<{ status: number; code: string; findings: readonly FindingBody[] }> {
  const answer = await service.ask<{ error: ErrorDetail & { detail: { findings?: readonly FindingBody[] } | null } }>(
    'POST',
    '/analytics/sweeps',
    body,
  );
  return { status: answer.status, code: answer.body.error.code, findings: answer.body.error.detail?.findings ?? [] };
}

describe('sweeps over HTTP', () => {
  test('every variant of a grid has the metrics of its single run', async () => {
    const grid = {
      '/document/pipeline/weighting/cap': [null, 0.15],
      '/document/pipeline/selection/0/params/count': [5, 10],
      '/request/transaction_cost_bps': [0, 20],
    };
    const job = await service.job<SweepView>('/analytics/sweeps', {
      sweep_id: 'grid',
      index_id: 'TEN',
      grid,
      rank_by: 'total_return',
      partitions: 8,
    });
    expect(job.error).toBeNull();
    const { rows, selection, overfitting, variants, refused } = job.result;
    expect([variants, refused, rows.length, selection!.trials]).toEqual([8, 0, 8, 8]);
    expect(rows.map(({ variant }) => variant).toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(rows.map(({ metrics }) => metrics!.total_return)).toEqual(
      rows.map(({ metrics }) => metrics!.total_return).toSorted((a, b) => b - a),
    );
    expect([overfitting!.partitions, overfitting!.combinations]).toEqual([8, 70]);
    for (const { variant, patch, metrics, total_costs: costs, start, end, observations } of rows) {
      const weighting = { ...BASE.pipeline.weighting, cap: patch['/document/pipeline/weighting/cap'] };
      const selectedRows = [
        { ...BASE.pipeline.selection[0], params: { count: patch['/document/pipeline/selection/0/params/count'] } },
      ];
      await service.ok('PUT', `/indices/V${variant}`, {
        ...BASE,
        id: `V${variant}`,
        pipeline: { ...BASE.pipeline, weighting, selection: selectedRows },
      });
      const singleAnswer = await service.job<Result & { level: { index: string[] } }>(
        `/analytics/V${variant}/backtest`,
        {
          transaction_cost_bps: patch['/request/transaction_cost_bps'],
        },
      );
      expect(singleAnswer.result.metrics).toEqual(metrics);
      expect(singleAnswer.result.total_costs).toBe(costs);
      expect([
        singleAnswer.result.level.index[0],
        singleAnswer.result.level.index.at(-1),
        singleAnswer.result.level.index.length,
      ]).toEqual([start, end, observations]);
    }
  });

  test.skipIf(!hasPython)(
    'the value of the choice equals that of another implementation on the levels of the single runs',
    async () => {
      const patches = [
        {},
        { '/document/pipeline/weighting/cap': 0.15 },
        { '/document/pipeline/selection/0/params/count': 5 },
        { '/request/start': '2019-07-01' },
        { '/document/rebalance/frequency': 'annual' },
        { '/strategy/exposure': 0.4 },
      ];
      const { result } = await service.job<SweepView>('/analytics/sweeps', {
        sweep_id: 'worth',
        index_id: 'TEN',
        patches,
        partitions: 8,
      });
      const singleIndex = { ...BASE, id: 'SINGLE' };
      const documents = [
        singleIndex,
        { ...singleIndex, pipeline: { ...BASE.pipeline, weighting: { ...BASE.pipeline.weighting, cap: 0.15 } } },
        {
          ...singleIndex,
          pipeline: { ...BASE.pipeline, selection: [{ ...BASE.pipeline.selection[0], params: { count: 5 } }] },
        },
        singleIndex,
        { ...singleIndex, rebalance: { frequency: 'annual' } },
        singleIndex,
      ];
      await service.ok('PUT', '/indices/SINGLE', singleIndex);
      await service.ok('PUT', '/strategies/PART', { id: 'PART', name: 'Part', index_id: 'SINGLE', exposure: 0.4 });
      const levels: Record<string, number>[] = [];
      for (const [i, document] of documents.entries()) {
        await service.ok('PUT', '/indices/SINGLE', document);
        const { level } = (
          await service.job<{ level: { index: string[]; data: number[] } }>(
            `/analytics/${i === 5 ? 'PART' : 'SINGLE'}/backtest`,
            i === 3 ? { start: '2019-07-01' } : {},
          )
        ).result;
        levels.push(Object.fromEntries(level.index.map((day, t) => [day, level.data[t]!])));
      }
      const expected = JSON.parse(
        execFileSync('python3', ['test/real/sweep.py'], {
          input: JSON.stringify({ levels, partitions: 8 }),
          encoding: 'utf8',
        }),
      ) as { deflated: number[]; expected_maximum: number; overfitting: Record<string, number> };
      for (const { variant, deflated_sharpe_ratio: deflated } of result.rows)
        expect(deflated).toBeCloseTo(expected.deflated[variant]!, 10);
      expect(result.selection!.expected_maximum_sharpe_ratio).toBeCloseTo(expected.expected_maximum, 12);
      expect(result.selection!.deflated_sharpe_ratio).toBe(result.rows[0]!.deflated_sharpe_ratio);
      for (const [name, value] of Object.entries(expected.overfitting))
        expect(result.overfitting![name as keyof SweepView['overfitting']], name).toBeCloseTo(value, 10);
    },
  );

  test('patches are run in their order, the result depends on nothing else', async () => {
    const body = {
      sweep_id: 'again',
      document: { ...BASE, id: 'UNSTORED' },
      patches: [{}, { '/strategy/exposure': 0.5 }, { '/document/rebalance/frequency': 'annual' }],
    };
    const first = await service.job<SweepView>('/analytics/sweeps', body);
    const second = await service.job<SweepView>('/analytics/sweeps', body);
    expect(second.result).toEqual(first.result);
    const byVariant = first.result.rows.toSorted((a, b) => a.variant - b.variant);
    expect(byVariant.map(({ patch }) => patch)).toEqual(body.patches);
    expect(byVariant[1]!.metrics!.volatility).toBeLessThan(byVariant[0]!.metrics!.volatility);
  });

  test('a choice by folds is reported by dates and variants; folds too short for the run are reported, not omitted', async () => {
    const body = {
      index_id: 'TEN',
      // The first two variants count as one trial. The choice is reported by its position among the variants.
      patches: [{}, { '/request/transaction_cost_bps': 0 }, { '/strategy/exposure': 0.4 }],
    };
    const folds = { method: 'walk_forward', groups: 4, select_by: 'volatility', purge: 2 };
    const { result } = await service.job<SweepView>('/analytics/sweeps', { ...body, sweep_id: 'folds', folds });
    const match = result.folds!;
    expect(match.choices.map(({ train, test: tested, variant, rank }) => [train, tested, variant, rank])).toEqual([
      [[0], [1], 2, 1],
      [[0, 1], [2], 2, 1],
      [[0, 1, 2], [3], 2, 1],
    ]);
    expect(match.chosen).toEqual([{ variant: 2, splits: 3 }]);
    expect([match.left_before, match.left_after, match.paths.length]).toEqual([2, 0, 1]);
    expect(match.groups.at(-1)!.end).toBe(result.rows[0]!.end);
    expect(result.verdict!.at(-2)).toMatch(/^Chosen by volatility over 3 splits, the best shows .* out of sample\.$/);

    const shortSweep = await service.job<SweepView>('/analytics/sweeps', {
      ...body,
      sweep_id: 'short',
      folds: { method: 'combinatorial', groups: 16, purge: 60 },
    });
    expect(shortSweep.result.folds).toBeNull();
    expect(shortSweep.result.verdict!.at(-1)).toMatch(
      /^The choice was not tested by folds: the variants have \d+ common returns, but the folds need \d+\.$/,
    );

    const refusal = await createRefusal({ ...body, folds: { method: 'combinatorial', groups: 4, test_groups: 4 } });
    expect([refusal.status, refusal.findings]).toEqual([
      422,
      [expect.objectContaining({ code: 'OUT_OF_RANGE', path: 'folds.test_groups' })],
    ]);
  });

  test('variants of one plan count as one trial, are named, and have one figure', async () => {
    const cap = { '/document/pipeline/weighting/cap': 0.15 };
    const patches = [
      {},
      cap,
      { '/request/transaction_cost_bps': 0 },
      { '/strategy/exposure': 0.4 },
      { ...cap, '/document/rebalance/frequency': 'quarterly' },
    ];
    const { result } = await service.job<SweepView>('/analytics/sweeps', {
      sweep_id: 'alike',
      index_id: 'TEN',
      patches,
      partitions: 8,
    });
    const distinct = await service.job<SweepView>('/analytics/sweeps', {
      sweep_id: 'unlike',
      index_id: 'TEN',
      patches: [patches[0], patches[1], patches[3]],
      partitions: 8,
    });
    expect([result.variants, result.selection!.trials, result.identical_variants]).toEqual([
      5,
      3,
      [
        [0, 2],
        [1, 4],
      ],
    ]);
    expect(result.selection).toEqual(distinct.result.selection);
    expect(result.overfitting).toEqual(distinct.result.overfitting);
    expect(distinct.result.identical_variants).toEqual([]);
    expect(result.verdict).toEqual([
      'Variants with identical levels count as one trial each: 0 and 2; 1 and 4.',
      ...distinct.result.verdict!,
    ]);
    expect(result.verdict!.join(' ')).toContain('without skill with a probability of');
  });

  test('a variant that cannot run reports why and the others are ranked', async () => {
    const patches = [
      {},
      { '/document/pipeline/selection/0': { id: 'none', type: 'PriceFilter', params: { minimum: 1e9 } } },
    ];
    const { result } = await service.job<SweepView>('/analytics/sweeps', { index_id: 'TEN', patches });
    expect(result.rows.map(({ rank, variant, error }) => [rank, variant, error?.code ?? null])).toEqual([
      [1, 0, null],
      [null, 1, 'EMPTY_INDEX'],
    ]);
    expect([result.refused, result.overfitting]).toEqual([1, null]);
  });

  test('all errors of the variants are reported before anything runs', async () => {
    expect(await createRefusal({ index_id: 'NONE', patches: [{}] })).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
    const brokenRefusal = await createRefusal({
      index_id: 'TEN',
      patches: [
        { '/document/pipeline/weighting/cap': 2 },
        {},
        { '/document/pipeline/weighting/capp': 0.1 },
        { '/request/costs': 1 },
      ],
    });
    expect([brokenRefusal.status, brokenRefusal.code]).toEqual([422, 'VALIDATION_FAILED']);
    expect(brokenRefusal.findings.map(({ code, path }) => [code, path])).toEqual([
      ['OUT_OF_RANGE', 'patches[0]/document.pipeline.weighting.cap'],
      ['UNKNOWN_FIELD', 'patches[2]/document.pipeline.weighting.capp'],
      ['UNKNOWN_FIELD', 'patches[3]/request.costs'],
    ]);
    const values = Array.from({ length: 2000 }, (_, i) => i / 4000);
    expect(
      (
        await createRefusal({
          index_id: 'TEN',
          grid: { '/document/pipeline/weighting/cap': values, '/request/transaction_cost_bps': values },
        })
      ).findings,
    ).toMatchObject([{ code: 'OUT_OF_RANGE', path: 'grid' }]);
    expect((await service.ask('GET', '/jobs/sweep:none')).status).toBe(404);
  });

  test('it reports progress and is cancelled as any job', async () => {
    const grid = {
      '/document/pipeline/selection/0/params/count': Array.from({ length: 40 }, (_, i) => i + 1),
      '/document/rebalance/frequency': ['daily', 'weekly'],
    };
    const startedAnswer = await service.ok<JobStatus>('POST', '/analytics/sweeps', {
      sweep_id: 'long',
      index_id: 'TEN',
      grid,
    });
    expect(startedAnswer.job_id).toBe('sweep:long');
    let seenProgress = startedAnswer;
    while (seenProgress.progress === 0 && seenProgress.status !== 'succeeded')
      seenProgress = await service.ok<JobStatus>('GET', '/jobs/sweep:long');
    const cancelledAnswer = await service.ok<JobStatus>('DELETE', '/jobs/sweep:long');
    expect(cancelledAnswer.status).toBe('cancelled');
    expect(cancelledAnswer.progress).toBeLessThan(1);
    expect(cancelledAnswer.result).toBeNull();
    // The worker threads are free again.
    expect((await service.job('/analytics/TEN/backtest')).error).toBeNull();
  });
});

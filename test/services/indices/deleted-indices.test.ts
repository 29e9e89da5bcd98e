import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IndexDeletion } from '#contract/indices/definitions.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

/** Service that cancels and deletes the jobs about a deleted index or strategy, with their files. */
let service: RunningService;
beforeAll(async () => {
  service = await runService();
  await service.ask('POST', '/data/synthetic', {
    store_id: 'market',
    seed: 7,
    assets: 30,
    start: '2020-01-02',
    end: '2023-12-29',
  });
  expect((await service.waitForJob('generate:market')).error).toBeNull();
});
afterAll(() => service.close());

const createDefinition = (id: string) =>
  createEqualIndex(id, { base_date: '2020-01-02', rebalance: { frequency: 'monthly' } });

/**
 * Returns result files in the home. Files that no document references are removed a minute later, or when the service
 * stops.
 */
async function readFiles(): Promise<string[]> {
  await service.restart();
  await service.resumed();
  return listArtifactFiles();
}

const listArtifactFiles = async () => (await readdir(join(service.root, 'home', 'artifacts'))).toSorted();

async function runJob(path: string, body: unknown = {}): Promise<JobStatus> {
  const { body: status } = await service.ask<JobStatus>('POST', path, body);
  return service.waitForJob(status.job_id);
}

/** Creates an index with a run. Runs every kind of job about it, so that each has a result. */
async function runEveryJob(id: string): Promise<readonly string[]> {
  expect((await service.ask('PUT', `/indices/${id}`, createDefinition(id))).status).toBe(200);
  const jobs = [
    await runJob(`/analytics/${id}/backtest`),
    await runJob(`/analytics/${id}/replay`),
    await runJob(`/analytics/${id}/simulate`, { horizon: 5, paths: 100 }),
    await runJob('/analytics/sweeps', {
      sweep_id: `over-${id}`,
      index_id: id,
      grid: { '/request/transaction_cost_bps': [0, 5] },
    }),
  ];
  for (const { error } of jobs) expect(error).toBeNull();
  return jobs.map(({ job_id: jobId }) => jobId);
}

async function waitForState(jobId: string, state: string): Promise<void> {
  while ((await service.ask<JobStatus>('GET', `/jobs/${jobId}`)).body.status !== state)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

test('results of a deleted index are deleted with their files, those of another index stay', async () => {
  const remainingFiles = await runEveryJob('KEPT');
  const filesBetween = await readFiles();
  const deletedRun = await runEveryJob('GONE');
  expect((await listArtifactFiles()).length).toBeGreaterThan(filesBetween.length);
  const { body } = await service.ask<IndexDeletion>('DELETE', '/indices/GONE');
  expect(body.deleted).toEqual([
    { index_id: 'GONE', backtest_record_deleted: true, backtest_results_deleted: 5, derived_from: null },
  ]);
  for (const jobId of deletedRun)
    expect(await service.refusal('GET', `/jobs/${jobId}`)).toMatchObject({ status: 404, code: 'JOB_NOT_FOUND' });
  for (const jobId of remainingFiles) expect((await service.ask('GET', `/jobs/${jobId}`)).status).toBe(200);
  const list = (await service.ask<{ readonly jobs: readonly JobStatus[] }>('GET', '/jobs')).body.jobs.map(
    ({ job_id: jobId }) => jobId,
  );
  expect(list.filter((jobId) => jobId.includes('GONE'))).toEqual([]);
  expect(await readFiles()).toEqual(filesBetween);
  await service.ask('DELETE', '/indices/KEPT');
});

test('jobs of a strategy are deleted with it', async () => {
  await service.ask('PUT', '/indices/HELD', createDefinition('HELD'));
  await service.ask('PUT', '/strategies/plan', { id: 'plan', name: 'Plan', index_id: 'HELD' });
  const before = await readFiles();
  expect((await runJob('/analytics/plan/backtest')).error).toBeNull();
  expect((await runJob('/analytics/plan/simulate', { horizon: 5, paths: 100 })).error).toBeNull();
  expect((await service.ask('DELETE', '/strategies/plan')).body).toEqual({
    strategy_id: 'plan',
    backtest_record_deleted: true,
    backtest_results_deleted: 3,
  });
  expect(await readFiles()).toEqual(before);
  expect((await service.refusal('GET', '/jobs/simulate:plan')).code).toBe('JOB_NOT_FOUND');
  await service.ask('DELETE', '/indices/HELD');
});

test.each([
  ['simulation', '/analytics/BUSY/simulate', { horizon: 1500, paths: 1_000_000 }],
  [
    'sweep',
    '/analytics/sweeps',
    {
      sweep_id: 'busy',
      index_id: 'BUSY',
      grid: { '/request/transaction_cost_bps': Array.from({ length: 2000 }, (_, i) => i / 100) },
    },
  ],
])('a running %s of a deleted index is cancelled, forgotten, and gives its worker back', async (_, path, request) => {
  await service.ask('PUT', '/indices/BUSY', createDefinition('BUSY'));
  expect((await runJob('/analytics/BUSY/backtest')).error).toBeNull();
  const { body: running } = await service.ask<JobStatus>('POST', path, request);
  await waitForState(running.job_id, 'running');
  // The job waits for the running job on the only worker.
  const waitingAnswer = (await service.ask<JobStatus>('POST', '/analytics/BUSY/backtest', { transaction_cost_bps: 1 }))
    .body;
  expect(waitingAnswer.status).toBe('pending');
  expect((await service.ask('DELETE', '/indices/BUSY')).status).toBe(200);
  for (const { job_id: jobId } of [running, waitingAnswer])
    expect((await service.refusal('GET', `/jobs/${jobId}`)).code).toBe('JOB_NOT_FOUND');
  await service.ask('PUT', '/indices/BUSY', createDefinition('BUSY'));
  expect((await runJob('/analytics/BUSY/backtest')).status).toBe('succeeded');
  const readJobs = async () =>
    (await service.ask<{ readonly jobs: { readonly pending: number; readonly running: number } }>('GET', '/health'))
      .body.jobs;
  await expect.poll(readJobs).toMatchObject({ pending: 0, running: 0 });
  await service.ask('DELETE', '/indices/BUSY');
});

test('a running backtest of a deleted index is cancelled, and a late one ends with INDEX_DELETED', async () => {
  await service.ask('PUT', '/indices/LATE', createDefinition('LATE'));
  for (let turn = 0; turn < 10; turn++) {
    const submittedAnswer = service.ask<JobStatus>('POST', '/analytics/LATE/backtest', {});
    await service.ask('DELETE', '/indices/LATE');
    const { status, body } = await submittedAnswer;
    if (status === 202) {
      let result = await service.ask<JobStatus>('GET', `/jobs/${body.job_id}?wait=30`);
      while (result.body.status === 'running' || result.body.status === 'pending')
        result = await service.ask<JobStatus>('GET', `/jobs/${body.job_id}?wait=30`);
      // The job was cancelled and deleted. Or it was accepted during the deletion, which was detected at its end.
      if (result.status === 200)
        expect([result.body.status, result.body.error?.code]).toEqual(['failed', 'INDEX_DELETED']);
      else expect(result.status).toBe(404);
    } else expect(status).toBe(404);
    expect((await service.refusal('GET', '/analytics/LATE/record')).status).toBe(404);
    await service.ask('PUT', '/indices/LATE', createDefinition('LATE'));
  }
  await service.ask('DELETE', '/indices/LATE');
});

const OUTSIDE_ROOT = { id: 'r', type: 'MembershipFilter', params: { index_id: 'ROOT', in: false } };

test('an overlay is deleted with its only source, and a blend with another source stays with a problem', async () => {
  const put = async (id: string, body: object) => {
    const { status, body: saved } = await service.ask('PUT', `/indices/${id}`, body);
    expect(status, JSON.stringify(saved)).toBe(200);
  };
  const terms = { calendar: 'XNYS', base_date: '2020-01-02' };
  const createOverlay = (id: string, overlay: object, source?: string) =>
    put(id, { ...terms, id, name: id, kind: 'overlay', ...(source && { source_index_id: source }), overlay });
  const createBlend = (id: string, parts: readonly string[]) =>
    createOverlay(id, { type: 'blend', parts: parts.map((part) => ({ index_id: part, weight: 1 / parts.length })) });
  for (const id of ['ROOT', 'OTHER']) await put(id, createDefinition(id));
  const derived = { id: 'CHILD', name: 'Child', constraints: [] };
  expect((await service.ask('POST', '/indices/ROOT/optimise', derived)).status).toBe(200);
  await createOverlay('NET', { type: 'fee', percent: 1 }, 'CHILD');
  await createBlend('FAMILY', ['CHILD', 'NET']);
  await createBlend('ONLY', ['ROOT']);
  await createBlend('MIXED', ['ROOT', 'OTHER']);
  await createOverlay('OF-MIXED', { type: 'fee', percent: 1 }, 'MIXED');
  await put('INSIDE', { ...createDefinition('INSIDE'), universe: { kind: 'index', id: 'ROOT' } });
  const { body } = await service.ask<IndexDeletion>('DELETE', '/indices/ROOT');
  expect(body.deleted.map(({ index_id: id, derived_from: from }) => [id, from])).toEqual([
    ['ROOT', null],
    ['CHILD', 'ROOT'],
    ['NET', 'CHILD'],
    ['FAMILY', 'NET'],
    ['ONLY', 'ROOT'],
  ]);
  const readProblems = async () => {
    const { body: list } = await service.ask<{ indices: { id: string; problems: object[] }[] }>('GET', '/indices');
    return Object.fromEntries(list.indices.map(({ id, problems }) => [id, problems]));
  };
  const problem = { severity: 'error', code: 'UNKNOWN_INDEX', message: 'No index ROOT is stored.', value: 'ROOT' };
  expect(await readProblems()).toMatchObject({
    OTHER: [],
    'OF-MIXED': [],
    MIXED: [{ ...problem, path: 'overlay.parts' }],
    INSIDE: [{ ...problem, path: 'universe.id' }],
  });
  // A rule may name an index that is not stored yet or any more, but nothing is computed without it.
  const outside = {
    ...createDefinition('OUTSIDE'),
    pipeline: { selection: [OUTSIDE_ROOT], weighting: { type: 'EqualWeight' } },
  };
  const savedOutside = await service.ask<{ findings: object[] }>('PUT', '/indices/OUTSIDE', outside);
  const path = 'pipeline.selection[0].params.index_id';
  expect(savedOutside.status).toBe(200);
  expect(savedOutside.body.findings).toContainEqual(
    expect.objectContaining({ severity: 'warning', code: 'UNKNOWN_INDEX', path }),
  );
  for (const route of ['/indices/OUTSIDE/preview', '/analytics/OUTSIDE/backtest'])
    expect(await service.refusal('POST', route, {})).toMatchObject({
      status: 422,
      detail: { findings: [{ severity: 'error', code: 'UNKNOWN_INDEX' }] },
    });
  const rest = await service.ask<IndexDeletion>('DELETE', '/indices/OTHER');
  expect(rest.body.deleted.map(({ index_id: id }) => id)).toEqual(['OTHER', 'MIXED', 'OF-MIXED']);
});

test('an index whose store is deleted has a problem, and its document is stored again with a warning', async () => {
  const tables = {
    market: {
      index: [0, 1],
      columns: ['identifier', 'date', 'CLOSE'],
      data: [
        ['A', '2020-01-02', 1],
        ['A', '2020-01-03', 2],
      ],
    },
  };
  await service.ask('POST', '/data/import', { store_id: 'short-lived', name: 'Short', tables });
  const definition = { ...createDefinition('ORPHAN'), store_id: 'short-lived' };
  expect((await service.ask('PUT', '/indices/ORPHAN', definition)).status).toBe(200);
  expect((await service.ask('DELETE', '/data/stores/short-lived')).status).toBe(204);
  const { body: stored } = await service.ask<{ store_id: string }>('GET', '/indices/ORPHAN');
  const gone = { code: 'NOT_IN_CHOICES', path: 'store_id', value: 'short-lived' };
  const saved = await service.ask<{ index: object; findings: object[] }>('PUT', '/indices/ORPHAN', stored);
  expect(saved).toMatchObject({ status: 200, body: { index: stored } });
  expect(saved.body.findings).toContainEqual(expect.objectContaining({ severity: 'warning', ...gone }));
  expect((await service.ask<{ valid: boolean }>('POST', '/indices/validate', stored)).body.valid).toBe(true);
  const { body: list } = await service.ask<{ indices: { id: string; problems: object[] }[] }>('GET', '/indices');
  expect(list.indices.find(({ id }) => id === 'ORPHAN')?.problems).toMatchObject([{ severity: 'error', ...gone }]);
  expect((await service.refusal('POST', '/indices/ORPHAN/preview', {})).code).toBe('STORE_NOT_FOUND');
  // Only a new reference to a store is checked.
  for (const other of [
    { ...stored, id: 'NEW' },
    { ...stored, store_id: 'never-there' },
  ])
    expect(await service.refusal('POST', '/indices', other)).toMatchObject({ status: 422 });
});

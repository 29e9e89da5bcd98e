import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { performDay } from '../daily-plans/family.js';
import { createEqualIndex, SESSIONS, writeWalks } from '../runs/random-walks.js';
import { runService, type RunningService } from '../running-service.js';

const NAMES = ['A', 'B', 'C', 'D'];
const SEEDS: Readonly<Record<string, number>> = { desk: 1, east: 2, west: 3 };

/** Starts a service with several stores of the same securities at different prices. `desk` is the active store. */
async function startServiceOf(stores: readonly string[], flags: readonly string[] = []): Promise<RunningService> {
  const service = await runService(flags);
  for (const store of stores) {
    const location = writeWalks(join(service.root, store), { names: NAMES, sessions: 80, seed: SEEDS[store]! });
    const activate = store === 'desk' || stores.length === 1;
    await requestAnswer(service, 'POST', '/data/stores', {
      store_id: store,
      name: store,
      kind: 'folder',
      location,
      activate,
    });
  }
  return service;
}

async function requestAnswer<T>(service: RunningService, method: string, path: string, body?: unknown): Promise<T> {
  const { status, body: answer } = await service.ask<T>(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
  return answer;
}

async function runToResult<T = Record<string, unknown>>(
  service: RunningService,
  path: string,
  body: object = {},
): Promise<T> {
  const { job_id: jobId } = await requestAnswer<{ job_id: string }>(service, 'POST', path, body);
  const job = await service.waitForJob(jobId);
  if (job.status !== 'succeeded') throw new Error(`${jobId}: ${JSON.stringify(job.error)}`);
  return job.result as T;
}

interface StaleBody {
  readonly stale: { readonly data: boolean; readonly reasons: readonly string[] } | null;
}

const INDICES: readonly (readonly [string, string | null])[] = [
  ['IN-DESK', 'desk'],
  ['IN-EAST', 'east'],
  ['IN-WEST', 'west'],
  ['ANYWHERE', null],
];

const MODEL_OF_EAST = { risk_model: 'EASTERN' };
/** Refusal of the model for indices of the store `desk`. */
const message =
  'The risk model EASTERN was estimated on the data store east and cannot be used on the data store desk.';

let service: RunningService;
/** Figures of services with a single store, by store name. */
const singleColumn = new Map<string, unknown>();
const ask = <T>(method: string, path: string, body?: unknown) => requestAnswer<T>(service, method, path, body);
const readLevels = async (id: string, from = service) =>
  (await requestAnswer<{ levels: { data: number[] } }>(from, 'GET', `/analytics/${id}/levels`)).levels.data;
/** Returns levels, weights and risk of a run, without its id, its version and its state. */
async function readFigures(id: string, from = service) {
  const weights = await requestAnswer<Record<string, unknown>>(from, 'GET', `/analytics/${id}/weights?risk=true`);
  const { stale: _, index_version: _version, store_id: _store, ...values } = weights;
  return { levels: await readLevels(id, from), weights: { ...values, index_id: '' } };
}

beforeAll(async () => {
  for (const store of Object.keys(SEEDS)) {
    const singleService = await startServiceOf([store]);
    try {
      await requestAnswer(singleService, 'POST', '/indices', createEqualIndex('ONE'));
      await runToResult(singleService, '/analytics/ONE/backtest');
      singleColumn.set(store, await readFigures('ONE', singleService));
    } finally {
      await singleService.close();
    }
  }
  service = await startServiceOf(Object.keys(SEEDS));
  for (const [id, store_id] of INDICES)
    await ask('POST', '/indices', createEqualIndex(id, null, store_id === null ? {} : { store_id }));
});
afterAll(() => service.close());

describe('indices of several stores side by side', () => {
  test('run concurrently, bit-identically to a service that serves only their store', async () => {
    const ids = INDICES.map(([id]) => id);
    await Promise.all(ids.map((id) => runToResult(service, `/analytics/${id}/backtest`)));
    for (const [id, store] of INDICES) {
      expect([id, await readFigures(id)]).toEqual([id, singleColumn.get(store ?? 'desk')]);
      expect(await ask<StaleBody>('GET', `/analytics/${id}/overview`)).toMatchObject({ stale: null });
    }
    expect(await readLevels('IN-DESK')).toEqual(await readLevels('ANYWHERE'));
    expect(await readLevels('IN-EAST')).not.toEqual(await readLevels('IN-DESK'));
  });

  test('are current whatever store is active; only an index without a store follows the active one', async () => {
    await runToResult(service, '/data/stores/east/activate');
    for (const [id, store] of INDICES) {
      const { stale } = await ask<StaleBody>('GET', `/analytics/${id}/overview`);
      expect([id, stale?.reasons ?? null]).toEqual([
        id,
        store === null ? ['The run was made on the store desk; east is active.'] : null,
      ]);
      expect(await readFigures(id)).toEqual(singleColumn.get(store ?? 'desk'));
    }
    await runToResult(service, '/data/stores/desk/activate');
  });

  test('are previewed, explained and changed on their store', async () => {
    const requestPreviewAt = async (path: string, body: object = {}) =>
      (await ask<{ as_of: string; constituents: unknown }>('POST', path, body)).constituents;
    const east = await requestPreviewAt('/indices/IN-EAST/preview');
    expect(await requestPreviewAt('/indices/ANYWHERE/preview?store_id=east')).toEqual(east);
    expect(await requestPreviewAt('/indices/preview?store_id=east', { document: createEqualIndex('ANY') })).toEqual(
      east,
    );
    expect(
      await requestPreviewAt('/indices/preview', { document: createEqualIndex('ANY', null, { store_id: 'east' }) }),
    ).toEqual(east);
  });

  test('have a run on another store only if they belong to none', async () => {
    await runToResult(service, '/analytics/ANYWHERE/backtest', { store_id: 'west' });
    expect(await readFigures('ANYWHERE')).toEqual(singleColumn.get('west'));
    expect(await ask<StaleBody>('GET', '/analytics/ANYWHERE/overview')).toMatchObject({ stale: null });
    expect(await service.refusal('POST', '/analytics/IN-EAST/backtest', { store_id: 'west' })).toMatchObject({
      status: 422,
      code: 'VALIDATION_FAILED',
      detail: { findings: [{ code: 'DIFFERENT_DATA', path: 'store_id', value: 'west' }] },
    });
    await runToResult(service, '/analytics/ANYWHERE/backtest');
    expect(await readFigures('ANYWHERE')).toEqual(singleColumn.get('desk'));
  });

  test('are refused together, and an unregistered store is reported with the known ones', async () => {
    const createOverlay = (store_id: string | null) => ({
      id: 'MIX',
      name: 'Mix',
      calendar: 'XNYS',
      base_date: SESSIONS[0],
      store_id,
      universe: {
        kind: 'union',
        of: [
          { kind: 'index', id: 'IN-EAST' },
          { kind: 'index', id: 'IN-WEST' },
        ],
      },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    expect(await service.refusal('POST', '/indices', createOverlay(null))).toMatchObject({
      detail: { findings: [{ severity: 'error', code: 'DIFFERENT_DATA', path: 'store_id' }] },
    });
    const malformedIndex = createEqualIndex('BAD', null, { store_id: 'no such store!' });
    for (const [path, body, findingPath] of [
      ['/indices', malformedIndex, 'store_id'],
      ['/indices/preview', { document: malformedIndex }, 'store_id'],
    ] as const)
      expect(await service.refusal('POST', path, body)).toMatchObject({
        status: 422,
        detail: { findings: [{ path: findingPath, value: 'no such store!' }] },
      });
    expect(
      await service.refusal('POST', '/indices', createEqualIndex('LOST', null, { store_id: 'nowhere' })),
    ).toMatchObject({
      detail: {
        findings: [{ severity: 'error', code: 'NOT_IN_CHOICES', path: 'store_id', accepted: ['desk', 'east', 'west'] }],
      },
    });
    const inner = createEqualIndex('INNER', null, { universe: { kind: 'index', id: 'IN-EAST' } });
    await ask('POST', '/indices', inner);
    await runToResult(service, '/analytics/INNER/backtest');
    expect(await readLevels('INNER')).toEqual(await readLevels('IN-EAST'));
  });

  test('have strategies that are checked on their store, also if an index names it for them', async () => {
    const listCodes = async (indexId: string) => {
      const benchmark = { kind: 'identifier', id: 'NOT-IN-DESK' };
      const strategy = { id: 'FOLLOW', name: 'Follow', index_id: indexId, benchmark };
      const { findings } = await ask<{ findings: { code: string }[] }>('POST', '/strategies/validate', strategy);
      return findings.map(({ code }) => code);
    };
    expect(await listCodes('IN-DESK')).toEqual(['UNKNOWN_IDENTIFIER']);
    expect(await listCodes('ANYWHERE')).toEqual(['UNKNOWN_IDENTIFIER']);
    expect(await listCodes('IN-EAST')).toEqual([]);
    expect(await listCodes('INNER')).toEqual([]);
  });

  test('are named by their store in refusals', async () => {
    const benchmark = { kind: 'identifier', id: 'A', price_column: 'NONE' };
    const refusal = await service.refusal('POST', '/analytics/IN-EAST/backtest', { benchmark });
    expect(JSON.stringify(refusal)).toContain('The data store east has no column NONE');
    const explanation = await service.refusal('GET', '/indices/IN-EAST/explain/NOBODY');
    expect(JSON.stringify(explanation)).toContain('The data store east does not hold NOBODY.');
  });

  test('share sweeps, models, optimisations, SQL and prices by their store', async () => {
    const fetchCloses = async (path: string) => (await ask<{ prices: { data: unknown } }>('GET', path)).prices.data;
    expect(await fetchCloses('/data/prices/A?store_id=east')).not.toEqual(await fetchCloses('/data/prices/A'));
    const querySql = async (query: string) =>
      ask<{ data: unknown }>('POST', `/sql${query}`, { query: 'select max(CLOSE) as top from prices' });
    expect((await querySql('?store_id=west')).data).not.toEqual((await querySql('')).data);
    const readMetrics = async (indexId: string) => {
      const grid = { '/document/rebalance/frequency': ['monthly', 'quarterly'] };
      await runToResult(service, '/analytics/sweeps', { sweep_id: indexId, index_id: indexId, grid });
      const { rows } = await ask<{ rows: { metrics: object }[] }>('GET', `/analytics/sweeps/${indexId}/rows?block=0`);
      expect(rows).toHaveLength(2);
      return JSON.stringify(rows.map((row) => row.metrics));
    };
    expect(await readMetrics('IN-DESK')).toBe(await readMetrics('ANYWHERE'));
    expect(await readMetrics('IN-EAST')).not.toBe(await readMetrics('IN-DESK'));
    expect(
      await service.refusal('POST', '/analytics/sweeps', {
        index_id: 'IN-DESK',
        grid: { '/document/store_id': ['desk', 'east'] },
      }),
    ).toMatchObject({ status: 422 });
    const readModel = (query: string, body: object) => runToResult(service, `/risk-models/M/estimate${query}`, body);
    const runModel = await readModel('', { index_id: 'IN-EAST' });
    const nameModel = await readModel('?store_id=east', { identifiers: NAMES });
    expect(nameModel['covariance']).toEqual(runModel['covariance']);
    expect((await readModel('', { identifiers: NAMES }))['covariance']).not.toEqual(runModel['covariance']);
  });

  test('are measured only by risk models of their store', async () => {
    const factors = { estimator: 'statistical', factors: 2, end: SESSIONS[30] };
    const eastModel = await runToResult(service, '/risk-models/EASTERN/estimate', { index_id: 'IN-EAST', ...factors });
    expect(eastModel).toMatchObject({ store_id: 'east' });
    await ask('PUT', '/optimise/constraint-sets/NONE', { id: 'NONE', name: 'None', constraints: [] });
    const account = { account_id: 'A', cash: 1e6 };
    const start = SESSIONS[40];
    const uses: readonly (readonly [string, string, object | undefined, string])[] = [
      ['GET', '/analytics/IN-DESK/weights?risk_model=EASTERN', undefined, 'risk_model'],
      ['GET', '/analytics/IN-DESK/factor-risk?benchmark=ANYWHERE&risk_model=EASTERN', undefined, 'risk_model'],
      ['POST', '/optimise/preview', { index_id: 'IN-DESK', constraints: [], ...MODEL_OF_EAST }, 'risk_model'],
      ['POST', '/optimise/runs', { index_id: 'IN-DESK', constraint_set_id: 'NONE', ...MODEL_OF_EAST }, 'risk_model'],
      [
        'POST',
        '/optimise/studies',
        { runs: [{ index_id: 'IN-DESK', constraint_set_id: 'NONE', ...MODEL_OF_EAST }] },
        'risk_model',
      ],
      ['POST', '/optimise/batches', { parent: 'IN-DESK', ...MODEL_OF_EAST, accounts: [account] }, 'risk_model'],
      ['POST', '/analytics/IN-DESK/accounts/backtest', { ...MODEL_OF_EAST, start, account }, 'risk_model'],
      ['POST', '/risk-models/EASTERN/validate', { index_id: 'IN-DESK' }, 'index_id'],
    ];
    for (const [method, path, body, findingPath] of uses)
      expect([path, await service.refusal(method, path, body)]).toMatchObject([
        path,
        {
          status: 422,
          detail: { findings: [{ code: 'DIFFERENT_DATA', path: findingPath, value: 'EASTERN', message }] },
        },
      ]);
  });

  test('are saved with a warning if they use a risk model of another store, and are not computed', async () => {
    const derived = await ask<{ findings: object[] }>('POST', '/indices/IN-DESK/optimise', {
      id: 'LEAST',
      name: 'Least',
      objective: { type: 'min_variance' },
      ...MODEL_OF_EAST,
    });
    expect(derived.findings).toContainEqual(
      expect.objectContaining({ severity: 'warning', code: 'DIFFERENT_DATA', path: 'risk_model', message }),
    );
    for (const [path, body, findingPath] of [
      ['/analytics/LEAST/backtest', {}, 'derivation.risk_model'],
      ['/indices/LEAST/preview', {}, 'derivation.risk_model'],
      [
        '/analytics/sweeps',
        { index_id: 'LEAST', grid: { '/document/derivation/objective/type': ['min_variance'] } },
        'grid[0]/document.derivation.risk_model',
      ],
    ] as const)
      expect([path, await service.refusal('POST', path, body)]).toMatchObject([
        path,
        { status: 422, detail: { findings: [{ code: 'DIFFERENT_DATA', path: findingPath, value: 'EASTERN' }] } },
      ]);
  });

  test('use a risk model of their store, and a model without a store', async () => {
    expect((await service.ask('GET', '/analytics/IN-EAST/weights?risk_model=EASTERN')).status).toBe(200);
    await ask('POST', '/optimise/preview?store_id=east', { index_id: 'ANYWHERE', constraints: [], ...MODEL_OF_EAST });
    await ask('POST', '/risk-models/FREE/import', await ask('GET', '/risk-models/EASTERN/export'));
    const { risk_models: models } = await ask<{ risk_models: object[] }>('GET', '/risk-models');
    expect(models).toMatchObject([
      { model_id: 'EASTERN', store_id: 'east' },
      { model_id: 'FREE', store_id: null },
      { model_id: 'M', store_id: 'desk' },
    ]);
    expect((await service.ask('GET', '/analytics/IN-DESK/weights?risk_model=FREE')).status).toBe(200);
    const model = await ask('GET', '/risk-models/EASTERN/export');
    await ask('POST', '/risk-models/FREE/import?store_id=east', model);
    expect(await service.refusal('POST', '/risk-models/FREE/import?store_id=east&units=annual', model)).toMatchObject({
      status: 422,
      detail: {
        findings: [{ code: 'UNKNOWN_FIELD', path: 'units', message: 'For a JSON body, units must be in the body.' }],
      },
    });
  });

  test('continue after a restart', async () => {
    await service.restart();
    for (const [id, store] of INDICES)
      expect([id, await readFigures(id)]).toEqual([id, singleColumn.get(store ?? 'desk')]);
    await runToResult(service, '/analytics/IN-WEST/backtest', { if_stale: false });
    expect(await readFigures('IN-WEST')).toEqual(singleColumn.get('west'));
  });

  test('add later days of their store by a refresh while another is active', async () => {
    writeWalks(join(service.root, 'east'), { names: NAMES, sessions: 85, seed: SEEDS['east']! });
    const report = await runToResult<{ dates_added: number }>(service, '/data/stores/east/refresh', { load: true });
    expect(report.dates_added).toBe(5);
    expect(await ask<StaleBody>('GET', '/analytics/IN-EAST/overview')).toMatchObject({
      stale: { data: true, reasons: ['The store east holds other content than the run was made on.'] },
    });
    expect(await ask<StaleBody>('GET', '/analytics/IN-WEST/overview')).toMatchObject({ stale: null });
    await runToResult(service, '/analytics/IN-EAST/backtest');
    expect(await ask('GET', '/analytics/IN-EAST/overview')).toMatchObject({ stale: null, end: SESSIONS[84] });
    expect(await ask('GET', '/data/stores/east')).toMatchObject({ active: false, end: SESSIONS[84] });
  });

  test('are refreshed, run and published by a schedule that names their store', async () => {
    writeWalks(join(service.root, 'east'), { names: NAMES, sessions: 86, seed: SEEDS['east']! });
    const steps = [{ type: 'refresh', store_id: 'east' }, { type: 'run' }, { type: 'publish' }];
    const date = SESSIONS[85]!;
    const plan = { indices: ['IN-EAST'], calendar: 'XNYS', at: '18:30', starts_on: date, catch_up: 0, enabled: false };
    await ask('PUT', '/schedules/east', { name: 'East', ...plan, steps });
    expect(await performDay(service, date, {}, 'east')).toMatchObject({ state: 'done', reason: null });
    expect(await ask('GET', '/analytics/IN-EAST/overview')).toMatchObject({ stale: null, end: date });
    expect((await service.ask('GET', '/analytics/IN-EAST/published')).status).toBe(200);
    expect((await service.download('/analytics/IN-EAST/published/bundle')).status).toBe(200);
  });

  test('report the deleted store that cannot be read', async () => {
    await ask('DELETE', '/data/stores/west');
    expect(await service.refusal('GET', '/analytics/IN-WEST/weights?risk=true')).toMatchObject({
      status: 409,
      code: 'STORE_MISMATCH',
      detail: { store_id: 'west', served_store_id: 'desk' },
    });
    expect((await service.ask('GET', '/analytics/IN-WEST/weights')).status).toBe(200);
    expect(await service.refusal('POST', '/analytics/IN-WEST/backtest')).toMatchObject({
      status: 404,
      code: 'STORE_NOT_FOUND',
      detail: { store_id: 'west' },
    });
  });
});

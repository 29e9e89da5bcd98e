import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from '../../real/live.js';
import { readPdf } from '../../views/report/read-pdf.js';
import { describeBatches } from './stale-runs/batches.js';
import { describeWatchlistUniverses } from './stale-runs/watchlists.js';
import { createEqualIndex, SESSIONS, writeWalks } from './random-walks.js';

const NAMES = ['A', 'B', 'C', 'D'];
const STRATEGY = {
  id: 'FOLLOW',
  name: 'Follow',
  index_id: 'BASE',
  benchmark: { id: 'RIVAL', kind: 'index' },
  constraint_set_id: 'loose',
  transaction_cost_bps: 3,
};
const SET = {
  id: 'loose',
  name: 'Loose',
  constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.9 } }],
};

let service: LiveService;

/** Serves a folder as a store. */
async function serve(datasetId: string, seed: number): Promise<void> {
  const location = writeWalks(join(service.folder, datasetId), { names: NAMES, sessions: 80, seed });
  await service.ok('POST', '/data/stores', { store_id: datasetId, name: datasetId, kind: 'folder', location });
  await activate(datasetId);
}

async function activate(datasetId: string): Promise<void> {
  await service.job(`/data/stores/${datasetId}/activate`);
}

const runBacktestJob = (id: string, request: object = {}) =>
  service.job<{ run_hash: string }>(`/analytics/${id}/backtest`, request);

interface State {
  readonly definition: boolean;
  readonly data: boolean;
  readonly engine: boolean;
  readonly reasons: readonly string[];
  readonly store_id: string | null;
}

const readState = async (id: string, view = 'overview') =>
  (await service.ok<{ stale: State | null }>('GET', `/analytics/${id}/${view}`)).stale;

beforeAll(async () => {
  service = await openLiveService(['--workers', '1', '--warm-up', 'off']);
  await serve('desk', 1);
  await service.ok('POST', '/indices', createEqualIndex('BASE'));
  await service.ok('POST', '/indices', createEqualIndex('RIVAL', ['A', 'B']));
  await service.ok('POST', '/indices', createEqualIndex('INNER', null, { universe: { kind: 'index', id: 'BASE' } }));
  await service.ok('POST', '/indices/BASE/optimise', { id: 'CHILD', name: 'Child' });
  await service.ok('POST', '/optimise/constraint-sets', SET);
  await service.ok('POST', '/strategies', STRATEGY);
});
afterAll(() => service.close());

/** Views that are computed from stored runs. A second list has the views that also need prices of the store. */
const STORED_VIEWS = ['overview', 'record', 'levels', 'attribution', 'weights', 'reconcile'];
const PRICED_VIEWS = [
  'weights?risk=true',
  'weights?benchmark=RIVAL',
  'factor-risk?benchmark=RIVAL',
  'total-risk',
  'rolling?window=20',
  'assets/A',
  'attribution/groups?benchmark=RIVAL',
  'attribution/groups',
];

describe('a run is stale', () => {
  test('in no view while nothing has changed', async () => {
    for (const id of ['BASE', 'RIVAL', 'INNER', 'CHILD', 'FOLLOW']) await runBacktestJob(id);
    for (const view of [...STORED_VIEWS, ...PRICED_VIEWS])
      expect([view, await readState('BASE', view)]).toEqual([view, null]);
    const { backtests } = await service.ok<{ backtests: { index_id: string; stale: State | null }[] }>(
      'GET',
      '/analytics/backtests',
    );
    expect(backtests.map(({ index_id, stale }) => [index_id, stale])).toEqual(
      ['BASE', 'CHILD', 'FOLLOW', 'INNER', 'RIVAL'].map((id) => [id, null]),
    );
    expect(await service.ok('GET', '/analytics/compare?ids=BASE,RIVAL')).toMatchObject({
      findings: [],
      entries: [{ stale: null }, { stale: null }],
    });
  });

  test('in no view after labels changed, but after the name of the index that is run changed', async () => {
    const labels = { description: 'All securities, equally weighted.', tags: ['core', 'equal'] };
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { ...labels, universe: { kind: 'all' } }));
    for (const id of ['BASE', 'INNER', 'CHILD', 'FOLLOW']) expect([id, await readState(id)]).toEqual([id, null]);
    await service.ok('PUT', '/indices/RIVAL', createEqualIndex('RIVAL', ['A', 'B'], { ...labels, name: 'Rival' }));
    expect(await readState('RIVAL')).toMatchObject({ reasons: ['The index RIVAL changed since this run: name.'] });
    expect(await readState('FOLLOW')).toBeNull(); // its benchmark is RIVAL
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { universe: { kind: 'all' } }));
    await service.ok('PUT', '/indices/RIVAL', createEqualIndex('RIVAL', ['A', 'B']));
    for (const id of ['RIVAL', 'FOLLOW']) expect([id, await readState(id)]).toEqual([id, null]);
  });

  test('in every view of every run that depends on a changed definition, and in no view after the change is reverted', async () => {
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { base_value: 50 }));
    const because = 'The index BASE changed since this run: base value.';
    const staleState = { definition: true, data: false, engine: false, reasons: [because], store_id: null };
    for (const view of [...STORED_VIEWS, ...PRICED_VIEWS])
      expect([view, await readState('BASE', view)]).toEqual([view, staleState]);
    for (const id of ['INNER', 'CHILD', 'FOLLOW']) expect([id, await readState(id)]).toEqual([id, staleState]);
    expect(await readState('RIVAL')).toBeNull();
    expect(await service.ok('GET', '/analytics/compare?ids=BASE,RIVAL')).toMatchObject({
      findings: [],
      entries: [{ stale: staleState }, { stale: null }],
    });
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { universe: { kind: 'all' } }));
    for (const id of ['BASE', 'INNER', 'CHILD', 'FOLLOW']) expect([id, await readState(id)]).toEqual([id, null]);
  });

  test.each([
    [
      'its benchmark index',
      '/indices/RIVAL',
      createEqualIndex('RIVAL', ['A', 'C']),
      createEqualIndex('RIVAL', ['A', 'B']),
      ['The index RIVAL changed since this run: universe.'],
    ],
    [
      'its constraint set',
      '/optimise/constraint-sets/loose',
      { ...SET, constraints: [{ ...SET.constraints[0], params: { upper: 0.8 } }] },
      SET,
      ['The strategy FOLLOW changed since this run: constraints.'],
    ],
    [
      'a strategy term',
      '/strategies/FOLLOW',
      { ...STRATEGY, drift_tolerance: 0.01 },
      STRATEGY,
      ['The strategy FOLLOW changed since this run: drift tolerance.'],
    ],
    [
      'what it fills requests in with',
      '/strategies/FOLLOW',
      { ...STRATEGY, transaction_cost_bps: 4 },
      STRATEGY,
      ['The strategy FOLLOW changed since this run: transaction cost.'],
    ],
    [
      'the index it follows',
      '/strategies/FOLLOW',
      { ...STRATEGY, index_id: 'INNER' },
      STRATEGY,
      ['The indices that the run depends on changed from BASE to INNER, BASE.'],
    ],
  ])('of a strategy, when %s changed', async (_what, path, changeText, before, reasons) => {
    await service.ok('PUT', path, changeText);
    expect(await readState('FOLLOW')).toEqual({
      definition: true,
      data: false,
      engine: false,
      reasons,
      store_id: null,
    });
    await service.ok('PUT', path, before);
    expect(await readState('FOLLOW')).toBeNull();
  });

  test('when a document that it needs is deleted', async () => {
    await service.ok('DELETE', '/optimise/constraint-sets/loose');
    expect(await readState('FOLLOW')).toMatchObject({
      definition: true,
      reasons: ['It cannot be run any more: No constraint set is stored under the id loose.'],
    });
    await service.ok('POST', '/optimise/constraint-sets', SET);
    expect(await readState('FOLLOW')).toBeNull();
  });

  test('after later sessions were added to its store, and is still shown in every view', async () => {
    writeWalks(join(service.folder, 'desk'), { names: NAMES, sessions: 85 });
    await service.job('/data/stores/desk/refresh');
    const staleState = {
      definition: false,
      data: true,
      engine: false,
      reasons: ['The store desk holds other content than the run was made on.'],
      store_id: null,
    };
    for (const view of [...STORED_VIEWS, ...PRICED_VIEWS])
      expect([view, await readState('BASE', view)]).toEqual([view, staleState]);
    await runBacktestJob('BASE');
    expect(await readState('BASE')).toBeNull();
  });

  test('under a different etag than before, with which the record is deleted', async () => {
    const ask = (path: string, etag: string, method = 'GET') =>
      fetch(new URL(`/analytics/BASE/${path}`, service.url), {
        method,
        headers: { [method === 'GET' ? 'If-None-Match' : 'If-Match']: etag },
      });
    const readEtag = async (path: string) => (await service.ask('GET', `/analytics/BASE/${path}`)).headers.get('etag')!;
    const paths = ['overview', 'record', 'rolling?window=20'];
    const before = await Promise.all(paths.map(readEtag));
    for (const [i, path] of paths.entries()) expect([path, (await ask(path, before[i]!)).status]).toEqual([path, 304]);
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { base_value: 50 }));
    for (const [i, path] of paths.entries()) {
      const { status, headers } = await ask(path, before[i]!);
      expect([path, status]).toEqual([path, 200]);
      expect((await ask(path, headers.get('etag')!)).status).toBe(304);
    }
    const recordEtag = (await ask('record', '"none"')).headers.get('etag')!;
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE'));
    for (const [i, path] of paths.entries()) expect([path, (await ask(path, before[i]!)).status]).toEqual([path, 304]);
    expect((await ask('record', '"none"', 'DELETE')).status).toBe(412);
    expect((await ask('record', recordEtag, 'DELETE')).status).toBe(204);
    await runBacktestJob('BASE');
  });
});

describe('a backtest that runs only if it is stale', () => {
  const waitForJob = async (id: string): Promise<void> => {
    for (let status = 'pending'; status === 'pending' || status === 'running';)
      ({ status } = await service.ok<{ status: string }>('GET', `/jobs/backtest:${id}?wait=30`));
  };
  const requestWhenStale = (id: string, request: object = {}) =>
    service.ask<{ run_hash?: string; job_id?: string }>('POST', `/analytics/${id}/backtest`, {
      ...request,
      if_stale: true,
    });

  test('returns the complete stored result of a current run', async () => {
    const { result } = await runBacktestJob('BASE', { transaction_cost_bps: 2 });
    const answer = await requestWhenStale('BASE', { transaction_cost_bps: 2 });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(result);
    expect(answer.headers.get('location')).toBeNull();
  });

  test('is a job for another request, after a change, and without a stored run', async () => {
    expect((await requestWhenStale('BASE')).status).toBe(200); // uses the terms of the stored run
    const freeTerms = { transaction_cost_bps: 0 };
    expect(await requestWhenStale('BASE', freeTerms)).toMatchObject({ status: 202, body: { job_id: 'backtest:BASE' } });
    await waitForJob('BASE');
    expect((await requestWhenStale('BASE', {})).status).toBe(200);
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE', null, { base_value: 50 }));
    expect((await requestWhenStale('BASE', {})).status).toBe(202);
    await waitForJob('BASE');
    expect((await requestWhenStale('BASE', {})).status).toBe(200);
    await service.ok('PUT', '/indices/BASE', createEqualIndex('BASE'));
    await runBacktestJob('BASE');
    await service.ok('DELETE', '/analytics/RIVAL/record');
    expect((await requestWhenStale('RIVAL')).status).toBe(202);
    await waitForJob('RIVAL');
  });

  test('is refused like any other', async () => {
    expect((await requestWhenStale('NONE')).status).toBe(404);
    expect((await requestWhenStale('BASE', { start: SESSIONS[10], end: SESSIONS[5] })).status).toBe(422);
    expect((await requestWhenStale('BASE', { benchmark: { kind: 'index', id: 'NONE' } })).status).toBe(404);
  });
});

describe('while a store other than that of the run is served', () => {
  /** Returns a view without its state. Only the state of the run differs. */
  const readValues = async (view: string) => {
    const { stale: _, ...values } = await service.ok<Record<string, unknown>>('GET', `/analytics/BASE/${view}`);
    return values;
  };
  const valuesBefore = new Map<string, unknown>();
  beforeAll(async () => {
    for (const view of PRICED_VIEWS) valuesBefore.set(view, await readValues(view));
    await serve('other', 2);
  });

  test('views that need prices are computed on the store of the run, as if it was served', async () => {
    for (const view of PRICED_VIEWS) expect([view, await readValues(view)]).toEqual([view, valuesBefore.get(view)]);
    const simulation = { method: 'gaussian_factor', horizon: 20, paths: 1000 };
    await service.job('/analytics/BASE/simulate', simulation);
    const { result } = await service.job<{ asset_ids: string[] }>('/risk-models/OF-RUN/estimate', { index_id: 'BASE' });
    expect(result.asset_ids).toEqual(NAMES);
  });

  test('every view reports that a new run would be made on the other store', async () => {
    const reasons = ['The run was made on the store desk; other is active.'];
    for (const view of [...STORED_VIEWS, ...PRICED_VIEWS])
      expect([view, await readState('BASE', view)]).toEqual([
        view,
        { definition: false, data: true, engine: false, reasons, store_id: 'desk' },
      ]);
    const { checks } = await service.ok<{ checks: { name: string; holds: boolean }[] }>(
      'GET',
      '/analytics/BASE/reconcile',
    );
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
  });

  test('a comparison with a run of the other store reports that they are of different data', async () => {
    await runBacktestJob('RIVAL');
    const { findings, entries } = await service.ok<{
      findings: { code: string; severity: string; path: string; message: string }[];
      entries: { stale: State | null }[];
    }>('GET', '/analytics/compare?ids=BASE,RIVAL');
    expect(findings).toEqual([
      {
        severity: 'warning',
        code: 'DIFFERENT_DATA',
        path: 'ids',
        message: 'The runs use different data: BASE uses the data store desk, and RIVAL uses the data store other.',
      },
    ]);
    expect(entries.map(({ stale }) => stale?.data ?? null)).toEqual([true, null]);
  });

  test('a factsheet prints the state and its reasons, and a tear sheet the risk on the store of the run', async () => {
    const renderText = async (template: string, index: string): Promise<string> => {
      const { result } = await service.job<{ render_id: string }>('/reports/render', {
        template_id: template,
        index_id: index,
      });
      const pdf = await fetch(new URL(`/reports/renders/${result.render_id}`, service.url));
      return readPdf(new Uint8Array(await pdf.arrayBuffer())).text.replaceAll('\n', ' ');
    };
    const staleText = await renderText('FACTSHEET-A4', 'BASE');
    expect(staleText).toContain('Not current: data');
    expect(staleText).toContain('Not current. The run was made on the store desk; other is active.');
    const currentText = await renderText('FACTSHEET-A4', 'RIVAL');
    expect(currentText).toContain('Current');
    expect(currentText).not.toContain('Not current');
    expect(await renderText('TEARSHEET-A4', 'BASE')).not.toContain('Risk estimates need the data store of the run');
  });

  test('the same store served again answers everything as before', async () => {
    await activate('desk');
    for (const view of [...STORED_VIEWS, ...PRICED_VIEWS])
      expect([view, await readState('BASE', view)]).toEqual([view, null]);
    expect(await readState('RIVAL')).toMatchObject({
      data: true,
      reasons: ['The run was made on the store other; desk is active.'],
      store_id: 'other',
    });
  });
});

describeBatches(() => service);
describeWatchlistUniverses(() => service);

import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/**
 * Service with a store. In its first version B had another price on a rebalance date. Each test depends on the previous
 * test.
 */
let service: RunningService;

const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
const CLOSES = { A: [10, 10, 10, 10, 20, 20, 20], B: [10, 10, 10, 10, 10, 10, 10] };

/** Returns a market table in which B has the given close on Friday the 5th. */
function createTables(wrong: number): object {
  const data = DATES.flatMap((date, t) =>
    (['A', 'B'] as const).map((name) => [name, date, name === 'B' && t === 3 ? wrong : CLOSES[name][t]!]),
  );
  return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
}

const importStore = (rows: object, store_id = 'm') =>
  service.ask('POST', '/data/import', { store_id, name: 'M', tables: rows, on_exists: 'replace', activate: true });

const INDEX = {
  id: 'DESK',
  name: 'Desk',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  rebalance: { frequency: 'weekly' },
  pipeline: { weighting: { type: 'PriceWeight' } },
};

async function runJob<T = Record<string, unknown>>(path: string, body: object): Promise<T> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  const job = await service.waitForJob(started.job_id);
  expect(job).toMatchObject({ status: 'succeeded' });
  return job.result as T;
}

interface Levels {
  readonly metrics: { readonly total_return: number };
}
const run = (body: object = {}): Promise<Levels> => runJob<Levels>('/analytics/DESK/backtest', body);
const listRuns = async (): Promise<{ readonly run_id: string; readonly request: { readonly as_known?: string } }[]> =>
  (await service.ask<{ readonly runs: [] }>('GET', '/analytics/DESK/runs')).body.runs;

/**
 * Times at which each version became known. They are written while the service is stopped, because a test cannot wait
 * for days.
 */
const KNOWN_AT = ['2024-01-01T00:00:00.000000+00:00', '2024-01-08T18:00:00.000000+00:00'];

async function backdateVersions(): Promise<void> {
  const documents = await openDocumentStore({ folder: join(service.root, 'home', 'documents') });
  await documents.transaction(async (tx) => {
    for (const [i, known_at] of KNOWN_AT.entries()) {
      const id = `m/${String(i + 1).padStart(10, '0')}`;
      const version = await tx.get('data-version', id);
      if (version === undefined || 'unreadable' in version) throw new Error(`no version ${id}`);
      await tx.put('data-version', id, { ...(version.body as object), known_at });
    }
  });
  await documents.close();
}

beforeAll(async () => {
  service = await runService();
  await importStore(createTables(40));
  await importStore(createTables(10));
  expect((await service.ask('PUT', '/indices/DESK', INDEX)).status).toBeLessThan(300);
});
afterAll(() => service.close());

test('decisions before the first available version are refused, with its day', async () => {
  for (const wrong of [40, 20, 10]) await importStore(createTables(wrong), 'dropped');
  expect((await service.ask('PATCH', '/data/stores/dropped', { versions_kept: 1 })).status).toBe(200);
  for (const [path, body] of [
    ['/analytics/DESK/backtest', { as_known: 'decision' }],
    ['/analytics/sweeps', { index_id: 'DESK', request: { as_known: 'decision' }, patches: [{}] }],
  ] as const) {
    const today = new Date().toISOString().slice(0, 10);
    expect(await service.refusal('POST', path, body)).toMatchObject({
      status: 422,
      code: 'NO_DATA_KNOWN',
      detail: { store_id: 'dropped', decision_date: '2024-01-10', first_known_on: today },
    });
  }
});

test('the first content of a store is known from the beginning of its history, a correction is not', async () => {
  await importStore(createTables(10));
  const knownRun = await run({ as_known: 'decision' });
  expect(knownRun.metrics.total_return).toBeCloseTo(0.2, 12); // equal to the run below: both versions are from today
  await service.ask('DELETE', '/analytics/DESK/record');
});

test('a rebalance decides on the price known at the time, and levels use the current price', async () => {
  await service.restart(backdateVersions, 'new');
  await service.resumed();
  const plainRun = await run();
  const knownRun = await run({ as_known: 'decision' });
  // According to the latest data, half is in A on Friday the 5th. According to the data that was known then, it is a
  // fifth. A doubles on Monday.
  expect(plainRun.metrics.total_return).toBeCloseTo(0.5, 12);
  expect(knownRun.metrics.total_return).toBeCloseTo(0.2, 12);
  const preview = await service.ask<{ readonly weights: readonly { readonly weight: number }[] }>(
    'POST',
    '/indices/DESK/preview',
    { as_of: '2024-01-05', as_known_on: '2024-01-05' },
  );
  expect(JSON.stringify(preview.body)).toContain('0.8');
});

test('a run on data known at the time is marked, remains current, replays to the same bytes, and is not extended by a plain run', async () => {
  expect((await listRuns()).map(({ request }) => request.as_known)).toEqual(['decision', undefined]);
  const current = await service.ask('POST', '/analytics/DESK/backtest', { if_stale: true, as_known: 'decision' });
  expect(current.status).toBe(200);
  const replayedRun = await runJob('/analytics/DESK/replay', {});
  expect(replayedRun).toMatchObject({ equal: true, inputs_equal: true });
  const secondRun = await run();
  expect(secondRun.metrics.total_return).toBeCloseTo(0.5, 12);
});

test('the difference of the two runs is attributed to the request, to the last bit', async () => {
  const [, knownRow, plainRow] = await listRuns();
  const difference = await runJob('/analytics/DESK/runs/diff', { from: plainRow!.run_id, to: knownRow!.run_id });
  expect(difference).toMatchObject({
    definition: [],
    request: [{ path: '/as_known', op: 'add', before: null, after: 'decision' }],
    data: { cells: 0 },
  });
  const { effects, total_return: total } = difference as {
    readonly effects: readonly { readonly cause: string; readonly total_return: number }[];
    readonly total_return: number;
  };
  expect(effects.find(({ cause }) => cause === 'request')!.total_return).toBe(total);
  expect(total).toBeCloseTo(-0.3, 12);
});

test('the pro forma file of a run with as_known has the composition of the run', async () => {
  const [, knownRow, plainRow] = await listRuns();
  const readWeights = async (id: string): Promise<number[]> => {
    const path = `/analytics/DESK/exports/proforma?run_id=${id}&date=2024-01-05&format=json`;
    const { status, body } = await service.ask<{ readonly columns: string[]; readonly data: number[][] }>('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    return body.data.map((row) => row[body.columns.indexOf('weight')]!);
  };
  const [a, b] = await readWeights(knownRow!.run_id);
  expect([a, b]).toEqual([expect.closeTo(0.2, 12), expect.closeTo(0.8, 12)]);
  expect(await readWeights(plainRow!.run_id)).toEqual([expect.closeTo(0.5, 12), expect.closeTo(0.5, 12)]);
});

test('an index with breach rebalances is refused, because breaches depend on corrected data', async () => {
  const treatment = { on_breach: 'rebalance' };
  const pipeline = { ...INDEX.pipeline, treatment };
  expect((await service.ask('PUT', '/indices/WATCHED', { ...INDEX, id: 'WATCHED', pipeline })).status).toBeLessThan(
    300,
  );
  const refusal = await service.refusal('POST', '/analytics/WATCHED/backtest', { as_known: 'decision' });
  expect(refusal).toMatchObject({ status: 422, code: 'LOOK_AHEAD', detail: { index_id: 'WATCHED' } });
});

test('variants of a sweep decide as single runs do', async () => {
  const { rows } = await runJob<{ readonly rows: readonly { readonly variant: number; readonly metrics: object }[] }>(
    '/analytics/sweeps',
    {
      index_id: 'DESK',
      request: { as_known: 'decision' },
      patches: [{}, { '/request/transaction_cost_bps': 10 }],
    },
  );
  const knownRun = await run({ as_known: 'decision' });
  expect(rows.find(({ variant }) => variant === 0)!.metrics).toEqual(knownRun.metrics);
});

const PICK_INDEX = {
  ...INDEX,
  id: 'PICK',
  pipeline: {
    selection: [{ id: 'dear', type: 'TopN', params: { field: 'CLOSE', count: 1 } }],
    weighting: { type: 'EqualWeight' },
  },
};

test('a universe that follows an index uses its decisions on data known at the time, also in sweeps', async () => {
  const follow = { ...INDEX, id: 'FOLLOW', universe: { kind: 'index', id: 'PICK' } };
  for (const index of [PICK_INDEX, follow]) {
    const answer = await service.ask('PUT', `/indices/${index.id}`, index);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  }
  const runOf = (body: object) => runJob<Levels>('/analytics/FOLLOW/backtest', body);
  // According to the data that was known on Friday the 5th, B was the more expensive security. In the latest data both
  // are equal, and A ranks first.
  const [plainRun, knownRun] = [await runOf({}), await runOf({ as_known: 'decision' })];
  expect(plainRun.metrics.total_return).toBeCloseTo(1, 12);
  expect(knownRun.metrics.total_return).toBeCloseTo(0, 12);
  const sweep = await runJob<{ readonly rows: readonly { readonly variant: number; readonly metrics: object }[] }>(
    '/analytics/sweeps',
    { index_id: 'FOLLOW', request: {}, patches: [{}, { '/request/as_known': 'decision' }] },
  );
  expect([0, 1].map((number) => sweep.rows.find(({ variant }) => variant === number)!.metrics)).toEqual([
    plainRun.metrics,
    knownRun.metrics,
  ]);
  const treatment = { on_breach: 'rebalance' };
  const refusal = await runJob('/analytics/sweeps', {
    index_id: 'FOLLOW',
    request: { as_known: 'decision' },
    patches: [{ '/document/pipeline/treatment': treatment }],
  });
  expect(refusal).toMatchObject({ refused: 1, rows: [{ error: { code: 'LOOK_AHEAD' } }] });
});

interface Row {
  readonly run_id: string;
  readonly request: { readonly as_known?: string; readonly as_known_on?: number };
  readonly published: boolean;
}
const readRows = async (): Promise<readonly Row[]> =>
  (await service.ask<{ readonly runs: readonly Row[] }>('GET', '/analytics/DESK/runs')).body.runs;

test('a run on an earlier content states it wherever it is shown, and answers only requests for that content', async () => {
  await run({ as_known_on: 1 });
  expect((await readRows())[0]!.request.as_known_on).toBe(1);
  const reason = 'The run was made on version 1 of the store m, as known then; it holds other content now.';
  const { body } = await service.ask('GET', '/analytics/DESK/overview');
  expect(body).toMatchObject({ stale: { definition: false, data: true, engine: false, reasons: [reason] } });
  const repeatStep = (body: object) => service.ask('POST', '/analytics/DESK/backtest', { if_stale: true, ...body });
  expect((await repeatStep({ as_known_on: 1 })).status).toBe(200);
  expect((await repeatStep({ as_known_on: 2 })).status).toBe(202);
  expect(await service.waitForJob('backtest:DESK')).toMatchObject({ status: 'succeeded' });
  expect((await repeatStep({})).status).toBe(202);
  expect(await service.waitForJob('backtest:DESK')).toMatchObject({ status: 'succeeded' });
});

test('without a named run, the newest current run on the current content is published', async () => {
  await run({ as_known_on: 1 });
  await run({ as_known: 'decision' });
  const publish = (body: object) => service.ask('POST', '/analytics/DESK/publish', body);
  expect((await publish({})).status).toBe(200);
  const isToday = ({ request }: Row): boolean => request.as_known === undefined && request.as_known_on === undefined;
  const list = await readRows();
  expect(list.filter(({ published }) => published)).toEqual([list.find(isToday)]);
  const [newest] = list;
  await service.ask('PUT', '/indices/DESK', { ...INDEX, pipeline: { weighting: { type: 'EqualWeight' } } });
  expect(await service.refusal('POST', '/analytics/DESK/publish', {})).toMatchObject({
    status: 409,
    code: 'NO_CURRENT_RUN',
    detail: { index_id: 'DESK', run_id: newest!.run_id },
  });
});

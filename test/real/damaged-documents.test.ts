import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type Run } from '../cli/process.js';
import { formatNumberedId } from '#store/port.js';
import { flipDocument } from '../store/flip-document.js';

const COUNT = 12;
const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8'));
const ids = Array.from({ length: COUNT }, (_, i) => `S-${String(i).padStart(3, '0')}`);
const DAMAGED_ID = ids[5]!;
/** Strategy with an earlier run as well. This earlier run is damaged. */
const KEPT_ID = ids[7]!;

let folder: string;
let service: Run & { readonly url: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-damaged-'));
  await start();
  await requireBody('POST', '/data/import', fixture.import);
  await requireBody('POST', '/indices', { ...fixture.index, id: 'FOUR' });
  for (const id of ids) await requireBody('POST', '/strategies', { id, name: `Strategy ${id}`, index_id: 'FOUR' });
  await Promise.all(ids.map((id) => requireBody('POST', `/analytics/${id}/backtest`, {})));
  for (const id of ids) await waitForSuccess(id);
  await requireBody('PUT', '/indices/FOUR', { ...fixture.index, id: 'FOUR', name: 'Four again' });
  await requireBody('POST', `/analytics/${KEPT_ID}/backtest`, {});
  await waitForSuccess(KEPT_ID);
  const [, before] = (await ask('GET', `/analytics/${KEPT_ID}/runs`)).body.runs!;
  await stop();
  for (const key of [
    `version\u0000index/FOUR/${formatNumberedId('', 1).slice(1)}`,
    `job\u0000backtest:${DAMAGED_ID}`,
    `kept-run\u0000${KEPT_ID}/${before!.run_id}`,
    `data-version\u0000${formatNumberedId(fixture.import.store_id, 1)}`,
  ])
    await flipDocument(join(folder, 'home'), `main\u0000${key}`);
  await flipDocument(join(folder, 'home'), `main\u0000strategy\u0000${DAMAGED_ID}`);
  await flipDocument(join(folder, 'home'), `main\u0000run\u0000${DAMAGED_ID}`);
  await start();
});

afterAll(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await startService(join(folder, 'home'), ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
}

async function stop(): Promise<void> {
  service?.child.kill('SIGTERM');
  await service?.ended;
}

async function waitForSuccess(id: string): Promise<void> {
  for (;;) {
    const { status } = (await ask('GET', `/jobs/backtest:${id}?wait=30`)).body;
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running') throw new Error(`the backtest of ${id} ended ${status}`);
  }
}

interface Body {
  readonly status?: string;
  readonly error?: { readonly code: string };
  readonly skipped?: number;
  readonly skipped_causes?: Readonly<Record<string, number>>;
  readonly strategies?: readonly unknown[];
  readonly backtests?: readonly { readonly index_id: string }[];
  readonly runs?: readonly { readonly run_id: string }[];
  readonly versions?: readonly { readonly version: number }[];
  readonly jobs?: readonly { readonly job_id: string }[];
  readonly total?: number;
}

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
  const answer = await fetch(service.url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Body) };
}

async function requireBody(method: string, path: string, body?: unknown): Promise<unknown> {
  const { status, body: answer } = await ask(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(answer)}`);
  return answer;
}

describe(`of ${COUNT} strategies and ${COUNT} runs, of which one each was damaged on disk`, () => {
  test('the others are listed and the damaged are counted', async () => {
    const strategies = (await ask('GET', '/strategies')).body;
    expect([strategies.strategies!.length, strategies.skipped, strategies.skipped_causes]).toEqual([
      COUNT - 1,
      1,
      { unreadable: 1, invalid: 0, unsupported: 0 },
    ]);
    const runs = (await ask('GET', '/analytics/backtests')).body;
    expect([runs.backtests!.length, runs.skipped, runs.skipped_causes]).toEqual([
      COUNT - 1,
      1,
      { unreadable: 1, invalid: 0, unsupported: 0 },
    ]);
    expect(runs.backtests!.map((run) => run.index_id)).not.toContain(DAMAGED_ID);
  });

  const ONE = { skipped: 1, skipped_causes: { unreadable: 1, invalid: 0, unsupported: 0 } };

  test('a damaged version of a document is counted, and hides no other', async () => {
    const { status, body } = await ask('GET', '/indices/FOUR/versions');
    expect([status, body]).toMatchObject([200, { versions: [{ version: 2 }], total: 2, ...ONE }]);
    expect(await ask('GET', '/indices/FOUR/versions/1')).toMatchObject({
      status: 404,
      body: { error: { code: 'DOCUMENT_UNREADABLE' } },
    });
    expect((await ask('GET', '/indices/FOUR/versions/2')).status).toBe(200);
  });

  test('a damaged version of the data is counted', async () => {
    const { status, body } = await ask('GET', `/data/stores/${fixture.import.store_id}/versions`);
    expect([status, body]).toMatchObject([200, { versions: [], total: 1, ...ONE }]);
  });

  test('a damaged job is counted, among all and among those of its kind', async () => {
    const { body } = await ask('GET', '/jobs?limit=500');
    expect(body).toMatchObject(ONE);
    expect(body.jobs!.map(({ job_id: id }) => id)).not.toContain(`backtest:${DAMAGED_ID}`);
    expect((await ask('GET', '/jobs?kind=backtest')).body).toMatchObject(ONE);
    expect((await ask('GET', '/jobs?kind=render')).body).toMatchObject({ jobs: [], skipped: 0 });
    expect((await ask('GET', `/jobs/backtest:${DAMAGED_ID}`)).status).toBe(404);
  });

  test('damaged runs are counted among those of their index', async () => {
    expect((await ask('GET', `/analytics/${KEPT_ID}/runs`)).body).toMatchObject({ total: 2, ...ONE });
    expect((await ask('GET', `/analytics/${DAMAGED_ID}/runs`)).body).toMatchObject({ runs: [], total: 1, ...ONE });
  });

  test('a damaged one is not found on its own, and the refusal states why', async () => {
    for (const path of [
      `/strategies/${DAMAGED_ID}`,
      `/analytics/${DAMAGED_ID}/record`,
      `/analytics/${DAMAGED_ID}/overview`,
    ]) {
      const { status, body } = await ask('GET', path);
      expect([path, status, body.error?.code]).toEqual([path, 404, 'DOCUMENT_UNREADABLE']);
    }
    expect((await ask('GET', `/analytics/${ids[6]}/overview`)).status).toBe(200);
  });

  test('the damaged ones can be deleted, and then nothing is skipped', async () => {
    expect((await ask('DELETE', `/analytics/${DAMAGED_ID}/record`)).status).toBe(204);
    expect((await ask('DELETE', `/strategies/${DAMAGED_ID}`)).status).toBe(200);
    for (const path of ['/strategies', '/analytics/backtests']) expect((await ask('GET', path)).body.skipped).toBe(0);
    expect((await ask('GET', `/strategies/${DAMAGED_ID}`)).body.error?.code).toBe('STRATEGY_NOT_FOUND');
  });
});

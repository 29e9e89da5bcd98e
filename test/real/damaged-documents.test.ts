import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serving, type Run } from '../cli/process.js';
import { flipDocument } from '../store/flip-document.js';

const COUNT = 12;
const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8'));
const ids = Array.from({ length: COUNT }, (_, i) => `S-${String(i).padStart(3, '0')}`);
const DAMAGED = ids[5]!;

let folder: string;
let service: Run & { readonly url: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-damaged-'));
  await start();
  await ok('POST', '/data/import', fixture.import);
  await ok('POST', '/indices', { ...fixture.index, id: 'FOUR' });
  for (const id of ids) await ok('POST', '/strategies', { id, name: `Strategy ${id}`, index_id: 'FOUR' });
  await Promise.all(ids.map((id) => ok('POST', `/analytics/${id}/backtest`, {})));
  for (const id of ids) await succeeded(id);
  await stop();
  await flipDocument(join(folder, 'home'), `main\u0000strategy\u0000${DAMAGED}`);
  await flipDocument(join(folder, 'home'), `main\u0000run\u0000${DAMAGED}`);
  await start();
});

afterAll(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  service = await serving(join(folder, 'home'), ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
}

async function stop(): Promise<void> {
  service?.child.kill('SIGTERM');
  await service?.ended;
}

async function succeeded(id: string): Promise<void> {
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
}

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Body }> {
  const answer = await fetch(service.url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Body) };
}

async function ok(method: string, path: string, body?: unknown): Promise<unknown> {
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
    expect(runs.backtests!.map((run) => run.index_id)).not.toContain(DAMAGED);
  });

  test('a damaged one is not found on its own, and says why', async () => {
    for (const path of [`/strategies/${DAMAGED}`, `/analytics/${DAMAGED}/record`, `/analytics/${DAMAGED}/overview`]) {
      const { status, body } = await ask('GET', path);
      expect([path, status, body.error?.code]).toEqual([path, 404, 'DOCUMENT_UNREADABLE']);
    }
    expect((await ask('GET', `/analytics/${ids[6]}/overview`)).status).toBe(200);
  });

  test('it can be deleted, and then nothing is skipped', async () => {
    expect((await ask('DELETE', `/analytics/${DAMAGED}/record`)).status).toBe(204);
    expect((await ask('DELETE', `/strategies/${DAMAGED}`)).status).toBe(200);
    for (const path of ['/strategies', '/analytics/backtests']) expect((await ask('GET', path)).body.skipped).toBe(0);
    expect((await ask('GET', `/strategies/${DAMAGED}`)).body.error?.code).toBe('STRATEGY_NOT_FOUND');
  });
});

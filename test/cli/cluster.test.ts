import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../postgresql/shared-postgresql.js';
import { temporaryFolders } from '../store/temporary-folder.js';
import { finished, serving, working, type Run } from './process.js';

const FLAGS = ['--log-level', 'info', '--drain-ms', '0'];
const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};
const MARKET = { store_id: 'market', seed: 3, assets: 5, start: '2024-01-02', end: '2024-06-28' };

type Json = Record<string, unknown>;
type Node = Run & { readonly url: string };

async function ask(url: string, method: string, path: string, body?: unknown): Promise<Json> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await (await fetch(`${url}${path}`, init)).json()) as Json;
}

async function done(url: string, path: string, body: unknown, on = url): Promise<void> {
  let status = await ask(url, 'POST', path, body);
  while (status['status'] === 'pending' || status['status'] === 'running')
    status = await ask(on, 'GET', `/jobs/${String(status['job_id'])}?wait=30`);
  expect(status).toMatchObject({ status: 'succeeded' });
}

/** What two services show of one index; the second reads what the first has written, at once. */
async function shown(first: string, second: string): Promise<unknown> {
  await done(first, '/data/synthetic', MARKET);
  await ask(second, 'PUT', '/indices/EVEN', INDEX);
  await done(first, '/analytics/EVEN/backtest', {}, second);
  return Promise.all([
    ask(first, 'GET', '/analytics/EVEN/levels'),
    ask(second, 'GET', '/analytics/EVEN/weights'),
    ask(second, 'GET', '/data/reference'),
  ]);
}

async function end(...nodes: readonly Node[]): Promise<(number | string)[]> {
  for (const { child } of nodes) child.kill('SIGTERM');
  return Promise.all(nodes.map(({ ended }) => ended));
}

const newFolder = temporaryFolders();

describe.skipIf(!hasPostgresql)('several processes on one database', () => {
  let place: Awaited<ReturnType<typeof openTestDatabase>>;
  let environment: Record<string, string>;
  beforeAll(async () => {
    place = await openTestDatabase();
    environment = { DATABASE_URL: place.url, DIVISOR_ARTIFACTS: `file://${await newFolder()}` };
    await finished(['migrate'], environment);
  });
  afterAll(() => place?.drop());

  test('compute what one does, and each front shows what another wrote', async () => {
    const embedded = await serving(await newFolder(), [...FLAGS, '--workers', '1']);
    const expected = await shown(embedded.url, embedded.url);
    await end(embedded);
    const worker = await working(await newFolder(), [...FLAGS, '--workers', '1'], environment);
    const [a, b] = await Promise.all([1, 2].map(async () => serving(await newFolder(), FLAGS, environment)));
    expect(await shown(a!.url, b!.url)).toEqual(expected);
    expect(await end(a!, b!, worker)).toEqual([0, 0, 0]);
  });
});

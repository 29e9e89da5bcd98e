import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgresql } from '../../test/postgresql/postgresql-server.js';
import { percentile } from '../percentiles.js';
import { finished, startService, type RunningService } from './service.js';

/**
 * What a view costs more on a front, on PostgreSQL and a shared folder, than embedded: the same requests in turns, so that
 * other work on the machine meets both. Goal: 3 ms at the median.
 */
const QUESTIONS = 100;
const WARM_UP = 20;

const folder = await mkdtemp(join(tmpdir(), 'bench-front-'));
const server = await startPostgresql({ settings: ['-c', 'fsync=on'] });
const places = ['--database', server.url, '--artifacts', `file://${folder}`, '--migrate', 'on'];
const services = {
  embedded: await startService(['--workers', '1']),
  front: await startService([...places, '--workers', '1']),
};

async function ask<T>({ url }: RunningService, method: string, path: string, body?: unknown): Promise<T> {
  const init =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`${url}${path}`, { method, ...init });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T; // The service's own answer.
}

for (const service of Object.values(services)) {
  const job = async (path: string, body: unknown): Promise<void> =>
    finished(service, (await ask<{ job_id: string }>(service, 'POST', path, body)).job_id);
  await job('/data/synthetic', { store_id: 'm', seed: 1, assets: 100, start: '2016-01-04', end: '2018-12-31' });
  const pipeline = { weighting: { type: 'MarketCapWeight' } };
  const index = {
    id: 'BIG',
    name: 'Big',
    calendar: 'XNYS',
    base_date: '2016-01-04',
    rebalance: { frequency: 'monthly' },
  };
  await ask(service, 'PUT', '/indices/BIG', { ...index, pipeline });
  await job('/analytics/BIG/backtest', {});
}

const VIEWS: Readonly<Record<string, (k: number) => string>> = {
  index: () => '/indices/BIG',
  'status of a job': () => '/jobs/backtest:BIG',
  overview: () => '/analytics/BIG/overview',
  'levels from a date': (k) => `/analytics/BIG/levels?start=2017-01-${String(1 + (k % 28)).padStart(2, '0')}`,
  weights: (k) => `/analytics/BIG/weights?as_of=2018-02-${String(1 + (k % 28)).padStart(2, '0')}`,
  prices: (k) => `/data/prices/A000${k % 10}?columns=CLOSE`,
};

async function time(service: RunningService, path: string): Promise<number> {
  const start = performance.now();
  await (await fetch(`${service.url}${path}`)).arrayBuffer();
  return performance.now() - start;
}

const median = (times: readonly number[]): number =>
  percentile(
    times.toSorted((a, b) => a - b),
    0.5,
  );

for (const [name, path] of Object.entries(VIEWS)) {
  const times = { embedded: [] as number[], front: [] as number[] };
  for (let k = 0; k < WARM_UP + QUESTIONS; k++) {
    const taken = { embedded: await time(services.embedded, path(k)), front: await time(services.front, path(k)) };
    if (k < WARM_UP) continue;
    times.embedded.push(taken.embedded);
    times.front.push(taken.front);
  }
  const [embedded, front] = [median(times.embedded), median(times.front)];
  const more = (front - embedded).toFixed(2);
  console.log(`${name.padEnd(20)}embedded ${embedded.toFixed(2)} ms   front ${front.toFixed(2)} ms   ${more} ms more`);
}

for (const service of Object.values(services)) await service.stop();
await server.stop();
await rm(folder, { recursive: true });

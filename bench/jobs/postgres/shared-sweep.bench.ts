import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgresql } from '../../../test/postgresql/postgresql-server.js';
import { finished, processorTime, startService, startWorker, type RunningService } from '../../http/service.js';
import { percentile } from '../../percentiles.js';
import { SWEEP_DOCUMENT, sweepGrid } from '../../workers/sweep-case.js';
import { numberFrom } from '../../variables.js';

/**
 * A sweep over the worker processes of a cluster, of one thread each, beside the same sweep embedded over as many threads:
 * in turns, because other work on the machine meets both; wall time and processor time of all processes of the product.
 * Goal: within 15 % for 1,000 variants, SWEEP_VARIANTS=1000: some 40 s of processor time a sweep, of which there are eight.
 */
const VARIANTS = numberFrom('SWEEP_VARIANTS');
const ROUNDS = numberFrom('SWEEP_ROUNDS');
const WORKERS = 4;

const folder = await mkdtemp(join(tmpdir(), 'bench-shared-'));
const server = await startPostgresql({ settings: ['-c', 'fsync=on'] });
const places = ['--database', server.url, '--artifacts', `file://${folder}`];
const embedded = await startService(['--workers', String(WORKERS)]);
const front = await startService([...places, '--migrate', 'on']);
const workers = await Promise.all(
  Array.from({ length: WORKERS }, () => startWorker([...places, '--workers', '1', '--warm-up', 'off'])),
);
const client = new Client(server.url);
await client.connect();

async function post<T>({ url }: RunningService, path: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T; // The service's own answer.
}

const grid = sweepGrid(VARIANTS);

async function job(service: RunningService, path: string, body: unknown): Promise<void> {
  await finished(service, (await post<{ job_id: string }>(service, path, body)).job_id);
}

interface Measured {
  readonly seconds: number;
  readonly processorSeconds: number;
}

async function sweep(service: RunningService, name: string, processes: readonly RunningService[]): Promise<Measured> {
  const work = (): number => processes.reduce((sum, each) => sum + processorTime(each), 0);
  const [start, before] = [performance.now(), work()];
  const request = { transaction_cost_bps: 10 };
  await job(service, '/analytics/sweeps', { sweep_id: name, document: SWEEP_DOCUMENT, request, grid });
  return { seconds: (performance.now() - start) / 1000, processorSeconds: (work() - before) / 1000 };
}

const market = { store_id: 'bench', seed: 42, assets: 500, start: '2010-01-04', end: '2019-12-31', sectors: 8 };
for (const service of [embedded, front]) await job(service, '/data/synthetic', market);

const times = { embedded: [] as Measured[], cluster: [] as Measured[] };
for (let round = 0; round <= ROUNDS; round++) {
  const alone = await sweep(embedded, `round-${round}`, [embedded]);
  const shared = await sweep(front, `round-${round}`, [front, ...workers]);
  console.log(`round ${round}           ${alone.seconds.toFixed(1)} s and ${shared.seconds.toFixed(1)} s`);
  if (round === 0) continue; // Threads start, markets are fetched.
  times.embedded.push(alone);
  times.cluster.push(shared);
}

const median = (values: readonly Measured[], of: keyof Measured): number =>
  percentile(
    values.map((value) => value[of]).toSorted((a, b) => a - b),
    0.5,
  );
for (const of of ['seconds', 'processorSeconds'] as const) {
  const [alone, shared] = [median(times.embedded, of), median(times.cluster, of)];
  const more = ((100 * shared) / alone - 100).toFixed(0);
  console.log(
    `${of.padEnd(18)}${WORKERS} threads ${alone.toFixed(1)}   ${WORKERS} processes ${shared.toFixed(1)}   ${more} % more`,
  );
}
const { rows } = await client.query('SELECT count(*)::int AS left FROM divisor.parts');
console.log(`${VARIANTS} variants, ${ROUNDS} rounds; parts left ${rows[0].left}`);

await client.end();
for (const service of [embedded, ...workers, front]) await service.stop();
await server.stop();
await rm(folder, { recursive: true });

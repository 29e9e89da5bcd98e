import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { jobRoutes } from '#contract/jobs.js';
import { SCOPES } from '#contract/route.js';
import { createApp } from '#http/app.js';
import { jobHandlers } from '#http/routes/jobs.js';
import { listen } from '#http/server.js';
import { systemClock } from '#jobs/clock.js';
import { createJobSystem } from '#jobs/create-job-system.js';
import { createLocalQueue } from '#jobs/local/local-queue.js';
import { nodeLimits } from '#jobs/node-limits.js';
import type { JobKind } from '#jobs/job-kind.js';
import { createPool } from '#jobs/pool.js';
import { createNodePool } from '#jobs/resolve-task.js';
import type { TaskName } from '#jobs/tasks.js';
import { createJobsService } from '#services/operations/jobs.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';

/**
 * Latency of GET /jobs/{job_id} at 200 requests a second, first with idle workers, then with every worker in an endless
 * loop. Goal: p99 within 50 ms with as many workers as cores.
 */
const RATE = 200;
const SECONDS = 5;
const WORKERS = 2;

const spin: JobKind<string> = {
  kind: 'simulate',
  key: (of) => of,
  decode: (stored) => stored as string,
  run: async (_, attempt) => ({ result: { value: await attempt.compute('spin' as TaskName, null as never) } }),
};

const folder = await mkdtemp(join(tmpdir(), 'bench-'));
const home = await openHome(folder);
const store = await openStore({ home, onFailure: console.error });
const silent = pino({ level: 'silent' });
const clock = systemClock;
const limits = nodeLimits({ workers: WORKERS, memoryBytes: 1e12 });
const engine = createJobSystem({
  queue: createLocalQueue({ store: store.documents, clock, limits, log: silent }),
  artifacts: store.artifacts,
  pool: createNodePool(
    createPool({ workers: WORKERS, door: new URL('../../test/jobs/hostile-worker.js', import.meta.url) }),
    {
      file: async () => '',
      market: async () => Promise.reject(new Error('no task reads a market')),
      destination: store.artifacts.destination,
    },
  ),
  clock,
  limits,
  log: silent,
});
engine.register({ [spin.kind]: spin });
await engine.start();
const app = createApp({
  api: jobRoutes,
  handlers: jobHandlers(
    createJobsService({ system: engine, artifacts: store.artifacts, stopping: new AbortController().signal }),
  ),
  authenticate: () => ({ keyId: null, name: null, scopes: new Set(SCOPES) }),
  version: '0.0.0',
  log: silent,
});
const server = await listen({ app, host: '127.0.0.1', port: 0 });

async function measure(name: string): Promise<void> {
  const cannon = fileURLToPath(import.meta.resolve('autocannon'));
  const words = [
    '--json',
    '--no-progress',
    '-c',
    '4',
    '-R',
    String(RATE),
    '-d',
    String(SECONDS),
    `${server.url}/jobs/simulate:0`,
  ];
  const child = spawn(process.execPath, [cannon, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await once(child, 'close');
  const { latency, non2xx } = JSON.parse(text) as {
    latency: Record<'p50' | 'p97_5' | 'p99' | 'max', number>;
    non2xx: number;
  };
  if (non2xx > 0) throw new Error(`${non2xx} answers other than 2xx`);
  console.log(
    `${name.padEnd(20)} p50 ${latency.p50} ms   p97.5 ${latency.p97_5} ms   p99 ${latency.p99} ms   max ${latency.max} ms`,
  );
}

await engine.submit({ kind: spin, payload: '0', request: null, estimatedBytes: 1 });
await engine.cancel('simulate:0');
await measure('idle workers');
for (let worker = 0; worker < WORKERS; worker++)
  await engine.submit({ kind: spin, payload: String(worker), request: null, estimatedBytes: 1 });
await measure(`${WORKERS} endless loops`);
await server.close(100);
await engine.stop();
await store.close();
await home.close();
await rm(folder, { recursive: true });

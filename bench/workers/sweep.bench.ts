import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import { readNumber, SWEEP_COUNTS } from '../variables.js';

/**
 * Measures a sweep from its request to the ranked table: 500 securities, ten years, quarterly, total return, costs.
 * Every variant has its own definition. Prints the wall-clock time, the CPU time of the whole process, and the growth
 * of its memory. The CPU time is printed because other load on the machine delays variants. Goal: 1,000 variants <= 5 s
 * on two workers, <= 1 GiB. SWEEP_VARIANTS reduces the size; it must be a multiple of 20.
 */
const VARIANTS = readNumber('SWEEP_VARIANTS');
const WORKERS = 2;

/** Base definition: 500 securities, quarterly, total return. */
const SWEEP_DOCUMENT = {
  id: 'BENCH',
  name: 'Bench',
  calendar: 'XNYS',
  base_date: '2010-01-04',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { count: 500 } }],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', cap: 0.1 },
  },
};

const folder = await mkdtemp(join(tmpdir(), 'bench-sweep-'));
const { settings } = readSettings(
  ['--home', join(folder, 'home'), '--port', '0', '--drain-ms', '0', '--workers', String(WORKERS)],
  {},
);
const running = await start(settings, createLog('error'));

interface Job {
  readonly job_id: string;
  readonly status: string;
  readonly error: unknown;
  readonly result: { readonly refused: number; readonly overfitting: { readonly probability: number } | null };
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(running.server.url + path, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return (await response.json()) as T;
}

async function runToEnd(path: string, body: unknown): Promise<Job> {
  let job = await ask<Job>('POST', path, body);
  while (job.status === 'pending' || job.status === 'running')
    job = await ask<Job>('GET', `/jobs/${job.job_id}?wait=30`);
  if (job.status !== 'succeeded') throw new Error(JSON.stringify(job.error ?? job));
  return job;
}

try {
  await runToEnd('/data/synthetic', {
    store_id: 'bench',
    seed: 42,
    assets: 500,
    start: '2010-01-04',
    end: '2019-12-31',
    sectors: 8,
  });
  const grid = createSweepGrid(VARIANTS);
  for (const warmUp of [true, false]) {
    const resident = process.memoryUsage.rss();
    let peak = resident;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 50);
    const cpu = process.cpuUsage();
    const from = performance.now();
    const body = {
      sweep_id: warmUp ? 'warm' : 'bench',
      document: SWEEP_DOCUMENT,
      request: { transaction_cost_bps: 10 },
      ...(warmUp ? { patches: Array.from({ length: 16 }, () => ({})) } : { grid }),
    };
    const { result } = await runToEnd('/analytics/sweeps', body);
    const seconds = (performance.now() - from) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    clearInterval(watch);
    if (warmUp) continue;
    const work = (user + system) / 1e6;
    console.log(
      `${VARIANTS} variants (${result.refused} refused) on ${WORKERS} workers: clock ${seconds.toFixed(1)} s; processor ${work.toFixed(1)} s, ${((1000 * work) / VARIANTS).toFixed(1)} ms a variant, ${(work / WORKERS).toFixed(1)} s for each of ${WORKERS} processors were they idle (processor / ${WORKERS}); resident ${(resident / 2 ** 20).toFixed(0)} MiB before, ${(peak / 2 ** 20).toFixed(0)} MiB at most; overfitting ${result.overfitting?.probability.toFixed(3) ?? 'unknown'}`,
    );
  }
} finally {
  await stop({ ...running, drainMs: 0 });
  await rm(folder, { recursive: true, force: true });
}

/** Returns a grid with the given number of definitions. @param variants a multiple of `SWEEP_COUNTS` */
function createSweepGrid(variants: number) {
  const caps = variants / SWEEP_COUNTS;
  return {
    '/document/pipeline/weighting/cap': Array.from({ length: caps }, (_, i) => 0.01 + i / 1000),
    '/document/pipeline/selection/0/params/count': Array.from({ length: SWEEP_COUNTS }, (_, i) => 500 - 5 * i),
  };
}

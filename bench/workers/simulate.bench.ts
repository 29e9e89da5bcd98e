import { setMaxListeners } from 'node:events';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool } from '#jobs/pool.js';
import type { SimulationStart } from '#jobs/tasks/runs.js';
import { momentsOf, planSimulation, SimulationRequest, tallyBytes } from '#domain/simulation/simulation.js';
import { seededPanel } from '../kernels/measure.js';

/**
 * Block-bootstrapped paths of a year on two workers, from the plan to the answer's JSON: wall and processor time, and the memory that the
 * process grew by at its peak. Goals: 100,000 paths within 1 s and 200 MiB, 1,000,000 in the same memory. On a machine that does other
 * work the processor time, halved, is the nearer measure.
 */
const WORKERS = 2;
const HORIZON = 252;
const REPEATS = 3;
const growth = seededPanel(2520).map((value) => 1 + value);
const moments = momentsOf(growth);
const dates = Array.from({ length: HORIZON }, (_, t) => `session ${t}`);
const signal = new AbortController().signal;
setMaxListeners(0, signal); // One for each part.

const SIZES = [100_000, 1_000_000] as const;

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const destination = { kind: 'folder', folder, lowWaterMark: {} } as const;
const pool = createPool({ workers: WORKERS });
try {
  await simulate(10_000); // threads start, code warms
  const before = process.memoryUsage().rss;
  // Memory first, one simulation of each size: what is left of earlier ones waits for the collector and belongs to none.
  const grown: number[] = [];
  for (const paths of SIZES) {
    await simulate(paths);
    grown.push((1024 * process.resourceUsage().maxRSS - before) / 2 ** 20);
  }
  for (const [k, paths] of SIZES.entries()) {
    let wall = Infinity;
    let processor = Infinity;
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const start = performance.now();
      const cpu = process.cpuUsage();
      await simulate(paths);
      const { user, system } = process.cpuUsage(cpu);
      wall = Math.min(wall, performance.now() - start);
      processor = Math.min(processor, (user + system) / 1000);
    }
    console.log(
      `${paths} paths x ${HORIZON} on ${WORKERS} workers: ${wall.toFixed(0)} ms, ${processor.toFixed(0)} ms of processors; memory grew by ${grown[k]!.toFixed(0)} MiB at most`,
    );
  }
} finally {
  await pool.close();
  rmSync(folder, { recursive: true });
}

async function simulate(paths: number): Promise<void> {
  const request = SimulationRequest.parse({ paths, horizon: HORIZON });
  const plan = planSimulation(request, { kind: 'block_bootstrap', growth, block: request.block }, moments);
  const memory = new SharedArrayBuffer(tallyBytes(plan));
  const parts = plan.cuts
    .slice(1)
    .map(
      (_, part) => pool.run({ lane: 'heavy', task: 'simulate-paths', input: { plan, part, memory }, signal }).output,
    );
  const [{ precision }] = (await Promise.all(parts)) as [{ precision: 'float64' | 'float32' }];
  const start: SimulationStart = {
    plan,
    observations: growth.length,
    observedStart: '2010-01-04',
    observedEnd: '2019-12-31',
    mean: moments.mean,
    deviation: moments.deviation,
    factorShare: null,
  };
  const { view } = await pool.run({
    lane: 'heavy',
    task: 'sum-simulation',
    input: {
      start,
      memory,
      request,
      runId: 'BENCH',
      dates,
      precision,
      outputs: { destination, names: { view: randomUUID() } },
    },
    signal,
  }).output;
  if (view.bytes < HORIZON) throw new Error(`${view.bytes} bytes of answer`);
}

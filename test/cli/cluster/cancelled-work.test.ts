import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { IS_SOAK } from '../../soak.js';
import { openCluster, prepare, type RunningCluster } from './running-cluster.js';

if (!IS_SOAK) console.log('skipped: cancelled work of every kind, as it takes minutes; npm run soak has it');

/** Maximum time in ms until the processor of a cancelled job is free. */
const BACK_MS = 2500;
/** A market on which work of every kind takes seconds. */
const WIDE = { store_id: 'wide', seed: 5, assets: 1200, start: '2014-01-02', end: '2024-06-28' };
const INDEX = {
  id: 'WIDE',
  name: 'Wide',
  calendar: 'XNYS',
  base_date: '2016-01-04',
  rebalance: { frequency: 'weekly' },
  pipeline: { weighting: { type: 'MinimumVarianceWeight', window: 504 } },
};
const CAPS = Array.from({ length: 200 }, (_, i) => 1 + i);
const LONG_ONLY = {
  id: 'core',
  name: 'Core',
  constraints: [{ id: 'p', type: 'PositionBounds', params: { lower: 0, upper: 0.1 } }],
};
const createOptimisation = (objective: object) => ({ index_id: 'WIDE', constraint_set_id: 'core', objective });

/** Jobs by family. Each job is cancelled during its longest phase. */
const FAMILIES: readonly (readonly [family: string, path: string, body: object])[] = [
  ['backtest', '/analytics/WIDE/backtest', {}],
  ['optimisation', '/optimise/runs', createOptimisation({ type: 'min_variance' })],
  ['CVaR', '/optimise/runs', createOptimisation({ type: 'min_cvar', confidence: 0.95, scenarios: 2000 })],
  ['CDaR', '/optimise/runs', createOptimisation({ type: 'min_cdar', confidence: 0.95, scenarios: 2000 })],
  ['risk model', '/risk-models/wide/estimate', { index_id: 'RUN', intensity_method: 'ledoit_wolf' }],
  [
    'sweep',
    '/analytics/sweeps',
    { sweep_id: 'wide', index_id: 'WIDE', grid: { '/request/transaction_cost_bps': CAPS } },
  ],
  ['simulation', '/analytics/RUN/simulate', { horizon: 1260, paths: 100_000 }],
  ['market', '/data/synthetic', { ...WIDE, store_id: 'second', assets: 3000, activate: false }],
];

interface Task {
  readonly state: string;
  readonly nice: number;
  readonly parent: number;
}

/**
 * Returns the fields of `/proc/.../stat` after the process name, because the name may contain any character. Returns
 * undefined if the process has ended.
 */
function readTask(path: string): Task | undefined {
  try {
    const statText = readFileSync(`${path}/stat`, 'utf8');
    const fields = statText.slice(statText.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, parent: Number(fields[1]), nice: Number(fields[16]) };
  } catch {
    return undefined;
  }
}

/** Returns the ids of this process and of all its child processes, including workers and market readers. */
function listOwnProcesses(): readonly number[] {
  const ids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const parents = new Map(ids.map((id) => [id, readTask(`/proc/${id}`)?.parent ?? 0]));
  const isOwn = (id: number): boolean => id === process.pid || (id > 1 && isOwn(parents.get(id) ?? 0));
  return ids.filter(isOwn);
}

/** Returns true if a thread with the lower priority of jobs runs or waits for a processor. */
function isBusy(processes: readonly number[]): boolean {
  const ownPriority = getPriority();
  return processes.some((id) =>
    listTasks(id)
      .map((thread) => readTask(`/proc/${id}/task/${thread}`))
      .some((task) => task !== undefined && task.nice > ownPriority && 'RD'.includes(task.state)),
  );
}

function listTasks(id: number): readonly string[] {
  try {
    return readdirSync(`/proc/${id}/task`);
  } catch {
    return []; // the process has ended
  }
}

const LOOK_MS = 20;
/** Number of consecutive equal samples that confirm a state. A thread may be idle for a moment during its work. */
const LOOK_COUNT = 10;

/** Resolves after enough consecutive samples in the wanted state. @returns the time of the first of these samples */
async function waitForSamples(isWanted: boolean, processes?: readonly number[]): Promise<number> {
  let startMs = performance.now();
  for (let looks = 0; looks < LOOK_COUNT;) {
    if (isBusy(processes ?? listOwnProcesses()) === isWanted) looks++;
    else {
      looks = 0;
      startMs = performance.now();
    }
    await sleep(LOOK_MS);
  }
  return startMs;
}

describe.skipIf(!IS_SOAK || !hasPostgresql)('a cancelled job releases its processor in time', () => {
  let cluster: RunningCluster;
  beforeAll(async () => {
    cluster = await openCluster();
    await cluster.startWorker();
    const { frontEnd } = cluster;
    await prepare(frontEnd, ['RUN'], WIDE);
    expect((await frontEnd.ask('PUT', '/indices/WIDE', INDEX)).status).toBe(200);
    expect((await frontEnd.ask('PUT', '/optimise/constraint-sets/core', LONG_ONLY)).status).toBe(200);
    const { body } = await frontEnd.ask<{ job_id: string }>('POST', '/analytics/RUN/backtest', {});
    expect(await frontEnd.waitForJob(body.job_id)).toMatchObject({ status: 'succeeded' });
  }, 600_000);
  afterAll(() => cluster?.close());

  test.each(FAMILIES)('%s', async (family, path, body) => {
    const { frontEnd } = cluster;
    await waitForSamples(false);
    const submission = await frontEnd.ask<{ job_id: string }>('POST', path, body);
    expect([submission.status, submission.body]).toEqual([202, expect.anything()]);
    const jobId = submission.body.job_id;
    await cluster.until(jobId, ({ status }) => status === 'running');
    await waitForSamples(true);
    const processes = listOwnProcesses(); // listed before the cancellation, after which the next market reader starts at once
    const start = performance.now();
    const { body: answer } = await frontEnd.ask<{ status: string }>('DELETE', `/jobs/${jobId}`);
    expect(answer).toMatchObject({ status: 'cancelled' });
    const backMs = (await waitForSamples(false, processes)) - start;
    console.log(JSON.stringify({ family, backMs: Math.round(backMs) }));
    expect(backMs).toBeLessThan(BACK_MS);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { PART_COUNT, SINGLE_THREAD_SECURITIES_MAX } from '#domain/risk/estimation.js';
import { RiskModelRequest } from '#domain/risk/risk-models.js';
import { estimateModelMemory } from '#services/risk/models.js';
import { parseValidDay } from '#domain/base/time.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import type { RunningService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { waitUntil } from '../../waiting.js';
import type { ListeningProcess } from '../process.js';
import { startHeldParts } from './paused-parts.js';
import { openCluster, type RunningCluster } from './running-cluster.js';

if (!IS_SOAK)
  console.log(
    'skipped: a risk model that several workers compute, as it takes a minute; MODEL_SECURITIES and MODEL_DAYS set its size, MODEL_WORKERS and MODEL_ROUNDS how it is measured',
  );

const SECURITIES = Number(process.env['MODEL_SECURITIES'] ?? SINGLE_THREAD_SECURITIES_MAX + 200);
const DAY_COUNT = Number(process.env['MODEL_DAYS'] ?? 40);
const WORKER_COUNT = Number(process.env['MODEL_WORKERS'] ?? 2);
const ROUNDS = Number(process.env['MODEL_ROUNDS'] ?? 1);
const DAYS = Array.from({ length: DAY_COUNT }, (_, t) => new Date(Date.UTC(2024, 0, 2 + t)).toISOString().slice(0, 10));
const IDENTIFIERS = Array.from({ length: SECURITIES }, (_, i) => `N${10_000 + i}`);

/** Serves closes of all securities on all days from a folder. */
async function serveMarket({ root, ask }: RunningService): Promise<void> {
  const random = createCounterRandom({ seed: 3, stream: 0 });
  const closes = new Float64Array(SECURITIES).fill(50);
  const location = join(root, 'large');
  await mkdir(location);
  await writeFile(join(location, 'market.csv'), 'identifier,date,CLOSE\n');
  for (const day of DAYS) {
    const marketReturn = 0.01 * random.normal();
    const rows = IDENTIFIERS.map(
      (id, i) => `${id},${day},${(closes[i]! *= 1 + marketReturn + 0.02 * random.normal())}\n`,
    );
    await appendFile(join(location, 'market.csv'), rows.join(''));
  }
  const store = { store_id: 'large', name: 'Large', kind: 'folder', location, activate: true };
  expect((await ask('POST', '/data/stores', store)).status).toBe(201);
}

const TICK_MS = 10;

/** Processor time and memory that a process used. */
interface ResourceUsage {
  readonly processorMs: number;
  /** Largest resident memory since the last measurement, bytes. */
  readonly peakBytes: number;
}

/** Returns the resource use of a process. Also starts a new measurement of its peak memory. */
function readUsage({ child: { pid } }: ListeningProcess): ResourceUsage {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return { processorMs: TICK_MS * (Number(fields[11]) + Number(fields[12])), peakBytes: peak };
}

interface Model {
  readonly content_hash: string;
  readonly diagnostics: { readonly assets: number; readonly condition_number: number };
}

/** Starts the estimate of a model of all securities. @returns the id of the job */
async function startModel({ ask }: RunningService): Promise<string> {
  const { status, body } = await ask<{ job_id: string }>('POST', '/risk-models/all/estimate', {
    identifiers: IDENTIFIERS,
  });
  expect([status, body]).toEqual([202, expect.anything()]);
  return body.job_id;
}

/** Returns the hash and the diagnostics of the model after its estimate. */
async function readModel(cluster: RunningCluster, jobId: string): Promise<Model> {
  await cluster.until(jobId, ({ status }) => status !== 'pending' && status !== 'running');
  const [model] = await cluster.query<{ body: string }>(
    `SELECT body FROM divisor.documents WHERE kind = 'risk-model' AND id = 'all'`,
  );
  const { content_hash, diagnostics } = JSON.parse(model!.body) as Model;
  return { content_hash, diagnostics };
}

describe.skipIf(!hasPostgresql || !IS_SOAK)('a risk model of more securities than one thread estimates', () => {
  let cluster: RunningCluster;
  let workers: ListeningProcess[];
  let expected: Model;
  /**
   * Bytes of memory that the first estimate added to a worker. They include the code and data that the worker loaded.
   */
  let coldBytes: number;
  let singleRounds: Awaited<ReturnType<typeof measureRepeatedly>>;
  beforeAll(async () => {
    cluster = await openCluster({ DIVISOR_LEASE: '5' });
    workers = [await cluster.startWorker()];
    await serveMarket(cluster.frontEnd);
    await readAllServed();
    const first = await measureEstimate();
    expected = first.model;
    coldBytes = first.uses[0]!.addedBytes;
    singleRounds = await measureRepeatedly();
    while (workers.length < WORKER_COUNT) workers.push(await cluster.startWorker());
    await readAllServed();
  });
  afterAll(() => cluster?.close());

  const readAllServed = () => waitUntil(async () => (await cluster.nodes()).every(({ market }) => market !== null));

  /** Estimates the model. @returns the model, the duration, and the resource use of each worker */
  async function measureEstimate() {
    const before = workers.map(readUsage);
    const resident = workers.map(
      ({ child: { pid } }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024,
    );
    const startMs = performance.now();
    const model = await readModel(cluster, await startModel(cluster.frontEnd));
    const ms = performance.now() - startMs;
    const uses = workers.map(readUsage).map(({ processorMs, peakBytes }, w) => ({
      processorMs: processorMs - before[w]!.processorMs,
      addedBytes: peakBytes - resident[w]!,
    }));
    return { model, ms, uses };
  }

  async function measureRepeatedly() {
    const rounds: Awaited<ReturnType<typeof measureEstimate>>[] = [];
    while (rounds.length < ROUNDS) rounds.push(await measureEstimate());
    return rounds;
  }

  test('is shared by all workers within its estimated memory', async () => {
    await measureEstimate(); // lets the other workers open the market for their first parts
    const sharedRounds = await measureRepeatedly();
    for (const { model } of [...singleRounds, ...sharedRounds]) expect(model).toEqual(expected);
    const dates = DAYS.map((day) => parseValidDay(day));
    const order = { identifiers: IDENTIFIERS, request: RiskModelRequest.parse({}) };
    const estimate = estimateModelMemory(order, { dates, identifiers: IDENTIFIERS } as never, 1); // the estimate reads no other member of the market
    const formatMs = (ms: number): string => `${Math.round(ms)} ms`;
    const formatMib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
    const computeMedian = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
    const sumProcessorMs = ({ uses }: (typeof sharedRounds)[number]): number =>
      uses.reduce((sum, use) => sum + use.processorMs, 0);
    const findBusiestMs = ({ uses }: (typeof sharedRounds)[number]): number =>
      Math.max(...uses.map((use) => use.processorMs));
    const formatFigures = (rounds: typeof sharedRounds): string =>
      rounds
        .map(({ uses, ms }) => `${uses.map((use) => Math.round(use.processorMs)).join(' and ')} in ${formatMs(ms)}`)
        .join('; ');
    const [one, all, busiest] = [
      singleRounds.map(sumProcessorMs),
      sharedRounds.map(sumProcessorMs),
      sharedRounds.map(findBusiestMs),
    ].map(computeMedian);
    console.log(
      `${SECURITIES} securities, ${DAYS.length} days: processor of one worker ${formatFigures(singleRounds)}; of ${workers.length} ${formatFigures(sharedRounds)}; ` +
        `more for each of ${PART_COUNT} parts ${((all! - one!) / PART_COUNT).toFixed(2)} ms; ` +
        `times as fast with equal shares ${((workers.length * one!) / all!).toFixed(2)}, by the busiest ${(one! / busiest!).toFixed(2)}; ` +
        `memory ${sharedRounds[0]!.uses.map(({ addedBytes }) => formatMib(addedBytes)).join(', ')}, one ${formatMib(singleRounds[0]!.uses[0]!.addedBytes)}, its first estimate ${formatMib(coldBytes)}, estimated ${formatMib(estimate)} each`,
    );
    expect(coldBytes).toBeLessThan(estimate);
    for (const { uses } of [...singleRounds, ...sharedRounds])
      for (const { addedBytes } of uses) expect(addedBytes).toBeLessThan(estimate);
  });

  const findWorker = (node: string): ListeningProcess => workers.find(({ home }) => node.endsWith(home))!;

  test('is bit-identical on two workers and on one, after the worker that runs it is killed', async () => {
    expect(expected.diagnostics.assets).toBe(SECURITIES);
    const { jobId, own, other } = await startHeldParts(cluster, {
      workerAt: findWorker,
      start: () => startModel(cluster.frontEnd),
    });
    expect(other).not.toBe(own);
    const killedWorker = findWorker(own);
    killedWorker.child.kill('SIGKILL');
    workers = workers.filter((worker) => worker !== killedWorker);
    cluster.s3.isHeld = false;
    expect(await readModel(cluster, jobId)).toEqual(expected);
    expect(await cluster.row(jobId)).toMatchObject({ status: 'succeeded', attempt: 2, crashes: 0, losses: 1 });
    expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
  });

  test('is unchanged when a later estimate is cancelled', async () => {
    workers.push(await cluster.startWorker());
    await waitUntil(async () => (await cluster.nodes()).filter(({ market }) => market !== null).length >= 3);
    const { jobId } = await startHeldParts(cluster, {
      workerAt: findWorker,
      start: () => startModel(cluster.frontEnd),
    });
    await cluster.frontEnd.ask('DELETE', `/jobs/${jobId}`);
    cluster.s3.isHeld = false;
    expect(await cluster.row(jobId)).toMatchObject({ status: 'cancelled' });
    expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    expect(await readModel(cluster, jobId)).toEqual(expected);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { WHOLE_MODEL_MAX } from '#domain/risk/model-parts.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import type { RunningService } from '../../services/running-service.js';
import { IS_SOAK } from '../../soak.js';
import { waitUntil } from '../../waiting.js';
import type { Listening } from '../process.js';
import { heldParts } from './held-parts.js';
import { openCluster, type RunningCluster } from './running-cluster.js';

if (!IS_SOAK)
  console.log(
    'skipped: a risk model that several workers compute, as it takes a minute; MODEL_SECURITIES sets its size',
  );

const SECURITIES = Number(process.env['MODEL_SECURITIES'] ?? WHOLE_MODEL_MAX + 200);
const DAYS = Array.from({ length: 40 }, (_, t) => new Date(Date.UTC(2024, 0, 2 + t)).toISOString().slice(0, 10));
const IDENTIFIERS = Array.from({ length: SECURITIES }, (_, i) => `N${10_000 + i}`);

/** Closes of all securities on all days, as an import. */
function market() {
  const random = createCounterRandom({ seed: 3, stream: 0 });
  const closes = new Float64Array(SECURITIES).fill(50);
  const data = DAYS.flatMap((day) => {
    const common = 0.01 * random.normal();
    return IDENTIFIERS.map((identifier, i) => [identifier, day, (closes[i]! *= 1 + common + 0.02 * random.normal())]);
  });
  const table = { index: data.map((_, i) => i), columns: ['identifier', 'date', 'CLOSE'], data };
  return { store_id: 'large', name: 'Large', activate: true, tables: { market: table } };
}

interface Model {
  readonly content_hash: string;
  readonly diagnostics: { readonly assets: number; readonly condition_number: number };
}

/** Estimates a model of all securities. @returns the id of the job */
async function startModel({ ask }: RunningService): Promise<string> {
  const { status, body } = await ask<{ job_id: string }>('POST', '/risk-models/all/estimate', {
    identifiers: IDENTIFIERS,
  });
  expect([status, body]).toEqual([202, expect.anything()]);
  return body.job_id;
}

/** Hash and diagnostics of the model once it is estimated. */
async function modelOf(cluster: RunningCluster, jobId: string): Promise<Model> {
  await cluster.until(jobId, ({ status }) => status !== 'pending' && status !== 'running');
  const [model] = await cluster.query<{ body: string }>(
    `SELECT body FROM divisor.documents WHERE kind = 'risk-model' AND id = 'all'`,
  );
  const { content_hash, diagnostics } = JSON.parse(model!.body) as Model;
  return { content_hash, diagnostics };
}

describe.skipIf(!hasPostgresql || !IS_SOAK)('a risk model of more securities than one thread estimates', () => {
  let cluster: RunningCluster;
  let workers: Listening[];
  let expected: Model;
  beforeAll(async () => {
    cluster = await openCluster({ DIVISOR_LEASE: '5' });
    workers = [await cluster.startWorker()];
    expect((await cluster.front.ask('POST', '/data/import', market())).status).toBe(201);
    expected = await modelOf(cluster, await startModel(cluster.front));
    workers.push(await cluster.startWorker());
    await waitUntil(async () => (await cluster.nodes()).every(({ market }) => market !== null));
  });
  afterAll(() => cluster?.close());

  const workerAt = (node: string): Listening => workers.find(({ home }) => node.endsWith(home))!;

  test('has the bits of one worker on two, after the one that has it is killed', async () => {
    expect(expected.diagnostics.assets).toBe(SECURITIES);
    const { jobId, own, other } = await heldParts(cluster, { workerAt, start: () => startModel(cluster.front) });
    expect(other).not.toBe(own);
    workerAt(own).child.kill('SIGKILL');
    cluster.s3.isHeld = false;
    expect(await modelOf(cluster, jobId)).toEqual(expected);
    expect(await cluster.row(jobId)).toMatchObject({ status: 'succeeded', attempt: 2, crashes: 0, losses: 1 });
    expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
  });

  test('is left as it was when a later estimate is cancelled', async () => {
    workers = [workers.at(-1)!, await cluster.startWorker()];
    await waitUntil(async () => (await cluster.nodes()).filter(({ market }) => market !== null).length >= 3);
    const { jobId } = await heldParts(cluster, { workerAt, start: () => startModel(cluster.front) });
    await cluster.front.ask('DELETE', `/jobs/${jobId}`);
    cluster.s3.isHeld = false;
    expect(await cluster.row(jobId)).toMatchObject({ status: 'cancelled' });
    expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    expect(await modelOf(cluster, jobId)).toEqual(expected);
  });
});

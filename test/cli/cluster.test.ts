import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgresql, openTestDatabase } from '../postgresql/shared-postgresql.js';
import { runService } from '../services/running-service.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';
import { INDEX, MARKET } from './even-index.js';
import { runHere, startService, startServiceHere, startWorkerProcess, type Run } from './process.js';
import { openCollector } from './tracing/collector.js';

const FLAGS = ['--log-level', 'info', '--drain-ms', '0'];

type Json = Record<string, unknown>;
type Node = Run & { readonly url: string; readonly home: string };

async function ask(url: string, method: string, path: string, body?: unknown): Promise<Json> {
  const init =
    body === undefined
      ? { method }
      : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return (await (await fetch(`${url}${path}`, init)).json()) as Json;
}

async function runJob(url: string, path: string, body: unknown, on = url): Promise<void> {
  const { job_id: jobId } = await ask(url, 'POST', path, body);
  expect(await waitForJob(on, String(jobId))).toMatchObject({ status: 'succeeded' });
}

async function waitForJob(url: string, jobId: string): Promise<Json> {
  for (;;) {
    const job = await ask(url, 'GET', `/jobs/${jobId}?wait=30`);
    if (job['status'] !== 'pending' && job['status'] !== 'running') return job;
  }
}

/**
 * Returns the views of one index from two services. The second service must read the writes of the first without delay.
 */
async function readViews(first: string, second: string): Promise<unknown> {
  await runJob(first, '/data/synthetic', MARKET);
  await ask(second, 'PUT', '/indices/EVEN', INDEX);
  await runJob(first, '/analytics/EVEN/backtest', {}, second);
  return Promise.all([
    ask(first, 'GET', '/analytics/EVEN/levels'),
    ask(second, 'GET', '/analytics/EVEN/weights'),
    ask(second, 'GET', '/data/reference'),
  ]);
}

/**
 * Returns the commands of the guide that start processes. Leaves out homes and ports, because each reader chooses
 * these.
 */
function listGuideCommands(): { readonly verb: string; readonly words: string[] }[] {
  const pageText = readFileSync('data/guide/several-machines.md', 'utf8');
  return [...pageText.matchAll(/^ {4}divisor (serve|worker) (.*) &$/gm)].map(([, verb = '', flags = '']) => ({
    verb,
    words: flags
      .replaceAll(/--(home|port) \S+/g, '')
      .split(' ')
      .filter((word) => word !== ''),
  }));
}

async function end(...nodes: readonly Node[]): Promise<(number | string)[]> {
  for (const { child } of nodes) child.kill('SIGTERM');
  return Promise.all(nodes.map(({ ended }) => ended));
}

const createFolder = openTemporaryFolders();

describe.skipIf(!hasPostgresql)('several processes on one database', () => {
  let database: Awaited<ReturnType<typeof openTestDatabase>>;
  let sharedFolder: string;
  let environment: Record<string, string>;
  beforeAll(async () => {
    database = await openTestDatabase();
    sharedFolder = await mkdtemp(join(tmpdir(), 'divisor-shared-'));
    environment = { DATABASE_URL: database.url, DIVISOR_ARTIFACTS: `file://${sharedFolder}` };
    await runHere(['migrate'], environment);
  });
  afterAll(async () => {
    await database?.drop();
    await rm(sharedFolder, { recursive: true, force: true });
  });

  test('of the guide compute the results of one process, and each front shows writes of the other', async () => {
    const embeddedService = await startServiceHere(await createFolder());
    const expected = await readViews(embeddedService.url, embeddedService.url);
    await embeddedService.stop();
    const lines = listGuideCommands();
    expect(lines.map(({ verb }) => verb)).toEqual(['serve', 'serve', 'worker', 'worker', 'worker', 'worker']);
    const collector = await openCollector();
    const tracedEnvironment = { ...environment, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    // The first worker stands for the others, because their commands differ only in the home.
    const [a, b, worker] = await Promise.all(
      lines.slice(0, 3).map(async ({ verb, words }) => {
        const start = verb === 'serve' ? startService : startWorkerProcess;
        return start(await createFolder(), [...FLAGS, ...words], tracedEnvironment);
      }),
    );
    expect(await readViews(a!.url, b!.url)).toEqual(expected);
    expect(await end(a!, b!, worker!)).toEqual([0, 0, 0]);
    // One trace covers the request to the service and the job on the worker.
    const request = collector.spans.find(({ name }) => name === 'POST /analytics/{index_id}/backtest');
    const job = collector.spans.find(({ name }) => name === 'job backtest');
    expect([request?.pid, job?.pid]).toEqual([a!.child.pid, worker!.child.pid]);
    expect([job?.traceId, job?.parentSpanId]).toEqual([request?.traceId, request?.spanId]);
    await collector.close();
  }, 240_000);

  test('an unavailable folder causes refusals and delays, loses no job, and nothing is written at its mount point', async () => {
    const frontEnd = await runService(['--workers', '1'], environment);
    const rows = { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-01-02', 10]] };
    const importBody = { store_id: 'own', name: 'own', tables: { market: rows } };
    const refusal = { status: 503, code: 'STORE_UNAVAILABLE' };
    try {
      await frontEnd.resumed();
      await frontEnd.ask('PUT', '/indices/LATER', { ...INDEX, id: 'LATER' });
      await rename(sharedFolder, `${sharedFolder}-away`);
      expect(await frontEnd.refusal('GET', '/analytics/EVEN/levels')).toMatchObject(refusal);
      expect(await frontEnd.refusal('GET', '/health/ready')).toMatchObject({
        ...refusal,
        message: /check artifacts fails/,
      });
      expect((await frontEnd.ask('GET', '/health')).status).toBe(200);
      await mkdir(sharedFolder); // the mount point of a share that is not mounted
      expect(await frontEnd.refusal('POST', '/data/import', importBody)).toMatchObject(refusal);
      const { body: job } = await frontEnd.ask<{ job_id: string }>('POST', '/analytics/LATER/backtest', {});
      expect(await readdir(sharedFolder)).toEqual([]);
      await rm(sharedFolder, { recursive: true });
      await rename(`${sharedFolder}-away`, sharedFolder);
      expect(await frontEnd.waitForJob(job.job_id)).toMatchObject({ status: 'succeeded', attempt: 1 });
      expect((await frontEnd.ask('GET', '/analytics/EVEN/levels')).status).toBe(200);
      expect((await frontEnd.ask('GET', '/health/ready')).status).toBe(200);
    } finally {
      await frontEnd.close();
    }
    const typo = { ...environment, DIVISOR_ARTIFACTS: `file://${sharedFolder}-typo` };
    await expect(runService([], typo)).rejects.toMatchObject({
      exitStatus: 78,
      message: /--artifacts .*the store [\w-]{36}/,
    });
  });
});

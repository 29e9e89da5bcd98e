import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import {
  createIndexBody,
  startLoadedService,
  createPercentiles,
  formatPercentiles,
  type LoadedService,
} from './loaded-service.js';
import { IS_SOAK } from '../soak.js';

/**
 * Number of workers of a service with more work than it can perform. If a bound of an assertion is exceeded, the
 * service is defective. Printed figures are measurements on this machine. `SOAK=1` takes more samples and asserts the
 * documented figures.
 */
const WORKERS = 2;
/** Number of clients. Each has up to a hundred waiting jobs. In the soak they exceed the capacity of the queue. */
const CLIENTS = IS_SOAK ? 120 : 2;
let service: LoadedService;

beforeAll(async () => {
  service = await startLoadedService(['--workers', String(WORKERS)], CLIENTS);
  await service.ask('POST', '/data/synthetic', {
    store_id: 'market',
    seed: 7,
    assets: IS_SOAK ? 500 : 60,
    start: '2015-01-02',
    end: '2024-12-31',
  });
  expect((await service.waitForJob('generate:market')).error).toBeNull();
  for (const id of ['ONE', 'TWO', 'THREE']) {
    await service.ask('PUT', `/indices/${id}`, createIndexBody(id));
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    expect((await service.waitForJob(`backtest:${id}`)).error).toBeNull();
  }
});
afterAll(() => service?.close());

/** Resolves when a job has reached a state. */
async function waitForState(jobId: string, state: string): Promise<void> {
  for (;;) {
    const { body, status } = await service.ask<JobStatus>('GET', `/jobs/${jobId}`);
    if (body.status === state) return;
    if (status !== 200 || (body.status !== 'pending' && body.status !== 'running'))
      throw new Error(`${jobId} is ${JSON.stringify(body).slice(0, 500)}`);
    await pause(2);
  }
}

/** Starts one simulation per worker. Each would run for minutes. @returns a function that ends the simulations */
async function saturate(): Promise<() => Promise<void>> {
  const ids = ['ONE', 'TWO'];
  const jobs: string[] = [];
  for (const id of ids)
    jobs.push(
      (await service.ask('POST', `/analytics/${id}/simulate`, { horizon: 1500, paths: 1_000_000 })).body.job_id,
    );
  for (const jobId of jobs) await waitForState(jobId, 'running');
  return async () => {
    for (const jobId of jobs) await service.ask('DELETE', `/jobs/${jobId}`);
  };
}

describe('with every worker busy for minutes', () => {
  let end: () => Promise<void>;
  beforeAll(async () => {
    end = await saturate();
  });
  afterAll(() => end());

  test('small requests are answered at once', async () => {
    const times: number[] = [];
    for (let i = 0; i < (IS_SOAK ? 2000 : 60); i++) {
      times.push((await service.ask('GET', i % 2 === 0 ? '/indices' : '/jobs?limit=20')).ms);
      await pause(5);
    }
    const result = createPercentiles(times);
    console.log(`GET with ${WORKERS} busy workers: ${formatPercentiles(result)}`);
    if (IS_SOAK) expect(result.p99).toBeLessThan(50);
    for (const id of ['ONE', 'TWO'])
      expect((await service.ask('GET', `/jobs/simulate:${id}`)).body.status).toBe('running');
  });

  test('previews and other light work have a separate lane', async () => {
    const times: number[] = [];
    for (let i = 0; i < (IS_SOAK ? 100 : 5); i++) {
      const { status, ms } = await service.ask('POST', '/indices/THREE/preview', { as_of: '2024-06-28' });
      expect(status).toBe(200);
      times.push(ms);
    }
    console.log(`preview with ${WORKERS} busy workers: ${formatPercentiles(createPercentiles(times))}`);
    if (IS_SOAK) expect(createPercentiles(times).p95).toBeLessThan(5000);
    for (const id of ['ONE', 'TWO'])
      expect((await service.ask('GET', `/jobs/simulate:${id}`)).body.status).toBe('running');
  });
});

test('a cancelled job is readable as cancelled at once, and its worker works again soon', async () => {
  const readableMs: number[] = [];
  const returnedMs: number[] = [];
  for (let i = 0; i < (IS_SOAK ? 100 : 1); i++) {
    const end = await saturate();
    const smallAnswer = (
      await service.ask('POST', '/risk-models/small/estimate', { index_id: 'ONE', start: '2024-01-02' })
    ).body.job_id;
    const startMs = performance.now();
    await service.ask('DELETE', '/jobs/simulate:ONE');
    expect((await service.ask('GET', '/jobs/simulate:ONE')).body.status).toBe('cancelled');
    readableMs.push(performance.now() - startMs);
    while ((await service.ask('GET', `/jobs/${smallAnswer}`)).body.status === 'pending') await pause(2);
    returnedMs.push(performance.now() - startMs);
    await end();
    await service.waitForJob(smallAnswer);
  }
  console.log(
    `cancel readable: ${formatPercentiles(createPercentiles(readableMs))}; the next job runs: ${formatPercentiles(createPercentiles(returnedMs))}`,
  );
  if (!IS_SOAK) return;
  expect(createPercentiles(readableMs).p99).toBeLessThan(100);
  expect(createPercentiles(returnedMs).p99).toBeLessThan(500);
}, 300_000);

test('clients take turns: one that comes after another’s dozen jobs does not wait for them', async () => {
  const [first, second] = service.keys;
  const body = { index_id: 'ONE', intensity_method: 'ledoit_wolf', start: IS_SOAK ? undefined : '2024-01-02' };
  const end = await saturate(); // makes all jobs wait before the first one starts
  const manyJobs: string[] = [];
  for (let i = 0; i < 12; i++)
    manyJobs.push((await service.ask('POST', `/risk-models/m${i}/estimate`, body, first)).body.job_id);
  const lateJob = (await service.ask('POST', '/risk-models/late/estimate', body, second)).body.job_id;
  await end();
  const lateStatus = await service.waitForJob(lateJob);
  const statuses = await Promise.all(manyJobs.map((jobId) => service.waitForJob(jobId)));
  const before = statuses.filter((job) => job.finished_at! < lateStatus.started_at!).length;
  expect(lateStatus.error).toBeNull();
  expect(before).toBeLessThanOrEqual(WORKERS + 1);
});

test('slow readers cost no memory and delay no other client', async () => {
  const { body } = await service.ask<string>('GET', '/analytics/ONE/record');
  const megabytes = JSON.stringify(body).length / 1e6;
  const { hostname, port } = new URL(service.url);
  await service.ask('GET', '/analytics/ONE/record');
  const before = await service.resident();
  const readers = await Promise.all(
    Array.from({ length: 50 }, async (): Promise<Socket> => {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write(`GET /analytics/ONE/record HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${service.keys[0]}\r\n\r\n`);
      await once(socket, 'readable'); // the first bytes have arrived and are never read
      return socket;
    }),
  );
  const times: number[] = [];
  for (let i = 0; i < 100; i++) times.push((await service.ask('GET', '/health')).ms);
  const grownBytes = (await service.resident()) - before;
  console.log(
    `50 readers that stopped in a record of ${megabytes.toFixed(1)} MB: ${grownBytes.toFixed(0)} MB more resident, GET ${formatPercentiles(createPercentiles(times))}`,
  );
  for (const reader of readers) reader.destroy();
  expect(grownBytes).toBeLessThan(100);
  if (IS_SOAK) expect(createPercentiles(times).p95).toBeLessThan(500);
});

test.runIf(IS_SOAK)(
  'ten thousand jobs may wait, more are refused with Retry-After, and all accepted ones end',
  async () => {
    const end = await saturate();
    const before = await service.resident();
    const acceptedIds: string[] = [];
    let count = 0;
    const body = { index_id: 'ONE', start: '2024-11-01' };
    for (let from = 0; from < 12_000; from += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          service.ask<JobStatus & { readonly error: { readonly code: string } }>(
            'POST',
            `/risk-models/q${from + i}/estimate`,
            body,
            service.keys[Math.floor((from + i) / 100)],
          ),
        ),
      );
      for (const { status, body: answer, retryAfter } of answers) {
        if (status === 202) acceptedIds.push(answer.job_id);
        else {
          expect([status, answer.error.code, Number(retryAfter) > 0]).toEqual([503, 'OVERLOADED', true]);
          count++;
        }
      }
    }
    const grownBytes = (await service.resident()) - before;
    console.log(
      `12,000 submissions: ${acceptedIds.length} accepted, ${count} refused, ${grownBytes.toFixed(0)} MB more resident`,
    );
    expect(acceptedIds.length).toBe(10_000);
    expect(grownBytes).toBeLessThan(200);
    await end();
    const startMs = performance.now();
    for (const jobId of acceptedIds) expect((await service.waitForJob(jobId)).status).toBe('succeeded');
    console.log(`they ended ${((performance.now() - startMs) / 1000).toFixed(0)} s later`);
  },
  900_000,
);

test.runIf(IS_SOAK)(
  'a thousand jobs leave no memory in use',
  async () => {
    const sizes: number[] = [];
    for (let hundred = 0; hundred < 12; hundred++) {
      for (let i = 0; i < 100; i++) {
        const id = ['ONE', 'TWO', 'THREE'][i % 3]!;
        const { body } = await service.ask(
          'POST',
          i % 2 === 0 ? `/analytics/${id}/backtest` : '/risk-models/again/estimate',
          i % 2 === 0 ? { transaction_cost_bps: hundred + i / 1000 } : { index_id: id, start: '2022-01-03' },
        );
        expect((await service.waitForJob(body.job_id)).status).toBe('succeeded');
      }
      sizes.push(await service.resident());
    }
    const after = sizes.slice(2);
    const slope = computeSlope(after);
    console.log(
      `resident after each hundred jobs, MB: ${sizes.map((size) => size.toFixed(0)).join(' ')}; slope ${slope.toFixed(2)} MB per 100 jobs`,
    );
    expect(slope).toBeLessThan(5);
  },
  1_800_000,
);

/** Returns the least-squares slope over equal steps. */
function computeSlope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let covarianceSum = 0;
  let varianceSum = 0;
  for (const [i, value] of values.entries()) {
    covarianceSum += (i - middle) * (value - mean);
    varianceSum += (i - middle) ** 2;
  }
  return covarianceSum / varianceSum;
}

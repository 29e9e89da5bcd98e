import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import type { JobRecord, JobStatus } from '#jobs/port/life-cycle.js';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { startService } from '../cli/process.js';
import { openTemporaryFolders } from '../store/temporary-folder.js';
import { IS_SOAK } from '../soak.js';

const createFolder = openTemporaryFolders();
const COUNT = 20_000;
/** Number of documents in addition to the jobs. There are as many jobs as the service stores at most. */
const DOCUMENTS = IS_SOAK ? COUNT : 1000;
const BATCH = 1000;
/** Maximum start time in ms. It is five times the duration on an idle machine. */
const READY_MS_MAX = 2000;

const formatJobId = (i: number): string => `risk:m${String(i).padStart(5, '0')}`;

/** Returns the stored document of a job that has ended. */
const createJobRecord = (i: number): JobRecord => ({
  job_id: formatJobId(i),
  kind: 'risk',
  created_at: '2026-01-02T00:00:00.000000+00:00',
  input_hash: '0'.repeat(64),
  sequence: i + 1,
  estimated_bytes: 1,
  owner: '',
  author: null,
  note: null,
  request_id: null,
  trace_id: null,
  status: 'cancelled',
  attempt: 1,
  crashes: 0,
  losses: 0,
  releases: 0,
  not_before: null,
  progress: 0,
  message: 'Cancelled.',
  error: null,
  result: null,
  started_at: null,
  finished_at: '2026-01-02T00:00:01.000000+00:00',
  heartbeat_at: null,
  node: null,
  earlier: [],
  request: { index_id: 'I' },
  callbacks: [],
});

test(
  `a service with ${COUNT} jobs and ${DOCUMENTS} documents is ready soon after a kill, and deletes only the oldest jobs`,
  { timeout: 180_000 },
  async () => {
    const folder = join(await createFolder(), 'home');
    const home = await openHome(folder);
    const store = await openStore({ home, onFailure: () => {} });
    for (let from = 0; from < COUNT; from += BATCH) {
      await store.documents.transaction(async (tx) => {
        for (let i = from; i < from + BATCH; i++) {
          await tx.put('job', formatJobId(i), createJobRecord(i));
          if (i < DOCUMENTS)
            await tx.put('watchlist', `w${i}`, { watchlist_id: `w${i}`, name: `w${i}`, identifiers: ['A'] });
        }
      });
    }
    await store.close();
    await home.close();

    const first = await startService(folder, ['--log-level', 'error', '--workers', '1']);
    first.child.kill('SIGKILL');
    await first.ended;
    const startMs = performance.now();
    const service = await startService(folder, ['--log-level', 'error', '--workers', '1', '--drain-ms', '0']);
    const readyMs = performance.now() - startMs;
    try {
      const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
        (
          await fetch(
            `${service.url}${path}`,
            body === undefined
              ? { method }
              : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
          )
        ).json() as Promise<T>;
      console.log(`ready ${readyMs.toFixed(0)} ms after its start with ${COUNT} jobs and ${DOCUMENTS} documents`);
      if (IS_SOAK) expect(readyMs).toBeLessThan(READY_MS_MAX);
      const { jobs } = await ask<{ readonly jobs: readonly JobStatus[] }>('GET', '/jobs?limit=500');
      expect([jobs.length, jobs[0]!.job_id, jobs.at(-1)!.job_id]).toEqual([
        500,
        formatJobId(COUNT - 1),
        formatJobId(COUNT - 500),
      ]);

      // Adds two more jobs. When the second is stored, the first has already ended. Storing the second removes the
      // oldest job.
      for (const id of ['one', 'two']) {
        const result = await ask<JobStatus>('POST', '/data/synthetic', {
          store_id: id,
          assets: 2,
          start: '2023-01-03',
          end: '2023-03-31',
          activate: false,
        });
        let job = result;
        while (job.status === 'pending' || job.status === 'running')
          job = await ask<JobStatus>('GET', `/jobs/${result.job_id}?wait=30`);
        expect(job.error).toBeNull();
      }
      expect(LIMITS.MAX_ENDED_JOBS).toBe(COUNT);
      const statuses = await Promise.all(
        [formatJobId(0), formatJobId(1), formatJobId(COUNT - 1), 'generate:one', 'generate:two'].map(
          async (id) => (await fetch(`${service.url}/jobs/${id}`)).status,
        ),
      );
      expect(statuses).toEqual([404, 200, 200, 200, 200]);
    } finally {
      service.child.kill('SIGTERM');
      await service.ended;
    }
  },
);

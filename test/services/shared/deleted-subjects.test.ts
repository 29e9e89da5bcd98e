import { expect, test } from 'vitest';
import { JOB_KINDS, type JobKindName } from '#domain/outputs/jobs.js';
import { cancelJobsAbout, deleteJobsAbout, type JobsAbout } from '#services/shared/jobs.js';
import type { DocumentTransaction } from '#store/port.js';

/** Subject of each kind of job. If the subject is deleted, the job is deleted as well. */
const SUBJECTS = {
  backtest: 'index',
  optimise: null,
  batch: null, // a run of the optimiser is a separate document
  account: 'index',
  render: null,
  risk: null,
  validate: null,
  sync: 'dataset',
  load: 'dataset',
  refresh: 'dataset',
  generate: 'dataset',
  sweep: 'index',
  rerun: null,
  study: null,
  simulate: 'index',
  diff: 'index',
  differences: 'index',
  replay: 'index',
} as const satisfies Record<JobKindName, 'index' | 'dataset' | null>;

/** Creates one job of each kind about X, and another about Y. None of them has ended. */
function createWorld() {
  const requests = new Map<string, { readonly index_id: string; readonly store_id: string }>();
  for (const kind of JOB_KINDS)
    for (const subject of ['X', 'Y'])
      // a sweep has its own id
      requests.set(`${kind}:${kind === 'sweep' ? `sweep-of-${subject}` : subject}`, {
        index_id: subject,
        store_id: subject,
      });
  const cancelledJobs: string[] = [];
  const jobs = {
    ids: async (kind: JobKindName) => [...requests.keys()].filter((jobId) => jobId.startsWith(`${kind}:`)),
    get: async (jobId: string) => ({ request: requests.get(jobId) }),
    isLive: async (jobId: string) => requests.has(jobId),
    cancel: async (jobId: string) => void cancelledJobs.push(jobId),
  } as unknown as JobsAbout;
  const deletedKeys: string[] = [];
  const tx = {
    async delete(kind: string, id: string) {
      if (kind === 'job' && requests.has(id)) deletedKeys.push(id);
      return requests.has(id);
    },
  } as unknown as DocumentTransaction;
  return { jobs, tx, cancelled: cancelledJobs, deleted: deletedKeys };
}

test.each(['index', 'dataset'] as const)('deletion of an %s takes its jobs, and no others', async (of) => {
  const expected = JOB_KINDS.filter((kind) => SUBJECTS[kind] === of).map((kind) =>
    kind === 'sweep' ? 'sweep:sweep-of-X' : `${kind}:X`,
  );
  const { jobs, tx, cancelled, deleted } = createWorld();
  await cancelJobsAbout(jobs, { of, ids: ['X'] });
  expect(cancelled.toSorted()).toEqual(expected.toSorted());
  const counts = await deleteJobsAbout(tx, jobs, { of, ids: ['X', 'Z'] });
  expect(deleted.toSorted()).toEqual(expected.toSorted());
  expect(counts).toEqual(
    new Map([
      ['X', expected.length],
      ['Z', 0],
    ]),
  );
});

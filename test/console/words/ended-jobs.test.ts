import { expect, test } from 'vitest';
import type { JobStatus } from '#clients/typescript/divisor.js';
import { groupByDay } from '#console/words/jobs.js';

const createJob = (change: Partial<JobStatus>) =>
  ({
    kind: 'backtest',
    status: 'succeeded',
    message: '',
    attempt: 1,
    started_at: '2026-11-26T10:00:00Z',
    finished_at: '2026-11-26T10:00:05Z',
    ...change,
  }) as JobStatus;

test('a job that ended without a result is not counted as succeeded', () => {
  const withoutResult = { kind: 'study', message: '4 of 4 optimisations have no result.' } as const;
  const jobs = [createJob({}), createJob(withoutResult), createJob({ status: 'failed', attempt: 3 })];
  expect(groupByDay(jobs)).toEqual([
    {
      date: '2026-11-26',
      succeeded: 1,
      withoutResult: 1,
      failed: 1,
      cancelled: 0,
      repeated: 1,
      median: 5,
      longest: 5,
    },
  ]);
});

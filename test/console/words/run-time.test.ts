import { expect, test } from 'vitest';
import type { JobStatus } from '#clients/typescript/divisor.js';
import { formatRunTime, measureRunTime } from '#console/pages/sweeps/variants.js';

const createJob = (jobId: string, seconds: number, request: object): JobStatus =>
  ({
    job_id: jobId,
    kind: jobId.slice(0, jobId.indexOf(':')),
    started_at: '2026-11-20T18:00:00Z',
    finished_at: new Date(Date.UTC(2026, 10, 20, 18, 0, seconds)).toISOString(),
    request,
  }) as unknown as JobStatus; // the estimate reads only these members

const SWEEP = createJob('sweep:caps', 12, { index_id: 'CORE', grid: { '/a': [1, 2], '/b': [1, 2, 3] } });
const RUN = createJob('backtest:CORE', 5, { index_id: 'CORE' });

test('the time of a sweep is that of the variants of an earlier sweep of the index', () => {
  // Six variants took 12 seconds.
  const time = measureRunTime('CORE', [RUN, SWEEP])!;
  expect(time).toEqual({ seconds: 2, isMost: false });
  expect(formatRunTime(time, 10)).toBe('about 20 s');
});

test('without a sweep, every variant takes at most the time of a run', () => {
  const time = measureRunTime('CORE', [createJob('sweep:other', 9, { index_id: 'BROAD', grid: { '/a': [1] } }), RUN])!;
  expect(formatRunTime(time, 3)).toBe('at most 15 s');
  expect(measureRunTime('OTHER', [RUN])).toBeNull();
});

import type { JobStatus } from '#clients/typescript/divisor.js';
import { computeSecondsBetween, formatMoment } from '../../words/dates.js';
import { isWithoutResult } from '../../words/jobs.js';

export interface EndedJobs {
  readonly date: string;
  readonly succeeded: number;
  /** Number of jobs that succeeded without a result, for example an optimisation without a solution. */
  readonly withoutResult: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Number of jobs that needed more than one attempt. */
  readonly repeated: number;
  /** Median duration in seconds. */
  readonly median: number | null;
  readonly longest: number | null;
}

export function groupByDay(jobs: readonly JobStatus[]): readonly EndedJobs[] {
  const byDay = new Map<string, JobStatus[]>();
  for (const job of jobs) {
    if (job.finished_at === null) continue;
    const date = formatMoment(job.finished_at).slice(0, 'YYYY-MM-DD'.length);
    byDay.set(date, [...(byDay.get(date) ?? []), job]);
  }
  return Array.from(byDay, ([date, all]): EndedJobs => {
    const withoutResult = all.filter(isWithoutResult).length;
    const countJobs = (status: JobStatus['status']) => all.filter((job) => job.status === status).length;
    const seconds = all
      .flatMap(({ started_at: from, finished_at: to }) =>
        from === null || to === null ? [] : [computeSecondsBetween(from, to)],
      )
      .toSorted((a, b) => a - b);
    return {
      date,
      succeeded: countJobs('succeeded') - withoutResult,
      withoutResult,
      failed: countJobs('failed'),
      cancelled: countJobs('cancelled'),
      repeated: all.filter(({ attempt }) => attempt > 1).length,
      median: seconds[Math.floor(seconds.length / 2)] ?? null,
      longest: seconds.at(-1) ?? null,
    };
  });
}

import type { JobStatus } from '#clients/typescript/divisor.js';
import { computeSecondsBetween, formatDuration } from '../../words/dates.js';
import { describeSubject } from '../../words/jobs.js';
import { countVariants } from './sweep-requests.js';

/** Measured time of a variant. */
export interface RunTime {
  readonly seconds: number;
  /** True if the time is that of a single run. Variants run side by side, so that each takes less. */
  readonly isMost: boolean;
}

/**
 * Returns the time of a variant in the latest sweep of an index, otherwise that of its latest run; null without both.
 * @param jobs succeeded sweeps and backtests, newest first
 */
export function measureRunTime(id: string, jobs: readonly JobStatus[]): RunTime | null {
  const sweep = jobs.find((job) => job.kind === 'sweep' && describeSubject(job) === id);
  const variants = countVariants(sweep?.request);
  if (sweep !== undefined && variants > 0) return { seconds: measureSeconds(sweep) / variants, isMost: false };
  const backtest = jobs.find(({ job_id: jobId }) => jobId === `backtest:${id}`);
  return backtest === undefined ? null : { seconds: measureSeconds(backtest), isMost: true };
}

const measureSeconds = ({ started_at: from, finished_at: to }: JobStatus): number =>
  from === null || to === null ? 0 : computeSecondsBetween(from, to);

/** Formats the estimated time of a sweep: `about 4.0 s`, or `at most 12 s` if only the time of a single run is known. */
export function formatRunTime({ seconds, isMost }: RunTime, variants: number): string {
  const total = seconds * variants;
  return total < 1 ? 'less than a second' : `${isMost ? 'at most' : 'about'} ${formatDuration(total)}`;
}

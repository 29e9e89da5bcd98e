import type { Finding, JobStatus } from '#clients/typescript/divisor.js';
import { computeSecondsBetween, formatMoment } from './dates.js';
import { countValues } from './numbers.js';
import { isObject, type Json, type JsonObject } from './paths.js';

export const KINDS: Readonly<Record<JobStatus['kind'], string>> = {
  backtest: 'Backtest',
  optimise: 'Optimisation',
  render: 'Report',
  risk: 'Risk model',
  validate: 'Validation of a risk model',
  sync: 'Sync',
  load: 'Loading',
  refresh: 'Refresh',
  generate: 'Generation',
  sweep: 'Sweep',
  rerun: 'Rerun of stale indices',
  simulate: 'Simulation',
  replay: 'Replay',
  diff: 'Comparison of runs',
  differences: 'Comparison with an outside level',
  batch: 'Batch of accounts',
  study: 'Study of optimisations',
  account: 'Backtest of an account',
};

export const formatKind = (kind: JobStatus['kind']): string => KINDS[kind];

/** Returns the findings that made a job fail. Validation errors of the contract have them. */
export const listJobFindings = (error: JobStatus['error']): readonly Finding[] =>
  (error?.detail?.['findings'] ?? []) as readonly Finding[];

export const formatJobId = ({ job_id: jobId }: Pick<JobStatus, 'job_id'>): string =>
  jobId.slice(jobId.indexOf(':') + 1);

/**
 * Returns the part of a job id that differs between jobs of the same second. If a client chose the id, returns the
 * whole id.
 */
export const formatShortId = (job: Pick<JobStatus, 'job_id'>): string => formatJobId(job).replace(/^\d{8}T\d{6}-/, '');

/**
 * Returns the terms of a backtest, for example `benchmark BROAD, costs 10 bp`, or the varied parameters of a sweep, for
 * example `3 values of cap`. Returns an empty text for other jobs.
 */
export function describeTerms({ kind, request }: Pick<JobStatus, 'kind' | 'request'>): string {
  const jobRequest = request as Json;
  if (!isObject(jobRequest)) return '';
  if (kind === 'sweep' && isObject(jobRequest['grid'])) return describeGrid(jobRequest['grid']);
  if (kind !== 'backtest') return '';
  const { benchmark, transaction_cost_bps: costs } = jobRequest;
  return [
    isObject(benchmark) ? `benchmark ${formatJobReference(benchmark)}` : 'no benchmark',
    typeof costs === 'number' && costs > 0 ? `costs ${costs} bp` : 'no costs',
  ].join(', ');
}

/** Describes the grid of a sweep. A pointer, which names a varied parameter, has the name of the parameter. */
const describeGrid = (grid: JsonObject): string =>
  Object.entries(grid)
    .map(([pointer, values]) => {
      const count = Array.isArray(values) ? values.length : 1;
      return `${countValues(count, 'value')} of ${formatPointer(pointer)}`;
    })
    .join(', ');

/** Formats the last step of a pointer, for example `/pipeline/weighting/cap` as `cap`. */
export const formatPointer = (pointer: string): string =>
  (pointer.split('/').at(-1) ?? pointer).replace(/_bps$/, '').replaceAll('_', ' ');

/** Formats a benchmark as its id. If its price column is not CLOSE, the column is added: `EQ, price column OPEN`. */
export function formatJobReference({ id, price_column: column = 'CLOSE' }: JsonObject): string {
  return column === 'CLOSE' ? String(id) : `${String(id)}, price column ${String(column)}`;
}

/** Returns the subject of a job. Returns nothing if the id of the job already names it. */
export function describeSubject({ kind, request }: Pick<JobStatus, 'kind' | 'request'>): string {
  if (kind === 'risk' || kind === 'validate') return '';
  const jobRequest = request as Json;
  if (!isObject(jobRequest)) return '';
  return [jobRequest['index_id'], jobRequest['constraint_set_id'], jobRequest['template_id']]
    .filter((part) => typeof part === 'string')
    .join(', ');
}

/** Returns the title of a job, for example `Backtest CORE-40`. */
export const formatJobTitle = (job: Pick<JobStatus, 'job_id' | 'kind' | 'request'>): string =>
  `${KINDS[job.kind]} ${describeSubject(job) || formatJobId(job)}`;

/** Returns the address of the page with the result of a job. */
export function formatJobAddress(job: Pick<JobStatus, 'job_id' | 'kind'>): string {
  const ident = encodeURIComponent(formatJobId(job));
  switch (job.kind) {
    case 'backtest':
    case 'simulate':
    case 'replay':
      return `/console/indices/${ident}`;
    case 'rerun':
      return '/';
    case 'diff':
      return `/console/indices/${ident}?tab=runs`;
    case 'differences':
      return `/console/indices/${ident}?tab=outside`;
    case 'optimise':
      return `/console/optimise/runs/${ident}`;
    case 'sweep':
      return `/console/sweeps/${ident}`;
    case 'batch':
      return `/console/batches/${ident}`;
    case 'study':
    case 'account':
      return '/console/jobs';
    case 'render':
      return `/console/reports?render=${ident}`;
    case 'load':
    case 'refresh':
    case 'sync':
    case 'generate':
      return `/console/data/stores/${ident}`;
    case 'risk':
    case 'validate':
      return `/console/risk-models/${ident}`;
  }
}

export const STATUS_KINDS = {
  pending: 'plain',
  running: 'info',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
} as const satisfies Record<JobStatus['status'], string>;

/** Minimum progress, as a fraction, from which the remaining time is estimated. */
const ESTIMATED_MIN = 0.05;

/**
 * Estimates the remaining seconds of a running job from its progress so far. Returns null if there is too little
 * progress.
 */
export function estimateRemainingSeconds(
  { status, progress, started_at: started }: Pick<JobStatus, 'status' | 'progress' | 'started_at'>,
  nowMs: number,
): number | null {
  if (status !== 'running' || started === null || progress < ESTIMATED_MIN || progress >= 1) return null;
  return ((nowMs - Date.parse(started)) / 1000) * ((1 - progress) / progress);
}

/** Returns true for a study if none of its optimisations has a result. */
export const isWithoutResult = ({ kind, message }: Pick<JobStatus, 'kind' | 'message'>): boolean =>
  kind === 'study' && /\b(\d+) of \1 optimisations have no result/.test(message);

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

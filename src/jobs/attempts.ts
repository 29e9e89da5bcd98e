import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { AttemptEnd, JobAttempt, JobState } from './status.js';

/** What the life of a job says of its attempts. */
interface Attempted {
  readonly status: JobState;
  readonly attempt: number;
  readonly node: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  readonly error: ErrorDetail | null;
  readonly earlier: readonly JobAttempt[];
}

/** How an attempt ended after which the job waits again. */
interface EarlyEnd {
  readonly end: Extract<AttemptEnd, 'crashed' | 'lost' | 'released'>;
  readonly reason: string;
  readonly at: string;
}

/** Attempts before the current one that a job remembers: it may be given back many times. */
const EARLIER_MAX = 10;

/** The earlier attempts of a job once the one that runs has ended early. */
export function withEnded(life: Attempted, { end, reason, at }: EarlyEnd): readonly JobAttempt[] {
  const current = currentOf(life);
  if (current === undefined) return life.earlier;
  return [...life.earlier, { ...current, ended_at: at, end, reason }].slice(-EARLIER_MAX);
}

/** Attempts in their order, the current one last. */
export function attemptsOf(life: Attempted): readonly JobAttempt[] {
  const current = currentOf(life);
  return current === undefined ? life.earlier : [...life.earlier, current];
}

/** The attempt that runs or was the last; undefined where the job waits, or ended while it did. */
function currentOf(life: Attempted): JobAttempt | undefined {
  const { attempt, node, started_at, finished_at, heartbeat_at } = life;
  if (started_at === null) return undefined;
  return { attempt, node, started_at, heartbeat_at, ended_at: finished_at, ...endOf(life) };
}

function endOf({ status, error }: Attempted): Pick<JobAttempt, 'end' | 'reason'> {
  if (status === 'pending' || status === 'running') return { end: null, reason: null };
  if (status !== 'failed') return { end: status, reason: null };
  const { cause, end = 'crashed' } = (error?.detail ?? {}) as {
    readonly cause?: unknown;
    readonly end?: EarlyEnd['end'];
  };
  return typeof cause === 'string' && EARLY_CODES.has(error?.code)
    ? { end, reason: cause }
    : { end: 'failed', reason: error?.message ?? null };
}

/** Codes of jobs whose last attempt ended early; of an earlier version the detail does not say how. */
const EARLY_CODES: ReadonlySet<string | undefined> = new Set(['WORKER_CRASHED', 'JOB_INTERRUPTED', 'JOB_TIMEOUT']);

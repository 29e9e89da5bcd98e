import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { AttemptEnd, JobAttempt, JobState } from './status.js';

/** Fields of a stored job that concern its attempts. */
interface JobAttempts {
  readonly status: JobState;
  readonly attempt: number;
  readonly node: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  readonly error: ErrorDetail | null;
  readonly earlier: readonly JobAttempt[];
}

/** End of an attempt after which the job waits again. */
interface EarlyEnd {
  readonly end: Extract<AttemptEnd, 'crashed' | 'lost' | 'released'>;
  readonly reason: string;
  readonly at: string;
}

/** Maximum number of recorded earlier attempts: a job may return to the queue many times. */
const EARLIER_ATTEMPTS_MAX = 10;

/** Appends the current attempt to the earlier ones, once it has ended early. */
export function addEnded(life: JobAttempts, { end, reason, at }: EarlyEnd): readonly JobAttempt[] {
  const currentAttempt = findCurrentAttempt(life);
  if (currentAttempt === undefined) return life.earlier;
  return [...life.earlier, { ...currentAttempt, ended_at: at, end, reason }].slice(-EARLIER_ATTEMPTS_MAX);
}

/** Lists the attempts in order, the current one last. */
export function listAttempts(life: JobAttempts): readonly JobAttempt[] {
  const currentAttempt = findCurrentAttempt(life);
  return currentAttempt === undefined ? life.earlier : [...life.earlier, currentAttempt];
}

/** Returns the running or last attempt. Returns undefined if the job waits, or if it ended while it waited. */
function findCurrentAttempt(life: JobAttempts): JobAttempt | undefined {
  const { attempt, node, started_at, finished_at, heartbeat_at } = life;
  if (started_at === null) return undefined;
  return { attempt, node, started_at, heartbeat_at, ended_at: finished_at, ...describeEnd(life) };
}

function describeEnd({ status, error }: JobAttempts): Pick<JobAttempt, 'end' | 'reason'> {
  if (status === 'pending' || status === 'running') return { end: null, reason: null };
  if (status !== 'failed') return { end: status, reason: null };
  const { cause, end = 'crashed' } = (error?.detail ?? {}) as {
    readonly cause?: unknown;
    readonly end?: EarlyEnd['end'];
  };
  return typeof cause === 'string' && EARLY_END_CODES.has(error?.code)
    ? { end, reason: cause }
    : { end: 'failed', reason: error?.message ?? null };
}

/**
 * Error codes of jobs whose last attempt ended early. Records of earlier versions do not contain the reason, so the
 * code shows it.
 */
const EARLY_END_CODES: ReadonlySet<string | undefined> = new Set(['WORKER_CRASHED', 'JOB_INTERRUPTED', 'JOB_TIMEOUT']);

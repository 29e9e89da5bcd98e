import type { ErrorDetail } from '#domain/refusals/refusal.js';
import type { ArtifactRef } from '#store/port.js';
import { withEnded } from './attempts.js';
import type { JobAttempt, JobState } from './status.js';

/**
 * The life of a job as one pure state machine. Everything that can happen to a job is an event; what an event may
 * change is decided here and nowhere else. Anything not listed is impossible:
 *
 *     pending -> running | cancelled | failed
 *     running -> succeeded | failed | cancelled
 *     running -> pending      (the attempt was lost or given back; attempt + 1)
 *
 * An event of an attempt carries its number: what an attempt says after it was given up changes nothing (fencing).
 */
export interface Life {
  readonly status: JobState;
  /** The attempt that runs or runs next; 1 for the first. */
  readonly attempt: number;
  /** Attempts that took their worker or the process down. */
  readonly crashes: number;
  readonly progress: number;
  readonly message: string;
  readonly error: ErrorDetail | null;
  readonly result: JobResult | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  /** Process that runs the current attempt; null where one process serves a home, and of a job that waits. */
  readonly node: string | null;
  /** Attempts that ended early, the last ones. */
  readonly earlier: readonly JobAttempt[];
}

export type JobResult = { readonly artifact: ArtifactRef } | { readonly value: unknown };

/** Times are as the wire writes them. */
export type LifeEvent =
  /** @param node of the process that works on it, where there are several */
  | { readonly type: 'start'; readonly at: string; readonly node?: string }
  | { readonly type: 'progress'; readonly attempt: number; readonly fraction: number; readonly message?: string }
  | { readonly type: 'beat'; readonly attempt: number; readonly at: string }
  | {
      readonly type: 'succeed';
      readonly attempt: number;
      readonly result: JobResult;
      readonly message?: string;
      readonly at: string;
    }
  | { readonly type: 'fail'; readonly attempt: number; readonly error: ErrorDetail; readonly at: string }
  /** The worker or the process died under the attempt, or its messages were lost. */
  | { readonly type: 'crash'; readonly attempt: number; readonly cause: string; readonly at: string }
  /** The attempt is given back unharmed: the service stops, or what it works on is away. */
  | { readonly type: 'release'; readonly attempt: number; readonly cause: string; readonly at: string }
  | { readonly type: 'cancel'; readonly at: string };

/** Reasons for an event to change nothing. */
export type Impossible = 'already-terminal' | 'stale-attempt' | 'not-pending' | 'not-running';

/** Starts that may end in a crash before the job counts as poison. */
export interface LifeLimits {
  readonly attemptsMax: number;
}

export function newLife(message = 'Waiting for a worker.'): Life {
  return {
    status: 'pending',
    attempt: 1,
    crashes: 0,
    progress: 0,
    message,
    error: null,
    result: null,
    started_at: null,
    finished_at: null,
    heartbeat_at: null,
    node: null,
    earlier: [],
  };
}

export function isTerminal(status: JobState): boolean {
  return status !== 'pending' && status !== 'running';
}

/** The life after an event, or why the event is impossible. */
export function advance(life: Life, event: LifeEvent, limits: LifeLimits): Life | Impossible {
  if (isTerminal(life.status)) return 'already-terminal';
  switch (event.type) {
    case 'start':
      if (life.status !== 'pending') return 'not-pending';
      return started(life, event);
    case 'cancel':
      return { ...life, status: 'cancelled', message: 'Cancelled.', finished_at: event.at };
    case 'fail':
      // A pending job can fail too: what it needs may be gone before it starts.
      if (event.attempt !== life.attempt) return 'stale-attempt';
      return { ...life, status: 'failed', message: event.error.message, error: event.error, finished_at: event.at };
    case 'progress':
    case 'beat':
    case 'succeed':
    case 'crash':
    case 'release':
      if (life.status !== 'running') return 'not-running';
      if (event.attempt !== life.attempt) return 'stale-attempt';
      return advanceRunning(life, event, limits);
  }
}

/** A waiting life that begins. */
export function started<L extends Life>(
  life: L,
  { at, node = null }: { readonly at: string; readonly node?: string | null },
): L {
  return { ...life, status: 'running', message: 'Started.', started_at: at, heartbeat_at: at, node };
}

type RunningEvent = Extract<LifeEvent, { type: 'progress' | 'beat' | 'succeed' | 'crash' | 'release' }>;

function advanceRunning(life: Life, event: RunningEvent, { attemptsMax }: LifeLimits): Life {
  switch (event.type) {
    case 'progress': {
      const progress = Math.max(life.progress, Math.min(event.fraction, 1));
      return { ...life, progress, message: event.message ?? life.message };
    }
    case 'beat':
      return { ...life, heartbeat_at: event.at };
    case 'succeed':
      return {
        ...life,
        status: 'succeeded',
        progress: 1,
        message: event.message ?? 'Done.',
        result: event.result,
        finished_at: event.at,
      };
    case 'crash': {
      const crashes = life.crashes + 1;
      if (crashes < attemptsMax) {
        const where = life.node === null ? '' : ` on ${life.node}`;
        const earlier = withEnded(life, { end: 'crashed', reason: event.cause, at: event.at });
        const message = `Waiting again: attempt ${life.attempt}${where} ended: ${event.cause}.`;
        return queuedAgain({ ...life, crashes, earlier }, message);
      }
      const message = `The job took its worker or the process down ${crashes} times.`;
      const error: ErrorDetail = { code: 'WORKER_CRASHED', message, detail: { attempts: crashes, cause: event.cause } };
      return { ...life, crashes, status: 'failed', message, error, finished_at: event.at };
    }
    case 'release':
      return queuedAgain(
        { ...life, earlier: withEnded(life, { end: 'released', reason: event.cause, at: event.at }) },
        `Waiting again: ${event.cause}.`,
      );
  }
}

function queuedAgain(life: Life, message: string): Life {
  return {
    ...life,
    status: 'pending',
    attempt: life.attempt + 1,
    progress: 0,
    message,
    started_at: null,
    heartbeat_at: null,
    node: null,
  };
}

import { isTerminal, type JobStatus } from '#jobs/port/life-cycle.js';
import { EPOCH_MS } from './ports.js';
import { formatIncarnation, readToken, type World } from './world.js';

/** Running attempt of the current process. */
export interface AttemptSeen {
  readonly token: string;
  readonly signal: AbortSignal;
}

export interface StatusFacts {
  readonly leaseMs: number;
  /** Process that wrote the start of an attempt. The key consists of the submission and the attempt. */
  readonly startedBy: ReadonlyMap<string, number>;
  readonly attempts: ReadonlySet<AttemptSeen>;
}

/** Checks the statuses of jobs in the order in which clients receive them. */
export interface StatusChecks {
  check(status: JobStatus): void;
  /** Latest status that a client received, by submission. */
  readonly seen: ReadonlyMap<string, JobStatus>;
}

/** Milliseconds from the end of a lease until the system notices it. Polls are a second apart, and the disk is slow. */
const GRACE_MS = 3000;

export function createStatusChecks(world: World, { leaseMs, startedBy, attempts }: StatusFacts): StatusChecks {
  const { agenda, say } = world;
  const seenStatuses = new Map<string, JobStatus>();
  /** Process that returned the latest status, by submission. */
  const seenBy = new Map<string, number>();
  /** Time at which the attempt was last seen working. The key consists of the submission and the attempt. */
  const idleSince = new Map<string, number>();

  function checkRunning(status: JobStatus, key: string): void {
    const { job_id: jobId, attempt } = status;
    const attemptKey = `${key}#${attempt}`;
    if (startedBy.get(attemptKey) !== world.process) say(`${jobId} is running though this process never started it`);
    const isWorkedOn = [...attempts].some(({ token, signal }) => token === readToken(status) && !signal.aborted);
    const idleMs = isWorkedOn ? 0 : agenda.now() - (idleSince.get(attemptKey) ?? agenda.now());
    idleSince.set(attemptKey, agenda.now() - idleMs);
    if (idleMs > leaseMs + GRACE_MS) say(`${jobId} is running for ${idleMs} ms without an attempt`);
    const silenceMs = EPOCH_MS + agenda.now() - Date.parse(status.heartbeat_at!);
    if (silenceMs > leaseMs + GRACE_MS) say(`${jobId} is running after ${silenceMs} ms of silence`);
  }

  function checkChange(before: JobStatus, status: JobStatus, isSameProcess: boolean): void {
    const { job_id: jobId, attempt, progress } = status;
    if (isTerminal(before.status) && JSON.stringify(before) !== JSON.stringify(status))
      say(`${jobId} changed from ${before.status} to ${status.status}`);
    if (attempt < before.attempt) say(`${jobId} went back to attempt ${attempt}`);
    if (before.status === 'running' && status.status === 'pending' && attempt === before.attempt)
      say(`${jobId} waits again under the same attempt`);
    // Progress is kept in memory. So a job that fails because its process ended reports no progress.
    if (isSameProcess && attempt === before.attempt && progress < before.progress)
      say(`${jobId} went back from ${before.progress} to ${progress}`);
  }

  return {
    check(status) {
      const key = formatIncarnation(status);
      const before = seenStatuses.get(key);
      const isSameProcess = seenBy.get(key) === world.process;
      seenStatuses.set(key, status);
      seenBy.set(key, world.process);
      const { job_id: jobId, progress } = status;
      if (status.status === 'pending' && progress !== 0) say(`${jobId} is pending at ${progress}`);
      if (status.status === 'succeeded' && progress !== 1) say(`${jobId} succeeded at ${progress}`);
      if (status.status === 'running') checkRunning(status, key);
      if (before !== undefined) checkChange(before, status, isSameProcess);
    },
    seen: seenStatuses,
  };
}

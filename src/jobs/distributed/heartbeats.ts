import type { Lease, Leases } from '../port/queue.js';
import type { Clock } from '../port/clock.js';
import type { TaskProgress } from '../port/compute-pool.js';
import type { Beat, JobReading, JobRows } from './job-rows.js';

/**
 * Jobs of the attempts that this node runs, as the node read them at the start. The ends of the attempts then need no
 * read. Another process changes such a job only to end it, to add a callback, or after heartbeats have stopped. In
 * these cases, the end of the attempt reads the job too.
 */
interface NodeAttemptRecords {
  start(lease: Lease, seen: JobReading): void;
  /**
   * Records the last report of an attempt. It is undefined if the report may not have arrived; the end of the attempt
   * then reads the job.
   */
  say(lease: Lease, beat: Beat | undefined): void;
  of(lease: Lease): JobReading | undefined;
}

export function createNodeAttemptRecords(): NodeAttemptRecords {
  const jobs = new WeakMap<Lease, JobReading>();
  return {
    start: (lease, jobReading) => void jobs.set(lease, jobReading),
    say(lease, beat) {
      const job = jobs.get(lease);
      if (beat === undefined) jobs.delete(lease);
      else if (job !== undefined) jobs.set(lease, { ...job, beat });
    },
    of: (lease) => jobs.get(lease),
  };
}

/** Interval between heartbeats of a node. */
export const QUIET_MS = 2000;
/**
 * Time without a report after which an attempt sends a heartbeat, even if its progress has not changed. Attempts are
 * checked once a second, so that every attempt reports within 2.25 s. An attempt therefore detects a cancellation in
 * time even if the notification was lost.
 */
export const BEAT_MS_MIN = 1250;

export interface HeartbeatsDependencies {
  readonly rows: Pick<JobRows, 'beat'>;
  readonly leases: Leases;
  readonly own: Pick<NodeAttemptRecords, 'say'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly leaseMs: number;
  readonly findProgress: (lease: Lease) => TaskProgress | undefined;
  /** Called when progress has changed. */
  readonly onNews: (jobId: string) => void;
}

/** Heartbeats of this node's attempts, each with its progress. */
export interface Heartbeats {
  /** See the queue's `heartbeat`. */
  heartbeat(lease: Lease): Promise<boolean>;
  /** Renews a lease now. @returns false if another attempt has replaced this one and its lease is lost */
  prolong(lease: Lease): Promise<boolean>;
}

export function createHeartbeats(dependencies: HeartbeatsDependencies): Heartbeats {
  const { rows, leases, clock, leaseMs, findProgress, own, onNews } = dependencies;
  const lastMessages = new WeakMap<Lease, string>();

  async function beat(lease: Lease, progress: TaskProgress | undefined, hasNews: boolean): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    const beatRow = await rows.beat(lease, { progress, hasNews, leaseMs }).catch((thrown: unknown) => {
      own.say(lease, undefined);
      throw thrown;
    });
    if (beatRow === undefined) {
      leases.lose(lease);
      return false;
    }
    own.say(lease, beatRow);
    leases.beat(lease, nowMs);
    return true;
  }

  return {
    async heartbeat(lease) {
      if (!leases.isHeld(lease)) return false;
      const progress = findProgress(lease);
      const text = JSON.stringify(progress ?? null);
      const hasNews = lastMessages.get(lease) !== text;
      if (!hasNews && !leases.silentSince(clock.monotonicMs() - BEAT_MS_MIN + 1).includes(lease)) return true;
      if (!(await beat(lease, progress, hasNews))) return false;
      lastMessages.set(lease, text);
      if (hasNews) onNews(lease.jobId);
      return true;
    },
    prolong: (lease) => beat(lease, undefined, false),
  };
}

/** Buffer of notifications that arrive during work, before its listener exists. */
export interface NotificationBuffer {
  hear(word: string): void;
  /** @returns the result of the work, and all notifications during it */
  during<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly heard: ReadonlySet<string> }>;
}

export function createNotificationBuffer(): NotificationBuffer {
  const openBuffers = new Set<Set<string>>();
  return {
    hear: (word) => openBuffers.forEach((heard) => heard.add(word)),
    async during(work) {
      const notifiedIds = new Set<string>();
      openBuffers.add(notifiedIds);
      try {
        return { value: await work(), heard: notifiedIds };
      } finally {
        openBuffers.delete(notifiedIds);
      }
    },
  };
}

import type { Clock } from '../clock.js';
import type { TaskProgress } from '../compute-pool.js';
import type { Leases } from '../local/leases.js';
import type { Lease } from '../queue.js';
import type { JobRows } from './job-rows.js';
import type { NodeAttemptRecords } from './own-attempts.js';

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

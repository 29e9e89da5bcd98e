import type { Clock } from '../clock.js';
import type { TaskProgress } from '../compute-pool.js';
import type { Leases } from '../local/leases.js';
import type { Lease } from '../queue.js';
import type { JobRows } from './job-rows.js';
import type { OwnAttempts } from './own-attempts.js';

/** How often a node, and an attempt that has nothing new, says that it lives. */
export const QUIET_MS = 2000;
/**
 * A quiet attempt is looked at once a second: one that was silent for so long says it now, so that it is never silent for
 * longer than 2.25 s, and learns in time that it was cancelled should the word of that be lost.
 */
export const BEAT_MS_MIN = 1250;

export interface HeartbeatsDependencies {
  readonly rows: Pick<JobRows, 'beat'>;
  readonly leases: Leases;
  readonly own: Pick<OwnAttempts, 'say'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly leaseMs: number;
  readonly progressOf: (lease: Lease) => TaskProgress | undefined;
  /** Called for progress that is another than before. */
  readonly onNews: (jobId: string) => void;
}

/** Signs of life of this node's attempts, each with the progress. */
export interface Heartbeats {
  /** As the queue's. */
  heartbeat(lease: Lease): Promise<boolean>;
  /** Prolongs a lease now. @returns whether the attempt still is the one; its lease is lost otherwise */
  prolong(lease: Lease): Promise<boolean>;
}

export function createHeartbeats(dependencies: HeartbeatsDependencies): Heartbeats {
  const { rows, leases, clock, leaseMs, progressOf, own, onNews } = dependencies;
  const said = new WeakMap<Lease, string>();

  async function beat(lease: Lease, progress: TaskProgress | undefined, hasNews: boolean): Promise<boolean> {
    const now = clock.monotonicMs();
    const beaten = await rows.beat(lease, { progress, hasNews, leaseMs }).catch((thrown: unknown) => {
      own.say(lease, undefined);
      throw thrown;
    });
    if (beaten === undefined) {
      leases.lose(lease);
      return false;
    }
    own.say(lease, beaten);
    leases.beat(lease, now);
    return true;
  }

  return {
    async heartbeat(lease) {
      if (!leases.isHeld(lease)) return false;
      const progress = progressOf(lease);
      const text = JSON.stringify(progress ?? null);
      const hasNews = said.get(lease) !== text;
      if (!hasNews && !leases.silentSince(clock.monotonicMs() - BEAT_MS_MIN + 1).includes(lease)) return true;
      if (!(await beat(lease, progress, hasNews))) return false;
      said.set(lease, text);
      if (hasNews) onNews(lease.jobId);
      return true;
    },
    prolong: (lease) => beat(lease, undefined, false),
  };
}

import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import type { ClaimOrder } from '../queue.js';
import { RESERVED_SECONDS, type JobRows, type ReservedJob } from './job-rows.js';

export interface OffersDependencies {
  readonly rows: Pick<JobRows, 'reserve' | 'release'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Memory that this node has for all of its jobs. */
  readonly memoryBytes: number;
}

/** Jobs that are reserved for this node while it decides whether it takes them. */
export interface Offers {
  /** The job that the node makes room for, otherwise the next one in line that it may take. */
  next(order: ClaimOrder): Promise<ReservedJob | undefined>;
  /**
   * One that was not taken. It is first in line again; or, where it has waited so long that it is offered to nodes
   * without room, stays with this one, which takes no other of its lane until it has the room.
   */
  leave(offered: ReservedJob, order: ClaimOrder): Promise<void>;
  /** Gives back what the node makes room for. */
  close(): Promise<void>;
}

interface HeldJob {
  readonly job: ReservedJob;
  readonly untilMs: number;
}

export function createOffers({ rows, clock, memoryBytes }: OffersDependencies): Offers {
  const held = new Map<Lane, HeldJob>();

  /** Takes out the job that is held; a reservation that has run out may be another node's. */
  function takeHeld({ lane, exceptOwners }: ClaimOrder): ReservedJob | undefined {
    const entry = held.get(lane);
    if (entry !== undefined && exceptOwners.has(entry.job.owner)) return undefined;
    held.delete(lane);
    return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.job : undefined;
  }

  return {
    async next(order) {
      const { lane, exceptOwners, freeBytes } = order;
      const own = takeHeld(order);
      if (own !== undefined) return own;
      return rows.reserve({ lane, exceptOwners: [...exceptOwners], freeBytes, memoryBytes });
    },
    async leave(offered, { lane, freeBytes }) {
      if (offered.estimated_bytes <= freeBytes || held.has(lane)) return rows.release(offered);
      held.set(lane, { job: offered, untilMs: clock.monotonicMs() + RESERVED_SECONDS * 1000 });
    },
    async close() {
      const left = [...held.values()].map(({ job }) => rows.release(job));
      held.clear();
      await Promise.allSettled(left); // Reservations run out by themselves.
    },
  };
}

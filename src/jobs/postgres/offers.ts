import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import type { ClaimOrder } from '../queue.js';
import { RESERVED_SECONDS, type JobRows, type ReservedJob, type Start } from './job-rows.js';

export interface OffersDependencies {
  readonly rows: Pick<JobRows, 'reserve' | 'release' | 'undo'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Memory that this node has for all of its jobs. */
  readonly memoryBytes: number;
}

/** Jobs that are this node's while it decides whether it takes them. */
export interface Offers {
  /** The job that the node makes room for, otherwise the next one in line that it may take, which begins where it fits. */
  next(order: ClaimOrder, start: Start): Promise<ReservedJob | undefined>;
  /** Does what belongs to a start. Where that fails nobody runs the job, and the start is taken back. */
  orTakenBack<T>(start: Start, work: () => Promise<T>): Promise<T>;
  /** Takes back starts that failed, or whose answers were lost: their jobs wait again, which counts for no crash. */
  takeBack(): Promise<void>;
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
  /** Starts that failed half-way, or whose answers were lost: nobody runs what they may have begun. */
  const lost = new Set<Start>();

  /** Takes out the job that is held; a reservation that has run out may be another node's. */
  function takeHeld({ lane, exceptOwners }: ClaimOrder): ReservedJob | undefined {
    const entry = held.get(lane);
    if (entry !== undefined && exceptOwners.has(entry.job.owner)) return undefined;
    held.delete(lane);
    return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.job : undefined;
  }

  async function orTakenBack<T>(start: Start, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      lost.add(start);
      throw thrown;
    }
  }

  async function takeBack(): Promise<void> {
    if (lost.size === 0) return;
    const starts = [...lost];
    await rows.undo(starts);
    for (const start of starts) lost.delete(start);
  }

  return {
    async next(claim, start) {
      await takeBack();
      const { lane, exceptOwners, freeBytes } = claim;
      const own = takeHeld(claim);
      if (own !== undefined) return own;
      const order = { lane, exceptOwners: [...exceptOwners], freeBytes, memoryBytes, start };
      return orTakenBack(start, () => rows.reserve(order));
    },
    orTakenBack,
    takeBack,
    async leave(offered, { lane, freeBytes }) {
      const isHeld = offered.claim === null && offered.estimated_bytes > freeBytes;
      if (!isHeld || held.has(lane)) return rows.release(offered);
      held.set(lane, { job: offered, untilMs: clock.monotonicMs() + RESERVED_SECONDS * 1000 });
    },
    async close() {
      const left = [...held.values()].map(({ job }) => rows.release(job));
      held.clear();
      await Promise.allSettled(left); // Reservations run out by themselves.
    },
  };
}

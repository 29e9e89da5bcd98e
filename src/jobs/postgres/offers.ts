import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import type { ClaimOrder } from '../queue.js';
import { RESERVED_SECONDS, type JobRows, type ReservedJob, type Start } from './job-rows.js';

export interface OffersDependencies {
  readonly rows: Pick<JobRows, 'reserve' | 'release' | 'undo'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Memory of this node for all its jobs. */
  readonly memoryBytes: number;
}

/** Jobs that are reserved for this node while it decides whether to take them. */
export interface Offers {
  /**
   * Returns the job for which the node keeps memory free, otherwise the next waiting job that the node may take. The
   * job starts if it fits into the free memory.
   */
  next(order: ClaimOrder, start: Start): Promise<ReservedJob | undefined>;
  /** Runs the work that follows a start. If the work fails, no node runs the job, and the start is undone. */
  orTakenBack<T>(start: Start, work: () => Promise<T>): Promise<T>;
  /** Undoes failed or unconfirmed starts. Their jobs wait again, and the starts do not count as crashes. */
  takeBack(): Promise<void>;
  /**
   * Returns a job that was not taken to the front of the queue. If the job has waited so long that nodes without enough
   * memory are offered it, this node keeps the job and takes no other job of its lane until the memory is free.
   */
  leave(offered: ReservedJob, order: ClaimOrder): Promise<void>;
  /** Releases the jobs for which the node keeps memory free. */
  close(): Promise<void>;
}

interface OfferedJob {
  readonly job: ReservedJob;
  readonly untilMs: number;
}

export function createOffers({ rows, clock, memoryBytes }: OffersDependencies): Offers {
  const offersByLane = new Map<Lane, OfferedJob>();
  /** Starts that failed half-way or were not confirmed; no node runs their jobs. */
  const lostStarts = new Set<Start>();

  /**
   * Removes the job for which the node keeps memory free. After the reservation has expired, another node may have
   * reserved it.
   */
  function takeOffered({ lane, exceptOwners }: ClaimOrder): ReservedJob | undefined {
    const entry = offersByLane.get(lane);
    if (entry !== undefined && exceptOwners.has(entry.job.owner)) return undefined;
    offersByLane.delete(lane);
    return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.job : undefined;
  }

  async function undoOnFailure<T>(start: Start, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      lostStarts.add(start);
      throw thrown;
    }
  }

  async function takeBack(): Promise<void> {
    if (lostStarts.size === 0) return;
    const starts = [...lostStarts];
    await rows.undo(starts);
    for (const start of starts) lostStarts.delete(start);
  }

  return {
    async next(claim, start) {
      await takeBack();
      const { lane, exceptOwners, freeBytes } = claim;
      const ownReservedJob = takeOffered(claim);
      if (ownReservedJob !== undefined) return ownReservedJob;
      const order = { lane, exceptOwners: [...exceptOwners], freeBytes, memoryBytes, start };
      return undoOnFailure(start, () => rows.reserve(order));
    },
    orTakenBack: undoOnFailure,
    takeBack,
    async leave(offered, { lane, freeBytes }) {
      const isHeld = offered.claim === null && offered.estimated_bytes > freeBytes;
      if (!isHeld || offersByLane.has(lane)) return rows.release(offered);
      offersByLane.set(lane, { job: offered, untilMs: clock.monotonicMs() + RESERVED_SECONDS * 1000 });
    },
    async close() {
      const releases = [...offersByLane.values()].map(({ job }) => rows.release(job));
      offersByLane.clear();
      await Promise.allSettled(releases); // Reservations expire by themselves.
    },
  };
}

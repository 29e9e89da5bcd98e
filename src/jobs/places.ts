import type { Lane } from './compute-pool.js';
import type { NodeLimits } from './job-system.js';
import type { WaitingJob } from './queue.js';

/** Capacity of this node: places in each lane, a limit per owner, and memory for all. */
export interface Places {
  isFree(lane: Lane): boolean;
  /** Owners that hold all the places of a lane that one of them may. */
  fullOwners(lane: Lane): ReadonlySet<string>;
  /** Takes a place for a job where there is one and the memory besides; undefined where there is not. */
  take(job: WaitingJob, lane: Lane): Place | undefined;
  /** Memory that the jobs which hold places leave. */
  freeBytes(): number;
}

/** A place that a job holds. */
export interface Place {
  /**
   * Leaves it to another job before this one is over, which computes no more. As many may end beside those that hold
   * places as there are places; one more keeps its own.
   */
  leave(): void;
  /** The job is over. */
  giveBack(): void;
}

const NOBODY: ReadonlySet<string> = new Set();

/** @param onFree called when a place may have become free */
export function createPlaces({ runningMax, ownerRunningMax, memoryBytes }: NodeLimits, onFree: () => void): Places {
  const held: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Jobs that have left their places and are not over. */
  const ending: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Places of the heavy lane by owner. */
  const heldBy = new Map<string, number>();
  let reservedBytes = 0;

  function hold({ owner, estimated_bytes: bytes }: WaitingJob, lane: Lane, by: 1 | -1): void {
    held[lane] += by;
    reservedBytes += by * bytes;
    if (lane === 'light' || owner === '') return; // Jobs without an owner are the service's own.
    const count = (heldBy.get(owner) ?? 0) + by;
    if (count > 0) heldBy.set(owner, count);
    else heldBy.delete(owner);
  }

  function takePlace(job: WaitingJob, lane: Lane): Place {
    let state: 'held' | 'left' | 'over' = 'held';
    hold(job, lane, 1);
    return {
      leave() {
        if (state !== 'held' || ending[lane] >= runningMax[lane]) return;
        state = 'left';
        ending[lane]++;
        hold(job, lane, -1);
        onFree();
      },
      giveBack() {
        if (state === 'held') hold(job, lane, -1);
        if (state === 'left') ending[lane]--;
        state = 'over';
        onFree();
      },
    };
  }

  return {
    isFree: (lane) => held[lane] < runningMax[lane],
    fullOwners(lane) {
      if (lane === 'light' || heldBy.size === 0) return NOBODY;
      return new Set([...heldBy].flatMap(([owner, count]) => (count >= ownerRunningMax ? [owner] : [])));
    },
    take(job, lane) {
      const isFitting = reservedBytes === 0 || reservedBytes + job.estimated_bytes <= memoryBytes;
      return isFitting ? takePlace(job, lane) : undefined;
    },
    freeBytes: () => Math.max(0, memoryBytes - reservedBytes),
  };
}

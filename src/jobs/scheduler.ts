import type { Lane } from './compute-pool.js';
import { createNodeAttempts, type NodeAttemptsDependencies } from './node-attempts.js';
import { createJobSlots, type JobSlot } from './job-slots.js';
import type { JobQueue, Node } from './queue.js';

/** Scheduler of one node. It takes jobs while the node has capacity, runs their attempts and monitors them. */
export interface Scheduler extends Node {
  /** Starts to claim jobs. */
  start(): void;
  /** Stops claiming jobs. */
  drain(): void;
  /** Returns every attempt to the queue. */
  stop(): Promise<void>;
}

export interface SchedulerDependencies extends Omit<NodeAttemptsDependencies, 'queue' | 'isOpen'> {
  readonly queue: NodeAttemptsDependencies['queue'] & Pick<JobQueue, 'claim'>;
  /** Returns true if this node may take jobs. Default: always. */
  readonly isFit?: (() => boolean) | undefined;
}

const LANES: readonly Lane[] = ['light', 'heavy'];

export function createScheduler(dependencies: SchedulerDependencies): Scheduler {
  const { queue, artifacts, limits, isFit = () => true } = dependencies;
  const attempts = createNodeAttempts({ ...dependencies, isOpen: () => isOpen });
  const slots = createJobSlots(limits, fillAll);
  const isAsking = { heavy: false, light: false };
  const news = { heavy: false, light: false };
  let isOpen = false;

  function fillAll(): void {
    LANES.forEach(fill);
  }

  /**
   * Takes light or heavy jobs while a slot is free. Jobs are requested one at a time; jobs that were taken earlier may
   * still be starting.
   */
  function fill(lane: Lane): void {
    news[lane] = isAsking[lane];
    let isMore = true;
    while (isMore) isMore = mayAsk(lane) && claimNext(lane);
  }

  function mayAsk(lane: Lane): boolean {
    return isOpen && isFit() && !isAsking[lane] && artifacts.health?.fault() === undefined && slots.isFree(lane);
  }

  /** @returns true if a job was taken at once, so that the next job may be requested */
  function claimNext(lane: Lane): boolean {
    let slot: JobSlot | undefined;
    let isAnswered = false;
    let isReturned = false;
    isAsking[lane] = true;
    const pendingClaim = queue.claim({
      lane,
      exceptOwners: slots.fullOwners(lane),
      freeBytes: slots.freeBytes(),
      take(job) {
        isAnswered = true;
        isAsking[lane] = false;
        slot = slots.take(job, lane);
        if (isReturned && slot !== undefined) fill(lane);
        return slot !== undefined;
      },
    });
    attempts.perform(pendingClaim, {
      leave: () => slot?.leave(),
      onEnd() {
        if (slot !== undefined) slot.giveBack();
        else if (!isAnswered) {
          isAsking[lane] = false;
          if (news[lane]) fill(lane);
        }
      },
    });
    isReturned = true;
    return slot !== undefined;
  }

  return {
    onWork: fillAll,
    findProgress: attempts.findProgress,
    getFreeCapacity: () => ({ lanes: LANES.filter(mayAsk), freeBytes: slots.freeBytes() }),
    start() {
      isOpen = true;
      fillAll();
    },
    drain() {
      isOpen = false;
    },
    async stop() {
      isOpen = false;
      await attempts.stop();
    },
  };
}

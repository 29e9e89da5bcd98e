import { totalmem } from 'node:os';
import { LIMITS } from '#domain/base/limits.js';
import { RETRY_DEFAULTS } from '#domain/outputs/jobs.js';
import type { Lane } from './port/compute-pool.js';
import type { NodeLimits } from './port/job-kind.js';
import type { QueueLimits, WaitingJob } from './port/queue.js';

export interface JobSlot {
  /**
   * Frees the slot for another job before this job ends, because this job has finished computing. The number of jobs
   * that may do this is limited to the number of slots; a further job keeps its slot.
   */
  leave(): void;
  /** Ends the job's use of the slot and its memory. */
  giveBack(): void;
}

const NO_OWNERS: ReadonlySet<string> = new Set();

/** @param onFree called when a slot may have become free */
export function createJobSlots({ runningMax, ownerRunningMax, memoryBytes }: NodeLimits, onFree: () => void) {
  const slotsInUse: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Number of jobs that left their slots and have not ended. */
  const endingCounts: Record<Lane, number> = { heavy: 0, light: 0 };
  /** Number of occupied slots for heavy jobs, by owner of the jobs. */
  const slotsByOwner = new Map<string, number>();
  let reservedBytes = 0;

  function changeSlots({ owner, estimated_bytes: bytes }: WaitingJob, lane: Lane, by: 1 | -1): void {
    slotsInUse[lane] += by;
    reservedBytes += by * bytes;
    if (lane === 'light' || owner === '') return; // Jobs without an owner belong to the service.
    const count = (slotsByOwner.get(owner) ?? 0) + by;
    if (count > 0) slotsByOwner.set(owner, count);
    else slotsByOwner.delete(owner);
  }

  function takeSlot(job: WaitingJob, lane: Lane): JobSlot {
    let state: 'held' | 'left' | 'over' = 'held';
    changeSlots(job, lane, 1);
    return {
      leave() {
        if (state !== 'held' || endingCounts[lane] >= runningMax[lane]) return;
        state = 'left';
        endingCounts[lane]++;
        changeSlots(job, lane, -1);
        onFree();
      },
      giveBack() {
        if (state === 'held') changeSlots(job, lane, -1);
        if (state === 'left') endingCounts[lane]--;
        state = 'over';
        onFree();
      },
    };
  }

  return {
    isFree: (lane: Lane): boolean => slotsInUse[lane] < runningMax[lane],
    /** Returns the owners that hold the maximum number of slots of a lane. */
    fullOwners(lane: Lane): ReadonlySet<string> {
      if (lane === 'light' || slotsByOwner.size === 0) return NO_OWNERS;
      return new Set([...slotsByOwner].flatMap(([owner, count]) => (count >= ownerRunningMax ? [owner] : [])));
    },
    /** Takes a slot for a job. Returns undefined if no slot is free or memory is insufficient. */
    take(job: WaitingJob, lane: Lane): JobSlot | undefined {
      const isFitting = reservedBytes === 0 || reservedBytes + job.estimated_bytes <= memoryBytes;
      return isFitting ? takeSlot(job, lane) : undefined;
    },
    /** Returns the memory that is not reserved by jobs with slots. */
    freeBytes: (): number => Math.max(0, memoryBytes - reservedBytes),
  };
}

/** Share of the memory that running jobs may use. The rest is for market data, pending results and HTTP requests. */
const MEMORY_SHARE = 0.6;

/**
 * Returns the number of bytes that running jobs may use in total. It is a share of the memory of the control group or
 * the machine.
 */
export function computeMemoryBudget(share: number = MEMORY_SHARE): number {
  const limit = process.constrainedMemory(); // the limit is 0, or larger than the machine, if nothing limits the process
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.floor(memory * share);
}

/** Maximum number of running light jobs. Each uses one thread and also works outside of it. */
const LIGHT_RUNNING_MAX = 4;

export interface NodeSize {
  readonly workers: number;
  readonly memoryBytes: number;
  /** Maximum number of running jobs by lane. Default: determined by the number of threads. */
  readonly places?: Partial<Record<Lane, number>>;
  /** Limits of waiting and ended jobs, and the retry policies. */
  readonly policy?: Partial<Pick<QueueLimits, 'queueMax' | 'endedMax' | 'getRetryPolicy'>>;
  /** Time without a heartbeat after which another process may take over a job. */
  readonly leaseMs?: number | undefined;
}

export function deriveNodeLimits({
  workers,
  memoryBytes,
  places,
  leaseMs,
  policy,
}: NodeSize): NodeLimits & QueueLimits {
  const {
    queueMax = LIMITS.MAX_QUEUED_JOBS,
    endedMax = LIMITS.MAX_ENDED_JOBS,
    getRetryPolicy = () => RETRY_DEFAULTS,
  } = policy ?? {};
  return {
    getRetryPolicy,
    queueMax,
    ownerQueueMax: LIMITS.MAX_KEY_QUEUED_JOBS,
    endedMax,
    jobBytesMax: memoryBytes,
    leaseMs: leaseMs ?? LIMITS.HEARTBEAT_TIMEOUT_SECONDS * 1000,
    runningMax: { heavy: workers, light: LIGHT_RUNNING_MAX, ...places },
    ownerRunningMax: Math.max(LIMITS.MAX_KEY_RUNNING_JOBS, Math.floor(workers / 2)),
    memoryBytes,
    jobMsMax: LIMITS.MAX_JOB_SECONDS * 1000,
    cancelGraceMs: LIMITS.CANCEL_GRACE_SECONDS * 1000,
    queryMsMax: LIMITS.MAX_QUERY_SECONDS * 1000,
  };
}

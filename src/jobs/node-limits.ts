import { totalmem } from 'node:os';
import { LIMITS } from '#domain/base/limits.js';
import { RETRY_DEFAULTS } from '#domain/outputs/jobs.js';
import type { Lane } from './port/compute-pool.js';
import type { NodeLimits } from './port/job-kind.js';
import type { QueueLimits } from './port/queue.js';

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

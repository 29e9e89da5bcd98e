import { LIMITS } from '#domain/limits.js';
import type { EngineLimits } from './job-engine.js';

/** Light jobs at once: their one thread, and the work that runs beside it. */
const LIGHT_RUNNING_MAX = 4;

/** The engine's limits on this machine. */
export function engineLimits({
  workers,
  memoryBytes,
}: {
  readonly workers: number;
  readonly memoryBytes: number;
}): EngineLimits {
  return {
    attemptsMax: LIMITS.MAX_ATTEMPTS,
    queueMax: LIMITS.MAX_QUEUED_JOBS,
    runningMax: { heavy: workers, light: LIGHT_RUNNING_MAX },
    perOwner: {
      queueMax: LIMITS.MAX_KEY_QUEUED_JOBS,
      runningMax: Math.max(LIMITS.MAX_KEY_RUNNING_JOBS, Math.floor(workers / 2)),
    },
    endedMax: LIMITS.MAX_ENDED_JOBS,
    memoryBytes,
    heartbeatTimeoutMs: LIMITS.HEARTBEAT_TIMEOUT_SECONDS * 1000,
    jobMsMax: LIMITS.MAX_JOB_SECONDS * 1000,
    cancelGraceMs: LIMITS.CANCEL_GRACE_SECONDS * 1000,
    queryMsMax: LIMITS.MAX_QUERY_SECONDS * 1000,
  };
}

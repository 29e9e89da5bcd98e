import { isUnavailable } from '#domain/refusals/refusal.js';
import type { JobLog } from './queue.js';

/**
 * Log of outages of the store. It logs the beginning and the end of an outage, but not every failed change in between.
 */
export interface OutageLog {
  /** Logs a failed change of a job. @param job log fields */
  failed(thrown: unknown, job: object | undefined): void;
  /** Records a successful change. */
  end(): void;
}

export function createOutageLog(log: JobLog, monotonicMs: () => number): OutageLog {
  let begunMs: number | undefined;
  return {
    failed(thrown, job) {
      if (!isUnavailable(thrown)) return log.error({ ...job, err: thrown }, 'a change of a job could not be written');
      if (begunMs === undefined) log.warn({ cause: thrown.message }, 'running jobs cannot be written; they continue');
      begunMs ??= monotonicMs();
    },
    end() {
      if (begunMs === undefined) return;
      log.info({ seconds: Math.round((monotonicMs() - begunMs) / 1000) }, 'running jobs are written again');
      begunMs = undefined;
    },
  };
}

import { isUnavailable } from '#domain/refusals/refusal.js';
import type { JobLog } from './queue.js';

/** Tells of a store that cannot be written to where that begins and where it is over, not for every change between. */
export interface OutageLog {
  /** A change of a job could not be written. @param job as the log names it */
  failed(thrown: unknown, job: object | undefined): void;
  /** A change was written. */
  end(): void;
}

export function createOutageLog(log: JobLog, monotonicMs: () => number): OutageLog {
  let begunMs: number | undefined;
  return {
    failed(thrown, job) {
      if (!isUnavailable(thrown)) return log.error({ ...job, err: thrown }, 'a change of a job could not be written');
      if (begunMs === undefined) log.warn({ cause: thrown.message }, 'the jobs that run cannot be written; they go on');
      begunMs ??= monotonicMs();
    },
    end() {
      if (begunMs === undefined) return;
      log.info({ seconds: Math.round((monotonicMs() - begunMs) / 1000) }, 'the jobs that run are written again');
      begunMs = undefined;
    },
  };
}

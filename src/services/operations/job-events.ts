import { LIMITS } from '#domain/refusals/limits.js';
import type { JobSystem } from '#jobs/job-system.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { JobStatus } from '#jobs/status.js';

export interface JobEvent {
  /** Counter for `Last-Event-ID`. */
  readonly id: number;
  readonly status: JobStatus;
}

/** Event about any job. The value null means that every job that was unfinished at the start has been reported. */
export type AnyJobEvent = JobEvent | null;

export interface FollowOptions {
  /**
   * Number of seconds for which changes are sent after the list of unfinished jobs. With 0, the stream ends after the
   * list.
   */
  readonly seconds: number;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  readonly onEnd: () => void;
}

/**
 * Yields the latest unfinished jobs of a listing and then every change of any job. While the reader is busy, changes of
 * one job are combined. At most one event per job waits.
 */
export async function followJobs(
  system: Pick<JobSystem, 'find' | 'watchAll' | 'liveIds'>,
  { seconds, stopping, onEnd }: FollowOptions,
): Promise<AsyncIterableIterator<AnyJobEvent>> {
  const waitingIds = new Set<string>();
  let isCaughtUp = false;
  /** Jobs that changed while the unfinished jobs were being reported. */
  const changedIds = new Set<string>();
  let isEnded = false;
  let wake = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const unwatch = system.watchAll((jobId) => {
    (isCaughtUp ? waitingIds : changedIds).add(jobId);
    wake();
  });
  stopping.addEventListener('abort', end);
  const liveIds = await system.liveIds().catch((failure: unknown) => {
    end();
    throw failure;
  });
  for (const jobId of liveIds.slice(-LIMITS.MAX_LISTED_JOBS)) waitingIds.add(jobId);

  function end(): IteratorResult<AnyJobEvent, undefined> {
    if (!isEnded) {
      isEnded = true;
      clearTimeout(timer);
      unwatch();
      stopping.removeEventListener('abort', end);
      onEnd();
      wake();
    }
    return { done: true, value: undefined };
  }

  /** Returns the id of the next job to report; undefined if no job waits. */
  function takeNext(): string | undefined {
    const [jobId] = waitingIds;
    if (jobId !== undefined) waitingIds.delete(jobId);
    return jobId;
  }

  const events: AsyncIterableIterator<AnyJobEvent> = {
    async next() {
      for (;;) {
        if (isEnded || stopping.aborted) return end();
        const jobId = takeNext();
        if (jobId !== undefined) {
          const result = await system.find(jobId).catch(() => undefined); // unreadable jobs are omitted, as in a listing
          if (isEnded) return end();
          if (result !== undefined)
            return { done: false, value: { id: result.revision, status: { ...result.status, result: null } } };
        } else if (!isCaughtUp) {
          isCaughtUp = true;
          timer = setTimeout(end, seconds * 1000);
          for (const changedId of changedIds) waitingIds.add(changedId);
          return { done: false, value: null };
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
    return: () => Promise.resolve(end()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return events;
}

/**
 * Yields the changes of a job. While the reader is busy, changes are combined: an event contains the current status and
 * not each earlier one.
 */
export function followJob(
  system: Pick<JobSystem, 'find' | 'watch'>,
  {
    jobId,
    seen,
    stopping,
    onEnd,
  }: {
    readonly jobId: string;
    readonly seen: number | undefined;
    readonly stopping: AbortSignal;
    readonly onEnd: () => void;
  },
): AsyncIterableIterator<JobEvent> {
  let lastRevision = seen;
  let isEnded = false;
  /** True if a change has occurred since the last read. */
  let hasChange = false;
  let wake = (): void => {};
  const unwatch = system.watch(jobId, () => {
    hasChange = true;
    wake();
  });

  stopping.addEventListener('abort', end);

  function end(): IteratorResult<JobEvent, undefined> {
    if (!isEnded) {
      isEnded = true;
      unwatch();
      stopping.removeEventListener('abort', end);
      onEnd();
      wake();
    }
    return { done: true, value: undefined };
  }

  return {
    async next() {
      for (;;) {
        hasChange = false;
        const result = isEnded ? undefined : await system.find(jobId);
        if (result === undefined || isEnded) return end();
        if (lastRevision !== result.revision) {
          lastRevision = result.revision;
          return { done: false, value: { id: result.revision, status: { ...result.status, result: null } } };
        }
        if (isTerminal(result.status.status) || stopping.aborted) return end();
        if (hasChange) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    return: () => Promise.resolve(end()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

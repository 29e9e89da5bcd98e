import { JOB_KINDS, type JobKindName } from '#domain/outputs/jobs.js';
import { type DocumentReader, findCause, type UnreadableCause } from '#store/port.js';
import { type JobRecord, type JobStatus, readJobRecord } from './life-cycle.js';
import type { JobListing } from './queue.js';

export interface JobListeners {
  readonly jobIds: () => readonly string[];
  readonly hasListenersOfAll: () => boolean;
  readonly isEmpty: () => boolean;
  /** Adds a listener to one job. Returns a function that removes the listener. */
  watch(jobId: string, listener: () => void): () => void;
  /** Adds a listener to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;
  call(jobId: string): void;
}

/** Creates the listeners of this process. Calls `onWatched` for each new listener. */
export function createJobListeners(onWatched: () => void): JobListeners {
  const listenersByJob = new Map<string, Set<() => void>>();
  const generalListeners = new Set<(jobId: string) => void>();
  return {
    jobIds: () => [...listenersByJob.keys()],
    hasListenersOfAll: () => generalListeners.size > 0,
    isEmpty: () => listenersByJob.size + generalListeners.size === 0,
    watch(jobId, listener) {
      const listeners = listenersByJob.get(jobId) ?? new Set();
      listeners.add(listener);
      listenersByJob.set(jobId, listeners);
      onWatched();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && listenersByJob.get(jobId) === listeners) listenersByJob.delete(jobId);
      };
    },
    watchAll(listener) {
      generalListeners.add(listener);
      onWatched();
      return () => void generalListeners.delete(listener);
    },
    call(jobId) {
      for (const listener of listenersByJob.get(jobId) ?? []) listener();
      for (const listener of generalListeners) listener(jobId);
    },
  };
}

export interface ListedJobs {
  add(job: JobStatus): void;
  skip(cause: UnreadableCause): void;
  readonly count: number;
  end(): JobListing;
}

export function createListing(): ListedJobs {
  const jobs: JobStatus[] = [];
  const causes = { unreadable: 0, invalid: 0, unsupported: 0 };
  return {
    add: (job) => void jobs.push({ ...job, result: null }),
    skip: (cause) => void causes[cause]++,
    get count() {
      return jobs.length;
    },
    end: () => ({
      jobs,
      skipped: causes.unreadable + causes.invalid + causes.unsupported,
      skipped_causes: causes,
    }),
  };
}

/** Stored jobs that were unreadable when the process started. Only their ids are known. */
export interface LostJobs {
  /**
   * Returns the reasons why stored jobs of the kinds are unreadable. Does not count jobs that have been replaced since.
   */
  causes(kinds: readonly JobKindName[] | undefined): Promise<readonly UnreadableCause[]>;
}

/**
 * Finds the stored jobs that are not among the readable records. @param records readable jobs @cost a listing of ids
 */
export async function readLostJobs(
  store: Pick<DocumentReader, 'get' | 'ids'>,
  records: readonly JobRecord[],
): Promise<LostJobs> {
  const recordedIds = new Set(records.map(({ job_id: jobId }) => jobId));
  const lostIds = new Set((await store.ids('job')).filter((jobId) => !recordedIds.has(jobId)));
  return {
    async causes(kinds = JOB_KINDS) {
      const causes: UnreadableCause[] = [];
      for (const jobId of lostIds) {
        const cause = findCause(await store.get('job', jobId), readJobRecord);
        if (cause === undefined) lostIds.delete(jobId);
        else if (kinds.some((kind) => jobId.startsWith(`${kind}:`))) causes.push(cause);
      }
      return causes;
    },
  };
}

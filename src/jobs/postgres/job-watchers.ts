import type { Clock } from '../clock.js';
import { createJobListeners, type JobListeners } from '../job-listeners.js';
import type { JobRows } from './job-rows.js';

/** Listeners for changes of jobs on any node. */
export interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
  /** Calls the listeners at once after a change by this process. */
  notify(jobId: string): void;
  close(): void;
}

/** Interval between reads of the rows of watched jobs. One statement reads all rows. */
const WATCH_MS = 250;

export function createJobWatchers(rows: JobRows, clock: Pick<Clock, 'after'>): JobWatchers {
  const listeners = createJobListeners(poll);
  let knownRevisions: ReadonlyMap<string, number> = new Map();
  let isPolling = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const revisions = await rows.revisions(listeners.jobIds());
    const watchesAll = listeners.hasListenersOfAll();
    const allRevisions = watchesAll ? new Map([...revisions, ...(await rows.revisions('live'))]) : revisions;
    // A job that was live and is no longer in the list has ended.
    const unwatchedIds = watchesAll ? [...knownRevisions.keys()].filter((jobId) => !allRevisions.has(jobId)) : [];
    const changedIds = [...allRevisions].flatMap(([jobId, revision]) =>
      knownRevisions.get(jobId) === revision ? [] : [jobId],
    );
    knownRevisions = allRevisions;
    for (const jobId of [...changedIds, ...unwatchedIds]) listeners.call(jobId);
  }

  function poll(): void {
    if (isPolling || isClosed || listeners.isEmpty()) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      const firstLook = isClosed ? Promise.resolve() : look();
      // The next read finds the changes that the failed read missed.
      void firstLook
        .catch(() => {})
        .finally(() => {
          isPolling = false;
          poll();
        });
    });
  }

  return {
    watch: listeners.watch,
    watchAll: listeners.watchAll,
    notify: listeners.call,
    close: () => void (isClosed = true),
  };
}

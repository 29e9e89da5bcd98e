import type { Clock } from '../clock.js';
import { createJobListeners, type JobListeners } from '../job-listeners.js';
import type { JobRows } from './job-rows.js';

/** Who is called when a job changes, on whatever node. */
export interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
  /** Calls at once for a change that this process made. */
  notify(jobId: string): void;
  close(): void;
}

/** How often the rows of watched jobs are read, all of them in one statement. */
const WATCH_MS = 250;

export function createJobWatchers(rows: JobRows, clock: Pick<Clock, 'after'>): JobWatchers {
  const listeners = createJobListeners(poll);
  let known: ReadonlyMap<string, number> = new Map();
  let isPolling = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const found = await rows.revisions(listeners.jobIds());
    const watchesAll = listeners.hasListenersOfAll();
    const all = watchesAll ? new Map([...found, ...(await rows.revisions('live'))]) : found;
    // One that was live and is so no more has ended.
    const left = watchesAll ? [...known.keys()].filter((jobId) => !all.has(jobId)) : [];
    const changed = [...all].flatMap(([jobId, revision]) => (known.get(jobId) === revision ? [] : [jobId]));
    known = all;
    for (const jobId of [...changed, ...left]) listeners.call(jobId);
  }

  function poll(): void {
    if (isPolling || isClosed || listeners.isEmpty()) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      const looked = isClosed ? Promise.resolve() : look();
      // A database that cannot be asked now is asked again; what has changed until then is seen then.
      void looked
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

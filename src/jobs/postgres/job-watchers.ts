import type { Clock } from '../clock.js';
import type { JobRows } from './job-rows.js';

/** Who is called when a job changes, on whatever node. */
export interface JobWatchers {
  watch(jobId: string, listener: () => void): () => void;
  /** As `watch`, of every job. */
  watchAll(listener: (jobId: string) => void): () => void;
  /** Calls at once for a change that this process made. */
  notify(jobId: string): void;
  close(): void;
}

/** How often the rows of watched jobs are read, all of them in one statement. */
const WATCH_MS = 250;

export function createJobWatchers(rows: JobRows, clock: Pick<Clock, 'after'>): JobWatchers {
  const watchers = new Map<string, Set<() => void>>();
  const watchersOfAll = new Set<(jobId: string) => void>();
  let known: ReadonlyMap<string, number> = new Map();
  let isPolling = false;
  let isClosed = false;

  function call(jobId: string): void {
    for (const listener of watchers.get(jobId) ?? []) listener();
    for (const listener of watchersOfAll) listener(jobId);
  }

  async function look(): Promise<void> {
    const found = await rows.revisions([...watchers.keys()]);
    const all = watchersOfAll.size === 0 ? found : new Map([...found, ...(await rows.revisions('live'))]);
    // One that was live and is so no more has ended.
    const left = watchersOfAll.size === 0 ? [] : [...known.keys()].filter((jobId) => !all.has(jobId));
    const changed = [...all].flatMap(([jobId, revision]) => (known.get(jobId) === revision ? [] : [jobId]));
    known = all;
    for (const jobId of [...changed, ...left]) call(jobId);
  }

  function poll(): void {
    if (isPolling || isClosed || watchers.size + watchersOfAll.size === 0) return;
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
    watch(jobId, listener) {
      const listeners = watchers.get(jobId) ?? new Set();
      listeners.add(listener);
      watchers.set(jobId, listeners);
      poll();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && watchers.get(jobId) === listeners) watchers.delete(jobId);
      };
    },
    watchAll(listener) {
      watchersOfAll.add(listener);
      poll();
      return () => void watchersOfAll.delete(listener);
    },
    notify: call,
    close: () => void (isClosed = true),
  };
}

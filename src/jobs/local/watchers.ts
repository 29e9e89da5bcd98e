import type { Clock } from '../clock.js';

/** Who is called when a job changes. */
export interface JobWatchers {
  watch(jobId: string, listener: () => void): () => void;
  /** As `watch`, of every job. */
  watchAll(listener: (jobId: string) => void): () => void;
  notify(jobId: string): void;
}

export interface JobWatchersDependencies {
  readonly clock: Pick<Clock, 'after'>;
  /** Jobs that may have progress, looked at while all jobs are watched. */
  readonly liveIds: () => Iterable<string>;
  /** Looks whether the progress of a watched job has changed; called every 250 ms while one is watched. */
  readonly look: (jobId: string) => void;
}

/** How often the progress of a watched job is read. */
const WATCH_MS = 250;

export function createJobWatchers({ clock, liveIds, look }: JobWatchersDependencies): JobWatchers {
  const watchers = new Map<string, Set<() => void>>();
  const watchersOfAll = new Set<(jobId: string) => void>();
  let isPolling = false;

  function poll(): void {
    if (isPolling || watchers.size + watchersOfAll.size === 0) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      isPolling = false;
      for (const jobId of watchersOfAll.size > 0 ? liveIds() : watchers.keys()) look(jobId);
      poll();
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
    notify(jobId) {
      for (const listener of watchers.get(jobId) ?? []) listener();
      for (const listener of watchersOfAll) listener(jobId);
    },
  };
}

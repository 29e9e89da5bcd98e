import type { Clock } from '../clock.js';
import { createJobListeners, type JobListeners } from '../job-listeners.js';

/** Listeners for changes of jobs. */
export interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
  notify(jobId: string): void;
}

export interface JobWatchersDependencies {
  readonly clock: Pick<Clock, 'after'>;
  /** Returns the ids of the jobs that may have progress. They are checked while a listener watches all jobs. */
  readonly liveIds: () => Iterable<string>;
  /** Checks whether the progress of a watched job has changed. Called every 250 ms while any job is watched. */
  readonly look: (jobId: string) => void;
}

/** Interval between reads of the progress of watched jobs. */
const WATCH_MS = 250;

export function createJobWatchers({ clock, liveIds, look }: JobWatchersDependencies): JobWatchers {
  const listeners = createJobListeners(poll);
  let isPolling = false;

  function poll(): void {
    if (isPolling || listeners.isEmpty()) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      isPolling = false;
      for (const jobId of listeners.hasListenersOfAll() ? liveIds() : listeners.jobIds()) look(jobId);
      poll();
    });
  }

  return { watch: listeners.watch, watchAll: listeners.watchAll, notify: listeners.call };
}

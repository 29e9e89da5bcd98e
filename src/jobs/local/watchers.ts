import type { Clock } from '../clock.js';
import { createJobListeners, type JobListeners } from '../job-listeners.js';

/** Who is called when a job changes. */
export interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
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

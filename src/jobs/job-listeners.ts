/** Listeners for changes of jobs. */
export interface JobListeners {
  /** Returns the ids of jobs that have listeners. */
  readonly jobIds: () => readonly string[];
  readonly hasListenersOfAll: () => boolean;
  readonly isEmpty: () => boolean;
  /** Adds a listener to one job; the returned function removes it. */
  watch(jobId: string, listener: () => void): () => void;
  /** Adds a listener to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;
  /** Calls the listeners of a job. */
  call(jobId: string): void;
}

/** Creates the listeners of this process; calls `onWatched` for each new listener. */
export function createJobListeners(onWatched: () => void): JobListeners {
  const ofJobs = new Map<string, Set<() => void>>();
  const ofAll = new Set<(jobId: string) => void>();
  return {
    jobIds: () => [...ofJobs.keys()],
    hasListenersOfAll: () => ofAll.size > 0,
    isEmpty: () => ofJobs.size + ofAll.size === 0,
    watch(jobId, listener) {
      const listeners = ofJobs.get(jobId) ?? new Set();
      listeners.add(listener);
      ofJobs.set(jobId, listeners);
      onWatched();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && ofJobs.get(jobId) === listeners) ofJobs.delete(jobId);
      };
    },
    watchAll(listener) {
      ofAll.add(listener);
      onWatched();
      return () => void ofAll.delete(listener);
    },
    call(jobId) {
      for (const listener of ofJobs.get(jobId) ?? []) listener();
      for (const listener of ofAll) listener(jobId);
    },
  };
}

/** Listeners for changes of jobs. */
export interface JobListeners {
  /** Returns the ids of jobs that have listeners. */
  readonly jobIds: () => readonly string[];
  readonly hasListenersOfAll: () => boolean;
  readonly isEmpty: () => boolean;
  /** Adds a listener to one job. Returns a function that removes the listener. */
  watch(jobId: string, listener: () => void): () => void;
  /** Adds a listener to every job; see `watch`. */
  watchAll(listener: (jobId: string) => void): () => void;
  /** Calls the listeners of a job. */
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

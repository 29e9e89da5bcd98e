/** Who is called when a job changes. */
export interface JobListeners {
  /** Jobs that somebody listens to, one by one. */
  readonly jobIds: () => readonly string[];
  readonly hasListenersOfAll: () => boolean;
  readonly isEmpty: () => boolean;
  /** Listens to a job; what it returns ends that. */
  watch(jobId: string, listener: () => void): () => void;
  /** As `watch`, of every job. */
  watchAll(listener: (jobId: string) => void): () => void;
  /** Calls those who listen to a job. */
  call(jobId: string): void;
}

/** Listeners of jobs in this process; `onWatched` is called with each that is added. */
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

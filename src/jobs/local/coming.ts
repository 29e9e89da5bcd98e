import type { JobStatus } from '../status.js';

/** A submission on its way to disk. */
export interface Coming {
  readonly inputHash: string;
  readonly owner: string;
  readonly durable: Promise<JobStatus>;
}

/** Submissions on their way to disk, by the id of their job. */
export interface ComingJobs {
  find(jobId: string): Coming | undefined;
  /** Holds a submission until it is on disk or refused. @returns the status once it is on disk */
  hold(jobId: string, submission: Coming): Promise<JobStatus>;
  readonly count: number;
  countOf(owner: string): number;
  /** Resolves when all of them are on disk or refused. */
  settled(): Promise<void>;
}

export function createComingJobs(): ComingJobs {
  const coming = new Map<string, Coming>();

  return {
    find: (jobId) => coming.get(jobId),
    async hold(jobId, submission) {
      coming.set(jobId, submission);
      try {
        return await submission.durable;
      } finally {
        coming.delete(jobId);
      }
    },
    get count() {
      return coming.size;
    },
    countOf: (owner) => [...coming.values()].reduce((sum, submission) => sum + Number(submission.owner === owner), 0),
    settled: async () => void (await Promise.allSettled([...coming.values()].map(({ durable }) => durable))),
  };
}

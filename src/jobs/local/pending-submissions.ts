import type { JobStatus } from '../status.js';

/** Submission that is not yet on disk. */
export interface PendingSubmission {
  readonly inputHash: string;
  readonly owner: string;
  readonly durable: Promise<JobStatus>;
}

/** Pending submissions by the id of their job. */
export interface PendingSubmissions {
  find(jobId: string): PendingSubmission | undefined;
  /** Keeps a submission until it is on disk or refused. @returns the status once it is on disk */
  hold(jobId: string, submission: PendingSubmission): Promise<JobStatus>;
  readonly count: number;
  countSubmissions(owner: string): number;
  /** Resolves when all pending submissions are on disk or refused. */
  settled(): Promise<void>;
}

export function createPendingSubmissions(): PendingSubmissions {
  const submissionsById = new Map<string, PendingSubmission>();

  return {
    find: (jobId) => submissionsById.get(jobId),
    async hold(jobId, submission) {
      submissionsById.set(jobId, submission);
      try {
        return await submission.durable;
      } finally {
        submissionsById.delete(jobId);
      }
    },
    get count() {
      return submissionsById.size;
    },
    countSubmissions: (owner) =>
      [...submissionsById.values()].reduce((sum, submission) => sum + Number(submission.owner === owner), 0),
    settled: async () => void (await Promise.allSettled([...submissionsById.values()].map(({ durable }) => durable))),
  };
}

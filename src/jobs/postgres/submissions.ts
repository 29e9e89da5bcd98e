import { createLine } from '#store/postgres/line.js';
import type { NewJob } from '../queue.js';
import type { JobStatus } from '../status.js';

/** Submissions of one process. */
export interface Submissions {
  /** Writes a job in its turn. */
  submit(job: NewJob): Promise<JobStatus>;
  /** Resolves when the submissions of one job are over, successful or not. */
  of(jobId: string): Promise<void>;
  /** Resolves when all are over. */
  idle(): Promise<void>;
}

/** @param write called one at a time, in the order of arrival, because limits count all earlier jobs */
export function createSubmissions(write: (job: NewJob) => Promise<JobStatus>): Submissions {
  const line = createLine();
  /** End of the last submission of each job. */
  const ends = new Map<string, Promise<void>>();
  return {
    submit(job) {
      const written = line.take(() => write(job));
      const end: Promise<void> = written
        .then(
          () => {},
          () => {},
        )
        .finally(() => void (ends.get(job.jobId) === end && ends.delete(job.jobId)));
      ends.set(job.jobId, end);
      return written;
    },
    of: async (jobId) => ends.get(jobId),
    idle: line.idle,
  };
}

import { createLine } from '#store/postgres/line.js';
import type { NewJob } from '../queue.js';
import type { JobStatus } from '../status.js';

/** Submissions of one process. */
export interface Submissions {
  /** Writes a job in its turn. */
  submit(job: NewJob): Promise<JobStatus>;
  /** Resolves when those of one job are over, well or not: of others nobody waits for the end. */
  of(jobId: string): Promise<void>;
  /** Resolves when all are. */
  idle(): Promise<void>;
}

/** @param write one at a time, in the order of arrival: limits count all that came before */
export function createSubmissions(write: (job: NewJob) => Promise<JobStatus>): Submissions {
  const line = createLine();
  /** The end of the last one of each job. */
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

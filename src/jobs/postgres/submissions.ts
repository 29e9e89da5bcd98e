import type { NewJob } from '../queue.js';
import type { JobStatus } from '../status.js';

/** Submissions of one process. */
export interface Submissions {
  /** Writes a job together with other waiting jobs, in the order of submission. */
  submit(job: NewJob): Promise<JobStatus>;
  /** Resolves when the submissions of one job have ended, successfully or not. */
  of(jobId: string): Promise<void>;
  /** Resolves when all submissions have ended. */
  idle(): Promise<void>;
}

/** Function that writes jobs with different ids. @returns the outcome of each job, in order */
export type SubmissionWriter = (jobs: readonly NewJob[]) => Promise<readonly PromiseSettledResult<JobStatus>[]>;

interface WaitingJob {
  readonly job: NewJob;
  resolve(status: JobStatus): void;
  reject(reason: unknown): void;
}

/** Maximum number of jobs written together. Their locks exclude other writers during the write. */
const BATCH_MAX = 64;

/**
 * Writes jobs that arrive during a write as one group. Otherwise a process could write only one job per round trip.
 * @param write called for one group at a time, in the order of arrival, because limits count all earlier jobs
 */
export function createSubmissions(write: SubmissionWriter): Submissions {
  const waitingJobs: WaitingJob[] = [];
  /** End of the last submission of each job. */
  const lastWriteByJob = new Map<string, Promise<void>>();
  let pendingWrite: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    await undefined; // Submissions of the same moment join one group.
    for (let next = takeGroup(waitingJobs); next.length > 0; next = takeGroup(waitingJobs)) await writeGroup(next);
    pendingWrite = undefined;
  }

  async function writeGroup(group: readonly WaitingJob[]): Promise<void> {
    try {
      const outcomes = await write(group.map(({ job }) => job));
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') group[i]!.resolve(outcome.value);
        else group[i]!.reject(outcome.reason);
      }
    } catch (thrown) {
      for (const { reject } of group) reject(thrown);
    }
  }

  return {
    submit(job) {
      const writtenStatus = new Promise<JobStatus>(
        (resolve, reject) => void waitingJobs.push({ job, resolve, reject }),
      );
      pendingWrite ??= writeAll();
      const end: Promise<void> = writtenStatus
        .then(
          () => {},
          () => {},
        )
        .finally(() => void (lastWriteByJob.get(job.jobId) === end && lastWriteByJob.delete(job.jobId)));
      lastWriteByJob.set(job.jobId, end);
      return writtenStatus;
    },
    of: async (jobId) => lastWriteByJob.get(jobId),
    idle: async () => pendingWrite,
  };
}

/** Takes the next jobs from the queue. Stops at a job whose id is already in the group. */
function takeGroup(waiting: WaitingJob[]): readonly WaitingJob[] {
  const ids = new Set<string>();
  for (const { job } of waiting) {
    if (ids.size === BATCH_MAX || ids.has(job.jobId)) break;
    ids.add(job.jobId);
  }
  return waiting.splice(0, ids.size);
}

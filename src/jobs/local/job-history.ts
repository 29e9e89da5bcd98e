import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobIdentity } from '../job-record.js';
import { isTerminal } from '../life-cycle.js';
import type { JobQuery } from '../queue.js';
import type { JobState } from '../status.js';

/** Fields of all jobs that listings filter on. All other fields are read from disk. */
export interface JobHistory {
  /** Adds a job as the newest one. Replaces an ended job with the same id. */
  add(identity: JobIdentity, status: JobState): void;
  change(jobId: string, status: JobState): void;
  /** Counts a change of a job. */
  touch(jobId: string): void;
  /**
   * Returns the value of the change counter at the last change of a job. For an unknown job, returns the counter of all
   * jobs.
   */
  getRevision(jobId: string): number;
  /** Lists at most `countMax` of the oldest ended jobs in excess of `endedMax`. */
  surplus(endedMax: number, countMax: number): readonly RememberedJob[];
  forget(job: RememberedJob): void;
  /** Lists the ids of a kind, oldest first. */
  ids(kind: JobKindName): string[];
  /** Lists the ids that match a query, newest first, without its limit. */
  matching(query: Omit<JobQuery, 'limit'>): Iterable<string>;
}

export interface RememberedJob {
  readonly id: string;
  readonly sequence: number;
}

/**
 * Creates an empty history. @param revision first value of the change counter, higher than those of the previous
 * process
 */
export function createJobHistory(revision: number): JobHistory {
  /** Jobs in order of submission, the oldest first. */
  const jobs = new Map<
    string,
    { readonly kind: JobKindName; readonly sequence: number; status: JobState; revision: number }
  >();
  let latestRevision = revision;
  let endedCount = 0;

  const countEnded = (status: JobState | undefined): number => (status !== undefined && isTerminal(status) ? 1 : 0);

  return {
    add({ job_id: jobId, kind, sequence }, status) {
      endedCount += countEnded(status) - countEnded(jobs.get(jobId)?.status);
      jobs.delete(jobId); // A replaced job becomes the newest.
      jobs.set(jobId, { kind, sequence, status, revision: latestRevision });
    },
    change(jobId, status) {
      const job = jobs.get(jobId);
      if (job === undefined) return;
      endedCount += countEnded(status) - countEnded(job.status);
      job.status = status;
    },
    touch(jobId) {
      const job = jobs.get(jobId);
      if (job !== undefined) job.revision = ++latestRevision;
    },
    getRevision: (jobId) => jobs.get(jobId)?.revision ?? latestRevision,
    surplus(endedMax, countMax) {
      const count = Math.min(endedCount - endedMax, countMax);
      const rememberedJobs: RememberedJob[] = [];
      if (count <= 0) return rememberedJobs;
      for (const [id, { status, sequence }] of jobs) {
        if (isTerminal(status)) rememberedJobs.push({ id, sequence });
        if (rememberedJobs.length === count) break;
      }
      return rememberedJobs;
    },
    forget({ id, sequence }) {
      const job = jobs.get(id);
      if (job?.sequence !== sequence) return;
      endedCount -= countEnded(job.status);
      jobs.delete(id);
    },
    ids: (kind) => [...jobs].flatMap(([jobId, job]) => (job.kind === kind ? [jobId] : [])),
    *matching({ kinds, statuses, before }) {
      const end = before === undefined ? Infinity : (jobs.get(before)?.sequence ?? 0);
      for (const [jobId, job] of [...jobs].reverse()) {
        if (job.sequence >= end || kinds?.includes(job.kind) === false) continue;
        if (statuses !== undefined && !statuses.includes(job.status)) continue;
        yield jobId;
      }
    },
  };
}

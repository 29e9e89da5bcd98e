import { JOB_KINDS, type JobKindName } from '#domain/jobs/job-kinds.js';
import type { DocumentReader, UnreadableCause } from '#store/port.js';
import { findCause } from '#store/read-stored.js';
import { readJobRecord, type JobRecord } from './job-record.js';
import type { JobListing } from './queue.js';
import type { JobStatus } from './status.js';

/** Accumulates the jobs of a listing. */
export interface ListedJobs {
  add(job: JobStatus): void;
  skip(cause: UnreadableCause): void;
  readonly count: number;
  end(): JobListing;
}

export function createListing(): ListedJobs {
  const jobs: JobStatus[] = [];
  const causes = { unreadable: 0, invalid: 0, unsupported: 0 };
  return {
    add: (job) => void jobs.push({ ...job, result: null }),
    skip: (cause) => void causes[cause]++,
    get count() {
      return jobs.length;
    },
    end: () => ({
      jobs,
      skipped: causes.unreadable + causes.invalid + causes.unsupported,
      skipped_causes: causes,
    }),
  };
}

/** Stored jobs that were unreadable when the process started. Only their ids are known. */
export interface LostJobs {
  /**
   * Returns the reasons why stored jobs of the kinds are unreadable. Does not count jobs that have been replaced since.
   */
  causes(kinds: readonly JobKindName[] | undefined): Promise<readonly UnreadableCause[]>;
}

/**
 * Finds the stored jobs that are not among the readable records. @param records readable jobs @cost a listing of ids
 */
export async function readLostJobs(
  store: Pick<DocumentReader, 'get' | 'ids'>,
  records: readonly JobRecord[],
): Promise<LostJobs> {
  const recordedIds = new Set(records.map(({ job_id: jobId }) => jobId));
  const lostIds = new Set((await store.ids('job')).filter((jobId) => !recordedIds.has(jobId)));
  return {
    async causes(kinds = JOB_KINDS) {
      const causes: UnreadableCause[] = [];
      for (const jobId of lostIds) {
        const cause = findCause(await store.get('job', jobId), readJobRecord);
        if (cause === undefined) lostIds.delete(jobId);
        else if (kinds.some((kind) => jobId.startsWith(`${kind}:`))) causes.push(cause);
      }
      return causes;
    },
  };
}

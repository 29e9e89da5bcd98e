import { findCause } from '#store/read-stored.js';
import { createListing } from '../job-listing.js';
import { readJobRecord, toStatus } from '../job-record.js';
import { findStoredResult } from '../life-cycle.js';
import type { LocatedJob, JobListing, JobQuery, JobReader } from '../queue.js';
import { requireRecord, addBeat } from './job-documents.js';
import type { JobRows } from './job-rows.js';
import type { JobRevision } from './seen-job.js';

/** Reads job statuses from the documents, and the last reports of running attempts from the rows. */
export function createJobReader(rows: JobRows): Omit<JobReader, 'lanes'> {
  const look = async (jobId: string): Promise<JobRevision | undefined> => (await rows.look([jobId])).get(jobId);

  async function find(jobId: string): Promise<LocatedJob | undefined> {
    const jobReading = await look(jobId);
    return jobReading && readJobRow(jobReading, jobId);
  }

  async function list(query: JobQuery): Promise<JobListing> {
    const jobIds = await rows.matching(query);
    const readings = await rows.look(jobIds);
    const listing = createListing();
    for (const jobId of jobIds) {
      const jobReading = readings.get(jobId);
      const cause = findCause(jobReading?.found, readJobRecord);
      const job = jobReading === undefined || cause !== undefined ? undefined : readJobRow(jobReading, jobId);
      if (cause !== undefined) listing.skip(cause);
      else if (job !== undefined) listing.add(job.status);
    }
    return listing.end();
  }

  return {
    find,
    list,
    ids: rows.ids,
    async isLive(jobId) {
      const record = requireRecord((await look(jobId))?.found, jobId);
      return record?.status === 'pending' || record?.status === 'running';
    },
    liveIds: rows.liveIds,
    counts: rows.counts,
  };
}

/** Converts the row and document of a job to its status. @throws Refusal DOCUMENT_UNREADABLE */
function readJobRow({ found, beat, revision }: JobRevision, jobId: string): LocatedJob | undefined {
  const record = requireRecord(found, jobId);
  if (record === undefined) return undefined;
  return { status: toStatus(record, addBeat(record, beat), record), stored: findStoredResult(record), revision };
}

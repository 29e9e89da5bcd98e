import { Refusal } from '#domain/refusals/refusal.js';
import { toStatus } from '../job-record.js';
import type { FoundJob, JobQuery, JobReader } from '../queue.js';
import type { JobStatus } from '../status.js';
import { requireRecord, withBeat } from './job-documents.js';
import type { JobRows } from './job-rows.js';
import type { SeenRevision } from './seen-job.js';

/** Statuses of jobs: their documents, with what running attempts last said. */
export function createJobReader(rows: JobRows): Omit<JobReader, 'lanes'> {
  const look = async (jobId: string): Promise<SeenRevision | undefined> => (await rows.look([jobId])).get(jobId);

  async function find(jobId: string): Promise<FoundJob | undefined> {
    const seen = await look(jobId);
    return seen && foundJob(seen, jobId);
  }

  async function list(query: JobQuery): Promise<JobStatus[]> {
    const jobIds = await rows.matching(query);
    const seen = await rows.look(jobIds);
    return jobIds.flatMap((jobId) => {
      const job = listedJob(seen.get(jobId), jobId);
      return job === undefined ? [] : [{ ...job.status, result: null }];
    });
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

/** @throws Refusal DOCUMENT_UNREADABLE */
function foundJob({ found, beat, revision }: SeenRevision, jobId: string): FoundJob | undefined {
  const record = requireRecord(found, jobId);
  if (record === undefined) return undefined;
  const artifact = record.result !== null && 'artifact' in record.result ? record.result.artifact : null;
  return { status: toStatus(record, withBeat(record, beat), record), artifact, revision };
}

/** A listing leaves out what cannot be read. */
function listedJob(seen: SeenRevision | undefined, jobId: string): FoundJob | undefined {
  try {
    return seen && foundJob(seen, jobId);
  } catch (thrown) {
    if (!(thrown instanceof Refusal) || thrown.code !== 'DOCUMENT_UNREADABLE') throw thrown;
    return undefined;
  }
}

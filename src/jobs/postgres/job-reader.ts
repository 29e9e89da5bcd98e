import { Refusal } from '#domain/refusal.js';
import type { DocumentStore } from '#store/port.js';
import { toStatus } from '../job-record.js';
import type { FoundJob, JobQuery, JobReader } from '../queue.js';
import type { JobStatus } from '../status.js';
import { keyOfRecord, requireRecord, withBeat } from './job-documents.js';
import type { JobRows } from './job-rows.js';

/** Statuses of jobs: their documents, with what running attempts last said. */
export function createJobReader(documents: Pick<DocumentStore, 'get'>, rows: JobRows): Omit<JobReader, 'lanes'> {
  async function found(jobId: string): Promise<Omit<FoundJob, 'revision'> | undefined> {
    const record = requireRecord(await documents.get('job', jobId), jobId);
    if (record === undefined) return undefined;
    const beat = record.status === 'running' ? await rows.beatOf(keyOfRecord(record)) : undefined;
    const artifact = record.result !== null && 'artifact' in record.result ? record.result.artifact : null;
    return { status: toStatus(record, withBeat(record, beat), record), artifact };
  }

  async function find(jobId: string): Promise<FoundJob | undefined> {
    // Read first: a status that is newer than its revision is read once more, an older one never again.
    const revision = (await rows.revisions([jobId])).get(jobId) ?? 0;
    const job = await found(jobId);
    return job && { ...job, revision };
  }

  async function list(query: JobQuery): Promise<JobStatus[]> {
    const jobIds = await rows.matching(query);
    const listed = await Promise.all(jobIds.map((jobId) => found(jobId).catch(leaveOut)));
    return listed.flatMap((job) => (job === undefined ? [] : [{ ...job.status, result: null }]));
  }

  return {
    find,
    list,
    ids: rows.ids,
    async isLive(jobId) {
      const record = requireRecord(await documents.get('job', jobId), jobId);
      return record?.status === 'pending' || record?.status === 'running';
    },
    liveIds: rows.liveIds,
    counts: rows.counts,
  };
}

/** A listing leaves out what cannot be read. */
function leaveOut(thrown: unknown): undefined {
  if (!(thrown instanceof Refusal) || thrown.code !== 'DOCUMENT_UNREADABLE') throw thrown;
}

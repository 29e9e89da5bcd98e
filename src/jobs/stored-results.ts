import { JOB_KIND_CATALOGUE, type ResultIds } from '#domain/jobs/job-kinds.js';
import type { DocumentTransaction } from '#store/port.js';
import type { JobRecord } from './job-record.js';

/** Deletes the documents of the results of an ended job that is deleted, or replaced by a new job of its id. */
export async function deleteResults(tx: DocumentTransaction, record: JobRecord): Promise<void> {
  for (const id of resultIdsOf(record)) await tx.delete('optimisation-run', id);
}

function resultIdsOf({ job_id, kind, status, request }: JobRecord): readonly string[] {
  const { resultIds } = JOB_KIND_CATALOGUE[kind] as { readonly resultIds?: ResultIds };
  return status === 'succeeded' && resultIds !== undefined ? resultIds(job_id.slice(kind.length + 1), request) : [];
}

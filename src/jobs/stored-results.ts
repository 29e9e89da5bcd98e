import { JOB_KIND_CATALOGUE, type ResultIds } from '#domain/jobs/job-kinds.js';
import type { DocumentKind } from '#store/port.js';
import type { JobRecord } from './job-record.js';

/**
 * Lists the documents with the results of an ended job, at most 10,000. They are deleted with the job, or when a new
 * job with the same id replaces it.
 */
export const listResults = (record: JobRecord): readonly { readonly kind: DocumentKind; readonly id: string }[] =>
  listResultIds(record).map((id) => ({ kind: 'optimisation-run', id }));

function listResultIds({ job_id, kind, status, request }: JobRecord): readonly string[] {
  const { resultIds } = JOB_KIND_CATALOGUE[kind] as { readonly resultIds?: ResultIds };
  return status === 'succeeded' && resultIds !== undefined ? resultIds(job_id.slice(kind.length + 1), request) : [];
}

import { listKindsDeletedWith, type JobSubject } from '#domain/jobs/job-kinds.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';

/** Part of the job system that finds and cancels jobs about a document. */
export type JobsAbout = Pick<Jobs, 'isLive' | 'cancel' | 'get' | 'ids'>;

/** Deleted indices and strategies, or deleted data stores. */
export interface DeletedSubjects {
  readonly of: JobSubject['of'];
  readonly ids: readonly string[];
}

/**
 * Returns the jobs that are deleted together with their subjects. The catalogue of kinds determines which jobs these
 * are.
 * @cost a read of every stored job of kinds whose requests name their subject
 */
async function findJobsAbout(
  jobs: JobsAbout,
  { of, ids }: DeletedSubjects,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const kindIds = new Map(ids.map((id) => [id, listKindsDeletedWith(of, 'ident').map((kind) => `${kind}:${id}`)]));
  const idsByKind = await Promise.all(listKindsDeletedWith(of, 'request').map((kind) => jobs.ids(kind)));
  for (const jobId of idsByKind.flat()) kindIds.get((await findSubject(jobs, jobId)) ?? '')?.push(jobId);
  return kindIds;
}

/** Cancels the waiting and running jobs about the subjects. */
export async function cancelJobsAbout(jobs: JobsAbout, subjects: DeletedSubjects): Promise<void> {
  for (const jobIds of (await findJobsAbout(jobs, subjects)).values()) {
    for (const jobId of jobIds) if (await jobs.isLive(jobId)) await jobs.cancel(jobId);
  }
}

/**
 * Deletes all jobs about the subjects and the artifacts of these jobs. Must be called in the transaction that deletes
 * the subjects.
 * @returns the number of deleted jobs by subject id
 */
export async function deleteJobsAbout(
  tx: DocumentTransaction,
  jobs: JobsAbout,
  subjects: DeletedSubjects,
): Promise<ReadonlyMap<string, number>> {
  const deleteJob = async (jobId: string): Promise<boolean> => {
    await tx.delete('job-input', jobId);
    return tx.delete('job', jobId);
  };
  const removedCounts = new Map<string, number>();
  for (const [id, jobIds] of await findJobsAbout(jobs, subjects)) {
    let count = 0;
    for (const jobId of jobIds) if (await deleteJob(jobId)) count++;
    removedCounts.set(id, count);
  }
  return removedCounts;
}

/**
 * Checks that the index or strategy of some work exists. It may be deleted before the work starts or ends.
 * @param subject name of the work in a sentence: `backtest`
 * @throws Refusal INDEX_DELETED
 */
export async function assertNotDeleted(
  reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
  runId: string,
  subject: string,
): Promise<void> {
  if ((await reader.get('index', runId)) !== undefined || (await reader.get('strategy', runId)) !== undefined) return;
  throw new Refusal('INDEX_DELETED', `${runId} was deleted while its ${subject} waited or ran.`, { index_id: runId });
}

/**
 * Returns the index that the request of a stored job names. Returns undefined if the request names none, or the job is
 * unreadable.
 */
async function findSubject(jobs: JobsAbout, jobId: string): Promise<string | undefined> {
  try {
    const { request } = (await jobs.get(jobId)) ?? {};
    const { index_id: id } = (typeof request === 'object' && request !== null ? request : {}) as {
      readonly index_id?: unknown;
    };
    return typeof id === 'string' ? id : undefined;
  } catch (failure) {
    if (failure instanceof Refusal) return undefined;
    throw failure;
  }
}

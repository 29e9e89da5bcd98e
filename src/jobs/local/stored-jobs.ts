import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { putDeliveries } from '../callbacks.js';
import { readJobRecord, toStatus, type JobIdentity, type JobRecord, type StoredSubmission } from '../job-record.js';
import type { StoredInput } from '../retained-parts.js';
import { isTerminal, type JobLife } from '../life-cycle.js';
import type { Ending } from '../queue.js';
import { requireInput } from '../renewal.js';
import { listResults } from '../stored-results.js';
import type { RememberedJob } from './job-history.js';

export type Effect = Extract<Ending, { type: 'succeed' }>['effect'];

/** A failed job with its input, for a retry. */
export interface FailedJob {
  readonly record: JobRecord;
  readonly input: StoredInput;
}

/** Returns true if the ended job is still stored. Its id may have been submitted again meanwhile. */
export async function isEndedIn(tx: DocumentTransaction, { id, sequence }: RememberedJob): Promise<boolean> {
  const storedJob = await tx.get('job', id);
  const record = readStored(storedJob, readJobRecord);
  if (record === undefined) return storedJob !== undefined;
  return record.sequence === sequence && isTerminal(record.status);
}

/** Deletes an ended job with its results, if it is still stored. */
export async function deleteJobIn(tx: DocumentTransaction, ended: RememberedJob): Promise<void> {
  if (!(await isEndedIn(tx, ended))) return;
  await deleteResults(tx, ended.id);
  await tx.delete('job', ended.id);
  await tx.delete('job-input', ended.id);
}

/** Deletes the results of the job stored under an id, if there is one. */
export async function deleteResults(tx: DocumentTransaction, jobId: string): Promise<void> {
  const record = readStored(await tx.get('job', jobId), readJobRecord);
  if (record !== undefined) for (const { kind, id } of listResults(record)) await tx.delete(kind, id);
}

interface LifeChange {
  readonly identity: JobIdentity;
  readonly life: JobLife;
  readonly effect: Effect;
}

/**
 * Writes a change of a job with its effect. A final state also triggers the callbacks of the job, and removes its
 * payload unless the job failed.
 */
export async function writeLife(tx: DocumentTransaction, { identity, life, effect }: LifeChange): Promise<void> {
  await effect?.(tx);
  const { job_id: jobId } = identity;
  const storedSubmission = await readSubmission(tx, jobId);
  const callbacks = isTerminal(life.status)
    ? await putDeliveries(tx, toStatus(identity, life, storedSubmission), identity)
    : storedSubmission.callbacks;
  await tx.put('job', jobId, { ...identity, ...life, ...storedSubmission, callbacks } satisfies JobRecord);
  // A failed job keeps its input for a retry.
  if (isTerminal(life.status) && life.status !== 'failed') await tx.delete('job-input', jobId);
}

/**
 * Reads the request body and callbacks of a job. They are only on disk, so that waiting jobs do not fill the memory.
 */
export async function readSubmission(store: Pick<DocumentStore, 'get'>, jobId: string): Promise<StoredSubmission> {
  const storedJob = await store.get('job', jobId);
  const { request = null, callbacks = [] } =
    storedJob === undefined || 'unreadable' in storedJob ? {} : (storedJob.body as Partial<StoredSubmission>); // `add` wrote the document
  return { request, callbacks };
}

/** Returns a failed job with its input. @throws Refusal DOCUMENT_UNREADABLE if the input no longer exists */
export async function readFailedJob(store: Pick<DocumentStore, 'get'>, jobId: string): Promise<FailedJob | undefined> {
  const storedJob = await store.get('job', jobId);
  const record = readStored(storedJob, readJobRecord);
  if (record?.status !== 'failed') return undefined;
  return { record, input: requireInput(await store.get('job-input', jobId), jobId) };
}

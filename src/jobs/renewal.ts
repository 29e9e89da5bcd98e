import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentLookup } from '#store/port.js';
import { listAttempts } from './attempts.js';
import { createCallback } from './callbacks.js';
import { splitRecord, type JobIdentity, type JobRecord } from './job-record.js';
import type { StoredInput } from './retained-parts.js';
import { renewLife } from './life-cycle.js';

/**
 * Builds the record of a failed job for a retry. It keeps the identity and callbacks of the submission, and the failed
 * attempts, from which the count of attempts continues.
 */
export function renewRecord(failed: JobRecord, submitted: Pick<JobIdentity, 'created_at' | 'sequence'>): JobRecord {
  const { identity, life } = splitRecord(failed);
  return {
    ...identity,
    ...submitted,
    ...renewLife(life, listAttempts(life)),
    request: failed.request,
    callbacks: failed.callbacks.map(({ url }) => createCallback(url)),
  };
}

/**
 * Returns the input that is stored with a failed job. @throws Refusal DOCUMENT_UNREADABLE for a job of an earlier
 * version, which stored no input
 */
export function requireInput(stored: DocumentLookup, jobId: string): StoredInput {
  if (stored === undefined || 'unreadable' in stored)
    throw new Refusal('DOCUMENT_UNREADABLE', `The input of ${jobId} is no longer stored: submit the job again.`, {
      job_id: jobId,
    });
  return stored.body as StoredInput; // a submission wrote the input and the store checked its seal
}

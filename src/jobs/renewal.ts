import { Refusal } from '#domain/refusals/refusal.js';
import type { FoundDocument } from '#store/port.js';
import { attemptsOf } from './attempts.js';
import { newCallback } from './callbacks.js';
import { splitRecord, type JobIdentity, type JobRecord } from './job-record.js';
import type { StoredInput } from './kept-parts.js';
import { renewed } from './life-cycle.js';

/**
 * A failed job as it is queued anew: identity and callbacks of its submission, and the attempts that have failed, behind
 * which the next one is counted.
 */
export function renewedRecord(failed: JobRecord, submitted: Pick<JobIdentity, 'created_at' | 'sequence'>): JobRecord {
  const { identity, life } = splitRecord(failed);
  return {
    ...identity,
    ...submitted,
    ...renewed(life, attemptsOf(life)),
    request: failed.request,
    callbacks: failed.callbacks.map(({ url }) => newCallback(url)),
  };
}

/** The input that a failed job keeps. @throws Refusal DOCUMENT_UNREADABLE for one of an earlier version, which kept none */
export function inputIn(stored: FoundDocument, jobId: string): StoredInput {
  if (stored === undefined || 'unreadable' in stored)
    throw new Refusal('DOCUMENT_UNREADABLE', `The input of ${jobId} is not stored any more: submit it again.`, {
      job_id: jobId,
    });
  return stored.body as StoredInput; // Written by a submission and checked by the store.
}

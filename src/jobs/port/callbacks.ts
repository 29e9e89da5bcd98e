import { randomUUID } from 'node:crypto';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { DocumentBodyReader, DocumentLookup, DocumentTransaction } from '#store/port.js';
import {
  type JobCallback,
  type JobIdentity,
  type JobLife,
  type JobRecord,
  type JobStatus,
  type LifeEvent,
  listAttempts,
  renewLife,
  splitRecord,
} from './life-cycle.js';
import type { EndedJob, Ending, StoredInput } from './queue.js';

/**
 * Pending callback message. It is a separate document, so that it remains if the job is deleted or the process ends.
 */
export interface Delivery {
  readonly delivery_id: string;
  readonly job_id: string;
  readonly url: string;
  readonly attempts: number;
  readonly next_attempt_at: string;
  /** Signed JSON body. */
  readonly body: string;
  /** Trace header of the job; absent if the job has no trace, and in records of earlier versions. */
  readonly traceparent?: string;
}

/** Creates a callback of an unfinished job, with a random delivery id. */
export function createCallback(url: string): JobCallback {
  return {
    delivery_id: randomUUID(),
    url,
    state: 'waiting',
    attempts: 0,
    last_attempt_at: null,
    last_error: null,
    next_attempt_at: null,
  };
}

/**
 * Checks that a job may have a further callback. @throws Refusal OVERLOADED if a job already has MAX_JOB_CALLBACKS
 * callbacks
 */
export function assertCallbackLimit(jobId: string, count: number): void {
  if (count < LIMITS.MAX_JOB_CALLBACKS) return;
  throw new Refusal('OVERLOADED', `${jobId} has ${count} callbacks (limit ${LIMITS.MAX_JOB_CALLBACKS}).`);
}

/**
 * Writes the deliveries of an ended job in the transaction of its final state.
 * @returns the callbacks to store with the job
 */
export async function putDeliveries(
  tx: DocumentTransaction,
  job: JobStatus,
  { trace_parent: traceparent }: { readonly trace_parent?: string },
): Promise<readonly JobCallback[]> {
  const endedAt = job.finished_at ?? job.created_at;
  const { callbacks, ...data } = job;
  const body = JSON.stringify({ type: `job.${job.status}`, timestamp: endedAt, data: { ...data, result: null } });
  for (const { delivery_id: id, url } of callbacks) {
    const delivery: Delivery = {
      delivery_id: id,
      job_id: job.job_id,
      url,
      attempts: 0,
      next_attempt_at: endedAt,
      body,
      ...(traceparent !== undefined && { traceparent }),
    };
    await tx.put('delivery', id, delivery);
    tx.publish({ type: 'delivery-due', delivery_id: id });
  }
  return callbacks.map((callback) => ({ ...callback, state: 'due' as const, next_attempt_at: endedAt }));
}

/** Parses a stored body as a delivery; undefined if it is invalid. */
export const readDelivery: DocumentBodyReader<Delivery> = (body, id) => {
  if (typeof body !== 'object' || body === null) return undefined;
  const delivery: Partial<Record<keyof Delivery, unknown>> = body; // the members are checked next
  const isDelivery =
    delivery.delivery_id === id &&
    Number.isInteger(delivery.attempts) &&
    [delivery.job_id, delivery.url, delivery.next_attempt_at, delivery.body].every((each) => typeof each === 'string');
  return isDelivery ? (body as Delivery) : undefined;
};

/** Returns the event that ends an attempt. @param timestamp time in the wire format */
export function createEvent(ending: Ending, attempt: number, timestamp: string): LifeEvent {
  switch (ending.type) {
    case 'succeed': {
      const { result, message } = ending;
      return { type: 'succeed', attempt, result, message, at: timestamp };
    }
    case 'fail':
      return { type: 'fail', attempt, error: ending.error, at: timestamp };
    case 'crash':
    case 'lose':
    case 'release':
      return { type: ending.type, attempt, cause: ending.cause, at: timestamp };
  }
}

/** Returns the end of a job from its stored times. Returns undefined if the job is not finished. */
export function endJob({
  identity,
  life: { status, started_at, finished_at },
}: {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}): EndedJob | undefined {
  if (status === 'pending' || status === 'running' || finished_at === null) return undefined;
  const { job_id: jobId, owner, kind, created_at } = identity;
  const computeSeconds = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;
  return {
    jobId,
    owner,
    kind,
    outcome: status,
    seconds: started_at === null ? null : computeSeconds(started_at, finished_at),
    waitSeconds: started_at === null ? null : computeSeconds(created_at, started_at),
  };
}

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

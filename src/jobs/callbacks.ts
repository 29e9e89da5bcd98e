import { randomUUID } from 'node:crypto';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { BodyReader, DocumentTransaction } from '#store/port.js';
import type { JobCallback, JobStatus } from './status.js';

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
export const readDelivery: BodyReader<Delivery> = (body, id) => {
  if (typeof body !== 'object' || body === null) return undefined;
  const delivery: Partial<Record<keyof Delivery, unknown>> = body; // the members are checked next
  const isDelivery =
    delivery.delivery_id === id &&
    Number.isInteger(delivery.attempts) &&
    [delivery.job_id, delivery.url, delivery.next_attempt_at, delivery.body].every((each) => typeof each === 'string');
  return isDelivery ? (body as Delivery) : undefined;
};

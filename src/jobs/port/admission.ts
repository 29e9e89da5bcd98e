import { Refusal } from '#domain/base/refusals.js';
import type { NewJob, QueueLimits } from './queue.js';
import type { JobIdentity } from './record.js';

/** Counts of waiting jobs at a submission. */
export interface Waiting {
  readonly queued: number;
  /** Waiting jobs of the same owner. */
  readonly queuedOfOwner: number;
}

/** Properties of a submission that the limits concern. */
export interface Admission {
  readonly estimatedBytes: number;
  /** Key of the client; empty for the service itself. */
  readonly owner: string;
}

/**
 * Checks the limits of a submission, for every implementation of the queue.
 * @throws Refusal VALIDATION_FAILED, OVERLOADED, RATE_LIMITED
 */
export function admit(
  { estimatedBytes, owner }: Admission,
  { queued, queuedOfOwner }: Waiting,
  { queueMax, ownerQueueMax, jobBytesMax }: QueueLimits,
): void {
  if (estimatedBytes > jobBytesMax) {
    const message = `The job is expected to need ${estimatedBytes} bytes of memory (limit ${jobBytesMax} for all jobs together).`;
    throw new Refusal('VALIDATION_FAILED', message, {
      findings: [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: '' }],
      estimated_bytes: estimatedBytes,
      budget_bytes: jobBytesMax,
    });
  }
  if (queued >= queueMax) {
    throw new Refusal('OVERLOADED', `Queue full: ${queued} jobs waiting (limit ${queueMax}).`, {
      queued,
      limit: queueMax,
    });
  }
  if (owner !== '' && queuedOfOwner >= ownerQueueMax) {
    const message = `Queue of this key full: ${queuedOfOwner} of its jobs waiting (limit ${ownerQueueMax}).`;
    throw new Refusal('RATE_LIMITED', message, { queued: queuedOfOwner, limit: ownerQueueMax });
  }
}

/** Creates the constant part of a new job. */
export function createJobIdentity(
  { jobId, kind, inputHash, estimatedBytes, origin }: Omit<NewJob, 'request' | 'payload' | 'message'>,
  submitted: Pick<JobIdentity, 'created_at' | 'sequence'>,
): JobIdentity {
  return {
    job_id: jobId,
    kind,
    input_hash: inputHash,
    estimated_bytes: estimatedBytes,
    owner: origin?.owner ?? '',
    author: origin?.author ?? null,
    note: origin?.note ?? null,
    request_id: origin?.requestId ?? null,
    trace_id: origin?.traceId ?? null,
    ...(origin?.traceParent !== undefined && { trace_parent: origin.traceParent }),
    ...(origin?.priority !== undefined && origin.priority !== 'normal' && { priority: origin.priority }),
    ...submitted,
  };
}

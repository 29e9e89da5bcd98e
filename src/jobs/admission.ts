import { Refusal } from '#domain/refusals/refusal.js';
import type { QueueLimits } from './queue.js';

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

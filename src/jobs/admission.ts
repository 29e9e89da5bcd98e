import { Refusal } from '#domain/refusals/refusal.js';
import type { QueueLimits } from './queue.js';

/** Jobs that wait when another is submitted. */
export interface Waiting {
  readonly queued: number;
  /** Those of the owner of the new one. */
  readonly queuedOfOwner: number;
}

/** The part of a submission that its limits are about. */
export interface Admission {
  readonly estimatedBytes: number;
  /** Key that asks for it; empty for the service itself. */
  readonly owner: string;
}

/**
 * The limits of submission, whatever implements the queue.
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

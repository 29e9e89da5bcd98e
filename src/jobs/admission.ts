import { Refusal } from '#domain/refusals/refusal.js';
import type { NewJob, QueueLimits } from './queue.js';

/** Jobs that wait when another is submitted. */
export interface Waiting {
  readonly queued: number;
  /** Those of the owner of the new one. */
  readonly queuedOfOwner: number;
}

/**
 * The limits of submission, whatever implements the queue.
 * @throws Refusal VALIDATION_FAILED, OVERLOADED, RATE_LIMITED
 */
export function admit(job: NewJob, { queued, queuedOfOwner }: Waiting, limits: QueueLimits): void {
  const { queueMax, ownerQueueMax, jobBytesMax } = limits;
  const owner = job.origin?.owner ?? '';
  if (job.estimatedBytes > jobBytesMax) {
    const message = `The job is expected to need ${job.estimatedBytes} bytes of memory (limit ${jobBytesMax} for all jobs together).`;
    throw new Refusal('VALIDATION_FAILED', message, {
      findings: [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: '' }],
      estimated_bytes: job.estimatedBytes,
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

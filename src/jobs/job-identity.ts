import type { JobIdentity } from './job-record.js';
import type { NewJob } from './queue.js';

/** Creates the constant part of a new job. */
export function createIdentity(
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

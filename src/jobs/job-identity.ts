import type { JobIdentity } from './job-record.js';
import type { NewJob } from './queue.js';

/** The constant part of a job that is submitted now. */
export function identityOf(
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
    ...submitted,
  };
}

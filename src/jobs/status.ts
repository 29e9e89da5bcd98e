import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { ErrorDetail } from '#domain/refusal.js';

export const JOB_STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A job as the wire shows it. `result` is null until the job succeeded, and always in listings. */
export interface JobStatus {
  readonly job_id: string;
  readonly kind: JobKindName;
  readonly status: JobState;
  /** Fraction complete; never decreases. */
  readonly progress: number;
  readonly message: string;
  readonly error: ErrorDetail | null;
  readonly result: unknown;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  /** 1 for the first start; written before the work starts. */
  readonly attempt: number;
  /** The body as accepted. */
  readonly request: unknown;
  readonly input_hash: string;
  /** Request that asked for it; null when the service did, or a version before these were kept. */
  readonly request_id: string | null;
  /** Trace of the client's that the request is part of. */
  readonly trace_id: string | null;
}

import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';

export const JOB_STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** A URL that is called when a job ends, and the state of its delivery: stored with the job. */
export interface JobCallback {
  /** Id of the message, the same in every attempt to deliver it. */
  readonly delivery_id: string;
  readonly url: string;
  /** The job has not ended; delivery is being tried; accepted; given up. */
  readonly state: 'waiting' | 'due' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly last_attempt_at: string | null;
  /** Why the last attempt failed; null when it did not. */
  readonly last_error: string | null;
  /** Null unless due. */
  readonly next_attempt_at: string | null;
}

export type AttemptEnd = 'succeeded' | 'failed' | 'cancelled' | 'crashed' | 'lost' | 'released';

/** An attempt of a job. */
export interface JobAttempt {
  readonly attempt: number;
  /** Process that ran it; null where one process serves a home. */
  readonly node: string | null;
  readonly started_at: string;
  /** Last time it was seen alive. */
  readonly heartbeat_at: string | null;
  /** Null while it runs. */
  readonly ended_at: string | null;
  readonly end: AttemptEnd | null;
  /** Why it crashed, was lost, released or failed. */
  readonly reason: string | null;
}

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
  /** The last ones, in their order. */
  readonly attempts: readonly JobAttempt[];
  /** The body as accepted. */
  readonly request: unknown;
  readonly input_hash: string;
  /** Request that asked for it; null when the service did, or a version before these were kept. */
  readonly request_id: string | null;
  /** Trace of the client's that the request is part of. */
  readonly trace_id: string | null;
  readonly callbacks: JobCallback[];
}

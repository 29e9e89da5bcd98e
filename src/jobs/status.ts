import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobPriority } from '#domain/jobs/priority.js';
import type { ErrorDetail } from '#domain/refusals/refusal.js';

export const JOB_STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Callback URL and the state of its delivery, stored with the job. */
export interface JobCallback {
  /** Id of the callback message. It is equal in every attempt to deliver the message. */
  readonly delivery_id: string;
  readonly url: string;
  /**
   * `waiting` until the job has ended, `due` until it is delivered, `delivered` once the receiver accepted it, `failed`
   * after the last attempt failed.
   */
  readonly state: 'waiting' | 'due' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly last_attempt_at: string | null;
  /** Error of the last attempt; null if it succeeded. */
  readonly last_error: string | null;
  /** Time of the next attempt; null unless `state` is `due`. */
  readonly next_attempt_at: string | null;
}

export type AttemptEnd = 'succeeded' | 'failed' | 'cancelled' | 'crashed' | 'lost' | 'released';

/** Attempt of a job. */
export interface JobAttempt {
  readonly attempt: number;
  /** Process that ran the attempt. It is null if only one process uses the data folder. */
  readonly node: string | null;
  readonly started_at: string;
  /** Time of the attempt's last heartbeat. */
  readonly heartbeat_at: string | null;
  /** End of the attempt; null while it runs. */
  readonly ended_at: string | null;
  readonly end: AttemptEnd | null;
  /** Reason of a crash, loss, release or failure. */
  readonly reason: string | null;
}

/** Status of a job on the wire. `result` is null until the job has succeeded, and always in listings. */
export interface JobStatus {
  readonly job_id: string;
  readonly kind: JobKindName;
  readonly priority: JobPriority;
  readonly status: JobState;
  /** Completed fraction; never decreases. */
  readonly progress: number;
  readonly message: string;
  readonly error: ErrorDetail | null;
  readonly result: unknown;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  /** Number of the attempt, 1 for the first start; written before the work starts. */
  readonly attempt: number;
  /** Latest attempts in order. */
  readonly attempts: readonly JobAttempt[];
  /** Request body. */
  readonly request: unknown;
  readonly input_hash: string;
  /** Id of the request; null for a job of the service itself, and in records of earlier versions. */
  readonly request_id: string | null;
  /** Trace id from the client. */
  readonly trace_id: string | null;
  readonly callbacks: JobCallback[];
}

import type { JobPriority } from '#domain/jobs/priority.js';

/** Client and request of submitted work. They connect a job with the log lines of its request. */
export interface Origin {
  /** Id of the client's key. Owners of jobs take turns in the queue. It is null if the service uses no keys. */
  readonly owner: string | null;
  /** Name of the client's key; null if the service uses no keys. */
  readonly author: string | null;
  /** Note of the client. */
  readonly note: string | null;
  readonly requestId: string;
  /** Trace id from the client; null if it sent none. */
  readonly traceId: string | null;
  /**
   * Trace span of the request, as a `traceparent` header. It is the parent of the job's span on whichever machine the
   * job runs.
   */
  readonly traceParent?: string;
  /** Validated URL to call when the job ends; null without a callback. */
  readonly callback: string | null;
  /** Priority of the job. Default: normal. */
  readonly priority?: JobPriority;
}

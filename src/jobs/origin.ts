import type { JobPriority } from '#domain/jobs/priority.js';

/** Client and request of submitted work; correlates a job with its log lines. */
export interface Origin {
  /** Id of the client's key; null without keys. Owners take turns in the queue. */
  readonly owner: string | null;
  /** Name of the key; null without keys. */
  readonly author: string | null;
  /** Note of the client. */
  readonly note: string | null;
  readonly requestId: string;
  /** Trace id from the client; null if it sent none. */
  readonly traceId: string | null;
  /** Span of the request, as a `traceparent`; the parent of the job on whichever machine it runs. */
  readonly traceParent?: string;
  /** Validated URL to call when the job ends; null without a callback. */
  readonly callback: string | null;
  /** Priority of the job. Default: normal. */
  readonly priority?: JobPriority;
}

/** Who asked for work, and in which request: correlates a job with the lines of the log about it. */
export interface Origin {
  /** The key; null for the client of a service without keys. Owners take turns in the queue. */
  readonly owner: string | null;
  /** Name of the key; null as above. */
  readonly author: string | null;
  /** What the client said of its request. */
  readonly note: string | null;
  readonly requestId: string;
  /** Trace of the client's that the request is part of; null when it sent none. */
  readonly traceId: string | null;
  /** Span of the request, as a `traceparent`: the job belongs to it on whichever machine it runs. */
  readonly traceParent?: string;
  /** URL that is called when the job ends, already validated; null without one. */
  readonly callback: string | null;
}

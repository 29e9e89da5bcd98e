/** Who asked for work, and in which request: by it a job, and every line of the log about it, is found again. */
export interface Origin {
  /** The key; null for the client of a service without keys. Owners take turns in the queue. */
  readonly owner: string | null;
  readonly requestId: string;
  /** Trace of the client's that the request is part of; null when it sent none. */
  readonly traceId: string | null;
  /** Address that is sent word of the end of the job; checked. */
  readonly callback: string | null;
}

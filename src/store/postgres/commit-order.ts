import type { CommitEvent } from '#domain/documents/commit-events.js';
import type { TransactionDraft } from './draft.js';

export interface CommitOrder {
  readonly draft: TransactionDraft;
  readonly events: readonly CommitEvent[];
  /** Changes of job rows. */
  readonly jobs: readonly JobRow[];
  /** Time of the writes, ms since 1970. */
  readonly time: number;
}

/** Row of a job for the queue. It is written and deleted together with the document of the job. */
export interface JobRow {
  readonly job_id: string;
  readonly kind: string;
  readonly lane: string;
  readonly owner: string;
  readonly status: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly estimated_bytes: number;
  /** Node of the running attempt, and the remaining duration of its lease. It is null if no attempt runs. */
  readonly node: string | null;
  readonly lease_ms: number | null;
  /** Delay before a waiting job may start again. */
  readonly delay_ms?: number;
}

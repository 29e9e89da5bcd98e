import type { CommitEvent } from '#domain/documents/commit-events.js';
import type { Draft } from './draft.js';

export interface CommitOrder {
  readonly draft: Draft;
  readonly events: readonly CommitEvent[];
  /** What becomes of the rows of jobs. */
  readonly jobs: readonly JobRow[];
  /** Of the writes, ms since 1970. */
  readonly time: number;
}

/** What a queue asks of a job: written with the document of the job, and deleted with it. */
export interface JobRow {
  readonly job_id: string;
  readonly kind: string;
  readonly lane: string;
  readonly owner: string;
  readonly status: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly estimated_bytes: number;
  /** Node of the attempt that runs, and how long its lease lasts from now; null otherwise. */
  readonly node: string | null;
  readonly lease_ms: number | null;
  /** Of a job that waits again: time before it may begin. */
  readonly delay_ms?: number;
}

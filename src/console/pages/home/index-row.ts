import type { IndexSummary, JobStatus, RunSummaryRow } from '#clients/typescript/divisor.js';
import type { Asking } from '../../state/refusals.js';

/** An index with the overview of its stored run; null before the first run. */
export interface Row {
  readonly index: IndexSummary;
  readonly run: RunSummaryRow | null;
  /** False before the summaries of the runs have arrived. */
  readonly isKnown: boolean;
  /** Last run, if it failed after the stored one was made. */
  readonly failed: JobStatus | null;
  readonly asking: Asking;
}

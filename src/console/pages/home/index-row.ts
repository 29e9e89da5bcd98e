import type { IndexSummary, JobStatus, RunSummaryRow } from '#clients/typescript/divisor.js';
import type { RefusedQuery } from '../../state/refusals.js';

/** Index with a summary of its stored run. The summary is null before the first run. */
export interface Row {
  readonly index: IndexSummary;
  readonly run: RunSummaryRow | null;
  /** False until the run summaries have been loaded. */
  readonly isKnown: boolean;
  /** Last run if it failed and is newer than the stored run; otherwise null. */
  readonly failed: JobStatus | null;
  /** True if the data store of the index is not registered. A run would be refused. */
  readonly isStoreMissing: boolean;
  readonly asking: RefusedQuery;
}

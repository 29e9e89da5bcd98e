import { setImmediate } from 'node:timers/promises';
import type { BacktestRecordCollection } from '#contract/analytics/record.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { addUnreadable } from '../shared/skipped.js';
import { findDamagedRuns } from '../stored/damaged-runs.js';
import { readRun } from '../stored/run-documents.js';
import { createStoredState, type RunStates } from './run-states.js';

/**
 * Function that lists the latest runs by subject. A run is left out and counted if its document or its columns are
 * unreadable.
 */
export type RunList = (query: {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}) => Promise<BacktestRecordCollection>;

interface RunListDependencies {
  readonly documents: Pick<DocumentStore, 'list'>;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly states: RunStates;
}

/** Number of runs whose definitions are compared in one turn of the event loop: at most 20 ms. */
const ROWS_PER_TURN = 32;

export function createRunList({ documents, artifacts, states }: RunListDependencies): RunList {
  /**
   * Returns the rows of a listing. After a change of definitions many runs must be compared again; other work can run
   * in between.
   */
  async function readRows(runs: readonly RunDocument[]): Promise<BacktestRecordCollection['backtests']> {
    const rows: BacktestRecordCollection['backtests'] = [];
    for (const run of runs) {
      rows.push({ index_id: run.run_id, run_at: run.run_at, ...(await createStoredState(states, run)) });
      if (rows.length % ROWS_PER_TURN === 0) await setImmediate();
    }
    return rows;
  }

  return async ({ limit, after }) => {
    const listing = await documents.list('run', readRun);
    const runs = listing.documents;
    const request = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
    const damagedRuns = await findDamagedRuns(artifacts, request);
    const backtests = await readRows(request.filter((run) => !damagedRuns.has(run)));
    return { backtests, ...addUnreadable(listing, damagedRuns.size) };
  };
}

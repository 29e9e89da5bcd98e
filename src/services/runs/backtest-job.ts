import type { BacktestPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type JobKind } from '#jobs/job-kind.js';
import { assertNotDeleted } from '../shared/jobs-about.js';
import { putRun } from '../stored/run-list.js';
import { createResultReference } from './job-results.js';
import type { RunMaker } from './run-maker.js';

export interface BacktestJobDependencies {
  readonly runMaker: RunMaker;
  /** Number of runs that are kept for each index. Published runs are kept in addition. */
  readonly runsKept: number;
}

/** Creates the kind of job that runs backtests. The transaction that ends the job stores the result as the run. */
export function createBacktestJob({ runMaker, runsKept }: BacktestJobDependencies): JobKind<BacktestPayload> {
  return createJobKind('backtest', async (payload, attempt) => {
    const run = await runMaker.make(payload, attempt);
    return {
      result: { reference: createResultReference(run) },
      async effect(tx) {
        await assertNotDeleted(tx, run.run_id, 'backtest');
        await putRun(tx, run, runsKept);
        tx.publish({ type: 'run-stored', run_id: run.run_id });
      },
    };
  });
}

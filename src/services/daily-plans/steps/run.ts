import { formatDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentReader } from '#store/port.js';
import { computeRunId } from '#store/run-id.js';
import type { Analytics } from '../../runs/analytics.js';
import { findRun } from '../../stored/run-documents.js';
import { assertSucceeded, awaitJobEnd } from '../job-end.js';
import { describeIndices, performEachIndex, type ItemResult, type Performer, type StepContext } from '../performer.js';
import type { StoreMarkets } from '../../datasets/store-markets.js';
import { listPlanMarkets } from '../plan-markets.js';
import { formatLast } from './refresh.js';

export interface RunDependencies {
  readonly analytics: Pick<Analytics, 'onStoredTerms' | 'currentRun' | 'start'>;
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly jobs: Pick<Jobs, 'get'>;
  readonly markets: Pick<Markets, 'settled' | 'require'>;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly follow: () => Promise<unknown>;
}

/** Maximum number of attempts to run an index while other jobs run it. After them the index is blocked. */
const ATTEMPTS_MAX = 3;

export function createRunPerformer(dependencies: RunDependencies): Performer<'run'> {
  const { analytics, documents, jobs, markets, follow } = dependencies;

  async function runIndex(indexId: string, context: StepContext<unknown>): Promise<ItemResult> {
    const { day, origin, signal, put } = context;
    for (let attempt = 1; ; attempt++) {
      const request = { ...(await analytics.onStoredTerms(indexId, {})), end: null };
      const current = await analytics.currentRun(indexId, { request });
      if (current !== undefined) return createResult(current, day().date, 'The stored run is current');
      try {
        const { job_id: jobId } = await analytics.start(indexId, { request }, origin);
        await put(indexId, indexId, { state: 'waiting', message: 'The run is being computed.', job_id: jobId });
        assertSucceeded(jobId, await awaitJobEnd(jobs, jobId, signal));
        const run = await findRun(documents, indexId);
        if (run === undefined) throw new Refusal('RUN_NOT_FOUND', `${indexId} has no stored run after its job.`);
        return { ...createResult(run, day().date, 'It was run'), job_id: jobId };
      } catch (failure) {
        const isBusy = failure instanceof Refusal && failure.code === 'JOB_RUNNING';
        if (!isBusy || attempt === ATTEMPTS_MAX) throw failure;
        await awaitJobEnd(jobs, `backtest:${indexId}`, signal);
      }
    }
  }

  return async (context) => {
    await markets.settled();
    await follow();
    const { date } = context.day();
    for (const { market, identity } of await listPlanMarkets(dependencies, context.waves)) {
      const last = market.dates.at(-1);
      if (last !== undefined && formatDay(last) >= date) continue;
      const message = `The store ${identity.datasetId} has no prices of ${date} yet; ${formatLast(last)}.`;
      return { state: 'waiting', message };
    }
    const count = await performEachIndex(context, (indexId) => runIndex(indexId, context));
    return { state: 'done', message: describeIndices(count, 'with a current run') };
  };
}

function createResult(run: RunDocument, date: string, outcome: string): ItemResult {
  const detail = { run_id: computeRunId(run), end: run.end };
  if (run.end < date)
    return {
      state: 'blocked',
      code: 'NO_DATA_IN_RANGE',
      message: `The run ends on ${run.end}, before ${date}.`,
      detail,
    };
  return { state: 'done', message: `${outcome}, through ${run.end}.`, detail };
}

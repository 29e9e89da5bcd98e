import { setImmediate } from 'node:timers/promises';
import type { BacktestBatch } from '#contract/analytics/batch.js';
import type { AsKnownOn } from '#domain/schema/as-known-on.js';
import type { BacktestRequest } from '#contract/analytics/request.js';
import { ERRORS, Refusal } from '#domain/refusals/refusal.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { Analytics } from './analytics.js';

/** Backtests of many indices in one request. */
export interface BacktestBatches {
  /**
   * Queues a backtest for each index of the order, or only for each index with a stale run. Default terms are those of
   * the stored run. If an index is refused, its entry contains the refusal.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, DRAINING, STORAGE_FULL, which apply to all indices; jobs that
   * were queued before remain queued
   */
  start(order: BatchOrder, origin: Origin | null): Promise<BacktestBatch>;
}

export interface BatchOrder {
  readonly ids: readonly string[];
  readonly request: BacktestRequest;
  readonly asKnownOn?: AsKnownOn | undefined;
  readonly isIfStale: boolean;
}

type Entry = BacktestBatch['backtests'][number];

export function createBacktestBatches(
  analytics: Pick<Analytics, 'currentRun' | 'onStoredTerms' | 'start'>,
): BacktestBatches {
  async function queueEntry(
    indexId: string,
    { request: backtestRequest, asKnownOn, isIfStale }: BatchOrder,
    origin: Origin | null,
  ): Promise<Entry> {
    try {
      const request = isIfStale ? await analytics.onStoredTerms(indexId, backtestRequest) : backtestRequest;
      if (isIfStale && (await analytics.currentRun(indexId, { request, asKnownOn })) !== undefined)
        return { index_id: indexId, outcome: 'current', job: null, error: null };
      return enqueue(indexId, await analytics.start(indexId, { request, asKnownOn }, origin));
    } catch (failure) {
      if (!(failure instanceof Refusal) || isOfService(failure)) throw failure;
      return { index_id: indexId, outcome: 'refused', job: null, error: failure.toDetail() as Entry['error'] };
    }
  }

  return {
    async start(order, origin) {
      const backtests: Entry[] = [];
      for (const indexId of new Set(order.ids)) {
        backtests.push(await queueEntry(indexId, order, origin));
        await setImmediate(); // Each entry may compare definitions, so other work runs in between.
      }
      const count = (outcome: Entry['outcome']) => backtests.filter((entry) => entry.outcome === outcome).length;
      return { backtests, queued: count('queued'), current: count('current'), refused: count('refused') };
    },
  };
}

/** Returns the entry of a queued backtest. The type of the job allows any kind, but this job is a backtest. */
const enqueue = (indexId: string, job: JobStatus): Entry => ({
  index_id: indexId,
  outcome: 'queued',
  job: job as Entry['job'],
  error: null,
});

/**
 * Returns true if a refusal applies to every index. A full queue does not, because an index with a current stored run
 * needs no job.
 */
export function isOfService({ code }: Refusal): boolean {
  return ERRORS[code].status === 503 && code !== 'OVERLOADED';
}

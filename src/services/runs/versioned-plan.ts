import type { BacktestRequest } from '#contract/analytics/request.js';
import type { AsKnownOn } from '#domain/schema/as-known-on.js';
import type { MarketData } from '#domain/market/market-data.js';
import { readHead } from '#store/history/history.js';
import type { DocumentStore } from '#store/port.js';
import type { BacktestPlans, PlannedRun } from './backtest-plans.js';

/** Backtest as requested. */
export interface RequestedBacktest {
  readonly request: BacktestRequest;
  readonly asKnownOn?: AsKnownOn | undefined;
}

export interface VersionedPlan extends PlannedRun {
  /** Version of the index or strategy; null if it has no version. */
  readonly version: number | null;
}

/** Plan for which a market has the data. */
export interface RunnablePlan extends VersionedPlan {
  readonly market: MarketData;
  /** Version of the data if the client requested an earlier version; otherwise empty. */
  readonly dataVersion: { readonly data_version?: number };
}

export interface VersionedPlanInput {
  readonly documents: DocumentStore;
  readonly plans: Pick<BacktestPlans, 'planRun'>;
  readonly runId: string;
  readonly request: BacktestRequest;
}

/** Returns a plan and the version of its index or strategy. The document did not change during the read. */
export async function readPlanVersion({
  documents,
  plans,
  runId,
  request,
}: VersionedPlanInput): Promise<VersionedPlan> {
  for (;;) {
    const version = await readSubjectVersion(documents, runId);
    const plannedRun = await plans.planRun(runId, request);
    if ((await readSubjectVersion(documents, runId)) === version) return { ...plannedRun, version };
  }
}

/**
 * Returns the version of the index or strategy with the id of a run. An index and a strategy never have the same id.
 */
async function readSubjectVersion(documents: DocumentStore, id: string): Promise<number | null> {
  const kind = (await documents.get('strategy', id)) === undefined ? 'index' : 'strategy';
  return (await readHead(documents, { kind, id }))?.latest ?? null;
}

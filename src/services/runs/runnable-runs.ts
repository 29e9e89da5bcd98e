import type { BacktestRequest } from '#contract/analytics/request.js';
import { assertRunnable } from '#domain/backtest/assert-runnable.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { BacktestPayload } from '#domain/jobs/payloads.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { selectVersion, type DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { isAnyDamaged } from '../stored/damaged-runs.js';
import { planModels } from '../stored/used-models.js';
import { assertSubject, findRun } from '../stored/run-documents.js';
import { createBacktestPlans } from './backtest-plans.js';
import { assertFirstVersion } from './known-decisions.js';
import { applyStoredTerms, type RunStates } from './run-states.js';
import { readPlanVersion, type RequestedBacktest, type RunnablePlan, type VersionedPlan } from './versioned-plan.js';

export interface RunnableRunsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly calendars: Calendars;
  readonly states: Pick<RunStates, 'findStaleState' | 'planNow'>;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
}

/** Returns the payload of the job that runs a plan. */
export function createBacktestPayload(
  requestedBacktest: RequestedBacktest,
  { plan, storeId, version, dataVersion }: RunnablePlan,
  engineVersion: string,
): BacktestPayload {
  return {
    plan,
    ...(plan.strategy === undefined ? {} : { asked: requestedBacktest.request }),
    ...(storeId === null ? {} : { on_store: storeId }),
    ...dataVersion,
    engine_version: engineVersion,
    index_version: version,
  };
}

/** Plans of requested backtests, and stored runs that already have the requested result. */
export interface RunnableRuns {
  /**
   * Returns the plan of a request with the market of its store. First makes every check that needs no run.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE, BENCHMARK_NOT_FOUND,
   * NO_DATA_SOURCE, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT
   */
  planRun(runId: string, backtest: RequestedBacktest): Promise<RunnablePlan>;
  /** Completes a request: members that are absent get the values of the stored run. */
  onStoredTerms(runId: string, request: BacktestRequest): Promise<BacktestRequest>;
  /**
   * Returns the stored run if a new run of the request would be equal; otherwise undefined. @throws the refusals of
   * `planRun`
   */
  currentRun(runId: string, backtest: RequestedBacktest): Promise<RunDocument | undefined>;
}

export function createRunnableRuns(dependencies: RunnableRunsDependencies): RunnableRuns {
  const { documents, artifacts, calendars, states, dataVersions, stores } = dependencies;
  const plans = createBacktestPlans(documents);

  async function planRun(runId: string, { request, asKnownOn }: RequestedBacktest): Promise<RunnablePlan> {
    await assertSubject(documents, runId);
    const plannedVersion = await readPlanVersion({ documents, plans, runId, request });
    return stores.within(plannedVersion.storeId, () => createRunnablePlan(plannedVersion, asKnownOn));
  }

  /** Returns the plan together with the market of its store. */
  async function createRunnablePlan(
    plannedVersion: VersionedPlan,
    asKnownOn: RequestedBacktest['asKnownOn'],
  ): Promise<RunnablePlan> {
    const { plan } = plannedVersion;
    const versionedMarket = await dataVersions.at(asKnownOn);
    const { market } = versionedMarket.served;
    await planModels(documents, plan.documents, market.datasetId); // a plan does not contain the stores of its models
    assertRunnable(plan, { market, calendars });
    const { request, documents: planDocuments } = plan;
    if (request.as_known !== undefined)
      assertFirstVersion(await dataVersions.before(versionedMarket.version), {
        market,
        end: request.end,
        documents: planDocuments,
        calendars,
      });
    return { ...plannedVersion, market, dataVersion: selectVersion({ as_known_on: asKnownOn }, versionedMarket) };
  }

  return {
    planRun,
    onStoredTerms: async (runId, request) => applyStoredTerms(await findRun(documents, runId), request),
    async currentRun(runId, requestedBacktest) {
      const { plan, dataVersion } = await planRun(runId, requestedBacktest);
      const run = await findRun(documents, runId);
      // A result of an earlier release has no store. It may lack fields that results have today.
      if (run?.store_id === undefined || run.as_known_on !== dataVersion.data_version) return undefined;
      if ((await states.findStaleState(run, { isOfThen: true })) !== null) return undefined; // The run has the requested data version.
      const { result } = run.artifacts;
      if ((result && !result.inset) || toCanonicalJson(await states.planNow(run)) !== toCanonicalJson(plan))
        return undefined;
      return (await isAnyDamaged(artifacts, run)) ? undefined : run; // A new run would be undamaged.
    },
  };
}

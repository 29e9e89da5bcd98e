import type { BacktestRequest } from '#contract/analytics/request.js';
import type { RecordedClosures } from '#domain/calendars/closures.js';
import {
  combineStaleReasons,
  type RunState,
  type StaleReasons,
  type StaleState,
} from '#domain/backtest/stale-reasons.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import {
  getRequested,
  createRunDefinitions,
  type DefinitionState,
  type RunDefinitionsDependencies,
} from './run-definitions.js';
import { createRunStores, type RunStoresDependencies } from './run-stores.js';
import { listContentReasons, listEngineReasons } from './stale-reasons.js';

export interface RunStatesDependencies extends RunDefinitionsDependencies, RunStoresDependencies {
  /** Market of the active store. */
  readonly markets: Pick<Markets, 'served' | 'require'>;
  readonly engineVersion: string;
}

export interface StateTerms {
  /** True to compare with the content that the run used. Set for a run on data as it was known at a version. */
  readonly isOfThen: boolean;
}

/** States of stored runs: whether a run is stale, and which market a view of it may read. */
export interface RunStates {
  /**
   * Returns null if the same request on the current data would give the stored result; otherwise why the run is stale.
   * @cost of a look-up, until a definition changes
   */
  findStaleState(run: RunDocument, terms?: Partial<StateTerms>): Promise<StaleState | null>;
  /**
   * Returns the reasons why recorded calendar changes would make a run stale. Returns no reasons if it stays current.
   */
  reasonsWith(run: RunDocument, closures: RecordedClosures): Promise<readonly string[]>;
  /**
   * Returns the plan that the request of a stored run would get now. @throws the refusals of `BacktestPlans.planRun`
   */
  planNow(run: RunDocument): Promise<BacktestPlan>;
  /**
   * Returns the market of a run's store, for a view that needs prices.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, STORE_MISMATCH if the store cannot be read
   */
  requireMarket(run: RunDocument): Promise<ServedMarket>;
  /**
   * Returns the same market as `requireMarket`. Returns undefined if the store of the run is unknown and no store is
   * active.
   * @throws Refusal STORE_MISMATCH
   */
  servedMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /**
   * Returns the same market as `servedMarket`. Returns undefined if the store is unreadable, for views that can leave
   * out figures.
   */
  findMarket(run: RunDocument): Promise<ServedMarket | undefined>;
  /** Returns the store on which a run is computed; undefined for the active store. */
  findStore(run: RunDocument): Promise<string | undefined>;
}

export function createRunStates(dependencies: RunStatesDependencies): RunStates {
  const { markets, engineVersion } = dependencies;
  const { planNow, readDefinition, reasonsWith } = createRunDefinitions(dependencies);
  const { datasetOf, currentContent, marketOf } = createRunStores(dependencies);

  async function readDataReasons(
    run: RunDocument,
    { isOfThen, storeId }: StateTerms & Pick<DefinitionState, 'storeId'>,
  ): Promise<Pick<StaleReasons, 'data' | 'otherStore'>> {
    const content = await currentContent(storeId);
    if (content === undefined && storeId === null) return { data: [], otherStore: null };
    if (content === undefined)
      return { data: [`The store ${storeId} of the index is not registered.`], otherStore: null };
    const { datasetId } = content;
    const runDataset = (await datasetOf(run)) ?? datasetId;
    if (runDataset === datasetId) return { data: listContentReasons(run, content, isOfThen), otherStore: null };
    const currentState = storeId === null ? `${datasetId} is active` : `the index belongs to ${datasetId}`;
    return { data: [`The run was made on the store ${runDataset}; ${currentState}.`], otherStore: runDataset };
  }

  return {
    reasonsWith,
    planNow,
    async findStaleState(run, { isOfThen = false } = {}) {
      const { reasons, storeId } = await readDefinition(run);
      return combineStaleReasons({
        definition: reasons,
        ...(await readDataReasons(run, { isOfThen, storeId })),
        engine: listEngineReasons(run, engineVersion),
      });
    },
    requireMarket: async (run) => (await marketOf(run, markets.served())) ?? markets.require(),
    servedMarket: (run) => marketOf(run, markets.served()),
    async findMarket(run) {
      try {
        return await marketOf(run, markets.served());
      } catch (refusal) {
        if (refusal instanceof Refusal && refusal.code === 'STORE_MISMATCH') return undefined;
        throw refusal;
      }
    },
    async findStore(run) {
      const storeId = await datasetOf(run);
      return storeId === markets.served()?.identity.datasetId ? undefined : storeId;
    },
  };
}

/** State of a stored run in responses. */
interface StoredState extends RunState {
  stale: (StaleState & { reasons: string[] }) | null;
}

/** Returns the state of a run. Every view of the run contains it. */
export async function createStoredState(
  states: Pick<RunStates, 'findStaleState'>,
  run: RunDocument,
): Promise<StoredState> {
  const staleState = await states.findStaleState(run);
  return {
    stale: staleState && { ...staleState, reasons: [...staleState.reasons] },
    index_version: run.index_version ?? null,
    store_id: run.store_id ?? null,
  };
}

/** Completes a request: members that are absent get the values of a stored run. */
export function applyStoredTerms(run: RunDocument | undefined, request: BacktestRequest): BacktestRequest {
  const presentTerms = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
  return run === undefined ? request : { ...getRequested(run), ...presentTerms };
}

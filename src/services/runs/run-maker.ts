import { limitPlanToDate } from '#domain/backtest/plan-through.js';
import type { FullRunReason } from '#domain/documents/full-run-reasons.js';
import { selectPlanClosures } from '#domain/backtest/plan-closures.js';
import { listDefinitionChanges, isSameRequest } from '#domain/backtest/plan-changes.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { listMatrixFiles, type MatrixFiles } from '#domain/risk/matrix-files.js';
import type { BacktestPayload } from '#domain/jobs/payloads.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { PortableTaskName } from '#jobs/tasks.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { getColumns, listEarlierFiles, toHashedReference, readRun } from '../stored/run-documents.js';
import { createRunFiles, type ContinuableRun } from './run-files.js';
import { createModelReferences, findPlannedFiles } from '../stored/used-models.js';
import type { DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { addDefaultsToPlan } from '#domain/checks/plan-defaults.js';
import { readStoredPlan } from '../stored/stored-plans.js';

export interface RunMakerDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
}

/**
 * Links the matrices of stored risk models under names that belong to the run. They remain if a model is estimated
 * again.
 */
async function linkRunFiles(
  attempt: Attempt<PortableTaskName>,
  artifacts: Pick<ArtifactStore, 'newName'>,
  matrices: Readonly<Record<string, MatrixFiles>>,
): Promise<Record<string, MatrixFiles>> {
  const linkedFiles: Record<string, MatrixFiles> = {};
  for (const [id, matrix] of Object.entries(matrices)) {
    const files = await attempt.share(listMatrixFiles(matrix).map((ref) => ({ ref, name: artifacts.newName() })));
    linkedFiles[id] = 'files' in matrix ? { ...matrix, files: [...files] } : files[0]!;
  }
  return linkedFiles;
}

/** Returns the version of the recorded changes of the calendar that a run uses. */
function selectCalendarVersion({ indexId, documents }: BacktestPlan): { readonly calendar_version?: number } {
  const { calendar, closures } = documents[indexId]!; // a plan contains the document of its index
  const recordedClosure = closures?.[calendar];
  return recordedClosure === undefined ? {} : { calendar_version: recordedClosure.version };
}

/** Returns true if a run used the current content of the market and if the declarations of its store are unchanged. */
function isOfMarket(run: RunDocument, { contentHash, adjustment, currency = null }: MarketIdentity): boolean {
  return (
    run.store_content_hash === contentHash &&
    run.adjustment === adjustment &&
    (run.declared_currency ?? null) === currency
  );
}

/**
 * Maker of backtest runs. It writes the files of a run and returns the document that refers to them. The caller stores
 * the document.
 */
export interface RunMaker {
  make(payload: BacktestPayload, attempt: Attempt<PortableTaskName>): Promise<RunDocument>;
}

export function createRunMaker({
  documents,
  artifacts,
  markets,
  dataVersions,
  stores,
}: RunMakerDependencies): RunMaker {
  const runs = createRunFiles({ documents, artifacts });

  /**
   * Returns the stored run that can be extended, or the reason why it cannot be extended. Its columns are not read.
   * Returns null if there is no stored run.
   */
  async function createStoredRun(
    payload: BacktestPayload,
    market: MarketIdentity,
  ): Promise<ContinuableRun | FullRunReason | null> {
    const storedDocument = await documents.get('run', payload.plan.runId);
    if (storedDocument === undefined) return null;
    const run = readStored(storedDocument, readRun);
    const { columns, checkpoint } = run?.artifacts ?? {};
    if (run === undefined || !columns || !checkpoint) return 'no_checkpoint';
    const reason = await findPlanReason(run, payload, market);
    if (reason !== null) return reason;
    const files = [...listEarlierFiles(run), columns];
    return {
      columns: files,
      run: {
        columns: getColumns(run),
        checkpoint: toHashedReference(checkpoint),
        checked: files.map(toHashedReference), // An extended run must not inherit damage of the stored run.
        fileNames: files.map(() => artifacts.newName()),
      },
    };
  }

  /**
   * Compares the plan of a stored run with a new plan. Returns the reason why the run cannot be extended, or null if
   * the plans differ at most in their end date.
   */
  async function findPlanReason(
    run: RunDocument,
    { plan, asked, engine_version: engineVersion }: BacktestPayload,
    market: MarketIdentity,
  ): Promise<FullRunReason | null> {
    if (run.engine_version !== engineVersion) return 'definition_changed';
    const previousPlan = await readPlan(run);
    if (previousPlan === undefined) return 'no_checkpoint';
    const plans = [previousPlan, plan].map((backtestPlan) =>
      selectPlanClosures(limitPlanToDate(backtestPlan, run.end), undefined),
    );
    const [was, is] = [plans[0]!, plans[1]!];
    if (listDefinitionChanges({ plan: was, asked: run.asked }, { plan: is, asked }).length > 0)
      return 'definition_changed';
    if (!isSameRequest(previousPlan, plan)) return 'request_changed';
    const isSameEnd = previousPlan.request.end === plan.request.end;
    return isSameEnd && isOfMarket(run, market) ? 'no_new_session' : null;
  }

  /** Returns the plan of a stored run; undefined if it is unreadable. */
  async function readPlan(run: RunDocument): Promise<BacktestPlan | undefined> {
    try {
      return addDefaultsToPlan(await readStoredPlan(artifacts, run));
    } catch (refusal) {
      if (refusal instanceof Refusal) return undefined;
      throw refusal;
    }
  }

  async function makeRun(payload: BacktestPayload, attempt: Attempt<PortableTaskName>): Promise<RunDocument> {
    await markets.settled(); // A run that the previous process left waits until the data is loaded.
    return stores.within(payload.on_store, () => makeRunOnMarket(payload, attempt));
  }

  async function makeRunOnMarket(payload: BacktestPayload, attempt: Attempt<PortableTaskName>): Promise<RunDocument> {
    const { plan, asked, engine_version: engineVersion } = payload;
    const versionedMarket = await dataVersions.at(payload.data_version);
    const { identity } = versionedMarket.served;
    const matrices = await findPlannedFiles(documents, artifacts, plan.models);
    const task = {
      market: identity,
      plan,
      ...createModelReferences(plan.models, matrices),
      ...(plan.request.as_known === undefined ? {} : { known: await dataVersions.before(versionedMarket.version) }),
      engineVersion,
    };
    const storedRun = payload.data_version === undefined ? await createStoredRun(payload, identity) : null;
    const { output, files, newest } = await runs.make(attempt, { plan, task, stored: storedRun });
    const triggeredRebalances = output.called ?? newest?.called ?? [];
    return {
      run_id: plan.runId,
      index_id: plan.indexId,
      name: plan.name,
      run_at: output.runAt,
      start: output.start,
      end: output.end,
      ...(triggeredRebalances.length === 0 ? {} : { called: [...triggeredRebalances] }),
      run_hash: output.runHash,
      store_id: identity.datasetId,
      adjustment: identity.adjustment,
      store_content_hash: output.storeContentHash,
      store_version: versionedMarket.version,
      ...(payload.data_version === undefined ? {} : { as_known_on: payload.data_version }),
      declared_currency: identity.currency ?? null,
      engine_version: engineVersion,
      ...(payload.index_version === undefined ? {} : { index_version: payload.index_version }),
      ...selectCalendarVersion(plan),
      extended_from: output.extendedFrom,
      full_run_reason: output.fullRunReason,
      request: plan.request,
      ...(asked === undefined ? {} : { asked }),
      artifacts: {
        ...files,
        ...(plan.models === undefined ? {} : { models: await linkRunFiles(attempt, artifacts, matrices) }),
      },
    };
  }

  return { make: makeRun };
}

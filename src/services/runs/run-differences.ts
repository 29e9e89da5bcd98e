import type { RunsDifference } from '#contract/analytics/run-differences.js';
import type { DataDifferenceView } from '#contract/stores/data-versions.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { listChanges, type DocumentChange } from '#domain/documents/document-changes.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { RunDifferencePayload } from '#domain/jobs/payloads.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { createJobKind, type Attempt, type JobKind, type Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { computeRunId } from '#store/run-id.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { listVersionFilesBefore } from '../datasets/known-files.js';
import { assertNotDeleted } from '../shared/jobs-about.js';
import { assertHasRuns } from '../stored/run-list.js';
import {
  attributeDifference,
  type Causes,
  type Inputs,
  type RunSide,
  type UnavailableValue,
} from './replayed-effects.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { resolveColumnsFile, requireRun } from '../stored/run-documents.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import type { RunStates } from './run-states.js';
import { resolveMatrixPaths } from '../stored/matrix-paths.js';
import { createContent } from '../stored/used-models.js';
import { addDefaultsToPlan } from '#domain/checks/plan-defaults.js';
import { readStoredPlan } from '../stored/stored-plans.js';

export interface RunDifferenceJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'read' | 'file' | 'damaged'>;
  readonly markets: Markets;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before' | 'findVersion' | 'difference'>;
}

/** Maximum number of data values that a result lists. */
const CELLS_MAX = 100;

/** Creates the kind of job that explains the differences between two stored runs. */
export function createRunDifferenceJob({
  documents,
  artifacts,
  markets,
  dataVersions,
}: RunDifferenceJobDependencies): JobKind<RunDifferencePayload> {
  async function readSide(subject: string, id: string): Promise<RunSide> {
    const run = await requireRun(documents, { subject, id });
    const plan = addDefaultsToPlan(await readStoredPlan(artifacts, run));
    const version = await dataVersions.findVersion(run.store_id ?? '', run.store_content_hash);
    return { run, plan, version, market: await readMarket(run, version) };
  }

  /** Returns the market from which a run was computed, or the reason why it is unavailable. */
  async function readMarket(run: RunDocument, version: number | null): Promise<MarketHandle | UnavailableValue> {
    const servedHandle = markets.served()?.handle;
    if (servedHandle === undefined)
      return { reason: `A replay needs the data of ${describeRun(run)}: no data store is served.` };
    const declaredTerms = {
      adjustment: run.adjustment ?? servedHandle.adjustment,
      currency: run.declared_currency === undefined ? (servedHandle.currency ?? null) : run.declared_currency,
    };
    if (servedHandle.contentHash === run.store_content_hash) return { ...servedHandle, ...declaredTerms };
    if (servedHandle.datasetId !== run.store_id)
      return {
        reason: `A replay needs the data of ${describeRun(run)}, made on the store ${run.store_id ?? 'of before stores were named'}; ${servedHandle.datasetId} is served.`,
      };
    if (version === null)
      return {
        reason: `The data of ${describeRun(run)} cannot be had again: no version of ${servedHandle.datasetId} has it.`,
      };
    try {
      return { ...(await dataVersions.at(version)).served.handle, ...declaredTerms };
    } catch (refusal) {
      if (refusal instanceof Refusal && ['NO_DATA_KNOWN', 'DOCUMENT_UNREADABLE'].includes(refusal.code))
        return { reason: refusal.message };
      throw refusal;
    }
  }

  /** Returns the stored risk models that a plan uses. The files are those of the run that was made from the plan. */
  async function findModels(plan: BacktestPlan, sides: readonly RunSide[]): Promise<{ readonly models?: ModelFiles }> {
    if (plan.models === undefined) return {};
    const files: Record<string, ModelFiles[string]> = {};
    for (const [id, model] of Object.entries(plan.models)) {
      const side = sides.find(
        (runSide) => toCanonicalJson(runSide.plan.models?.[id] ?? null) === toCanonicalJson(plan.models![id]),
      );
      const file = side?.run.artifacts.models?.[id];
      if (file !== undefined) files[id] = { paths: await resolveMatrixPaths(artifacts, file), ...createContent(model) };
    }
    return { models: files };
  }

  return createJobKind('diff', async (payload, attempt) => {
    await markets.settled();
    const { run_id: subject, engine_version: engineVersion } = payload;
    await assertNotDeleted(documents, subject, 'comparison');
    const [from, to] = [await readSide(subject, payload.from), await readSide(subject, payload.to)];
    for (const { run } of [from, to]) await assertUndamaged(artifacts, run);
    const levels = await attempt.compute(
      'compare-levels',
      { from: await resolveColumnsFile(artifacts, from.run), to: await resolveColumnsFile(artifacts, to.run) },
      0.1,
    );
    const causes = findCauses(from, to);
    const readValue = async ({ plan, data: { market, version } }: Inputs): Promise<number | UnavailableValue> => {
      if ('reason' in market) return market;
      try {
        const knownDifferences =
          plan.request.as_known === undefined
            ? {}
            : { known: await listVersionFilesBefore({ artifacts, dataVersions }, version) };
        const input = { market, plan, ...(await findModels(plan, [from, to])), ...knownDifferences };
        return (await attempt.compute('total-return', input, 0.2)).totalReturn;
      } catch (refusal) {
        // the definition of one run may not work with the data of the other
        if (refusal instanceof Refusal) return { reason: `A replay was refused: ${refusal.message}` };
        throw refusal;
      }
    };
    const runEnds = { from, to, totals: levels.totalReturns, engineVersion };
    const effects = await attributeDifference(causes, runEnds, readValue);
    const result: RunsDifference = {
      same_levels: levels.firstDifference === null,
      first_difference: levels.firstDifference,
      largest: levels.largest,
      definition: causes.definition,
      request: causes.request,
      data: await compareData(from, to, attempt),
      engine: { from: from.run.engine_version, to: to.run.engine_version },
      ...effects,
    };
    return { result: { value: result }, effect: (tx) => assertNotDeleted(tx, subject, 'comparison') };
  });

  async function compareData(
    from: RunSide,
    to: RunSide,
    { signal }: Pick<Attempt, 'signal'>,
  ): Promise<RunsDifference['data']> {
    const stores = { from: from.run.store_id ?? null, to: to.run.store_id ?? null };
    if (isSameData(from.run, to.run))
      return { cells: 0, first: [], rows: NO_ROWS, appended: null, stores, reason: null };
    if (stores.from === null || stores.from !== stores.to)
      return { ...UNKNOWN_DATA, stores, reason: 'The runs were made on two data stores.' };
    for (const { market, version, run } of [from, to]) {
      if ('reason' in market) return { ...UNKNOWN_DATA, stores, reason: market.reason };
      if (version === null)
        return { ...UNKNOWN_DATA, stores, reason: `No version of ${stores.from} has the data of ${describeRun(run)}.` };
    }
    const versions = { from: from.version!, to: to.version!, limit: CELLS_MAX, appended: false }; // both versions are known, see above
    const bytes = await dataVersions.difference(stores.from, versions, signal);
    const dataDifference = JSON.parse(new TextDecoder().decode(bytes)) as DataDifferenceView; // the task wrote this JSON
    const { cells, changes, appended, rows_added, rows_changed, rows_removed } = dataDifference;
    const rows = { rows_added, rows_changed, rows_removed };
    return { cells, first: changes, rows, appended, stores, reason: null };
  }
}

const describeRun = (run: RunDocument): string => `the run ${computeRunId(run)}`;

/** Row counts of equal contents. */
const NO_ROWS = { rows_added: 0, rows_changed: 0, rows_removed: 0 };

const UNKNOWN_DATA = { cells: null, first: [], rows: null, appended: null };

function findCauses(from: RunSide, to: RunSide): Causes {
  return {
    definition: listDefinitionChanges(from.plan, to.plan),
    request: listChanges(from.plan.request, to.plan.request),
    isOtherData: !isSameData(from.run, to.run),
  };
}

/** Returns true if two runs used the same content and if the declarations of its store were the same. */
function isSameData(from: RunDocument, to: RunDocument): boolean {
  return (
    from.store_content_hash === to.store_content_hash &&
    from.adjustment === to.adjustment &&
    (from.declared_currency ?? null) === (to.declared_currency ?? null)
  );
}

/** Lists the changes of the definition, then of the documents that it refers to, then of the terms of a strategy. */
function listDefinitionChanges(from: BacktestPlan, to: BacktestPlan): DocumentChange[] {
  const { [from.indexId]: previousIndex, ...reachedBefore } = from.documents;
  const { [to.indexId]: after, ...reachedAfter } = to.documents;
  const selectOtherDocuments = (plan: BacktestPlan, documents: BacktestPlan['documents']) => ({
    documents: removeBenchmark(plan, documents),
    models: plan.models ?? {},
    strategy: plan.strategy ?? null,
    index_id: plan.indexId,
  });
  return [
    ...listChanges(previousIndex, after),
    ...listChanges(selectOtherDocuments(from, reachedBefore), selectOtherDocuments(to, reachedAfter)),
  ];
}

/** Removes the documents of the benchmark. The benchmark is part of the request. */
function removeBenchmark(
  { request: { benchmark } }: BacktestPlan,
  documents: BacktestPlan['documents'],
): BacktestPlan['documents'] {
  return Object.fromEntries(Object.entries(documents).filter(([id]) => id !== benchmark?.id));
}

export interface RunDifferences {
  /**
   * Queues a comparison. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_SOURCE,
   * STORE_MISMATCH, JOB_RUNNING
   */
  difference(subject: string, ids: () => RunIds, origin: Origin | null): Promise<JobStatus>;
}

export interface RunIds {
  readonly from: string;
  readonly to: string;
}

export interface RunDifferencesDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly states: Pick<RunStates, 'requireMarket' | 'findStore'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly kind: JobKind<RunDifferencePayload>;
  readonly engineVersion: string;
  readonly estimatedBytes: () => number;
}

export function createRunDifferences(dependencies: RunDifferencesDependencies): RunDifferences {
  const { documents, jobs, states, stores, kind, engineVersion, estimatedBytes } = dependencies;
  return {
    async difference(subject, ids, origin) {
      await assertHasRuns(documents, subject);
      const { from, to } = ids();
      const runs = [
        await requireRun(documents, { subject, id: from }),
        await requireRun(documents, { subject, id: to }),
      ];
      // A job has the market of only one store. Runs on two stores are therefore compared without their market.
      const isSameStore = runs[0]!.store_id === runs[1]!.store_id;
      if (isSameStore) for (const run of runs) await states.requireMarket(run);
      return stores.within(isSameStore ? await states.findStore(runs[0]!) : undefined, () =>
        jobs.submit({
          kind,
          payload: { run_id: subject, from, to, engine_version: engineVersion },
          request: { from, to },
          estimatedBytes: 2 * estimatedBytes(),
          message: 'waiting for a worker',
          origin,
        }),
      );
    },
  };
}

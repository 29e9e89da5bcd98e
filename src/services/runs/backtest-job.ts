import { isSameRequest, limitPlanToDate, listDefinitionChanges, selectPlanClosures } from '#domain/backtest/plan.js';
import { findPricesFile } from '#domain/backtest/run-file/header.js';
import { Refusal } from '#domain/base/refusals.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import type { FullRunReason, RunDocument } from '#domain/definition/runs.js';
import type { MarketIdentity } from '#domain/market/market-data.js';
import type { BacktestPayload } from '#domain/outputs/jobs.js';
import { listMatrixFiles, type MatrixFiles } from '#domain/risk/risk-models.js';
import { type Attempt, createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { PortableTaskName, StoredRunReferences, TaskInput, TaskOutput } from '#jobs/tasks/catalogue.js';
import { RUN_FILES, type RunFileName } from '#jobs/tasks/runs.js';
import {
  type ArtifactLink,
  type ArtifactRef,
  type ArtifactStore,
  computeRunId,
  type DocumentStore,
  readStoredBody,
} from '#store/port.js';
import type { Context } from '../shared/context.js';
import { assertNotDeleted, type JobResultSource } from '../shared/jobs.js';
import { createModelReferences, findPlannedFiles } from '../shared/model-documents.js';
import {
  findRun,
  getColumns,
  listEarlierFiles,
  putRun,
  readRun,
  readStoredPlan,
  requireRun,
  toHashedReference,
} from '../shared/run-documents.js';
import type { RunTexts, StoredResultFile } from './stored-runs.js';

/** Reference that a job stores instead of its result: the run from which the result of a backtest is written. */
export interface ResultReference {
  readonly run_id: string;
  readonly which_run: string;
}

const createResultReference = (run: RunDocument): ResultReference => ({
  run_id: run.run_id,
  which_run: computeRunId(run),
});

/**
 * Creates the source of backtest results. Returns null for a deleted run. A result of an earlier release is returned as
 * it is stored.
 */
export function createBacktestResults(
  documents: Pick<DocumentStore, 'get'>,
  texts: Pick<RunTexts, 'read' | 'stored'>,
): JobResultSource {
  return {
    async written(reference) {
      const { run_id: subject, which_run: id } = reference as ResultReference; // the job of the backtest wrote the reference
      try {
        return await texts.read(await requireRun(documents, { subject, id }), 'result');
      } catch (failure) {
        const isDeleted = failure instanceof Refusal && DELETED_CODES.has(failure.code);
        if (isDeleted) return null;
        throw failure;
      }
    },
    stored: (artifact) => texts.stored(artifact as StoredResultFile), // the result with its inset, if it has one
  };
}

const DELETED_CODES: ReadonlySet<string> = new Set(['INDEX_NOT_FOUND', 'RUN_NOT_FOUND']);

/** Maximum number of price files that are remembered, in addition to those of the run that is repeated. */
const CACHED_RUNS_MAX = 64;

/** Files with the prices of runs. Other runs on the same data can share them. */
function createStoredPrices() {
  const latestPrices = new Map<string, ArtifactRef>();
  return {
    /** Returns the price files by hash: those of this service's latest runs and those of a stored run. */
    with: (run: RunDocument | undefined): ReadonlyMap<string, ArtifactRef> =>
      new Map([...latestPrices, ...(run ? listEarlierFiles(run).map((ref) => [ref.sha256, ref] as const) : [])]),
    remember(prices: ArtifactRef): void {
      latestPrices.delete(prices.sha256);
      latestPrices.set(prices.sha256, prices);
      for (const oldestKey of latestPrices.keys())
        if (latestPrices.size > CACHED_RUNS_MAX) latestPrices.delete(oldestKey);
    },
  };
}

type FileSharing = Pick<Attempt<PortableTaskName>, 'share' | 'drop'>;

interface ComputedFiles<F> {
  /** New files of a run. */
  readonly own: F;
  /** Names of files that were not written, because the stored run has files with the same content. */
  readonly unwritten: readonly string[];
  readonly prices: TaskOutput<'backtest'>['prices'];
  /** Latest stored run, which may have equal files. */
  readonly newest: RunDocument | undefined;
  /** Price files that were stored when the run began, by hash. */
  readonly stored: ReadonlyMap<string, ArtifactRef>;
}

/** Files of a run as they are stored. */
interface SharedFiles<F> {
  readonly files: F;
  /** File with the prices; null if the file with the columns contains them. */
  readonly prices: ArtifactRef | null;
}

/**
 * Returns the files of a run. A file with the same bytes as a file of the stored run becomes a second name of that
 * file. Prices can be shared with any run. Returns undefined if a file was not written and is no longer stored.
 */
async function storeRunFiles<F extends Readonly<Record<string, ArtifactRef> & { readonly columns: ArtifactRef }>>(
  attempt: FileSharing,
  artifacts: Pick<ArtifactStore, 'newName' | 'destination' | 'isIntact'>,
  { own, unwritten, prices, newest, stored }: ComputedFiles<F>,
): Promise<SharedFiles<F> | undefined> {
  const files = Object.values(newest ? createStoredFiles(newest) : {});
  const storedRefs = new Map(files.map((ref) => [ref.sha256, ref]));
  const sharedParts: { readonly part: string; readonly link: ArtifactLink }[] = [];
  for (const [part, { sha256 }] of Object.entries(own)) {
    const ref = storedRefs.get(sha256);
    // Unwritten files equal the stored files. A written file is shared if that saves space and if the stored file is
    // intact.
    if (ref !== undefined && (unwritten.includes(part) || (await isShared(artifacts, ref))))
      sharedParts.push({ part, link: { ref, name: artifacts.newName() } });
  }
  const names = Object.fromEntries(sharedParts.map(({ part, link }) => [part, link.name]));
  if (unwritten.some((part) => names[part] === undefined)) return undefined;
  const artifactRef = prices?.written ?? undefined;
  const source =
    prices === null ? undefined : (artifactRef ?? (await findIntact(artifacts, stored.get(prices.sha256))));
  if (prices !== null && source === undefined) return undefined;
  const pricesFile = source && { ref: source, name: findPricesFile(names['columns'] ?? own.columns.name) };
  if (sharedParts.length === 0 && !pricesFile) return { files: own, prices: null };
  const linkedFiles = await ignoreRemoved(
    attempt.share([...sharedParts.map(({ link }) => link), ...(pricesFile ? [pricesFile] : [])]),
  );
  if (linkedFiles !== undefined) {
    const duplicateNames = sharedParts
      .filter(({ part }) => !unwritten.includes(part))
      .map(({ part }) => own[part]!.name);
    await attempt.drop([...duplicateNames, ...(artifactRef ? [artifactRef.name] : [])]);
    const storedParts = { ...own, ...Object.fromEntries(sharedParts.map(({ part }, i) => [part, linkedFiles[i]!])) };
    return { files: storedParts, prices: pricesFile ? linkedFiles.at(-1)! : null };
  }
  // a file was removed in the meantime
  if (unwritten.length > 0) return undefined;
  if (prices === null) return { files: own, prices: null };
  if (artifactRef === undefined) return undefined;
  const [again] = await attempt.share([{ ref: artifactRef, name: findPricesFile(own.columns.name) }]);
  await attempt.drop([artifactRef.name]);
  return { files: own, prices: again! }; // `link` returns one reference per file
}

/** Returns true if sharing a stored file saves space. In an object store it does not, because the object is copied. */
async function isShared({ destination, isIntact }: Pick<ArtifactStore, 'destination' | 'isIntact'>, ref: ArtifactRef) {
  return destination.kind === 'folder' && (await isIntact(ref));
}

/**
 * Returns a stored file if its content is intact. In a folder of this machine, the thread that computed the run has
 * already checked the file.
 */
async function findIntact(
  { destination, isIntact }: Pick<ArtifactStore, 'destination' | 'isIntact'>,
  ref: ArtifactRef | undefined,
): Promise<ArtifactRef | undefined> {
  const isVerified = destination.kind === 'folder' && destination.storeId === undefined;
  return ref && (isVerified || (await isIntact(ref))) ? ref : undefined;
}

function createStoredFiles({
  artifacts: { columns, checkpoint, plan },
}: RunDocument): Partial<Record<RunFileName, ArtifactRef>> {
  return { columns, ...(checkpoint ? { checkpoint } : {}), ...(plan ? { plan } : {}) };
}

/** Returns undefined if a stored file was removed. */
async function ignoreRemoved<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === 'DOCUMENT_UNREADABLE') return undefined;
    throw refusal;
  }
}

/** Stored run that can be extended. */
interface ContinuableRun {
  /**
   * Files with parts of the stored run's columns. A run that extends the stored run shares them, each under a new name.
   */
  readonly columns: readonly ArtifactRef[];
  readonly run: StoredRunReferences;
}

export interface RunTaskOrder {
  readonly plan: BacktestPlan;
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs' | 'storedPrices' | 'storedFiles'>;
  /** Stored run to extend, or the reason why no run can be extended. */
  readonly stored: ContinuableRun | FullRunReason | null;
}

/** Stored files of a run, with the output of the task that computed it. */
export interface StoredFiles {
  readonly output: TaskOutput<'backtest'>;
  readonly files: Pick<RunDocument['artifacts'], 'columns' | 'plan' | 'checkpoint' | 'begun'>;
  /** Newest run before the present one. */
  readonly newest: RunDocument | undefined;
}

/**
 * Computes a run and stores its files. If another run has a file with the same bytes, the file is stored only once.
 */
type StoreRun = (attempt: Attempt<PortableTaskName>, order: RunTaskOrder) => Promise<StoredFiles>;

function createRunStorage({ documents, artifacts }: Context): StoreRun {
  const prices = createStoredPrices();

  return async (attempt, { plan, task, stored }) => {
    const last = await findRun(documents, plan.runId);
    let offeredFiles = { prices: prices.with(last), files: last ? createStoredFiles(last) : {} };
    for (let share = 1; ; share = 0) {
      const order = { ...task, storedPrices: [...offeredFiles.prices.values()], storedFiles: offeredFiles.files };
      const { output, earlier } = await computeValue(attempt, { task: order, stored, share });
      const { columns, checkpoint } = output;
      const newestRun = await findRun(documents, plan.runId);
      const currentFiles = { columns, plan: output.plan, ...(checkpoint ? { checkpoint } : {}) };
      const { unwritten } = output;
      const storedFiles = await storeRunFiles(attempt, artifacts, {
        own: currentFiles,
        unwritten,
        prices: output.prices,
        newest: newestRun,
        stored: offeredFiles.prices,
      });
      if (storedFiles === undefined) {
        // The stored run with the same files was deleted meanwhile, so the files are written now.
        await attempt.drop(Object.values(currentFiles).map(({ name }) => name));
        offeredFiles = { prices: new Map(), files: {} };
        continue;
      }
      if (storedFiles.prices) prices.remember(storedFiles.prices);
      const earlierFiles = storedFiles.prices ? [storedFiles.prices] : earlier;
      return {
        output,
        newest: newestRun,
        files: { ...storedFiles.files, ...(earlierFiles.length > 0 ? { begun: [...earlierFiles] } : {}) },
      };
    }
  };
}

interface ComputedTask {
  readonly output: TaskOutput<'backtest'>;
  /** Files that a run shares with the run that it extends; empty for a full run. */
  readonly earlier: readonly ArtifactRef[];
}

interface TaskOrder extends Pick<RunTaskOrder, 'stored'> {
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs'>;
  /** Share of the job's progress that the task accounts for. */
  readonly share: number;
}

/** Computes a full run, or extends the stored run. */
async function computeValue(
  attempt: Attempt<PortableTaskName>,
  { stored, task, share }: TaskOrder,
): Promise<ComputedTask> {
  if (stored !== null && typeof stored !== 'string') return resume(attempt, { stored, task });
  const output = await attempt.compute('backtest', { ...task, outputs: attempt.outputs(RUN_FILES), stored }, share);
  attempt.computed();
  return { output, earlier: [] };
}

/** Extends a stored run if that gives the same result as a full run. Otherwise computes a full run. */
async function resume(
  attempt: Attempt<PortableTaskName>,
  { stored, task }: Pick<TaskOrder, 'task'> & { readonly stored: ContinuableRun },
): Promise<ComputedTask> {
  const outputs = attempt.outputs(RUN_FILES);
  const output = await ignoreRemoved(attempt.compute('backtest', { ...task, outputs, stored: stored.run }));
  attempt.computed();
  if (output?.extendedFrom === null) return { output, earlier: [] };
  const earlierCheckpoint =
    output &&
    (await ignoreRemoved(
      attempt.share(
        stored.columns.slice(0, output.earlierFiles).map((ref, i) => ({ ref, name: stored.run.fileNames[i]! })),
      ),
    ));
  if (output && earlierCheckpoint) return { output, earlier: earlierCheckpoint };
  // the stored run was deleted, and with it the files that an extended run would share
  await attempt.drop(Object.values(outputs));
  const retriedTask = { ...task, outputs: attempt.outputs(RUN_FILES), stored: 'no_checkpoint' as const };
  return { output: await attempt.compute('backtest', retriedTask, 0), earlier: [] };
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

export function createRunMaker(context: Context): RunMaker {
  const { documents, artifacts, markets, dataVersions, stores } = context;
  const storeRun = createRunStorage(context);

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
    const run = readStoredBody(storedDocument, readRun);
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
    const { output, files, newest } = await storeRun(attempt, { plan, task, stored: storedRun });
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

/**
 * Creates the kind of job that runs backtests. The transaction that ends the job stores the result as the run.
 * @param runsKept number of runs that are kept for each index; published runs are kept in addition
 */
export function createBacktestJob(runMaker: RunMaker, runsKept: number): JobKind<BacktestPayload> {
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

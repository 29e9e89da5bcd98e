import { setImmediate } from 'node:timers/promises';
import type { BacktestBatch } from '#contract/analytics/analytics.js';
import type { BacktestRequest } from '#contract/run.js';
import type { RerunRequest } from '#contract/runs.js';
import {
  assertRunnable,
  isSameRequest,
  limitPlanToDate,
  listDefinitionChanges,
  selectPlanClosures,
} from '#domain/backtest/plan.js';
import { findPricesFile } from '#domain/backtest/run-file/header.js';
import type { Finding } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { type AsKnownOn, assertOrder } from '#domain/base/schema.js';
import type { BacktestPlan } from '#domain/definition/backtest-plan.js';
import { addDefaultsToPlan } from '#domain/definition/index-validation.js';
import { isIdWithin } from '#domain/definition/reach.js';
import type { FullRunReason, RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketIdentity } from '#domain/market/market-data.js';
import type { BacktestPayload, RerunPayload } from '#domain/outputs/jobs.js';
import { listMatrixFiles, type MatrixFiles } from '#domain/risk/risk-models.js';
import { type Attempt, createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { PortableTaskName, StoredRunReferences, TaskInput, TaskOutput } from '#jobs/tasks/catalogue.js';
import type { HashedBytes, ResponseBytes } from '#jobs/tasks/messages.js';
import { type RerunEntry, RUN_FILES, type RunFileName, type RunLevels } from '#jobs/tasks/runs.js';
import {
  type ArtifactLink,
  type ArtifactRef,
  type ArtifactStore,
  computeRunId,
  type DocumentStore,
  type DocumentTransaction,
  readStoredBody,
} from '#store/port.js';
import { assertOwnName, currentReach, limitJobs, prefixName, withinReach } from '../keys/access.js';
import type { Context } from '../shared/context.js';
import type { Precondition } from '../shared/documents.js';
import {
  assertNotDeleted,
  createRowsInParts,
  createTimedId,
  type JobResultSource,
  readResultRows,
  type RowAttempt,
  type RowsOrder,
} from '../shared/jobs.js';
import { assertModelStores, createModelReferences, findPlannedFiles } from '../shared/model-documents.js';
import {
  assertSubject,
  deleteRuns,
  findRun,
  getColumns,
  isAnyDamaged,
  listArtifacts,
  listEarlierFiles,
  putRun,
  putRunAfter,
  readRun,
  readStoredPlan,
  type RequestedRun,
  requireColumnsFile,
  requireRun,
  type RunName,
  toHashedReference,
} from '../shared/run-documents.js';
import { type RunBytes, prependHeadToStored, type RunRecordReader, type StoredBytes } from '../shared/stamped-json.js';
import { selectVersion } from '../stores/data-versions.js';
import {
  applyStoredTerms,
  assertFirstVersion,
  createBacktestPlans,
  createStoredState,
  estimateBacktestBytes,
  readPlanVersion,
  type RequestedBacktest,
  type RunnablePlan,
  type VersionedPlan,
} from './plans.js';
import {
  assertRecordNamed,
  computeRecordEtag,
  createRunList,
  type RunList,
  type RunTexts,
  type StoredResultFile,
} from './stored-runs.js';
import { readCompared, type ViewMaker } from './views.js';

function createBacktestPayload(
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
  planRunnable(runId: string, backtest: RequestedBacktest): Promise<RunnablePlan>;
  /** Completes a request: members that are absent get the values of the stored run. */
  onStoredTerms(runId: string, request: BacktestRequest): Promise<BacktestRequest>;
  /**
   * Returns the stored run if a new run of the request would be equal; otherwise undefined. @throws the refusals of
   * `planRunnable`
   */
  currentRun(runId: string, backtest: RequestedBacktest): Promise<RunDocument | undefined>;
}

export function createRunnableRuns(context: Context): RunnableRuns {
  const { documents, artifacts, calendars, states, dataVersions, stores } = context;
  const plans = createBacktestPlans(documents);

  async function planRunnable(runId: string, { request, asKnownOn }: RequestedBacktest): Promise<RunnablePlan> {
    const plannedVersion = await readPlanVersion({ documents, plans, runId, request });
    return stores.within(plannedVersion.storeId, () => createRunnablePlan(plannedVersion, asKnownOn));
  }

  /** Returns the plan together with the market of its store. */
  async function createRunnablePlan(
    plannedVersion: VersionedPlan,
    asKnownOn: RequestedBacktest['asKnownOn'],
  ): Promise<RunnablePlan> {
    const { plan, models } = plannedVersion;
    const versionedMarket = await dataVersions.at(asKnownOn);
    const { market } = versionedMarket.served;
    assertModelStores(models, plan.documents, market.datasetId);
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
    planRunnable,
    onStoredTerms: async (runId, request) => applyStoredTerms(await findRun(documents, runId), request),
    async currentRun(runId, requestedBacktest) {
      const { plan, dataVersion } = await planRunnable(runId, requestedBacktest);
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

/** Checks that a comparison has two sides: two runs, or a run and a benchmark. @throws Refusal VALIDATION_FAILED */
function assertComparable(runIds: readonly string[], benchmark: string | null): void {
  if (runIds.length >= 2 || benchmark !== null) return;
  const message = `ids has ${runIds.length} id; 2 to ${LIMITS.MAX_COMPARE_IDS} are accepted, or 1 with a benchmark.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: 'ids' }]);
}

/** Parses the name of a run. An id means the newest run, and ID@RUN means one run. */
function findComparedRun(name: string): RequestedRun {
  const [subject = '', id] = name.split('@');
  return { subject, id };
}

/** Returns a finding if the runs use different market contents. Their prices may then differ as well. */
function listContentFindings(runs: readonly RunDocument[]): Finding[] {
  const [first, ...others] = runs;
  const other = others.find(({ store_content_hash: hash }) => hash !== first!.store_content_hash);
  if (other === undefined) return [];
  const { store_id: firstStore } = first!;
  const { store_id: otherStore } = other;
  const formatData = firstStore === otherStore || !firstStore || !otherStore ? formatContent : formatStore;
  const message = `The runs use different data: ${first!.run_id} uses ${formatData(first!)}, and ${other.run_id} uses ${formatData(other)}.`;
  return [{ severity: 'warning', code: 'DIFFERENT_DATA', path: 'ids', message }];
}

/** Number of hash digits that identify a content in messages. */
const HASH_DIGITS = 12;

const formatStore = ({ store_id: storeId }: RunDocument): string => `the data store ${storeId}`;

function formatContent({ store_id: storeId, store_content_hash: hash }: RunDocument): string {
  const content = `the content ${hash.slice(0, HASH_DIGITS)}`;
  return storeId === undefined ? content : `${content} of the data store ${storeId}`;
}

interface AnalyticsSources {
  readonly maker: ViewMaker;
  readonly texts: RunTexts;
  readonly runnables: RunnableRuns;
}

/** Backtests and views of stored runs. Worker threads compute the views from the stored columns. */
export interface Analytics {
  /** Checks that an index or strategy exists. @throws Refusal INDEX_NOT_FOUND */
  assertSubject(runId: string): Promise<void>;
  /**
   * Queues a backtest. First makes every check that needs no run.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE, BENCHMARK_NOT_FOUND,
   * JOB_RUNNING, NO_DATA_SOURCE, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT
   */
  start(runId: string, backtest: RequestedBacktest, origin: JobOrigin | null): Promise<JobStatus>;
  /** Completes a request: members that are absent get the values of the stored run. */
  onStoredTerms(runId: string, request: BacktestRequest): Promise<BacktestRequest>;
  /**
   * Returns the stored run if it is up to date for the request; otherwise undefined. @throws the refusals that `start`
   * throws before it queues a job
   */
  currentRun(runId: string, backtest: RequestedBacktest): Promise<RunDocument | undefined>;
  /** Returns the result of a stored run. @throws Refusal DOCUMENT_UNREADABLE */
  readResult(run: RunDocument): Promise<StoredBytes>;
  list: RunList;
  /**
   * Returns a view. Every view begins with the state of its run. Views that need prices are refused while the store of
   * the run is not served.
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_MISMATCH; the following methods throw
   * these too
   */
  record(name: RunName): Promise<RunRecordReader>;
  overview(name: RunName, signal: AbortSignal): Promise<RunBytes>;
  /** Deletes the stored runs of an index or strategy. @throws Refusal PRECONDITION_FAILED */
  remove(runId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /**
   * Compares stored runs. @param names ids, or ID@RUN for one run @throws Refusal NO_COMMON_DATES, BENCHMARK_NOT_FOUND
   */
  compare(
    names: readonly string[],
    query: {
      readonly start?: string | undefined;
      readonly end?: string | undefined;
      readonly benchmark?: string | undefined;
      readonly format: 'json' | 'csv';
    },
    signal: AbortSignal,
  ): Promise<ResponseBytes & { readonly runs: readonly { readonly subject: string; readonly id: string }[] }>;
  /** Returns the maximum memory of a backtest on the served market, in bytes. @throws Refusal NO_DATA_SOURCE */
  estimatedBytes(): number;
  /** Returns the index levels of the latest run. Services that price derivatives use them. */
  readLevels(runId: string): Promise<RunLevels>;
}

export function createAnalytics(
  context: Context,
  kind: JobKind<BacktestPayload>,
  { maker, texts, runnables }: AnalyticsSources,
): Analytics {
  const { documents, artifacts, jobs, markets, states, engineVersion } = context;
  const plans = createBacktestPlans(documents);
  const readHashed = async (ref: ArtifactRef): Promise<HashedBytes> => ({
    bytes: new Uint8Array(await artifacts.read(ref)),
    sha256: ref.sha256,
  });
  const { readHead, readCached } = maker;

  return {
    assertSubject: (runId) => assertSubject(documents, runId),

    async start(runId, request, origin) {
      const runnable = await runnables.planRunnable(runId, request);
      const knownOn = request.asKnownOn === undefined ? {} : { as_known_on: request.asKnownOn };
      return jobs.submit({
        kind,
        payload: createBacktestPayload(request, runnable, engineVersion),
        request: { ...runnable.plan.request, ...knownOn },
        estimatedBytes: estimateBacktestBytes(runnable.market),
        message: 'waiting for a worker',
        origin,
      });
    },

    onStoredTerms: runnables.onStoredTerms,
    readResult: (run) => texts.read(run, 'result'),
    currentRun: runnables.currentRun,

    list: createRunList(documents, artifacts, states),

    async record(name) {
      const run = await requireRun(documents, name);
      const head = await readHead(run);
      return {
        runId: computeRunId(run),
        etag: head.toEtag(computeRecordEtag(run)),
        read: async () => prependHeadToStored(head, await texts.read(run, 'record')),
      };
    },
    async overview(name, signal) {
      const run = await requireRun(documents, name);
      const { overview, plan } = run.artifacts;
      const runId = computeRunId(run);
      if (overview !== undefined) return { ...(await maker.stamped(run, readHashed(overview))), runId };
      const columns = await requireColumnsFile(artifacts, run);
      const file = { path: await artifacts.file(plan!), sha256: plan!.sha256 }; // a run without a stored overview has a plan
      return { ...(await maker.stamped(run, readCached({ view: 'overview', columns, plan: file }, signal))), runId };
    },

    async remove(runId, ifMatch, authorship) {
      const deleteRunRecords = async (tx: DocumentTransaction): Promise<void> => {
        await assertSubject(tx, runId);
        assertRecordNamed(runId, await tx.get('run', runId), ifMatch);
        await deleteRuns(tx, runId);
      };
      await documents.transaction(deleteRunRecords, { by: authorship });
    },

    async compare(names, { benchmark = null, start = null, end = null, format }, signal) {
      assertOrder({ start, end });
      assertComparable(names, benchmark);
      const runs = await Promise.all(names.map((name) => requireRun(documents, findComparedRun(name))));
      const runsById = await Promise.all(
        runs.map(async (run) => ({ run_id: computeRunId(run), ...(await createStoredState(states, run)) })),
      );
      const findings = listContentFindings(runs);
      const comparedWith = benchmark === null ? null : await readCompared({ ...context, plans }, runs[0]!, benchmark);
      const market = comparedWith && (await states.requireMarket(runs[0]!)).handle;
      const columns = await Promise.all(runs.map((run) => requireColumnsFile(artifacts, run)));
      const view = await readCached(
        {
          view: 'compare',
          names,
          columns,
          benchmark: comparedWith,
          market,
          start,
          end,
          states: runsById,
          findings,
          format,
        },
        signal,
      );
      return { ...view, runs: runs.map((run) => ({ subject: run.run_id, id: computeRunId(run) })) };
    },
    estimatedBytes: () => estimateBacktestBytes(markets.require().market),
    async readLevels(runId) {
      return jobs.query('run-levels', {
        columns: await requireColumnsFile(artifacts, await requireRun(documents, runId)),
      });
    },
  };
}

/** Reference that a job stores instead of its result: the run from which the result of a backtest is written. */
interface ResultReference {
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

interface RunTaskOrder {
  readonly plan: BacktestPlan;
  readonly task: Omit<TaskInput<'backtest'>, 'stored' | 'outputs' | 'storedPrices' | 'storedFiles'>;
  /** Stored run to extend, or the reason why no run can be extended. */
  readonly stored: ContinuableRun | FullRunReason | null;
}

/** Stored files of a run, with the output of the task that computed it. */
interface StoredFiles {
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
interface RunMaker {
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

/** Backtests of many indices in one request. */
export interface BacktestBatches {
  /**
   * Queues a backtest for each index of the order, or only for each index with a stale run. Default terms are those of
   * the stored run. If an index is refused, its entry contains the refusal.
   * @throws Refusal NO_DATA_SOURCE, STORE_UNAVAILABLE, DRAINING, STORAGE_FULL, which apply to all indices; jobs that
   * were queued before remain queued
   */
  start(order: BatchOrder, origin: JobOrigin | null): Promise<BacktestBatch>;
}

interface BatchOrder {
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
    origin: JobOrigin | null,
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

interface RerunJobTerms {
  readonly runnables: RunnableRuns;
  readonly runMaker: RunMaker;
  /** Number of runs that are kept for each index. Published runs are kept in addition. */
  readonly runsKept: number;
}

const OUTCOMES = ['stored', 'current', 'refused'] as const satisfies readonly RerunEntry['row']['outcome'][];

/**
 * Creates the kind of job that runs stale indices again, in parts. Any node can compute a part: it writes the files of
 * its runs and lists their documents. The end of the job stores all documents.
 */
export function createRerunJob(
  context: Context,
  { runMaker, runnables, runsKept }: RerunJobTerms,
): JobKind<RerunPayload> {
  const { documents } = context;
  const parts = createRowsInParts(context);

  async function computeEntry(indexId: string, payload: RerunPayload, attempt: RowAttempt): Promise<RerunEntry> {
    const newestRun = await findRun(documents, indexId);
    const previousRunId = newestRun === undefined ? null : computeRunId(newestRun);
    try {
      const reach = createReach(payload);
      const order = await (reach === undefined
        ? createOrder(indexId, payload)
        : withinReach(reach, () => createOrder(indexId, payload)));
      if ('current' in order)
        return { row: createRow(order.current, { indexId, outcome: 'current' }), run: null, previous: previousRunId };
      const run = await runMaker.make(order.payload, attempt);
      return {
        row: { ...createRow(run, { indexId, outcome: 'stored' }), previous_run_id: previousRunId },
        run,
        previous: previousRunId,
      };
    } catch (failure) {
      if (!(failure instanceof Refusal) || isOfService(failure)) throw failure;
      const error = failure.toDetail() as RerunEntry['row']['error'];
      return {
        row: { ...createRow(undefined, { indexId, outcome: 'refused' }), error },
        run: null,
        previous: previousRunId,
      };
    }
  }

  /**
   * Returns the stored run if it is not stale; otherwise the input of a new run. @throws Refusal with the reason why
   * the index cannot be run
   */
  async function createOrder(indexId: string, { engine_version: engineVersion }: RerunPayload) {
    const backtest = { request: await runnables.onStoredTerms(indexId, {}) };
    const current = await runnables.currentRun(indexId, backtest);
    if (current !== undefined) return { current };
    return { payload: createBacktestPayload(backtest, await runnables.planRunnable(indexId, backtest), engineVersion) };
  }

  const createRowsOrder = (payload: RerunPayload): RowsOrder<RerunEntry> => ({
    count: payload.ids.length,
    computeEntry: (position, attempt) => computeEntry(payload.ids[position]!, payload, attempt),
    listFiles: ({ run }) => (run === null ? [] : listArtifacts(run)),
  });

  async function store(tx: DocumentTransaction, completedReruns: readonly CompletedRerun[]): Promise<void> {
    for (const { run, previous } of completedReruns) {
      if (await putRunAfter(tx, run, { after: previous, runsKept }))
        tx.publish({ type: 'run-stored', run_id: run.run_id });
    }
  }

  return createJobKind(
    'rerun',
    async (payload, attempt) => {
      const { rerun_id: id, engine_version: engineVersion } = payload;
      const summary = { kind: 'rerun', id, total: 'indices', outcomes: OUTCOMES, engineVersion } as const;
      const { result, entries } = await parts.run(createRowsOrder(payload), summary, attempt);
      const completedReruns = entries.filter((entry): entry is CompletedRerun => entry.run !== null);
      return { result, effect: (tx) => store(tx, completedReruns) };
    },
    async (payload, partPositions, attempt) => ({
      result: await parts.readOutput(createRowsOrder(payload), partPositions, { attempt, share: 1 }),
    }),
  );
}

type CompletedRerun = RerunEntry & { readonly run: RunDocument };

const createReach = ({ reach }: RerunPayload) =>
  reach === null ? undefined : { prefixes: reach.prefixes, shared: new Set(reach.shared), isHidden: false };

function createRow(
  run: RunDocument | undefined,
  { indexId, outcome }: { readonly indexId: string; readonly outcome: RerunEntry['row']['outcome'] },
): RerunEntry['row'] {
  const isNew = outcome === 'stored';
  return {
    index_id: indexId,
    outcome,
    run_id: run === undefined ? null : computeRunId(run),
    previous_run_id: null,
    end: run?.end ?? null,
    extended_from: (isNew ? run?.extended_from : null) ?? null,
    full_run_reason: (isNew ? run?.full_run_reason : null) ?? null,
    error: null,
  };
}

/** Runs of many stale indices as one job. */
interface Reruns {
  /** Queues a rerun of stale indices. @throws Refusal VALIDATION_FAILED, FORBIDDEN_ID, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED */
  start(request: RerunRequest, origin: JobOrigin | null): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded rerun as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED after the last block; DOCUMENT_UNREADABLE
   */
  rows(rerunId: string, query: { readonly block: number }): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * @param estimatedBytes returns the maximum memory of a backtest on the served market, in bytes. @throws Refusal
 * NO_DATA_SOURCE
 */
export function createReruns(
  { documents, jobs, artifacts, engineVersion, workers, now }: Context,
  kind: JobKind<RerunPayload>,
  estimatedBytes: () => number,
): Reruns {
  /**
   * Returns the ids of the indices to run. @throws Refusal FORBIDDEN_ID for an id that the client may not use,
   * VALIDATION_FAILED for too many ids
   */
  async function readIds(ids: RerunRequest['ids']): Promise<readonly string[]> {
    if (ids !== null) {
      for (const id of ids) assertOwnName(id);
      return [...new Set(ids)];
    }
    const reach = currentReach();
    const storedIds = (await documents.ids('run')).filter((id) => reach === undefined || isIdWithin(reach, id));
    if (storedIds.length <= LIMITS.MAX_RERUN_IDS) return storedIds;
    throw refuseWithFindings('rerun', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'ids',
        message: `${storedIds.length} indices and strategies have a stored run; a rerun takes ${LIMITS.MAX_RERUN_IDS} at most: name them.`,
      },
    ]);
  }

  return {
    rows: (ident, { block }) => readResultRows({ kind: 'rerun', ident, block }, limitJobs(jobs), artifacts),
    async start(request, origin) {
      const ids = await readIds(request.ids);
      if (request.rerun_id !== null) assertOwnName(request.rerun_id);
      const reach = currentReach();
      return jobs.submit({
        kind,
        payload: {
          rerun_id: request.rerun_id ?? prefixName(createTimedId(now())),
          ids,
          reach: reach === undefined ? null : { prefixes: [...reach.prefixes], shared: [...reach.shared] },
          engine_version: engineVersion,
        },
        request,
        estimatedBytes: workers * estimatedBytes(),
        message: 'waiting for a worker',
        origin,
      });
    },
  };
}

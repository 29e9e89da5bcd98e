import type { BacktestRequest } from '#contract/analytics/request.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { RunLevels } from '#jobs/tasks/runs.js';
import type { ResponseBytes, HashedBytes } from '#jobs/tasks/files.js';
import type { Markets } from '#market/serving/markets.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { ArtifactRef, ArtifactStore, DocumentStore, DocumentTransaction } from '#store/port.js';
import type { BacktestPayload } from '#domain/jobs/payloads.js';
import { createBacktestPlans, estimateBacktestBytes } from './backtest-plans.js';
import type { Precondition } from '../shared/preconditions.js';
import { deleteRuns } from '../stored/run-list.js';
import { createRunList, type RunList } from './run-list.js';
import { assertSubject, requireRun, type RunName } from '../stored/run-documents.js';
import { computeRunId } from '#store/run-id.js';
import type { CheckedBytes, RunRecordReader, StoredBytes } from '../stored/stored-bytes.js';
import { assertRecordNamed, computeRecordEtag, type RunTexts } from './run-texts.js';
import { createStoredState, type RunStates } from './run-states.js';
import { createBacktestPayload, type RunnableRuns } from './runnable-runs.js';
import { prependHeadToStored } from '../stored/stamped-json.js';
import type { RequestedBacktest } from './versioned-plan.js';
import type { ViewMaker } from './view-maker.js';
import { assertComparable, findComparedRun, listContentFindings } from './compared-runs.js';
import { readCompared } from './need.js';

export interface AnalyticsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
  readonly kind: JobKind<BacktestPayload>;
  readonly markets: Markets;
  readonly maker: ViewMaker;
  readonly texts: RunTexts;
  readonly states: RunStates;
  readonly runnables: RunnableRuns;
  readonly engineVersion: string;
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
  start(runId: string, backtest: RequestedBacktest, origin: Origin | null): Promise<JobStatus>;
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
  overview(name: RunName, signal: AbortSignal): Promise<CheckedBytes>;
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
  ): Promise<ResponseBytes>;
  /** Returns the maximum memory of a backtest on the served market, in bytes. @throws Refusal NO_DATA_SOURCE */
  estimatedBytes(): number;
  /** Returns the index levels of the latest run. Services that price derivatives use them. */
  readLevels(runId: string): Promise<RunLevels>;
}

export function createAnalytics(dependencies: AnalyticsDependencies): Analytics {
  const { documents, artifacts, jobs, kind, markets, maker, texts, states, runnables, engineVersion } = dependencies;

  const plans = createBacktestPlans(documents);
  const readHashed = async (ref: ArtifactRef): Promise<HashedBytes> => ({
    bytes: new Uint8Array(await artifacts.read(ref)),
    sha256: ref.sha256,
  });
  const { readColumns, readHead, readCached } = maker;

  return {
    assertSubject: (runId) => assertSubject(documents, runId),

    async start(runId, request, origin) {
      const runnable = await runnables.planRun(runId, request);
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

    list: createRunList({ documents, artifacts, states }),

    async record(name) {
      const run = await requireRun(documents, name);
      const head = await readHead(run);
      return {
        etag: head.toEtag(computeRecordEtag(run)),
        read: async () => prependHeadToStored(head, await texts.read(run, 'record')),
      };
    },
    async overview(name, signal) {
      const run = await requireRun(documents, name);
      const { overview, plan } = run.artifacts;
      if (overview !== undefined) return maker.stamped(run, readHashed(overview));
      const columns = await readColumns(run);
      const file = { path: await artifacts.file(plan!), sha256: plan!.sha256 }; // a run without a stored overview has a plan
      return maker.stamped(run, readCached({ view: 'overview', columns, plan: file }, signal));
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
      const comparedWith =
        benchmark === null
          ? null
          : await readCompared({ documents, artifacts, markets, states, plans }, runs[0]!, benchmark);
      const market = comparedWith && (await states.requireMarket(runs[0]!)).handle;
      const columns = await Promise.all(runs.map(readColumns));
      return readCached(
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
    },
    estimatedBytes: () => estimateBacktestBytes(markets.require().market),
    async readLevels(runId) {
      return jobs.query('run-levels', { columns: await readColumns(await requireRun(documents, runId)) });
    },
  };
}

import type { BacktestRecordCollection, BacktestRequest } from '#contract/analytics.js';
import type { BacktestPlan } from '#domain/backtest/plan.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { LIMITS } from '#domain/limits.js';
import type { MarketData, ReturnVariant } from '#domain/market/market-data.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import { marketKey } from '#domain/market/handle.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import { newHashCells } from '#jobs/hash-cells.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { AnswerBytes, RunLevels, RunViewInput } from '#jobs/tasks.js';
import type { Markets } from '#market/markets.js';
import type { ArtifactRef, ArtifactStore } from '#store/artifacts.js';
import type { DocumentStore } from '#store/documents.js';
import type { BacktestPayload } from './backtest-job.js';
import { assertOrder, assertRunnable, createBacktestPlans, estimatedBytes } from './backtest-plans.js';
import type { Precondition } from './preconditions.js';
import { assertSubject, readRun, requireRun } from './run-documents.js';
import type { StoredBytes } from './stored-bytes.js';
import { createRunRecords, recordEtag } from './run-records.js';
import type { ViewCache } from './view-cache.js';

export interface AnalyticsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
  readonly kind: JobKind<BacktestPayload>;
  readonly markets: Markets;
  readonly calendars: Calendars;
  readonly views: ViewCache;
  readonly engineVersion: string;
}

/** Stored bytes that were read and are what was written. */
export interface CheckedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** The record of a run, which is written when it is asked for. */
export interface RunRecordReader {
  readonly etag: string;
  /** @throws Refusal DOCUMENT_UNREADABLE when the files of the run are damaged */
  read(): Promise<StoredBytes>;
}

export interface DateWindow {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

export interface WeightsQuery {
  readonly as_of?: string | undefined;
  readonly benchmark?: string | undefined;
  readonly risk: boolean;
}

export interface GroupsQuery extends DateWindow {
  /** Reference column. */
  readonly by: string;
  readonly benchmark?: string | undefined;
}

export interface FactorRiskQuery {
  readonly as_of?: string | undefined;
  readonly benchmark: string;
  readonly model: FactorModelName;
  readonly factors: number;
}

/** Backtests and the views over their stored runs. Views are made by workers from stored columns. */
export interface Analytics {
  /** @throws Refusal INDEX_NOT_FOUND */
  assertSubject(runId: string): Promise<void>;
  /**
   * Queues a backtest after every check that needs no run.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INVALID_RANGE, BENCHMARK_NOT_FOUND, JOB_RUNNING,
   * NO_DATA_SOURCE, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT
   */
  start(runId: string, request: BacktestRequest, origin: Origin | null): Promise<JobStatus>;
  list(query: { readonly limit?: number | undefined; readonly after?: string | undefined }): Promise<BacktestRecordCollection>;
  /** @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE; so do all that follow */
  record(runId: string): Promise<RunRecordReader>;
  overview(runId: string): Promise<StoredBytes | CheckedBytes>;
  /** @throws Refusal PRECONDITION_FAILED */
  remove(runId: string, ifMatch: Precondition | undefined): Promise<void>;
  attribution(runId: string, window: DateWindow, signal: AbortSignal): Promise<AnswerBytes>;
  groups(runId: string, query: GroupsQuery, signal: AbortSignal): Promise<AnswerBytes>;
  reconcile(runId: string, signal: AbortSignal): Promise<AnswerBytes>;
  asset(runId: string, identifier: string, signal: AbortSignal): Promise<AnswerBytes>;
  compare(runIds: readonly string[], signal: AbortSignal): Promise<AnswerBytes>;
  weights(runId: string, query: WeightsQuery, signal: AbortSignal): Promise<AnswerBytes>;
  factorRisk(runId: string, query: FactorRiskQuery, signal: AbortSignal): Promise<AnswerBytes>;
  levels(runId: string, query: DateWindow & { readonly variant?: ReturnVariant | undefined }, signal: AbortSignal): Promise<AnswerBytes>;
  /** What would be run under an id, with a request as a run stored it. @throws Refusal as `start` does */
  planOf(runId: string, request: unknown): Promise<BacktestPlan>;
  /** Largest memory a backtest on the served market needs. @throws Refusal NO_DATA_SOURCE */
  estimatedBytes(): number;
  /** Index points of the latest run, for services that price on them. */
  levelsOf(runId: string): Promise<RunLevels>;
}

/** Overviews read and checked before they are answered: those of 25 years, as much as the answer of a larger one holds at a time. */
const CHECKED_BYTES_MAX = 256 * 1024;

export function createAnalytics(dependencies: AnalyticsDependencies): Analytics {
  const { documents, artifacts, jobs, kind, markets, calendars, views, engineVersion } = dependencies;

  const plans = createBacktestPlans(documents);
  const stored = (ref: ArtifactRef): StoredBytes => ({ length: ref.bytes, etag: ref.sha256, open: () => artifacts.stream(ref) });
  const records = createRunRecords({ artifacts, jobs });
  const columnsOf = async (runId: string): Promise<string> => artifacts.path((await requireRun(documents, runId)).artifacts.columns);
  const make = (input: RunViewInput, signal: AbortSignal): Promise<AnswerBytes> => jobs.query('view-run', input, signal);
  const view = (input: RunViewInput, signal: AbortSignal): Promise<AnswerBytes> => views.get(questionOf(input), () => make(input, signal));

  return {
    assertSubject: (runId) => assertSubject(documents, runId),

    async start(runId, given, origin) {
      await assertSubject(documents, runId);
      const plan = await plans.planOf(runId, given);
      const { market } = markets.require();
      assertRunnable(plan, { market, calendars });
      return jobs.submit({
        kind,
        ident: runId,
        payload: { plan, ...(plan.strategy === undefined ? {} : { asked: given }), engine_version: engineVersion },
        request: plan.request,
        estimatedBytes: estimatedBytes(market),
        message: 'waiting for a worker',
        origin,
      });
    },

    async list({ limit, after }) {
      const { documents: runs, skipped, skipped_causes } = await documents.list('run', readRun);
      const rows = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
      return { backtests: rows.map(({ run_id, run_at }) => ({ index_id: run_id, run_at })), skipped, skipped_causes };
    },

    async record(runId) {
      const run = await requireRun(documents, runId);
      return { etag: recordEtag(run), read: () => records.read(run) };
    },
    async overview(runId) {
      const { overview } = (await requireRun(documents, runId)).artifacts;
      if (overview.bytes > CHECKED_BYTES_MAX) return stored(overview);
      // Damage is told before an answer has begun.
      return { bytes: new Uint8Array(await artifacts.read(overview)), etag: overview.sha256 };
    },

    async remove(runId, ifMatch) {
      await documents.transaction(async (tx) => {
        await assertSubject(tx, runId);
        const found = await tx.get('run', runId);
        if (found === undefined) throw new Refusal('RUN_NOT_FOUND', `${runId} has no stored run.`, { index_id: runId });
        const run = 'unreadable' in found ? undefined : readRun(found.body);
        const etag = run && recordEtag(run);
        if (ifMatch !== undefined && !(ifMatch === '*' || (etag !== undefined && ifMatch.includes(etag)))) {
          throw new Refusal('PRECONDITION_FAILED', `If-Match names another record than the stored one, whose etag is ${etag ?? 'unknown'}.`, { etag: etag ?? null });
        }
        await tx.delete('run', runId);
      });
    },

    async attribution(runId, { start = null, end = null }, signal) {
      const columns = await columnsOf(runId);
      assertOrder({ start, end });
      return view({ view: 'attribution', columns, start, end }, signal);
    },
    async groups(runId, { by, benchmark = null, start = null, end = null }, signal) {
      const columns = await columnsOf(runId);
      assertOrder({ start, end });
      const compared = benchmark === null ? null : { indexId: benchmark, documents: await plans.benchmarkDocuments(benchmark) };
      const { handle, market } = markets.require();
      assertReferenceColumn(market, by);
      return view({ view: 'groups', columns, start, end, by, benchmark: compared, market: handle }, signal);
    },
    async reconcile(runId, signal) {
      const { artifacts: stored, request } = await requireRun(documents, runId);
      const { benchmark } = BacktestFields.parse(request);
      const isIndex = benchmark?.kind === 'index' && await documents.get('index', benchmark.id) !== undefined;
      const { begun = [], ...others } = stored;
      const named = [...Object.entries({ ...others, snapshots: stored.result.inset }), ...begun.map((ref, i) => [`columns begun in file ${i + 1}`, ref] as const)];
      const files = named.flatMap(([name, ref]) => (ref === undefined ? [] : [{ name, path: artifacts.path(ref), sha256: ref.sha256 }]));
      const cells = newHashCells(files.length);
      const compared = isIndex ? { indexId: benchmark.id, documents: await plans.benchmarkDocuments(benchmark.id) } : null;
      // Told from the files as they are now. Their hashes take as long as everything else: another thread may take them.
      const view = make({ view: 'reconcile', columns: artifacts.path(stored.columns), files, cells, market: markets.current()?.handle ?? null, benchmark: compared }, signal);
      jobs.help('hash-files', { paths: files.map(({ path }) => path), cells });
      return view;
    },
    async asset(runId, identifier, signal) {
      return view({ view: 'asset', columns: await columnsOf(runId), identifier }, signal);
    },
    async compare(runIds, signal) {
      if (runIds.length < 2) {
        throw refuseWithFindings('query', [{ severity: 'error', code: 'OUT_OF_RANGE', message: `ids has ${runIds.length} id; 2 to ${LIMITS.MAX_COMPARE_IDS} are compared.`, path: 'ids' }]);
      }
      return view({ view: 'compare', columns: await Promise.all(runIds.map(columnsOf)) }, signal);
    },
    async weights(runId, { as_of: asOf = null, benchmark = null, risk }, signal) {
      const columns = await columnsOf(runId);
      const compared = benchmark === null ? null : { indexId: benchmark, documents: await plans.benchmarkDocuments(benchmark) };
      const served = compared || risk ? markets.require() : markets.served();
      return view({ view: 'weights', columns, asOf, risk, benchmark: compared, market: served?.handle ?? null }, signal);
    },
    async factorRisk(runId, { as_of: asOf = null, benchmark, model, factors }, signal) {
      const columns = await columnsOf(runId);
      const compared = { indexId: benchmark, documents: await plans.benchmarkDocuments(benchmark) };
      return view({ view: 'factor-risk', columns, asOf, benchmark: compared, market: markets.require().handle, model, factors }, signal);
    },
    async levels(runId, { variant = null, start = null, end = null }, signal) {
      const columns = await columnsOf(runId);
      assertOrder({ start, end });
      return view({ view: 'levels', columns, variant, start, end }, signal);
    },
    planOf: (runId, request) => plans.planOf(runId, BacktestFields.parse(request)),
    estimatedBytes: () => estimatedBytes(markets.require().market),
    async levelsOf(runId) {
      return jobs.query('run-levels', { columns: await columnsOf(runId) });
    },
  };
}

/** Everything a view is made from, in words. */
function questionOf(input: RunViewInput): unknown {
  if (!('market' in input) || input.market === null) return input;
  return { ...input, market: marketKey(input.market) };
}

function assertReferenceColumn(market: MarketData, column: string): void {
  const accepted = market.reference.columns;
  if (accepted.includes(column)) return;
  throw refuseWithFindings('query', [
    { severity: 'error', code: 'UNKNOWN_FIELD_NAME', message: `The served store has no reference column ${column}; it has ${accepted.join(', ') || 'none'}.`, path: 'by', accepted, value: column },
  ]);
}

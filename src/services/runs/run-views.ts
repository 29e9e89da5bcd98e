import { setImmediate } from 'node:timers/promises';
import type { RunFigures, RunSummaryCollection } from '#contract/analytics/summaries.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import { validateConstraints } from '#domain/constraints/validate.js';
import type { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { statedRows } from '#domain/documents/row-settings.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { ExposureTable } from '#domain/exports/exposure-tables.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { LimitTable } from '#domain/exports/limit-tables.js';
import type { ScenarioTable } from '#domain/exports/scenario-tables.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketData, ReturnVariant } from '#domain/market/market-data.js';
import type { ScenarioRequest } from '#domain/scenarios/scenario-request.js';
import { constraintFieldFindings } from '#domain/optimisation/field-uses.js';
import { assertReferenceColumn } from './reference-column.js';
import { assertNoErrors, Refusal } from '#domain/refusals/refusal.js';
import type { AnswerBytes } from '#jobs/tasks/files.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { withUnreadable } from '../shared/skipped.js';
import { createBacktestPlans } from './backtest-plans.js';
import { findRun, isWholeHistory, readRun, requireRun, type RunName } from '../stored/run-documents.js';
import { stateOf, type RunStates } from './run-states.js';
import { universeOfRun } from './run-universe.js';
import type { ViewMaker } from './view-maker.js';
import type { DateWindow } from './view-queries.js';
import { readFields } from './run-fields.js';
import { readRows } from '#domain/documents/constraint-set.js';

export interface RunViewsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read'>;
  readonly states: RunStates;
  readonly maker: ViewMaker;
  /** A run was asked about its exposures. */
  readonly onExposures: (runId: string) => void;
  /** First effective date of an index after a date; null where none is known. */
  readonly nextRebalance: (indexId: string, after: string) => Promise<string | null>;
  /** The same among today and the days behind it. */
  readonly comingRebalance: (indexId: string, after: string) => Promise<string | null>;
}

export interface ListingQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface ExposuresQuery extends DateWindow {
  /** SECTOR unless given, also where the market has none: all names are one group then. */
  readonly by?: string | undefined;
  readonly groups: number;
  readonly interval: 'native' | 'weekly' | 'monthly';
  readonly fields: readonly string[];
  readonly benchmark?: string | undefined;
  readonly format: 'json' | 'csv' | 'arrow';
  /** Of what is not JSON; the datapoints where any are asked for, else the groups. */
  readonly table?: ExposureTable | undefined;
}

export interface ActionsQuery extends DateWindow {
  readonly format: 'json' | 'csv';
  /** Of CSV. */
  readonly table?: 'actions' | 'constituents' | undefined;
}

export interface PerformanceQuery extends DateWindow {
  readonly of?: 'portfolio' | 'index' | undefined;
  readonly variant?: ReturnVariant | undefined;
}

interface LimitsFile {
  readonly format: ExportFormat;
  readonly table: LimitTable;
}

export interface LimitsQuery extends DateWindow, LimitsFile {
  /** That of the index unless given. */
  readonly rule?: LimitRuleName | undefined;
  readonly by: string;
}

export interface WatchedQuery extends DateWindow, LimitsFile {
  readonly rows: readonly ConstraintRow[];
}

export interface ScenariosQuery {
  readonly request: ScenarioRequest;
  readonly format: ExportFormat;
  readonly table: ScenarioTable;
}

/**
 * Views over stored runs for those who watch many of them, or one closely.
 * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE of those about one run
 */
export interface RunViews {
  /** A row for every run; one whose files are damaged counts among the skipped. */
  summaries(query: ListingQuery, signal: AbortSignal): Promise<RunSummaryCollection>;
  /** @throws Refusal VALIDATION_FAILED for a variant of the portfolio; VARIANT_NOT_AVAILABLE */
  performance(name: RunName, query: PerformanceQuery, signal: AbortSignal): Promise<AnswerBytes>;
  rebalances(name: RunName, signal: AbortSignal): Promise<AnswerBytes>;
  rebalance(name: RunName, date: string, signal: AbortSignal): Promise<AnswerBytes>;
  /**
   * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND; STORE_MISMATCH, NO_DATA_SOURCE unless names are their own
   *         groups and nothing else is asked for
   */
  exposures(name: RunName, query: ExposuresQuery, signal: AbortSignal): Promise<AnswerBytes>;
  /** @throws Refusal STORE_MISMATCH, NO_DATA_SOURCE, VARIANT_NOT_AVAILABLE */
  dividendPoints(name: RunName, window: DateWindow, signal: AbortSignal): Promise<AnswerBytes>;
  /** @throws Refusal STORE_MISMATCH, NO_DATA_SOURCE, INVALID_RANGE */
  actions(name: RunName, query: ActionsQuery, signal: AbortSignal): Promise<AnswerBytes>;
  /** @throws Refusal STORE_MISMATCH, NO_DATA_SOURCE unless names are their own issuers */
  limits(name: RunName, query: LimitsQuery, signal: AbortSignal): Promise<AnswerBytes>;
  /** @throws Refusal VALIDATION_FAILED; STORE_MISMATCH, NO_DATA_SOURCE where a row reads a datapoint */
  watchedLimits(name: RunName, query: WatchedQuery, signal: AbortSignal): Promise<AnswerBytes>;
  /** @throws Refusal VALIDATION_FAILED, STORE_MISMATCH, NO_DATA_SOURCE, NO_DATA_AT_DATE */
  scenarios(name: RunName, query: ScenariosQuery, signal: AbortSignal): Promise<AnswerBytes>;
}

/** Column of groups, and of proxies of scenarios, where none is asked for: without it all names are one group. */
const DEFAULT_GROUPS = 'SECTOR';

/** Groups of which every name is one by itself. */
const OWN_GROUPS = 'IDENTIFIER';

/** Rows made at once: the threads that make them have little to do for each. */
const ROWS_AT_ONCE = 8;

export function createRunViews(dependencies: RunViewsDependencies): RunViews {
  const { documents, states, maker, onExposures, nextRebalance, comingRebalance } = dependencies;
  const plans = createBacktestPlans(documents);

  /** Columns of the stored run of an index where it is current and of its whole history, null where there is none. */
  async function wholeRunOf(indexId: string): Promise<string | null> {
    const run = await findRun(documents, indexId);
    if (run === undefined || run.index_id !== indexId) return null;
    return isWholeHistory(run) && (await states.staleOf(run)) === null ? maker.columnsOf(run) : null;
  }

  async function rowOf(run: RunDocument, signal: AbortSignal): Promise<RunSummaryCollection['summaries'][number]> {
    const { bytes } = await maker.held({ view: 'summary', columns: await maker.columnsOf(run) }, signal);
    const figures = JSON.parse(new TextDecoder().decode(bytes)) as RunFigures; // Written by the view itself, some 4 KB.
    const { run_id: runId, index_id: indexId, name, run_at } = run;
    return {
      ...(await stateOf(states, run)),
      ...figures,
      name,
      run_at,
      next_rebalance: runId === indexId ? await nextRebalance(indexId, figures.end) : null,
      coming_rebalance: runId === indexId ? await comingRebalance(indexId, figures.end) : null,
    };
  }

  return {
    async summaries({ limit, after }, signal) {
      const { documents: runs, skipped, skipped_causes: causes } = await documents.list('run', readRun);
      const asked = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
      const summaries: RunSummaryCollection['summaries'] = [];
      let damaged = 0;
      for (let at = 0; at < asked.length; at += ROWS_AT_ONCE) {
        const rows = await Promise.all(
          asked.slice(at, at + ROWS_AT_ONCE).map((run) => rowOf(run, signal).catch(asDamaged)),
        );
        const readable = rows.filter((row) => row !== null);
        summaries.push(...readable);
        damaged += rows.length - readable.length;
        await setImmediate();
      }
      return { summaries, ...withUnreadable({ skipped, skipped_causes: causes }, damaged) };
    },
    async performance(name, query, signal) {
      const { start = null, end = null, variant = null } = query;
      const of = measuredBy(query);
      const run = await requireRun(documents, name);
      assertOrder({ start, end });
      const columns = await maker.columnsOf(run);
      return maker.stamped(run, maker.held({ view: 'performance', columns, of, variant, start, end }, signal));
    },
    async rebalances(name, signal) {
      const run = await requireRun(documents, name);
      return maker.stamped(run, maker.held({ view: 'rebalances', columns: await maker.columnsOf(run) }, signal));
    },
    async rebalance(name, date, signal) {
      const run = await requireRun(documents, name);
      return maker.stamped(run, maker.held({ view: 'rebalance', columns: await maker.columnsOf(run), date }, signal));
    },
    async exposures(name, query, signal) {
      const {
        by = DEFAULT_GROUPS,
        groups,
        interval,
        fields: sent,
        benchmark: other,
        start = null,
        end = null,
        format,
      } = query;
      const run = await requireRun(documents, name);
      assertOrder({ start, end });
      const readsMarket = by !== OWN_GROUPS || sent.length > 0 || other !== undefined;
      const served = readsMarket ? await states.requireMarket(run) : null;
      if (served !== null && query.by !== undefined && by !== OWN_GROUPS) assertReferenceColumn(served.market, by);
      const fields = served === null ? [] : readFields(sent, served.market);
      const benchmark =
        other === undefined ? null : await plans.comparedWith(other, () => Promise.resolve(served?.market));
      const columns = await maker.columnsOf(run);
      const market = served && served.handle;
      const table = query.table ?? (fields.length > 0 ? 'fields' : 'groups');
      if (format !== 'json') assertHasFields(table, fields);
      const benchmarkColumns = benchmark === null ? null : await wholeRunOf(benchmark.indexId);
      const universe = await universeOfRun(dependencies, run, fields);
      const asked = {
        by,
        groups,
        interval,
        fields,
        universe,
        benchmark,
        benchmarkColumns,
        start,
        end,
        market,
        format,
        table,
      };
      onExposures(run.run_id);
      const view = maker.held({ view: 'exposures', columns, ...asked }, signal);
      return format === 'json' ? maker.stamped(run, view) : view;
    },
    async dividendPoints(name, { start = null, end = null }, signal) {
      const run = await requireRun(documents, name);
      assertOrder({ start, end });
      const { handle: market } = await states.requireMarket(run);
      const columns = await maker.columnsOf(run);
      return maker.stamped(run, maker.held({ view: 'dividend-points', columns, start, end, market }, signal));
    },
    async actions(name, { start = null, end = null, format, table = 'actions' }, signal) {
      const run = await requireRun(documents, name);
      assertOrder({ start, end }, ['from', 'to']);
      const { handle: market } = await states.requireMarket(run);
      const columns = await maker.columnsOf(run);
      const view = maker.held({ view: 'actions', columns, start, end, market, format, table }, signal);
      return format === 'csv' ? view : maker.stamped(run, view);
    },
    async limits(name, { rule = null, by: asked, start = null, end = null, format, table }, signal) {
      const run = await requireRun(documents, name);
      assertOrder({ start, end });
      const served = asked === OWN_GROUPS ? null : await states.requireMarket(run);
      const { by, findings } = issuersBy(asked, served && served.market);
      const market = by === OWN_GROUPS || served === null ? null : served.handle;
      const columns = await maker.columnsOf(run);
      const input = { view: 'limits', columns, start, end, limits: { rule }, by, findings, market } as const;
      const view = maker.held({ ...input, format, table }, signal);
      return format === 'json' ? maker.stamped(run, view) : view;
    },
    async scenarios(name, { request, format, table }, signal) {
      const run = await requireRun(documents, name);
      const { handle, market } = await states.requireMarket(run);
      if (request.by !== DEFAULT_GROUPS) assertReferenceColumn(market, request.by);
      const columns = await maker.columnsOf(run);
      const view = maker.held({ view: 'scenarios', columns, request, market: handle, format, table }, signal);
      return format === 'json' ? maker.stamped(run, view) : view;
    },
    async watchedLimits(name, { rows: sent, start = null, end = null, format, table }, signal) {
      const run = await requireRun(documents, name);
      assertOrder({ start, end });
      const { rows: read, findings } = readRows(sent, 'rows');
      const rows = statedRows(read as typeof sent, 'today'); // Of the same shape, but for their expressions.
      assertNoErrors('body', [...findings, ...validateConstraints(rows, { path: 'rows', areWatched: true })]);
      const served = rows.some(({ params }) => 'field' in params) ? await states.requireMarket(run) : null;
      if (served !== null)
        assertNoErrors('body', constraintFieldFindings(rows, served.market, { path: 'rows', severity: 'error' }));
      const columns = await maker.columnsOf(run);
      const market = served && served.handle;
      const limits = { rows };
      const input = { view: 'limits', columns, start, end, limits, by: OWN_GROUPS, findings: [], market } as const;
      const view = maker.held({ ...input, format, table }, signal);
      return format === 'json' ? maker.stamped(run, view) : view;
    },
  };
}

/** @throws Refusal VALIDATION_FAILED for a variant of the portfolio */
function measuredBy({ of, variant }: PerformanceQuery): 'portfolio' | 'index' {
  if (of === 'portfolio' && variant !== undefined) {
    const message = `The portfolio has the return of its run alone; variant ${variant} is one of the index.`;
    const finding = { severity: 'error', code: 'NOT_IN_CHOICES', message, path: 'of', accepted: ['index'] } as const;
    assertNoErrors('query', [finding]);
  }
  return of ?? (variant === undefined ? 'portfolio' : 'index');
}

/** The table of datapoints has some. @throws Refusal VALIDATION_FAILED */
function assertHasFields(table: ExposureTable, fields: readonly string[]): void {
  if (table !== 'fields' || fields.length > 0) return;
  const message = 'fields is required by the table fields: datapoints as DIVIDEND_YIELD,BETA.';
  assertNoErrors('query', [{ severity: 'error', code: 'REQUIRED', path: 'fields', message }]);
}

/** The column of issuers. Without ISSUER, the default, each name is its own issuer. */
function issuersBy(
  asked: string,
  market: MarketData | null,
): { readonly by: string; readonly findings: readonly Finding[] } {
  if (market === null) return { by: asked, findings: [] };
  if (asked !== 'ISSUER' || market.reference.columns.includes(asked)) {
    assertReferenceColumn(market, asked);
    return { by: asked, findings: [] };
  }
  const message = 'The served store has no reference column ISSUER: each name counts as its own issuer.';
  return { by: OWN_GROUPS, findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD_NAME', message, path: 'by' }] };
}

/** An error of one run hides no other run. */
function asDamaged(thrown: unknown): null {
  if (thrown instanceof Refusal && thrown.code === 'DOCUMENT_UNREADABLE') return null;
  throw thrown;
}

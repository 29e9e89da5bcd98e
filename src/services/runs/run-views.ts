import { setImmediate } from 'node:timers/promises';
import type { RunFigures, RunSummaryCollection } from '#contract/analytics/summaries.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { RunViewTerms } from '#domain/run-views/terms.js';
import type { RunViewInput } from '#jobs/tasks/views.js';
import { addUnreadable } from '../shared/skipped.js';
import { resolveColumnsFile, readRun, requireRun, type RunName } from '../stored/run-documents.js';
import type { CheckedBytes } from '../stored/stored-bytes.js';
import { createBacktestPlans } from './backtest-plans.js';
import type { RunRequest, NeedSources } from './need.js';
import { createStoredState } from './run-states.js';
import { NEEDS } from './view-needs.js';

export interface RunViewsDependencies extends Omit<NeedSources, 'plans'> {
  /** Returns the first effective date of an index after a date; null if no date is known. */
  readonly nextRebalance: (indexId: string, after: string) => Promise<string | null>;
  /** Returns the first effective date after a date that is today or later; null if no date is known. */
  readonly comingRebalance: (indexId: string, after: string) => Promise<string | null>;
}

export interface ListingQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** Request for a view of a stored run, after its route has parsed it. */
export interface RunViewQuestion {
  readonly terms: RunViewTerms;
  readonly name: RunName;
  /** Parameters of the path and the query. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly format: ExportFormat;
  /** Parses the body of the request. @throws Refusal VALIDATION_FAILED */
  body(): unknown;
}

/** Views of stored runs. */
export interface RunViews {
  /** Returns one row per run. A run with damaged files is skipped and counted. */
  summaries(query: ListingQuery, signal: AbortSignal): Promise<RunSummaryCollection>;
  /**
   * Returns a view of one run. In JSON, the view starts with the state of the run.
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, and the refusals of the view's inputs
   */
  show(question: RunViewQuestion, signal: AbortSignal): Promise<CheckedBytes>;
}

/** Number of rows that are computed at the same time. One row is little work for a thread. */
const ROW_CONCURRENCY = 8;

export function createRunViews(dependencies: RunViewsDependencies): RunViews {
  const { documents, artifacts, states, maker, nextRebalance, comingRebalance } = dependencies;
  const sources: NeedSources = { ...dependencies, plans: createBacktestPlans(documents) };

  async function readRow(run: RunDocument, signal: AbortSignal): Promise<RunSummaryCollection['summaries'][number]> {
    const { bytes } = await maker.readCached({ view: 'summary', columns: await maker.readColumns(run) }, signal);
    const figures = JSON.parse(new TextDecoder().decode(bytes)) as RunFigures; // the view wrote this JSON, about 4 KB
    const { run_id: runId, index_id: indexId, name, run_at, start } = run;
    return {
      ...(await createStoredState(states, run)),
      ...figures,
      name,
      run_at,
      start,
      benchmark: BacktestFields.parse(run.request).benchmark?.id ?? null,
      next_rebalance: runId === indexId ? await nextRebalance(indexId, figures.end) : null,
      coming_rebalance: runId === indexId ? await comingRebalance(indexId, figures.end) : null,
    };
  }

  return {
    async summaries({ limit, after }, signal) {
      const { documents: runs, skipped, skipped_causes: causes } = await documents.list('run', readRun);
      const request = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
      const summaries: RunSummaryCollection['summaries'] = [];
      let damagedCount = 0;
      for (let offset = 0; offset < request.length; offset += ROW_CONCURRENCY) {
        const rows = await Promise.all(
          request.slice(offset, offset + ROW_CONCURRENCY).map((run) => readRow(run, signal).catch(ignoreDamage)),
        );
        const readableRows = rows.filter((row) => row !== null);
        summaries.push(...readableRows);
        damagedCount += rows.length - readableRows.length;
        await setImmediate();
      }
      return { summaries, ...addUnreadable({ skipped, skipped_causes: causes }, damagedCount) };
    },
    async show({ terms, name, query, format, body }, signal) {
      const run = await requireRun(documents, name);
      const { given, afterwards: completionActions } = await lookUpRun(terms, { run, query, body });
      const columns = await (terms.isMadeAnew ? resolveColumnsFile(artifacts, run) : maker.readColumns(run));
      // The parameters of the route and the members that its needs add have the type that the terms require.
      const input = { ...getParameters(query), ...given, format, view: terms.name, columns } as unknown as RunViewInput;
      const view = terms.isMadeAnew ? maker.make(input, signal) : maker.readCached(input, signal);
      for (const runAction of completionActions) runAction();
      return format === 'json' ? maker.stamped(run, view) : { bytes: (await view).bytes, etag: (await view).sha256 };
    },
  };

  async function lookUpRun(terms: RunViewTerms, request: Omit<RunRequest, 'afterwards'>) {
    const noQuery: object = {};
    const completionActions: (() => void)[] = [];
    for (const need of terms.needs)
      Object.assign(
        noQuery,
        await NEEDS[need](sources, { ...request, afterwards: (help) => void completionActions.push(help) }),
      );
    return { given: noQuery, afterwards: completionActions };
  }
}

/** Parameters that select the run, and parameters that a need replaces. */
const RESOLVED_PARAMETERS = new Set(['index_id', 'run_id', 'benchmark']);

/** Returns the parameters that the view receives. */
const getParameters = (query: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(query).filter(([name, value]) => value !== undefined && !RESOLVED_PARAMETERS.has(name)),
  );

/** Returns null for an error of one run, so that the other runs are still listed. */
function ignoreDamage(failure: unknown): null {
  if (failure instanceof Refusal && failure.code === 'DOCUMENT_UNREADABLE') return null;
  throw failure;
}

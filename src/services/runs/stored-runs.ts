import type { RunMetrics, StoredRuns } from '#contract/analytics/runs.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { RunListDocument } from '#domain/documents/run-list-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import { assertHasRuns, runListOf } from '../stored/kept-runs.js';
import { findRun, requireRun } from '../stored/run-documents.js';
import { runIdOf } from '#store/run-id.js';
import type { ViewMaker } from './view-maker.js';

export interface StoredRunsQuery {
  readonly limit?: number | undefined;
  /** Id of a run. */
  readonly before?: string | undefined;
}

export interface StoredRunsService {
  /** Newest first. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND for an unknown `before` */
  list(subject: string, query: StoredRunsQuery, signal: AbortSignal): Promise<StoredRuns>;
}

export interface StoredRunsDependencies {
  readonly documents: DocumentStore;
  readonly maker: Pick<ViewMaker, 'held' | 'columnsOf'>;
}

/** Rows made at once: the threads that make them have little to do for each. */
const ROWS_AT_ONCE = 8;

export function createStoredRuns({ documents, maker }: StoredRunsDependencies): StoredRunsService {
  /** A run that was dropped since it was listed is left out, as one whose document cannot be read. */
  async function rowOf(
    { subject, id, list }: { readonly subject: string; readonly id: string; readonly list: RunListDocument },
    signal: AbortSignal,
  ): Promise<StoredRuns['runs']> {
    const run = await requireRun(documents, { subject, id }).catch(asUndefined);
    if (run === undefined) return [];
    return [
      {
        run_id: id,
        run_at: run.run_at,
        run_hash: run.run_hash,
        start: run.start,
        end: run.end,
        index_version: run.index_version ?? null,
        store_id: run.store_id ?? null,
        store_version: run.store_version ?? null,
        store_content_hash: run.store_content_hash,
        engine_version: run.engine_version,
        request: requestOf(run),
        metrics: (await metricsOf(run, signal).catch(asUndefined)) ?? null,
        published: list.published.includes(id),
      },
    ];
  }

  async function metricsOf(run: RunDocument, signal: AbortSignal): Promise<RunMetrics> {
    const { bytes } = await maker.held({ view: 'metrics', columns: await maker.columnsOf(run) }, signal);
    return JSON.parse(new TextDecoder().decode(bytes)) as RunMetrics; // Written by the view itself.
  }

  return {
    async list(subject, { limit, before }, signal) {
      await assertHasRuns(documents, subject);
      const list = await runListOf(documents, subject);
      const newest = await findRun(documents, subject);
      const ids = [...(newest === undefined ? [] : [runIdOf(newest)]), ...list.earlier];
      const from = before === undefined ? 0 : ids.indexOf(before) + 1;
      if (before !== undefined && from === 0) await requireRun(documents, { subject, id: before });
      const asked = ids.slice(from, limit === undefined ? undefined : from + limit);
      const runs: StoredRuns['runs'] = [];
      for (let at = 0; at < asked.length; at += ROWS_AT_ONCE) {
        const batch = asked.slice(at, at + ROWS_AT_ONCE);
        runs.push(...(await Promise.all(batch.map((id) => rowOf({ subject, id, list }, signal)))).flat());
      }
      return { runs, total: ids.length };
    },
  };
}

/** The request of a run, with the version of the data where one was asked for. */
function requestOf({ request, as_known_on: version }: RunDocument): unknown {
  return version === undefined ? request : { ...(request as object), as_known_on: version };
}

function asUndefined(thrown: unknown): undefined {
  if (thrown instanceof Refusal && ['RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE'].includes(thrown.code)) return undefined;
  throw thrown;
}

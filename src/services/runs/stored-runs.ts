import type { RunMetrics, StoredRuns } from '#contract/analytics/runs.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { RunListDocument } from '#domain/documents/run-list-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ArtifactStore, DocumentStore, UnreadableCause } from '#store/port.js';
import { readLogHead } from '#store/publication/log.js';
import { findCause } from '#store/read-stored.js';
import { countSkipped } from '../shared/skipped.js';
import { findDamagedRuns } from '../stored/damaged-runs.js';
import { assertHasRuns, readRunList } from '../stored/run-list.js';
import { findRun, createStoredRunId, readRun, requireRun, type RequestedRun } from '../stored/run-documents.js';
import { computeRunId } from '#store/run-id.js';
import type { ViewMaker } from './view-maker.js';

export interface StoredRunsQuery {
  readonly limit?: number | undefined;
  /** Id of a run. Only runs that are older than this one are listed. */
  readonly before?: string | undefined;
}

export interface StoredRunsService {
  /** Lists runs, newest first. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND for an unknown `before` */
  list(subject: string, query: StoredRunsQuery, signal: AbortSignal): Promise<StoredRuns>;
}

export interface StoredRunsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly maker: Pick<ViewMaker, 'readCached' | 'readColumns'>;
}

/** Number of rows that are computed at the same time. One row is little work for a thread. */
const ROW_CONCURRENCY = 8;

export function createStoredRuns({ documents, artifacts, maker }: StoredRunsDependencies): StoredRunsService {
  /**
   * Returns a run, or the reason why its document or a file with its columns is unreadable. Returns undefined if the
   * run was removed since it was listed.
   */
  async function readCheckedRun(requestedRun: RequestedRun): Promise<RunDocument | UnreadableCause | undefined> {
    try {
      const run = await requireRun(documents, requestedRun);
      return (await findDamagedRuns(artifacts, [run])).size > 0 ? 'unreadable' : run;
    } catch (failure) {
      if (!(failure instanceof Refusal) || !UNREADABLE.has(failure.code)) throw failure;
      return findCause(
        await documents.get('kept-run', createStoredRunId(requestedRun.subject, requestedRun.id!)),
        readRun,
      );
    }
  }

  async function readRow(
    run: RunDocument,
    list: RunListDocument,
    signal: AbortSignal,
  ): Promise<StoredRuns['runs'][number]> {
    const id = computeRunId(run);
    return {
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
      request: toRequest(run),
      metrics: (await readMetrics(run, signal).catch(ignoreUnreadable)) ?? null,
      published: list.published.includes(id),
    };
  }

  async function readMetrics(run: RunDocument, signal: AbortSignal): Promise<RunMetrics> {
    const { bytes } = await maker.readCached({ view: 'metrics', columns: await maker.readColumns(run) }, signal);
    return JSON.parse(new TextDecoder().decode(bytes)) as RunMetrics; // the view wrote this JSON
  }

  return {
    async list(subject, { limit, before }, signal) {
      await assertHasRuns(documents, subject);
      const list = await readRunList(documents, subject);
      const newestRun = await findRun(documents, subject);
      const skippedCauses = await listUnlistedCauses(documents, subject);
      const ids = [...(newestRun === undefined ? [] : [computeRunId(newestRun)]), ...list.earlier];
      const total = ids.length + skippedCauses.length;
      const from = before === undefined ? 0 : ids.indexOf(before) + 1;
      if (before !== undefined && from === 0) await requireRun(documents, { subject, id: before });
      const requestedIds = ids.slice(from, limit === undefined ? undefined : from + limit);
      const runs: StoredRuns['runs'] = [];
      for (let offset = 0; offset < requestedIds.length; offset += ROW_CONCURRENCY) {
        const batch = await Promise.all(
          requestedIds.slice(offset, offset + ROW_CONCURRENCY).map((id) => readCheckedRun({ subject, id })),
        );
        skippedCauses.push(...batch.filter((entry) => typeof entry === 'string'));
        const matchingRuns = batch.filter((run) => typeof run === 'object');
        runs.push(...(await Promise.all(matchingRuns.map((run) => readRow(run, list, signal)))));
      }
      const hasPublished = (await readLogHead(documents, subject)) !== undefined;
      return { runs, total, has_published: hasPublished, ...countSkipped(skippedCauses) };
    },
  };
}

/**
 * Returns the reasons why some runs are unreadable whose ids are unknown: the latest run, and earlier runs if their
 * list is lost.
 */
async function listUnlistedCauses(
  documents: Pick<DocumentStore, 'get' | 'ids'>,
  subject: string,
): Promise<UnreadableCause[]> {
  const newestCause = findCause(await documents.get('run', subject), readRun);
  const list = findCause(await documents.get('run-list', subject), (body) => RunListDocument.safeParse(body).data);
  if (list === undefined) return newestCause === undefined ? [] : [newestCause];
  const earlierIds = (await documents.ids('kept-run')).filter((id) => id.startsWith(createStoredRunId(subject, '')));
  return [...(newestCause === undefined ? [] : [newestCause]), ...earlierIds.map(() => list)];
}

const UNREADABLE: ReadonlySet<string> = new Set(['RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE']);

/** Returns the request of a run. If the request named a data version, that version is included. */
function toRequest({ request, as_known_on: version }: RunDocument): unknown {
  return version === undefined ? request : { ...(request as object), as_known_on: version };
}

function ignoreUnreadable(failure: unknown): undefined {
  if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return undefined;
  throw failure;
}

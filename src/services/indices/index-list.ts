import type { IndexCollection } from '#contract/indices/definition.js';
import { isDerivedDocument, isOverlayDocument, type IndexDocument } from '#domain/documents/index-document.js';
import { listTexts } from '#domain/documents/amended-texts.js';
import { listNamedIndices } from '#domain/documents/named-indices.js';
import type { Finding } from '#domain/refusals/findings.js';
import { createStoreFinder } from '#domain/documents/store-of-documents.js';
import { readIndex } from '#domain/checks/validate-index.js';
import type { DocumentStore } from '#store/port.js';
import { createGoneStoreProblem } from './on-store.js';

/** Page of a list: a number of entries after an id. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

interface CachedList {
  readonly limit: number | undefined;
  readonly after: string | undefined;
  readonly revision: string;
  readonly list: IndexCollection;
}

/** Kinds of documents that a list reads. */
const LISTED_KINDS = ['index', 'run', 'store'] as const;

/** Maximum number of rows of a cached list. */
const CACHED_ROWS_MAX = 10_000;

/**
 * Creates the list of stored indices. The last list is cached until an index or a run is written; callers must not
 * modify it.
 * @cost if nothing is cached, a read of every index, and of the run of each index on the page
 */
export function createIndexList(
  documents: Pick<DocumentStore, 'get' | 'ids' | 'list' | 'revision'>,
): (query: PageQuery) => Promise<IndexCollection> {
  let cachedList: CachedList | undefined;
  return async ({ limit, after }) => {
    // The revision is read before the documents. A write during the read then changes the revision, and the list is not
    // reused.
    const revisionText = (await Promise.all(LISTED_KINDS.map((kind) => documents.revision(kind)))).join(' ');
    if (
      cachedList !== undefined &&
      cachedList.revision === revisionText &&
      cachedList.limit === limit &&
      cachedList.after === after
    )
      return cachedList.list;
    const { documents: allIndices, skipped, skipped_causes } = await documents.list('index', readIndex);
    const remainingIndices = after === undefined ? allIndices : allIndices.filter(({ id }) => id > after);
    const page = remainingIndices.slice(0, limit ?? remainingIndices.length);
    const findStoreOf = createStoreFinder(new Map(allIndices.map((document) => [document.id, document])));
    const stored = {
      indices: new Set(await documents.ids('index')),
      stores: new Set(await documents.ids('store')),
    };
    const indices = await Promise.all(
      page.map((document) => toSummary(document, { documents, stored, storeId: findStoreOf(document.id) })),
    );
    const list = { indices, skipped, skipped_causes: { ...skipped_causes } };
    cachedList = indices.length <= CACHED_ROWS_MAX ? { limit, after, revision: revisionText, list } : undefined;
    return list;
  };
}

interface SummaryContext {
  readonly documents: Pick<DocumentStore, 'get'>;
  /** Ids of all stored documents, readable or not. */
  readonly stored: { readonly indices: ReadonlySet<string>; readonly stores: ReadonlySet<string> };
  /** Data store of the index; null for the active store. */
  readonly storeId: string | null;
}

async function toSummary(
  document: IndexDocument,
  { documents, stored, storeId }: SummaryContext,
): Promise<IndexCollection['indices'][number]> {
  const { id, name, calendar, currency, base_date, tags } = document;
  const run = await documents.get('run', id);
  return {
    id,
    name,
    kind: isOverlayDocument(document) ? 'overlay' : isDerivedDocument(document) ? 'derived' : 'rule',
    source_index_id: document.source_index_id ?? document.derivation?.source_index_id ?? null,
    calendar,
    currency,
    base_date,
    store_id: storeId,
    has_run: run !== undefined,
    run_at: run === undefined || 'unreadable' in run ? null : readRunTime(run.body),
    tags,
    problems: listProblems(document, stored) as IndexCollection['indices'][number]['problems'], // the service has read-only lists, the contract mutable ones
  };
}

/** Reports the indices and the store of a document that are not stored any more. */
function listProblems(document: IndexDocument, stored: SummaryContext['stored']): Finding[] {
  const { store_id: storeId } = document;
  const missing = new Map(
    listTexts(document)
      .flatMap(({ document: text }) => listNamedIndices(text))
      .filter(({ id }) => !stored.indices.has(id))
      .map(({ id, path }) => [id, path]),
  );
  const unknownIndices = [...missing].map(([id, path]): Finding => ({
    severity: 'error',
    code: 'UNKNOWN_INDEX',
    path,
    message: `No index ${id} is stored.`,
    value: id,
  }));
  const storeProblems = storeId == null || stored.stores.has(storeId) ? [] : [createGoneStoreProblem(storeId, 'error')];
  return [...unknownIndices, ...storeProblems];
}

/** Returns the time at which a stored run was made; null if its record has no time. */
function readRunTime(body: unknown): string | null {
  const { run_at } = (typeof body === 'object' && body !== null ? body : {}) as { run_at?: unknown };
  return typeof run_at === 'string' ? run_at : null;
}

import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { Id } from '#domain/base/schema.js';
import { hasValidTexts, listDatedTexts } from '#domain/definition/amendments.js';
import {
  type FilledDocument,
  fillPlugins,
  removeComputedParts,
  type StoredPluginCode,
} from '#domain/definition/document-expressions.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  listSources,
} from '#domain/definition/index-document.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { PluginDocument } from '#domain/definition/plugins.js';
import { checkStores, findStore, listNamedIndices, listReferences } from '#domain/definition/references.js';
import type { MarketData } from '#domain/market/market-data.js';
import { getCallMarket, type Markets } from '#market/serve/served-markets.js';
import {
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  readStoredBody,
  type StoredDocument,
} from '#store/port.js';
import type { Context } from '../shared/context.js';
import { readRecordedClosures } from './calendars.js';
import { findUnknownWatchlists, removeWatchlist, resolveWatchlist } from './watchlists.js';

type PluginsReader = Pick<DocumentReader, 'get'>;

/** Returns a definition with the code of its plug-ins, and the errors about the plug-ins. */
export async function fillStoredPlugins(reader: PluginsReader, document: IndexDocument): Promise<FilledDocument> {
  const ids = new Set(Object.values(document.plugins ?? {}).map(({ plugin }) => plugin));
  const pluginCode = new Map<string, StoredPluginCode | undefined>();
  for (const id of ids) pluginCode.set(id, await findPluginCode(reader, id));
  return fillPlugins(document, (id) => pluginCode.get(id));
}

async function findPluginCode(reader: PluginsReader, id: string): Promise<StoredPluginCode | undefined> {
  const storedDocument = await reader.get('plugin', id);
  if (storedDocument === undefined || 'unreadable' in storedDocument) return undefined;
  const { data } = PluginDocument.safeParse(storedDocument.body);
  return data && { plugin: data, sha256: storedDocument.etag };
}

type Reader = Pick<DocumentStore | DocumentTransaction, 'get' | 'ids'>;

export interface StoredIndex {
  readonly document: IndexDocument;
  readonly etag: string;
}

/** Returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireIndex(reader: Pick<Reader, 'get'>, indexId: string): Promise<StoredIndex> {
  const storedDocument = await reader.get('index', indexId);
  if (storedDocument === undefined)
    throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
  const document = readStoredBody(storedDocument, readIndex);
  if (document === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The index ${indexId} cannot be read; it can still be deleted.`, {
      index_id: indexId,
    });
  return { document, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

/** Returns a stored definition. Returns undefined if it is not stored or is unreadable. */
export async function findIndex(reader: Pick<Reader, 'get'>, indexId: string): Promise<IndexDocument | undefined> {
  const storedDocument = await reader.get('index', indexId);
  return readStoredBody(storedDocument, readIndex);
}

/** Definition and all definitions that it refers to, directly or through others: by universes and by derivations. */
export interface ReachedDocuments {
  /** Distinct definitions, the definition itself first. */
  readonly documents: readonly IndexDocument[];
  /** References to indices that are not stored. */
  readonly missing: readonly { readonly at: IndexDocument; readonly next: string }[];
}

/** Reads all definitions that a definition refers to, directly or through others. @cost a read of each */
async function reachDocuments(reader: Pick<Reader, 'get'>, definition: IndexDocument): Promise<ReachedDocuments> {
  const reachedDocuments = new Map<string, IndexDocument>();
  const missingReferences: { at: IndexDocument; next: string }[] = [];
  const reachParents = async (document: IndexDocument): Promise<void> => {
    reachedDocuments.set(document.id, document);
    for (const next of listReferences(document)) {
      if (reachedDocuments.has(next)) continue;
      const foundIndex = await findIndex(reader, next);
      if (foundIndex === undefined) missingReferences.push({ at: document, next });
      else await reachParents(foundIndex);
    }
  };
  await reachParents(definition);
  return { documents: [...reachedDocuments.values()], missing: missingReferences };
}

/**
 * Returns the sources of all derived indices and overlays by their ids, in code-point order, and the ids of all stored
 * indices. An amendment may name further sources.
 * @cost reads every stored index
 */
export async function readSources(reader: Reader): Promise<{
  readonly stored: ReadonlySet<string>;
  readonly sourcesOf: ReadonlyMap<string, readonly string[]>;
}> {
  const stored = await reader.ids('index');
  const sourcesOf = new Map<string, readonly string[]>();
  for (const id of stored) {
    const document = await findIndex(reader, id);
    if (document === undefined) continue;
    const sources = new Set(listDatedTexts(document).flatMap(({ document: text }) => listSourcesOf(text)));
    if (sources.size > 0) sourcesOf.set(id, [...sources]);
  }
  return { stored: new Set(stored), sourcesOf };
}

function listSourcesOf(document: IndexDocument): readonly string[] {
  if (isOverlayDocument(document)) return listSources(document);
  return isDerivedDocument(document) ? [document.derivation.source_index_id] : [];
}

/**
 * Function that returns a stored definition by its id. It returns undefined if the definition is not stored or is
 * unreadable.
 */
export type IndexLookup = (indexId: string) => IndexDocument | undefined;

/**
 * Creates a reader of stored definitions for synchronous functions. It belongs to one request or transaction and reads
 * each definition once.
 */
export function createStoredIndices(reader: Pick<Reader, 'get'>) {
  const documentsById = new Map<string, IndexDocument | undefined>();
  return {
    /**
     * Calls a function on indices and returns its result. Reads every definition that the function looks up.
     * @param ask must have no effects: it is called again whenever it looked up ids that had not been read
     */
    async answer<T>(ask: (indexOf: IndexLookup) => T): Promise<T> {
      for (;;) {
        const unreadIds = new Set<string>();
        const answer = ask((id) => {
          if (!documentsById.has(id)) unreadIds.add(id);
          return documentsById.get(id);
        });
        if (unreadIds.size === 0) return answer;
        for (const id of unreadIds) documentsById.set(id, await findIndex(reader, id));
      }
    },
  };
}

/** Members of a definition as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

/**
 * Runs work on the store of a definition. The definition, an index that it refers to, or the request can name the
 * store.
 * @throws Refusal VALIDATION_FAILED if they name several stores, and the refusals of `StoreMarkets.of`
 */
export async function runOnStoreOf<T>(
  { documents, stores }: Context,
  definition: Body | IndexDocument,
  work: () => Promise<T>,
): Promise<T> {
  return stores.within(await findReferencedStore(documents, definition, getCallMarket()?.identity.datasetId), work);
}

/**
 * Returns the data store of a definition: its own, or that of an index to which it refers. Returns null for the active
 * store.
 * @param storeId store in the request
 * @throws Refusal VALIDATION_FAILED if they name several stores
 */
export async function findReferencedStore(
  reader: Pick<DocumentReader, 'get'>,
  definition: Body | IndexDocument,
  storeId?: string,
): Promise<string | null> {
  return findStore(await readDocuments(reader, definition as Body), storeId);
}

export async function findCheckMarket(
  { documents, stores, markets }: Context,
  definition: Body,
): Promise<{ readonly market: MarketData | undefined; readonly findings: readonly Finding[] }> {
  const namedDocuments = await readDocuments(documents, definition);
  const findings = checkStores(namedDocuments);
  if (findings.length > 0) return { market: undefined, findings };
  const storeId = findStore(namedDocuments, null);
  if (storeId === null) return { market: markets.current()?.market, findings };
  try {
    return { market: (await stores.of(storeId)).market, findings };
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    const isNew = definition['store_id'] === storeId && (await findOwnStore(documents, definition)) !== storeId;
    const accepted = isNew ? await documents.ids('store') : null;
    return { market: undefined, findings: [createUnreadStoreFinding(storeId, refusal, accepted)] };
  }
}

/**
 * Returns the market of a definition if it is the market of the current call. Returns undefined if the definition has
 * another store or several stores.
 */
export async function findCurrentMarket(
  reader: Pick<DocumentReader, 'get'>,
  markets: Pick<Markets, 'current'>,
  definition: Body | IndexDocument,
): Promise<MarketData | undefined> {
  const namedDocuments = await readDocuments(reader, definition as Body);
  if (checkStores(namedDocuments).length > 0) return undefined;
  const storeId = findStore(namedDocuments);
  const market = markets.current()?.market;
  return storeId === null || storeId === market?.datasetId ? market : undefined;
}

async function findOwnStore(reader: Pick<DocumentReader, 'get'>, { id }: Body): Promise<string | null> {
  return typeof id === 'string' ? ((await findIndex(reader, id))?.store_id ?? null) : null;
}

/** @param acceptedIds ids of the registered stores; null if the store of a stored definition is only a warning */
function createUnreadStoreFinding(
  storeId: string,
  { code, message }: Refusal,
  acceptedIds: readonly string[] | null,
): Finding {
  const subject = { path: 'store_id', value: storeId };
  if (code === 'STORE_NOT_FOUND')
    return acceptedIds === null
      ? createGoneStoreProblem(storeId, 'warning')
      : { severity: 'error', code: 'NOT_IN_CHOICES', message, accepted: acceptedIds, ...subject };
  const warningText = `The data store ${storeId} cannot be read now, so the definition was not checked on it: ${message}`;
  return { severity: 'warning', code: 'UNREADABLE_FILE', message: warningText, ...subject };
}

/** Reports that the store of a stored definition is not registered any more. */
export const createGoneStoreProblem = (storeId: string, severity: Finding['severity']): Finding => ({
  severity,
  code: 'NOT_IN_CHOICES',
  path: 'store_id',
  message: `No data store is registered under the id ${storeId}, so the index cannot be computed.`,
  value: storeId,
});

/** Returns a definition and every index that it refers to. An index that is missing is reported elsewhere. */
async function readDocuments(
  reader: Pick<DocumentReader, 'get'>,
  definition: Body,
): Promise<Record<string, IndexDocument>> {
  const definedIndex = readIndex(definition);
  const { id, store_id: storeId } = definition;
  if (definedIndex === undefined) {
    const read = Id.safeParse(storeId).data; // the shape check reports any other value
    const storeReference = read === undefined ? undefined : { id: String(id), store_id: read };
    return storeReference === undefined ? {} : { [storeReference.id]: storeReference as IndexDocument }; // only the store of the document is read
  }
  const read = hasValidTexts(definedIndex) ? definedIndex : { ...definedIndex, amendments: [] }; // the checks report an invalid amendment
  const { documents } = await reachDocuments(reader, read);
  return Object.fromEntries(documents.map((document) => [document.id, document]));
}

type PartsReader = Pick<DocumentReader, 'get'>;

/**
 * Returns a definition in the form that is computed. It contains the securities of its watchlists, the code of its
 * plug-ins and the recorded changes of calendars. A change of any of these makes a run stale.
 * @throws Refusal VALIDATION_FAILED if a watchlist or plug-in was deleted or is unreadable
 */
export async function addStoredParts(reader: PartsReader, document: IndexDocument): Promise<IndexDocument> {
  const { document: filledDocument, findings } = await fillStoredPlugins(reader, document);
  if (findings.length > 0) throw refuseWithFindings('index document', findings);
  const { closures: _, ...whole } = await resolveWatchlist(reader, filledDocument);
  const closures = await readRecordedClosures(reader);
  return closures === undefined ? whole : { ...whole, closures };
}

export const removeStoredParts = (document: IndexDocument): IndexDocument =>
  removeComputedParts(removeWatchlist(document));

/** Returns a definition with the code of its plug-ins, and the errors about its watchlists and plug-ins. */
export async function checkStoredParts(reader: PartsReader, document: IndexDocument) {
  const { document: filledDocument, findings } = await fillStoredPlugins(reader, document);
  return { filled: filledDocument, findings: [...(await findUnknownWatchlists(reader, document)), ...findings] };
}

/**
 * Returns a document and all documents that it refers to, by id: through universes and through derivations. Watchlists
 * are replaced by their securities.
 * @throws Refusal VALIDATION_FAILED if a referenced document was deleted
 */
export async function resolveReached(
  reader: Pick<DocumentReader, 'get'>,
  document: IndexDocument,
): Promise<Record<string, IndexDocument>> {
  const {
    documents,
    missing: [first],
  } = await reachDocuments(reader, document);
  if (first !== undefined) throw refuseWithFindings('index document', [createMissingReference(first.at, first.next)]);
  const entries: (readonly [string, IndexDocument])[] = [];
  for (const reachedDocument of documents)
    entries.push([reachedDocument.id, await addStoredParts(reader, reachedDocument)]);
  return Object.fromEntries(entries); // `fromEntries` makes every id an own key, including __proto__
}

function createMissingReference(document: IndexDocument, next: string): Finding {
  const message = `The index ${document.id} refers to ${next}, which is not stored.`;
  const path = listNamedIndices(document).find(({ id }) => id === next)!.path; // the reference was read from this path
  return { severity: 'error', code: 'UNKNOWN_INDEX', path, message, value: next };
}

import type { DataStore } from '#contract/stores/store.js';
import { DatasetDocument, removePassword } from '#domain/documents/dataset-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { GENERATOR } from '#market/synthetic/spec.js';
import type { DocumentStore, DocumentTransaction, StoredDocument } from '#store/port.js';
import { readStored } from '#store/read-stored.js';

/** Stored data store with the etag of its document. */
export interface StoredStore {
  readonly document: DatasetDocument;
  readonly etag: string;
}

/** Activity of a store. It is not part of the store's document. */
export type Activity = 'loading' | 'refreshing';

/** Returns a stored data store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireDataset(
  reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
  datasetId: string,
): Promise<StoredStore> {
  const storedDocument = await reader.get('store', datasetId);
  if (storedDocument === undefined) throw refuseMissingDataset(datasetId);
  const document = readStored(storedDocument, readDataset);
  if (document === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The data store ${datasetId} cannot be read; it can still be deleted.`, {
      store_id: datasetId,
    });
  return { document, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

export function refuseMissingDataset(datasetId: string): Refusal {
  return new Refusal('STORE_NOT_FOUND', `No data store is registered under the id ${datasetId}.`, {
    store_id: datasetId,
  });
}

/** Parses the body of a stored document. Returns undefined if it is invalid. */
export function readDataset(body: unknown): DatasetDocument | undefined {
  const result = DatasetDocument.safeParse(body);
  return result.success ? result.data : undefined;
}

/** Returns all readable data stores. */
export async function listDatasets(
  reader: Pick<DocumentStore | DocumentTransaction, 'get' | 'ids'>,
): Promise<DatasetDocument[]> {
  const documents: DatasetDocument[] = [];
  for (const id of await reader.ids('store')) {
    const storedDocument = await reader.get('store', id);
    const document = readStored(storedDocument, readDataset);
    if (document !== undefined) documents.push(document);
  }
  return documents;
}

/** Returns true if a store has a source to refresh from. */
export function isRefreshable({ kind, source, writing, synthetic }: DatasetDocument): boolean {
  if (writing) return false;
  return kind === 'synthetic' ? synthetic?.['generator'] === GENERATOR : source !== null;
}

/** Returns a store in the wire format. */
export function toDataStore(
  document: DatasetDocument,
  state: { readonly isServed: boolean; readonly activity: Activity | undefined },
): DataStore {
  const {
    writing,
    synthetic: _request,
    tables: _tables,
    active: _active,
    served: _served,
    kept: _kept,
    read_by: _readBy,
    price_overrides: _overrides,
    changed_prices: _changed,
    location,
    source,
    error,
    findings,
    taken_at_start: startImport,
    ...shown
  } = document;
  return {
    ...shown,
    versions_kept: document.versions_kept ?? null,
    active: state.isServed,
    status: writing ? 'writing' : (state.activity ?? (error === null ? 'ready' : 'error')),
    location: location === null ? null : removePassword(location),
    source: source === null ? null : removePassword(source),
    refreshable: isRefreshable(document),
    // this engine wrote the findings; the type of the document has only texts for their codes
    error: error as DataStore['error'],
    findings: findings as DataStore['findings'],
    taken_at_start: startImport as DataStore['taken_at_start'],
  };
}

/** Returns a store for listings. Members that only the route of a single store returns are left out. */
export function toListedDataset({ files: _files, findings: _findings, ...listed }: DataStore): DataStore {
  return listed;
}

/** Values that the fields have before the first load. */
export const blankDataset = {
  last_loaded_at: null,
  identifiers: null,
  start: null,
  end: null,
  size_bytes: null,
  content_hash: null,
  rows: null,
  derived_actions: null,
  taken_at_start: null,
  files: [],
  error: null,
  findings: [],
};

/**
 * Creates an id from a name: lower case, with a dash in place of each group of characters that are not letters or
 * digits.
 */
export function createSlug(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-|-$/g, '');
  return slug === '' ? 'store' : slug;
}

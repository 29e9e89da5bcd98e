import { copyFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DataStore } from '#contract/stores.js';
import { Refusal } from '#domain/base/refusals.js';
import type { CalendarsInUse } from '#domain/calendars/calendar.js';
import {
  type DataCopy,
  DataHistoryDocument,
  DatasetDocument,
  type DataSource,
  DataVersionDocument,
  ForgottenHistory,
  removePassword,
} from '#domain/definition/datasets.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { type Authorship, NO_REQUEST } from '#domain/definition/versions.js';
import type { Adjustment } from '#domain/market/market-data.js';
import type { ChangeCounts } from '#market/content/changes.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { DatabaseLocations } from '#market/read/database-location.js';
import type { Locations } from '#market/read/folder.js';
import type { ServedMarkets } from '#market/serve/served-markets.js';
import { GENERATOR } from '#market/synthetic/factors.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  formatNumberedId,
  getOwner,
  parseNumber,
  parseStored,
  readStoredBody,
  type StoredDocument,
} from '#store/port.js';
import type { Context } from './context.js';

type Reader = Pick<DocumentReader, 'get'>;

/** Content that will be served, and the change from it back to the previous content. */
export interface PreparedVersion {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly source: DataSource;
  /** Version to which the change leads back; null if no change was computed. */
  readonly previous: number | null;
  readonly change: ArtifactRef | null;
  readonly rows: ChangeCounts | null;
  /** Change from the previous content to this content. A copy needs it. Null if there is no such change. */
  readonly forth: ArtifactRef | null;
  readonly knownAt: string;
}

/** Content that the files of its store no longer contain. */
export interface PreservedContent {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly copy: DataCopy;
}

/**
 * Adds a content to the history of its store. Must be called in the transaction that makes the content the served one.
 * @param rows total number of rows of the content
 */
export async function recordDataVersion(
  tx: DocumentTransaction,
  preparedVersion: PreparedVersion,
  rows: number,
): Promise<void> {
  const { datasetId, contentHash, source, previous, forth, knownAt } = preparedVersion;
  const head = await readHistory(tx, datasetId);
  if (head?.content_hash === contentHash) return;
  // The version numbers of a deleted store are not used again, so `as_known_on: 3` always has one meaning.
  const deletedVersion = await readForgottenVersion(tx, datasetId);
  const version = (head?.latest ?? deletedVersion) + 1;
  const isChained = head !== undefined && head.latest === previous && preparedVersion.change !== null;
  const counts = preparedVersion.rows ?? { added: rows, changed: 0, removed: 0 };
  // A later version never has an earlier time, whatever the clock says.
  const known_at = head !== undefined && head.known_at > knownAt ? head.known_at : knownAt;
  const { author, note, requestId } = tx.authorship?.() ?? NO_REQUEST;
  await tx.put('data-version', formatNumberedId(datasetId, version), {
    version,
    content_hash: contentHash,
    known_at,
    source,
    rows_added: counts.added,
    rows_changed: counts.changed,
    rows_removed: counts.removed,
    author,
    note,
    request_id: requestId,
    change: isChained ? preparedVersion.change : null,
  } satisfies DataVersionDocument);
  await tx.put('data-history', datasetId, {
    latest: version,
    content_hash: contentHash,
    known_at,
    readable_from: isChained ? head.readable_from : version,
    copy: isChained && forth !== null ? extendCopy(head.copy, forth) : null,
    ...(deletedVersion === 0 ? {} : { forgotten: deletedVersion }),
  } satisfies DataHistoryDocument);
}

function extendCopy(copy: DataCopy | null, change: ArtifactRef): DataCopy | null {
  return copy === null ? null : { content: copy.content, changes: [...copy.changes, change] };
}

/**
 * Stores which copy has the content of a store. @returns false if the history of the store now ends with another
 * content
 */
export async function recordCopy(
  tx: DocumentTransaction,
  { datasetId, contentHash, copy }: PreservedContent,
): Promise<boolean> {
  const head = await readHistory(tx, datasetId);
  if (head?.content_hash !== contentHash) return false;
  await tx.put('data-history', datasetId, { ...head, copy } satisfies DataHistoryDocument);
  return true;
}

/** Maximum number of versions that one transaction deletes. This takes about ten milliseconds. */
export const DELETED_PER_TRANSACTION = 256;

/**
 * Deletes the contents of a store that is being deleted. @returns number of the last version that
 * `deleteRemainingVersions` must still delete
 */
export async function deleteDataVersions(tx: DocumentTransaction, datasetId: string): Promise<number> {
  const latestVersion = (await readHistory(tx, datasetId))?.latest ?? (await readForgottenVersion(tx, datasetId));
  if (latestVersion === 0) return 0;
  await tx.put('data-history', datasetId, { forgotten: latestVersion } satisfies ForgottenHistory);
  return deleteRemainingVersions(tx, datasetId, await tx.lastNumber('data-version', datasetId));
}

/**
 * Deletes versions that a deleted store left behind, latest first. If a new store has the same id, its versions have
 * greater numbers and remain.
 * @param last last version that may remain @returns the last version that remains; 0 if none remains
 */
async function deleteRemainingVersions(tx: DocumentTransaction, datasetId: string, last: number): Promise<number> {
  let remainingVersion = Math.min(last, await readForgottenVersion(tx, datasetId));
  for (let count = 0; count < DELETED_PER_TRANSACTION; count++, remainingVersion--)
    // version numbers are consecutive
    if (remainingVersion === 0 || !(await tx.delete('data-version', formatNumberedId(datasetId, remainingVersion))))
      return 0;
  return remainingVersion;
}

/** Returns the highest version number that belongs to earlier stores with this id; 0 if there were none. */
async function readForgottenVersion(reader: Reader, datasetId: string): Promise<number> {
  const storedDocument = await reader.get('data-history', datasetId);
  return (
    (parseStored(storedDocument, DataHistoryDocument) ?? parseStored(storedDocument, ForgottenHistory))?.forgotten ?? 0
  );
}

/**
 * Deletes versions of deleted stores that remain because a deletion was interrupted. @cost a listing of the ids of all
 * versions
 */
export async function deleteLeftovers(documents: DocumentStore): Promise<void> {
  const last = new Map<string, number>();
  for (const id of await documents.ids('data-version')) {
    const datasetId = getOwner(id);
    if (parseNumber(id) <= (await readForgottenVersion(documents, datasetId))) last.set(datasetId, parseNumber(id)); // ids in ascending order
  }
  for (const [datasetId, number] of last) await deleteVersions(documents, datasetId, number);
}

/** Deletes the remaining versions of a deleted store. Uses as many transactions as it needs. */
export async function deleteVersions(
  documents: DocumentStore,
  datasetId: string,
  last: number,
  authorship?: Authorship,
): Promise<void> {
  for (let remainingVersion = last; remainingVersion > 0;) {
    const batchEnd = remainingVersion;
    remainingVersion = await documents.transaction((tx) => deleteRemainingVersions(tx, datasetId, batchEnd), {
      by: authorship,
    });
  }
}

/** Returns the number of the first version of a store. It follows the versions of earlier stores with the same id. */
export const getFirst = (head: DataHistoryDocument | undefined): number => (head?.forgotten ?? 0) + 1;

/** Returns the history of a store; undefined if it has none. */
export async function readHistory(reader: Reader, datasetId: string): Promise<DataHistoryDocument | undefined> {
  const storedDocument = await reader.get('data-history', datasetId);
  return parseStored(storedDocument, DataHistoryDocument);
}

/**
 * Returns the hashes of the contents that a store has served. Returns null if some versions are unknown, for example
 * for a store that was served before versions existed.
 * @cost a read per version
 */
export async function listContents(reader: Reader, datasetId: string): Promise<ReadonlySet<string> | null> {
  const head = await readHistory(reader, datasetId);
  const contentHashes = new Set<string>();
  if (head === undefined) return (await readForgottenVersion(reader, datasetId)) > 0 ? contentHashes : null;
  for (let version = getFirst(head); version <= head.latest; version++) {
    const storedDocument = await reader.get('data-version', formatNumberedId(datasetId, version));
    const document = parseStored(storedDocument, DataVersionDocument);
    if (document === undefined) return null;
    contentHashes.add(document.content_hash);
  }
  return contentHashes;
}

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
  const document = readStoredBody(storedDocument, readDataset);
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
    const document = readStoredBody(storedDocument, readDataset);
    if (document !== undefined) documents.push(document);
  }
  return documents;
}

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

/** Returns the price basis that the store of an index declares. Returns null if no store is known. */
export async function readAdjustment(
  { documents, markets }: Context,
  { store_id: storeId }: Pick<IndexDocument, 'store_id'>,
): Promise<Adjustment | null> {
  if (storeId == null) return markets.served()?.market.adjustment ?? null;
  const storedDocument = await documents.get('store', storeId);
  const document = readStoredBody(storedDocument, readDataset);
  return document?.adjustment ?? null;
}

/**
 * Updates the locations of managed stores. If a home was moved, mounted elsewhere or restored, its documents still
 * contain the old path. Must be called before unreferenced folders are removed.
 * @param folder the home's folder of managed stores
 */
export async function relocateDatasets(documents: DocumentStore, folder: string): Promise<void> {
  for (const store of await listDatasets(documents)) {
    if (!store.managed || store.location === null || dirname(store.location) === folder) continue;
    const location = join(folder, basename(store.location));
    const isFolder = await stat(location).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (isFolder) await documents.transaction((tx) => tx.put('store', store.store_id, { ...store, location }));
  }
}

type RetainedFiles = Pick<DatasetDocument, 'kept'>;
type StoredLocation = Pick<DatasetDocument, 'store_id' | 'location' | 'kept'>;

/** Storage of the files of managed stores: in a single home, or in shared artifacts. */
interface StoreFiles {
  /**
   * Stores the files of a complete folder.
   * @returns the document fields that describe the files
   * @throws Refusal STORE_UNAVAILABLE, STORAGE_FULL
   */
  keep(folder: string): Promise<RetainedFiles>;
  /**
   * Returns a store whose folder is on this machine. Fetches the files that are missing.
   * @throws Refusal STORE_UNAVAILABLE, DOCUMENT_UNREADABLE
   */
  here<S extends StoredLocation>(store: S): Promise<S>;
  /** Fetches the files of a store again, because those in its folder are damaged. Undefined if there are no others. */
  refetch<S extends StoredLocation>(store: S): Promise<S | undefined>;
}

/**
 * Context of data stores: that of all services without what data stores add to it, with the places where the data of
 * stores is.
 */
export interface SourceContext extends Omit<Context, 'markets' | 'stores' | 'dataVersions' | 'states' | 'approvals'> {
  readonly markets: ServedMarkets;
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  readonly calendarsInUse: CalendarsInUse;
}

/** Storage for a single process, whose home contains the folders. */
export const localStoreFiles: StoreFiles = {
  keep: async () => ({}),
  here: async (store) => store,
  refetch: async () => undefined,
};

/**
 * Creates the storage for several processes. Each file is an artifact, and the store's document refers to it. A folder
 * in a home is only a copy.
 * @param root folder of the managed stores of this machine
 */
export function createSharedStoreFiles(artifacts: ArtifactStore, folders: ManagedFolders, root: string): StoreFiles {
  async function fetchCopies(copies: NonNullable<RetainedFiles['kept']>, folder: string): Promise<void> {
    for (const { name, artifact } of copies) {
      if (!(await artifacts.isIntact(artifact)))
        throw new Refusal('DOCUMENT_UNREADABLE', `The file ${name} of the data store is missing or damaged.`);
      await copyFile(await artifacts.file(artifact), join(folder, name));
    }
  }

  async function fetchHere<S extends StoredLocation>(store: S): Promise<S> {
    const { kept, location, store_id: datasetId } = store;
    if (kept === undefined || location === null) return store;
    const name = basename(location);
    await folders.receive(name, datasetId, (draft) => fetchCopies(kept, draft));
    return { ...store, location: join(root, name) };
  }

  return {
    async keep(folder) {
      const keptFiles = [];
      for (const name of await readdir(folder)) {
        if (name.startsWith('.')) continue; // The mark identifies a folder of one home only.
        keptFiles.push({ name, artifact: await artifacts.writeFile(join(folder, name)) });
      }
      return { kept: keptFiles };
    },
    here: fetchHere,
    async refetch(store) {
      const { kept, location, store_id: datasetId } = store;
      if (kept === undefined || location === null) return undefined;
      return (await folders.remove(join(root, basename(location)), datasetId)) ? fetchHere(store) : undefined;
    },
  };
}

/**
 * Sends an event to every process when a store's folder was replaced or removed. Each process then removes its copy.
 */
export function publishReplaced(tx: DocumentTransaction, previousDocument: DatasetDocument | undefined): void {
  if (previousDocument?.kept !== undefined && previousDocument.location !== null)
    tx.publish({ type: 'folder-replaced', store_id: previousDocument.store_id, folder: previousDocument.location });
}

import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DataStore, DataStoreCreate, DataStoreUpdate } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import {
  type DatasetDocument,
  type DeclaredDataset,
  hidesPassword,
  removePassword,
  TABLE_KINDS,
} from '#domain/definition/datasets.js';
import { changeMapping, Mapping } from '#domain/definition/mapping.js';
import type { Authorship } from '#domain/definition/versions.js';
import { listKindsDeletedWith } from '#domain/outputs/jobs.js';
import { isLiveIn } from '#jobs/port/record.js';
import { type DocumentReader, type DocumentTransaction, readStoredBody } from '#store/port.js';
import { changePassword } from '#store/secret-box.js';
import { assertPrecondition, type Precondition } from '../shared/documents.js';
import type { Requester } from '../shared/gate.js';
import { deleteJobsAbout } from '../shared/jobs.js';
import { assertNothingPublished } from '../shared/run-documents.js';
import {
  blankDataset,
  createSlug,
  deleteDataVersions,
  deleteVersions,
  listDatasets,
  readDataset,
  refuseMissingDataset,
  requireDataset,
  toDataStore,
} from '../shared/store-documents.js';
import type { VersionContent } from '../shared/versions.js';
import { purgeDataVersions } from './data-versions.js';
import { publishReplaced, type SourceContext } from './files.js';
import { createLoadedFields, placeFindings, refuseData } from './loading.js';
import { activateDataset, replaceDataset, type StoreWork } from './serving.js';

/** Removes a store with its versions, jobs and managed folder, unless work on it is in progress. */
async function removeDataset(
  context: StoreWork,
  datasetId: string,
  ifMatch: Precondition | undefined,
  authorship?: Authorship,
): Promise<void> {
  await findInactive(context, datasetId);
  return context.activity.removing(datasetId, () => removeIdleDataset(context, datasetId, ifMatch, authorship));
}

/** Returns a store that is not active; undefined if its document is unreadable. @throws Refusal STORE_NOT_FOUND, STORE_ACTIVE */
async function findInactive(
  { documents, activity }: StoreWork,
  datasetId: string,
): Promise<DatasetDocument | undefined> {
  const storedDocument = await documents.get('store', datasetId);
  const document = readStoredBody(storedDocument, readDataset);
  if (storedDocument === undefined || (document !== undefined && (await activity.isAbandoned(document))))
    throw refuseMissingDataset(datasetId);
  if (!activity.isServed(datasetId)) return document;
  throw new Refusal('STORE_ACTIVE', `The data store ${datasetId} is being served; activate another one first.`, {
    store_id: datasetId,
  });
}

async function removeIdleDataset(
  context: StoreWork,
  datasetId: string,
  ifMatch: Precondition | undefined,
  authorship?: Authorship,
): Promise<void> {
  const { documents, jobs, activity, activations, folders } = context;
  const document = await findInactive(context, datasetId); // it may have become active meanwhile
  await assertPrecondition(documents, 'store', datasetId, ifMatch);
  if (authorship?.purges !== true) await assertNothingPublished(documents, datasetId);
  const deletedSubjects = { of: 'dataset', ids: [datasetId] } as const;
  const deleteRecords = async (tx: DocumentTransaction): Promise<number> => {
    await assertPrecondition(tx, 'store', datasetId, ifMatch);
    // Another process may have queued work meanwhile.
    for (const kind of listKindsDeletedWith('dataset', 'ident'))
      if (await isLiveIn(tx, `${kind}:${datasetId}`)) await activity.assertIdle(datasetId);
    if (authorship?.purges !== true) await assertNothingPublished(tx, datasetId);
    await tx.delete('store', datasetId);
    await activations.forget(tx, datasetId);
    publishReplaced(tx, document);
    tx.publish({ type: 'store-removed', store_id: datasetId });
    await deleteJobsAbout(tx, jobs, deletedSubjects);
    return deleteDataVersions(tx, datasetId);
  };
  await deleteVersions(
    documents,
    datasetId,
    await documents.transaction(deleteRecords, { by: authorship }),
    authorship,
  );
  // The store is already deleted. If its folder cannot be removed now, the next start of the service removes it.
  if (document?.managed === true && document.location !== null)
    await folders.remove(document.location, datasetId).catch(() => false);
}

/**
 * Returns the locations of a store after its source was changed. If only the password differs, the store is read from
 * the new location, and the old password is no longer stored.
 */
export function updateLocations(
  { location }: DatasetDocument,
  source: string | null,
): Partial<Pick<DatasetDocument, 'location' | 'source'>> {
  const isSameAddress = location !== null && source !== null && formatAddress(location) === formatAddress(source);
  return isSameAddress ? { location: source, source } : { source };
}

/** Returns a connection URL with user and database, but without password. */
const formatAddress = (location: string): string => removePassword(location).replace(/:[^:@/]*@/, '@');

/** Returns true if two locations are equal, ignoring passwords. */
export const isSameLocation = (a: string | null, b: string | null): boolean =>
  a !== null && b !== null && removePassword(a) === removePassword(b);

/**
 * Returns the source in a stored version. @throws Refusal VERSION_NOT_RESTORABLE if the source needs a password;
 * versions contain no passwords
 */
export function resolveSourceLocation<T extends string | null>(source: T, version: number): T {
  if (source === null || !hidesPassword(removePassword(source))) return source;
  const location = removePassword(source);
  const message = `Versions keep no password, and ${location} needs one: declare the source with its password.`;
  throw new Refusal('VERSION_NOT_RESTORABLE', message, { version, source: location });
}

/**
 * Returns a refused location as the `value` of its finding. Returns no value if the location may contain a password.
 */
function quoteLocation(location: string): { readonly value?: string } {
  if (isAbsolute(location)) return { value: location };
  const url = location.includes('://') && URL.canParse(location) ? new URL(location) : undefined;
  return url === undefined || url.search !== '' || url.hash !== '' || url.pathname.includes('@')
    ? {}
    : { value: removePassword(location) };
}

/**
 * Restores a version of a store. If the store exists, it is changed to that version. A deleted store is created again
 * if its data still exists.
 */
async function restoreDataset(
  { documents, closing }: StoreWork,
  { create, update }: Pick<DatasetRegistration, 'create' | 'update'>,
  { version, body }: VersionContent,
  ifMatch: Precondition | undefined,
  authorship: Authorship,
): Promise<{ readonly store: DataStore; readonly etag?: string }> {
  const declaration = body as unknown as DeclaredDataset; // the body was stored as a version of a store
  const { store_id: datasetId, kind, name, source, tables, adjustment, currency, mapping } = declaration;
  const versionsKept = declaration.versions_kept ?? null;
  if ((await documents.get('store', datasetId)) !== undefined) {
    const { document } = await requireDataset(documents, datasetId);
    return update(
      datasetId,
      {
        name,
        adjustment,
        currency,
        mapping: mapping == null ? null : Mapping.parse(mapping),
        versions_kept: versionsKept,
        ...(isRestored(kind) && !isSameLocation(document.source, source)
          ? { source: resolveSourceLocation(source, version) }
          : {}),
      },
      ifMatch,
      authorship,
    );
  }
  if (!isRestored(kind) || source === null)
    throw new Refusal('VERSION_NOT_RESTORABLE', `The data of the store ${datasetId} was deleted with it.`, {
      version,
    });
  if (ifMatch !== undefined)
    throw new Refusal('PRECONDITION_FAILED', 'If-Match names a document, but none is stored.', { etag: null });
  const location = resolveSourceLocation(source, version);
  const request = { store_id: datasetId, name, kind, location, tables, adjustment, currency, mapping };
  const requester = { client: authorship.keyId ?? null, signal: closing };
  return { store: await create({ ...request, activate: false }, requester, authorship) };
}

/** Returns true if a client gave the location of the store's data. */
const isRestored = (kind: DatasetDocument['kind']): kind is DataStoreCreate['kind'] =>
  kind === 'folder' || kind === 'database';

/**
 * Refuses a source that another store already reads: a folder, a market file in it, or database tables. Two stores of
 * one source could not be distinguished.
 */
async function assertUnregistered(
  { kind, location, tables }: Pick<DatasetDocument, 'kind' | 'location' | 'tables'>,
  reader: DocumentReader,
  ownId?: string,
): Promise<void> {
  const holder = (await listDatasets(reader)).find(
    (other) =>
      other.store_id !== ownId &&
      (other.location === location || other.source === location) &&
      (kind === 'database' ? haveSameTables(tables, other.tables) : !areTwoFiles(tables, other.tables)),
  );
  if (holder === undefined) return;
  const message =
    kind === 'database'
      ? `The database with these tables is already registered as the data store ${holder.store_id}.${REGISTRATION_ADVICE}`
      : describeRegistration(tables.market, holder);
  throw new Refusal('FOLDER_REGISTERED', message, { store_id: holder.store_id });
}

/** Describes the store that already reads a folder or a file, and the part that it reads. */
function describeRegistration(
  market: string | undefined,
  { store_id: storeId, tables: { market: marketFiles } }: Pick<DatasetDocument, 'store_id' | 'tables'>,
): string {
  const subject = market === undefined ? 'The folder' : `The file ${market} of the folder`;
  const part =
    market === marketFiles
      ? ''
      : marketFiles === undefined
        ? ', which reads the whole folder'
        : `, whose market is its file ${marketFiles}`;
  return `${subject} is already registered as the data store ${storeId}${part}.${REGISTRATION_ADVICE}`;
}

/** Advice for a client that registers a source twice. */
const REGISTRATION_ADVICE = ' To read it otherwise, change that store (adjustment, mapping) or register a copy.';

/** Returns true if two stores of one folder use different files as their market. */
function areTwoFiles(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return a.market !== undefined && b.market !== undefined && a.market !== b.market;
}

/**
 * Returns true if two stores read the same tables of a database. If no table name is given, the name of the dataset is
 * the table name.
 */
function haveSameTables(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return TABLE_KINDS.every((table) => (a[table] ?? table) === (b[table] ?? table));
}

/**
 * Returns the canonical location of a store: the real path of a folder, or the URL of a database with the real path of
 * a database file.
 */
async function resolveLocation(
  { locations, databases, secrets }: SourceContext,
  kind: 'folder' | 'database',
  location: string,
  path: string,
): Promise<string> {
  const resolvedLocation =
    kind === 'folder' ? await locations.resolve(location, 'folder') : await databases.resolve(location);
  if ('problem' in resolvedLocation)
    throw refuseData([{ severity: 'error', ...resolvedLocation.problem, path, ...quoteLocation(location) }]);
  if ('path' in resolvedLocation) return resolvedLocation.path;
  return resolvedLocation.place.kind === 'postgresql'
    ? changePassword(location, secrets.seal)
    : `${resolvedLocation.place.kind}://${pathToFileURL(resolvedLocation.place.path).pathname}`;
}

/**
 * Returns the canonical location for a source that a client enters. @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED
 */
async function resolveSource(context: SourceContext, { kind }: DatasetDocument, source: string): Promise<string> {
  const createRefusal = (finding: Omit<Finding, 'severity'>) =>
    refuseWithFindings('request', [{ severity: 'error', ...finding }]);
  if (kind === 'synthetic' || kind === 'imported') {
    throw createRefusal({
      code: 'IMMUTABLE_FIELD',
      path: 'source',
      message: `The source of a data store of kind ${kind} cannot be changed.`,
    });
  }
  return resolveLocation(context, kind, source, 'source');
}

/** Registry of stores. Clients add and change folders and databases, and remove stores of any kind. */
export interface DatasetRegistration {
  /** Registers a folder or database as a store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, FOLDER_REGISTERED, STORE_LOADING, NOT_SUPPORTED */
  create(request: DataStoreCreate, asker: Requester, by?: Authorship): Promise<DataStore>;
  /**
   * Changes the declarations of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, PRECONDITION_FAILED, FOLDER_REGISTERED, STORE_LOADING,
   *   STORE_REFRESHING, VALIDATION_FAILED, NOT_SUPPORTED
   */
  update(
    datasetId: string,
    request: DataStoreUpdate,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly store: DataStore; readonly etag: string }>;
  /** Deletes a store. @throws Refusal STORE_NOT_FOUND, PRECONDITION_FAILED, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  remove(datasetId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /**
   * Restores the declarations of a store from one of its versions. A deleted folder or database is read again.
   * @throws Refusal VERSION_NOT_RESTORABLE if the data was deleted with the store; otherwise the refusals of `update`
   * and `create`
   */
  restore(
    version: VersionContent,
    ifMatch: Precondition | undefined,
    by: Authorship,
  ): Promise<{ readonly store: DataStore; readonly etag?: string }>;
}

export function createDatasetRegistration(context: StoreWork): DatasetRegistration {
  const { documents, activity, activations, loading, readers, closing, versions, timestamp } = context;

  async function createDataset(
    request: DataStoreCreate,
    { client, signal }: Requester,
    authorship?: Authorship,
  ): Promise<DataStore> {
    const requester = { client, signal: AbortSignal.any([signal, closing]) };
    const datasetId = request.store_id ?? createSlug(request.name);
    await activity.assertFree(datasetId);
    const location = await resolveLocation(context, request.kind, request.location, 'location');
    await assertUnregistered({ ...request, location }, documents);
    await activity.beginReading(datasetId, { isLoad: true });
    const source = {
      store_id: datasetId,
      kind: request.kind,
      location,
      tables: request.tables,
      adjustment: request.adjustment,
      currency: request.currency,
      mapping: request.mapping,
    };
    return activity.asReader(datasetId, async () => {
      const { activate: willBeActive } = request;
      // Served also if it is not activated: a refresh compares the source with the content that was registered.
      const options = { serve: true, willBeActive, signal: requester.signal };
      const loadOutcome = await readers(() => loading.read(source, options), requester);
      if (loadOutcome.kind === 'refused') throw refuseData(placeFindings('location', loadOutcome.findings));
      const currentTimestamp = timestamp();
      const document: DatasetDocument = {
        ...source,
        name: request.name,
        managed: false,
        active: false,
        writing: false,
        source: location,
        created_at: currentTimestamp,
        last_refreshed_at: null,
        synthetic: null,
        ...blankDataset,
        ...createLoadedFields(loadOutcome.summary, currentTimestamp),
      };
      const served = loadOutcome.served!; // the read was requested with panels
      const version = await versions.prepare(served, { source: 'import', kind: source.kind });
      await activations.prepare(served);
      const write = async (tx: DocumentTransaction): Promise<void> => {
        await activity.assertFree(datasetId, tx);
        await assertUnregistered(source, tx);
        const writeContent = willBeActive ? activateDataset : replaceDataset;
        await writeContent(tx, { document, served, activations, version });
      };
      await documents.transaction(write, { by: authorship });
      return toDataStore(document, { isServed: request.activate, activity: undefined });
    });
  }

  async function update(
    datasetId: string,
    request: DataStoreUpdate,
    ifMatch: Precondition | undefined,
    authorship?: Authorship,
  ) {
    await activity.requireKnown(datasetId);
    await activity.assertIdle(datasetId);
    const source =
      request.source == null
        ? request.source
        : await resolveSource(context, (await activity.requireKnown(datasetId)).document, request.source);
    const write = async (tx: DocumentTransaction) => {
      await assertPrecondition(tx, 'store', datasetId, ifMatch);
      const { document } = await requireDataset(tx, datasetId);
      if (typeof source === 'string') await assertUnregistered({ ...document, location: source }, tx, datasetId);
      const changedDocument: DatasetDocument = {
        ...document,
        ...(request.name === undefined ? {} : { name: request.name }),
        ...(source === undefined ? {} : updateLocations(document, source)),
        ...(request.adjustment === undefined ? {} : { adjustment: request.adjustment }),
        ...(request.currency === undefined ? {} : { currency: request.currency }),
        ...(request.mapping === undefined ? {} : { mapping: changeMapping(document.mapping, request.mapping) }),
        ...(request.versions_kept === undefined ? {} : { versions_kept: request.versions_kept }),
      };
      const { adjustment, currency } = changedDocument;
      await activations.declare(tx, { datasetId, adjustment, currency });
      const etag = await tx.put('store', datasetId, changedDocument);
      return { after: changedDocument, etag };
    };
    const { after, etag } = await documents.transaction(write, { by: authorship });
    if (request.versions_kept !== undefined)
      while (await documents.transaction((tx) => purgeDataVersions(tx, datasetId), { by: authorship }));
    return { store: await activity.view(after), etag };
  }

  return {
    create: createDataset,
    update,
    remove: (datasetId, ifMatch, authorship) => removeDataset(context, datasetId, ifMatch, authorship),
    restore: (version, ifMatch, authorship) =>
      restoreDataset(context, { create: createDataset, update }, version, ifMatch, authorship),
  };
}

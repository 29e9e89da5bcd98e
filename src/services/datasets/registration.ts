import { pathToFileURL } from 'node:url';
import type { DataStore, DataStoreCreate, DataStoreUpdate } from '#contract/stores/store.js';
import type { DatasetDocument, DeclaredDataset } from '#domain/documents/dataset-document.js';
import { changeMapping, Mapping } from '#domain/documents/mapping.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DatabasePlaces } from '#market/sources/databases/database-place.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import type { Locations } from '#market/sources/locations.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import { changePassword, type SecretBox } from '#store/secrets/secret-box.js';
import type { DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { VersionContent } from '../history/versions.js';
import type { Asker, Gate } from '../shared/gate.js';
import { cancelJobsAbout, forgetJobsAbout, type JobsAbout } from '../shared/jobs-about.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { placeFindings, refuseData } from './refused-data.js';
import type { DatasetActivity } from './activity.js';
import {
  listDatasets,
  blankDataset,
  readDataset,
  requireDataset,
  slugOf,
  datasetNotFound,
  toDataStore,
} from '../stored/dataset-documents.js';
import { assertNothingPublished } from '../stored/kept-runs.js';
import { purgeDataVersions } from './purge-versions.js';
import { forgetAll, forgetDataVersions } from '../stored/data-history.js';
import type { DataVersions } from './data-versions.js';
import { activateIn } from './activate.js';
import type { Activations } from './activations.js';
import { createLoadedFields, type DatasetLoading } from './loading.js';
import { isSamePlace, openPlace, placesAfter, repeat } from './source-places.js';
import { publishReplaced } from './store-files.js';

export interface DatasetRegistrationDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly activity: DatasetActivity;
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly locations: Locations;
  readonly databases: DatabasePlaces;
  readonly folders: ManagedFolders;
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
  readonly timestamp: () => string;
  readonly versions: Pick<DataVersions, 'prepare'>;
  readonly secrets: Pick<SecretBox, 'seal'>;
}

/** List of stores. Folders and databases are added to it and changed; stores of any kind are removed from it. */
export interface DatasetRegistration {
  /** @throws Refusal VALIDATION_FAILED, STORE_EXISTS, FOLDER_REGISTERED, STORE_LOADING, NOT_SUPPORTED */
  create(request: DataStoreCreate, asker: Asker, by?: Authorship): Promise<DataStore>;
  /**
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, PRECONDITION_FAILED, FOLDER_REGISTERED, STORE_LOADING,
   *   STORE_REFRESHING, VALIDATION_FAILED, NOT_SUPPORTED
   */
  update(
    datasetId: string,
    request: DataStoreUpdate,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly store: DataStore; readonly etag: string }>;
  /** @throws Refusal STORE_NOT_FOUND, PRECONDITION_FAILED, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  remove(datasetId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /**
   * Restores the declarations of a store from one of its versions. A deleted folder or database is read again.
   * @throws Refusal VERSION_NOT_RESTORABLE if its data was deleted with it; otherwise as `update` and `create`
   */
  restore(
    version: VersionContent,
    ifMatch: Precondition | undefined,
    by: Authorship,
  ): Promise<{ readonly store: DataStore; readonly etag?: string }>;
}

export function createDatasetRegistration(dependencies: DatasetRegistrationDependencies): DatasetRegistration {
  const {
    documents,
    jobs,
    activity,
    activations,
    loading,
    locations,
    databases,
    folders,
    readers,
    closing,
    versions,
    secrets,
    timestamp,
  } = dependencies;

  async function create(request: DataStoreCreate, { client, signal }: Asker, by?: Authorship): Promise<DataStore> {
    const asker = { client, signal: AbortSignal.any([signal, closing]) };
    const datasetId = request.store_id ?? slugOf(request.name);
    await activity.assertFree(datasetId);
    const location = await placeOf(request.kind, request.location, 'location');
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
      const options = { serve: request.activate, signal: asker.signal };
      const loaded = await readers(() => loading.read(source, options), asker);
      if (loaded.kind === 'refused') throw refuseData(placeFindings('location', loaded.findings));
      const at = timestamp();
      const document: DatasetDocument = {
        ...source,
        name: request.name,
        managed: false,
        active: false,
        writing: false,
        source: location,
        created_at: at,
        last_refreshed_at: null,
        synthetic: null,
        ...blankDataset,
        ...createLoadedFields(loaded.summary, at),
      };
      const version =
        loaded.served === undefined
          ? null
          : await versions.prepare(loaded.served, { source: 'import', kind: source.kind });
      if (loaded.served !== undefined) await activations.prepare(loaded.served);
      const write = async (tx: DocumentTransaction): Promise<void> => {
        await activity.assertFree(datasetId, tx);
        await assertUnregistered(source, tx);
        if (loaded.served === undefined) await tx.put('store', datasetId, document);
        else await activateIn(tx, { document, served: loaded.served, activations, version });
      };
      await documents.transaction(write, { by });
      return toDataStore(document, { isServed: request.activate, activity: undefined });
    });
  }

  /**
   * Returns the canonical location of a store: the real path of a folder, or the URL of a database with the real path
   * of its file.
   */
  async function placeOf(kind: 'folder' | 'database', location: string, path: string): Promise<string> {
    const resolved =
      kind === 'folder' ? await locations.resolve(location, 'folder') : await databases.resolve(location);
    if ('problem' in resolved)
      throw refuseData([{ severity: 'error', ...resolved.problem, path, ...repeat(location) }]);
    if ('path' in resolved) return resolved.path;
    return resolved.place.kind === 'postgresql'
      ? changePassword(location, secrets.seal)
      : `${resolved.place.kind}://${pathToFileURL(resolved.place.path).pathname}`;
  }

  /**
   * Refuses a folder, a market file in it, or database tables that another store reads: two stores of one source would be
   * indistinguishable.
   */
  async function assertUnregistered(
    { kind, location, tables }: Pick<DatasetDocument, 'kind' | 'location' | 'tables'>,
    reader: DocumentReader,
    own?: string,
  ): Promise<void> {
    const holder = (await listDatasets(reader)).find(
      (other) =>
        other.store_id !== own &&
        (other.location === location || other.source === location) &&
        (kind === 'database' ? haveSameTables(tables, other.tables) : !areTwoFiles(tables, other.tables)),
    );
    if (holder === undefined) return;
    const message =
      kind === 'database'
        ? `The database with these tables is already registered as the data store ${holder.store_id}.${OTHERWISE}`
        : registeredText(tables.market, holder);
    throw new Refusal('FOLDER_REGISTERED', message, { store_id: holder.store_id });
  }

  async function update(
    datasetId: string,
    request: DataStoreUpdate,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ) {
    await activity.requireKnown(datasetId);
    await activity.assertIdle(datasetId);
    const source =
      request.source == null
        ? request.source
        : await sourceOf((await activity.requireKnown(datasetId)).document, request.source);
    const write = async (tx: DocumentTransaction) => {
      await assertPrecondition(tx, 'store', datasetId, ifMatch);
      const { document } = await requireDataset(tx, datasetId);
      if (typeof source === 'string') await assertUnregistered({ ...document, location: source }, tx, datasetId);
      const changed: DatasetDocument = {
        ...document,
        ...(request.name === undefined ? {} : { name: request.name }),
        ...(source === undefined ? {} : placesAfter(document, source)),
        ...(request.adjustment === undefined ? {} : { adjustment: request.adjustment }),
        ...(request.currency === undefined ? {} : { currency: request.currency }),
        ...(request.mapping === undefined ? {} : { mapping: changeMapping(document.mapping, request.mapping) }),
        ...(request.versions_kept === undefined ? {} : { versions_kept: request.versions_kept }),
      };
      const { adjustment, currency } = changed;
      await activations.declare(tx, { datasetId, adjustment, currency });
      const etag = await tx.put('store', datasetId, changed);
      return { after: changed, etag };
    };
    const { after, etag } = await documents.transaction(write, { by });
    if (request.versions_kept !== undefined)
      while (await documents.transaction((tx) => purgeDataVersions(tx, datasetId), { by }));
    return { store: await activity.view(after), etag };
  }

  async function sourceOf({ kind }: DatasetDocument, source: string): Promise<string> {
    const refuse = (finding: Omit<Finding, 'severity'>) =>
      refuseWithFindings('request', [{ severity: 'error', ...finding }]);
    if (kind === 'synthetic' || kind === 'imported') {
      throw refuse({
        code: 'IMMUTABLE_FIELD',
        path: 'source',
        message: `The source of a data store of kind ${kind} cannot be changed.`,
      });
    }
    return placeOf(kind, source, 'source');
  }

  async function remove(datasetId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void> {
    const stored = await documents.get('store', datasetId);
    const document = readStored(stored, readDataset);
    if (stored === undefined || (document !== undefined && (await activity.isAbandoned(document))))
      throw datasetNotFound(datasetId);
    if (activity.isServed(datasetId))
      throw new Refusal('STORE_ACTIVE', `The data store ${datasetId} is being served; activate another one first.`, {
        store_id: datasetId,
      });
    await activity.assertIdle(datasetId);
    // A refused deletion must not cancel anything.
    await assertPrecondition(documents, 'store', datasetId, ifMatch);
    if (by?.purges !== true) await assertNothingPublished(documents, datasetId);
    const deleted = { of: 'dataset', ids: [datasetId] } as const;
    await cancelJobsAbout(jobs, deleted); // Includes jobs submitted since.
    const forget = async (tx: DocumentTransaction): Promise<number> => {
      await assertPrecondition(tx, 'store', datasetId, ifMatch);
      if (by?.purges !== true) await assertNothingPublished(tx, datasetId);
      await tx.delete('store', datasetId);
      await activations.forget(tx, datasetId);
      publishReplaced(tx, document);
      tx.publish({ type: 'store-removed', store_id: datasetId });
      await forgetJobsAbout(tx, jobs, deleted);
      return forgetDataVersions(tx, datasetId);
    };
    await forgetAll(documents, datasetId, await documents.transaction(forget, { by }), by);
    // The store is already deleted. If its folder cannot be removed, the next start removes it.
    if (document?.managed === true && document.location !== null)
      await folders.remove(document.location, datasetId).catch(() => false);
  }

  async function restore({ version, body }: VersionContent, ifMatch: Precondition | undefined, by: Authorship) {
    const declared = body as unknown as DeclaredDataset; // Stored as a version of a store.
    const { store_id: datasetId, kind, name, source, tables, adjustment, currency, mapping } = declared;
    const kept = declared.versions_kept ?? null;
    if ((await documents.get('store', datasetId)) !== undefined) {
      const { document } = await requireDataset(documents, datasetId);
      return update(
        datasetId,
        {
          name,
          adjustment,
          currency,
          mapping: mapping == null ? null : Mapping.parse(mapping),
          versions_kept: kept,
          ...(isPlaced(kind) && !isSamePlace(document.source, source) ? { source: openPlace(source, version) } : {}),
        },
        ifMatch,
        by,
      );
    }
    if (!isPlaced(kind) || source === null)
      throw new Refusal('VERSION_NOT_RESTORABLE', `The data of the store ${datasetId} was deleted with it.`, {
        version,
      });
    if (ifMatch !== undefined)
      throw new Refusal('PRECONDITION_FAILED', 'If-Match names a document, but none is stored.', { etag: null });
    const location = openPlace(source, version);
    const request = { store_id: datasetId, name, kind, location, tables, adjustment, currency, mapping };
    const asker = { client: by.keyId ?? null, signal: closing };
    return { store: await create({ ...request, activate: false }, asker, by) };
  }

  return { create, update, remove, restore };
}

/** Tests that a client gave the location of a store's data. */
const isPlaced = (kind: DatasetDocument['kind']): kind is DataStoreCreate['kind'] =>
  kind === 'folder' || kind === 'database';

/**
 * Returns true if two stores read the same tables of a database. A table without a name has the name of its dataset.
 */
/** Returns true if two stores of one folder use different files as their market. */
/** Describes which store reads a folder or a file in it, and which part. */
function registeredText(
  market: string | undefined,
  { store_id: storeId, tables: { market: held } }: Pick<DatasetDocument, 'store_id' | 'tables'>,
): string {
  const what = market === undefined ? 'The folder' : `The file ${market} of the folder`;
  const part =
    market === held ? '' : held === undefined ? ', which reads the whole folder' : `, whose market is its file ${held}`;
  return `${what} is already registered as the data store ${storeId}${part}.${OTHERWISE}`;
}

/** The usual intention of registering a source twice. */
const OTHERWISE = ' To read it otherwise, change that store (adjustment, mapping) or register a copy.';

function areTwoFiles(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return a.market !== undefined && b.market !== undefined && a.market !== b.market;
}

function haveSameTables(a: DatasetDocument['tables'], b: DatasetDocument['tables']): boolean {
  return TABLE_KINDS.every((table) => (a[table] ?? table) === (b[table] ?? table));
}

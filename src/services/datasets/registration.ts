import type { DataStore, DataStoreCreate, DataStoreUpdate } from '#contract/stores/store.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import { changeMapping } from '#domain/documents/mapping.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { DatabaseLocations } from '#market/sources/databases/database-location.js';
import type { Locations } from '#market/sources/locations.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { SecretBox } from '#store/secrets/secret-box.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { VersionContent } from '../history/versions.js';
import type { Requester, Gate } from '../shared/gate.js';
import type { JobsAbout } from '../shared/jobs-about.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { placeFindings, refuseData } from './refused-data.js';
import type { DatasetActivity } from './activity.js';
import { removeDataset } from './dataset-removal.js';
import { restoreDataset } from './dataset-restoration.js';
import { assertUnregistered } from './registered-sources.js';
import { resolveLocation, resolveSource } from './source-locations.js';
import { blankDataset, requireDataset, createSlug, toDataStore } from '../stored/dataset-documents.js';
import { purgeDataVersions } from './purge-versions.js';
import type { DataVersions } from './data-versions.js';
import { activateDataset, replaceDataset } from './activate.js';
import type { Activations } from './activations.js';
import { createLoadedFields, type DatasetLoading } from './loading.js';
import { updateLocations } from './resolve-location.js';

export interface DatasetRegistrationDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly activity: DatasetActivity;
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly folders: ManagedFolders;
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
  readonly timestamp: () => string;
  readonly versions: Pick<DataVersions, 'prepare'>;
  readonly secrets: Pick<SecretBox, 'seal'>;
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

export function createDatasetRegistration(dependencies: DatasetRegistrationDependencies): DatasetRegistration {
  const { documents, activity, activations, loading, readers, closing, versions, timestamp } = dependencies;

  async function createDataset(
    request: DataStoreCreate,
    { client, signal }: Requester,
    authorship?: Authorship,
  ): Promise<DataStore> {
    const requester = { client, signal: AbortSignal.any([signal, closing]) };
    const datasetId = request.store_id ?? createSlug(request.name);
    await activity.assertFree(datasetId);
    const location = await resolveLocation(dependencies, request.kind, request.location, 'location');
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
        : await resolveSource(dependencies, (await activity.requireKnown(datasetId)).document, request.source);
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
    remove: (datasetId, ifMatch, authorship) => removeDataset(dependencies, datasetId, ifMatch, authorship),
    restore: (version, ifMatch, authorship) =>
      restoreDataset({ documents, create: createDataset, update, closing }, version, ifMatch, authorship),
  };
}

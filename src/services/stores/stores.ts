import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Health } from '#contract/service.js';
import type {
  DataAudit,
  DataStore,
  DataStoreCollection,
  DataStoreCreate,
  DataStoreUpdate,
  ImportResult,
  InspectRequest,
  InspectResult,
  RepairRequest,
} from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import {
  type DatasetDocument,
  type DeclaredDataset,
  hidesPassword,
  type ImportFormat,
  removePassword,
  TABLE_KINDS,
} from '#domain/definition/datasets.js';
import { changeMapping, Mapping } from '#domain/definition/mapping.js';
import type { Authorship } from '#domain/definition/versions.js';
import { listKindsDeletedWith } from '#domain/outputs/jobs.js';
import { isLiveIn } from '#jobs/port/life-cycle.js';
import { listFolderFiles } from '#market/read/folder.js';
import { createImportTemplate } from '#market/read/import.js';
import type { InspectedData } from '#market/read/inspection.js';
import { inspectMarket } from '#market/serve/market-process.js';
import { createProblems } from '#market/tables/problems.js';
import { type DocumentReader, type DocumentTransaction, readStoredBody } from '#store/port.js';
import { changePassword } from '#store/secret-box.js';
import { assertPrecondition, type Precondition } from '../shared/documents.js';
import { createGate, type Requester } from '../shared/gate.js';
import { deleteJobsAbout } from '../shared/jobs.js';
import { assertNothingPublished } from '../shared/run-documents.js';
import {
  blankDataset,
  createSlug,
  deleteDataVersions,
  deleteVersions,
  listDatasets,
  publishReplaced,
  readDataset,
  refuseMissingDataset,
  requireDataset,
  type SourceContext,
  toDataStore,
  toListedDataset,
} from '../shared/store-documents.js';
import type { VersionContent } from '../shared/versions.js';
import { createDatasetAudits, createPartialDatesReader } from './audits.js';
import { purgeDataVersions } from './data-versions.js';
import type { ServedDataset } from './data.js';
import { createDatasetImports, type ImportedBody } from './imports.js';
import { createDatasetSubmissions, type DatasetJobs, type DatasetSubmissions } from './jobs.js';
import { convertFailure, createDatasetActivity, createLoadedFields, placeFindings, refuseData } from './loading.js';
import {
  activateDataset,
  createDatasetResumption,
  replaceDataset,
  type StoreContext,
  type StoreWork,
} from './serving.js';

export interface Datasets extends DatasetRegistration, DatasetSubmissions {
  list(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<DataStoreCollection>;
  /**
   * @returns the store and the etag of its document; the etag is present only while no work on the store is running.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  get(datasetId: string): Promise<{ readonly store: DataStore; readonly etag: string | undefined }>;
  /** Imports data as a store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  importData(body: ImportedBody, asker: Requester, by?: Authorship): Promise<ImportResult>;
  /** Inspects data and proposes a mapping. @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED, OVERLOADED */
  inspect(request: InspectRequest, asker: Requester): Promise<InspectResult>;
  template(format: ImportFormat): {
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly type: string;
    readonly name: string;
  };
  /**
   * Lists probable errors in the data of a store.
   * @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_LOADING, STORE_REFRESHING, VALIDATION_FAILED
   */
  audit(datasetId: string, asker: Requester): Promise<DataAudit>;
  /** Creates a store with chosen repairs applied. @throws Refusal STORE_EXISTS, and the refusals of `audit` */
  repair(datasetId: string, request: RepairRequest, asker: Requester, by?: Authorship): Promise<ImportResult>;
  /**
   * Called after the jobs have started. Removes what a crash left behind, and reads the previously served store in the
   * background.
   * @param keepsServed true to serve the copy of the store's content, if there is one, and to ignore changes of its
   * source
   */
  resume(keepsServed?: boolean): Promise<void>;
  /** Called before the first request. The previously served store then counts as loading and not as absent. */
  announce(): Promise<void>;
  /** Stops reads outside jobs. Resolves when the resumption has ended and the served content is copied. */
  close(): Promise<void>;
  datasetInUse(datasetId: string): Promise<ServedDataset | undefined>;
  health(): Promise<Health['store']>;
}

/**
 * Limits on concurrent requests that read or import a store. Each uses its own process, and a waiting request holds a
 * body of up to 64 MiB. One key cannot use all slots.
 */
const READERS = { name: 'imports', runningMax: 3, waitingMax: 8, clientRunningMax: 2, clientWaitingMax: 5 };

/**
 * Limits on concurrent uploads of tables. Each upload can use the maximum body size on disk. No upload waits, because
 * the body of a waiting upload would have to be received first.
 */
const UPLOADS = { name: 'uploads', runningMax: 3, waitingMax: 0, clientRunningMax: 2, clientWaitingMax: 0 };

export function createDatasets(context: StoreContext, kinds: DatasetJobs): Datasets {
  const { documents, markets, stores, calendarsInUse } = context;
  const closing = new AbortController();
  const activity = createDatasetActivity(context);
  const readPartialDates = createPartialDatesReader(documents);
  const readers = createGate(READERS);
  const uploads = createGate(UPLOADS);
  const work = { ...context, activity, readers, uploads, closing: closing.signal };
  const registration = createDatasetRegistration(work);
  const imports = createDatasetImports(work);
  const submissions = createDatasetSubmissions(work, kinds);
  const resumption = createDatasetResumption(work);
  let pendingResumption: Promise<void> = Promise.resolve();

  const audits = createDatasetAudits(context, {
    readContent: async ({ store_id: datasetId }) => {
      if (!activity.isServed(datasetId)) await activity.assertIdle(datasetId);
      return (await stores.of(datasetId)).handle;
    },
    register: imports.register,
  });

  async function repair(
    datasetId: string,
    request: RepairRequest,
    requester: Requester,
    authorship?: Authorship,
  ): Promise<ImportResult> {
    const { document } = await activity.requireKnown(datasetId);
    if (request.activate) await activity.assertNoneLoads();
    const repairUnderId = async (newId: string) => {
      await activity.assertFree(newId);
      return audits.repair(document, { ...request, store_id: newId }, requester, authorship);
    };
    return request.store_id === undefined
      ? activity.withFreeId(`${datasetId.slice(0, 48)}-repaired`, async (newId) => repairUnderId(newId))
      : await repairUnderId(request.store_id);
  }

  return {
    async list({ limit, after }) {
      const { documents: datasets, skipped, skipped_causes } = await documents.list('store', readDataset);
      const stores: DataStoreCollection['stores'] = [];
      for (const document of datasets) {
        if (stores.length === limit) break;
        if ((after !== undefined && document.store_id <= after) || (await activity.isAbandoned(document))) continue;
        stores.push(toListedDataset(await activity.view(document)));
      }
      return {
        stores,
        active: markets.served()?.handle.datasetId ?? null,
        skipped,
        skipped_causes,
      };
    },
    async get(datasetId) {
      const { document, etag } = await activity.requireKnown(datasetId);
      const isAtRest = (await activity.of(datasetId)) === undefined && !document.writing;
      return { store: await activity.view(document), etag: isAtRest ? etag : undefined };
    },
    ...registration,
    ...submissions,
    importData: imports.importData,
    // The data have no store yet: only indices without a store may use them.
    inspect: createDatasetInspections(work, () => calendarsInUse('', true)),
    template: (format) => ({ bytes: createImportTemplate(format), ...TEMPLATES[format] }),
    audit: async (datasetId, requester) => audits.audit((await activity.requireKnown(datasetId)).document, requester),
    repair,
    announce: resumption.announce,
    resume(keepsServed = false) {
      pendingResumption = resumption.resume(keepsServed);
      return pendingResumption;
    },
    async close() {
      closing.abort(new Refusal('DRAINING', 'The service is stopping.'));
      await pendingResumption.catch(() => {}); // the failure is reported to the caller that awaits the resumption
      await context.versions.close();
    },
    async datasetInUse(datasetId) {
      const storedDocument = await documents.get('store', datasetId);
      const document = readStoredBody(storedDocument, readDataset);
      return document && { kind: document.kind, sizeBytes: document.size_bytes, files: document.files };
    },
    async health() {
      const servedMarket = markets.served();
      if (servedMarket !== undefined) {
        const endDay = servedMarket.market.dates.at(-1);
        return {
          active: servedMarket.handle.datasetId,
          status: (await activity.of(servedMarket.handle.datasetId)) ?? 'ready',
          end: endDay === undefined ? null : formatDay(endDay),
          partial_dates: await readPartialDates(servedMarket.handle.datasetId),
        };
      }
      const [coming] = activity.reading;
      return { active: null, status: coming === undefined ? null : 'loading', end: null, partial_dates: null };
    },
  };
}

const TEMPLATES: Record<ImportFormat, { readonly type: string; readonly name: string }> = {
  xlsx: { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', name: 'import-template.xlsx' },
  'csv.zip': { type: 'application/zip', name: 'import-template.zip' },
  csv: { type: 'application/zip', name: 'import-template.zip' },
};

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

function createDatasetRegistration(context: StoreWork): DatasetRegistration {
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

/**
 * Creates the function that inspects data and proposes a mapping.
 * @param calendarsInUse calendars of the indices that may use the data; default: none
 * @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED, OVERLOADED
 */
export function createDatasetInspections(
  { locations, databases, readers, closing }: StoreWork,
  calendarsInUse?: () => Promise<UsedCalendars>,
) {
  async function inspectData(request: InspectRequest, requester: Requester): Promise<InspectResult> {
    const signal = AbortSignal.any([requester.signal, closing]);
    const field = request.location === undefined ? 'content' : 'location';
    const [inspectedData, calendars] = await Promise.all([inspectSource(request), calendarsInUse?.() ?? { codes: [] }]);
    const input = { inspected: inspectedData, inspectionTerms: { mapping: request.mapping, answers: request.answers } };
    const inspection = await readers(() => convertFailure(field, inspectMarket(input, signal, calendars)), {
      ...requester,
      signal,
    });
    return {
      ...inspection,
      basis: { ...inspection.basis, others: [...inspection.basis.others] },
      unsure: inspection.unsure.map(({ conflicts, ...question }) => ({
        ...question,
        others: [...question.others],
        ...(conflicts === undefined ? {} : { conflicts: [...conflicts] }),
      })),
      questions: inspection.unsure.map(({ question }) => question),
      findings: placeFindings(field, inspection.findings) as InspectResult['findings'],
      faulty_files: [...inspection.faulty_files],
    };
  }

  async function inspectSource({
    location,
    content,
    format,
    tables,
    mapping,
    answers,
  }: InspectRequest): Promise<InspectedData> {
    if (location === undefined) return { kind: format, content: content! }; // the schema requires a location or content
    if (location.includes('://')) {
      const resolvedUrl = await databases.resolve(location);
      if ('problem' in resolvedUrl) throw createPathRefusal(resolvedUrl.problem);
      return { kind: 'database', place: resolvedUrl.place, tables };
    }
    const resolvedPath = await locations.resolve(location, 'folder');
    if ('problem' in resolvedPath) throw createPathRefusal(resolvedPath.problem);
    const problems = createProblems();
    const ignoredPaths = [...(mapping?.ignore ?? []), ...(answers?.ignore ?? [])];
    const files = await listFolderFiles(
      resolvedPath.path,
      { tables, mapping: Mapping.parse({ ignore: ignoredPaths }) },
      locations,
      problems,
    );
    const errors = problems.findings().filter(({ severity }) => severity === 'error');
    // A finding about many files has the path of the table, and the name of the first file.
    const isIgnored = ({ code, path, file }: Finding) =>
      code === 'UNREADABLE_FILE' && (path.startsWith('market/') || (path === 'market' && file !== undefined));
    if (errors.length > 0 && (files.market.length === 0 || !errors.every(isIgnored)))
      throw refuseData(placeFindings('location', problems.findings()));
    return { kind: 'files', files, unread: { findings: errors, files: problems.files() } };
  }

  return inspectData;
}

const createPathRefusal = (problem: Omit<Finding, 'severity'>) =>
  refuseData([{ severity: 'error', ...problem, path: 'location' }]);

import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import type { ImportFormat } from '#domain/documents/import-request.js';
import type { DataAudit, RepairRequest } from '#contract/stores/audit.js';
import type { InspectRequest, InspectResult } from '#contract/stores/inspect.js';
import type { ImportResult } from '#contract/stores/import.js';
import type { DataStore, DataStoreCollection } from '#contract/stores/store.js';
import type { Health } from '#contract/health.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { formatDay } from '#domain/time/days.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { DatabaseLocations } from '#market/sources/databases/database-location.js';
import { createImportTemplate } from '#market/import/import-template.js';
import type { Locations } from '#market/sources/locations.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ServedMarkets } from '#market/serving/served-markets.js';
import type { DocumentStore } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { ServedDataset } from './coverage.js';
import { createGate, type Requester } from '../shared/gate.js';
import type { SecretBox } from '#store/secrets/secret-box.js';
import type { Activations } from './activations.js';
import type { DataVersions } from './data-versions.js';
import { createDatasetActivity } from './activity.js';
import { createDatasetAudits } from './audits.js';
import { readDataset, toListedDataset } from '../stored/dataset-documents.js';
import { createDatasetInspections } from './inspections.js';
import type { ImportedBody } from './import-reading.js';
import { createDatasetImports } from './imports.js';
import type { DatasetJobs } from './jobs.js';
import type { DatasetLoading } from './loading.js';
import { createPartialDatesReader } from './partial-dates.js';
import { createDatasetRegistration, type DatasetRegistration } from './registration.js';
import { createDatasetResumption } from './resumption.js';
import type { StoreFiles } from './store-files.js';
import type { StoreMarkets } from './store-markets.js';
import { createDatasetSubmissions, type DatasetSubmissions } from './submissions.js';

export interface DatasetsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly kinds: DatasetJobs;
  readonly markets: ServedMarkets;
  readonly stores: Pick<StoreMarkets, 'of'>;
  readonly activations: Activations;
  readonly loading: DatasetLoading;
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  readonly calendars: Calendars;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  readonly versions: Pick<DataVersions, 'prepare' | 'preserve' | 'last' | 'copyUsed' | 'close'>;
  readonly secrets: Pick<SecretBox, 'seal'>;
  readonly timestamp: () => string;
}

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
  /** Returns the blank template of an import. */
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
  /** Returns the metadata of a store in use. */
  datasetInUse(datasetId: string): Promise<ServedDataset | undefined>;
  /** Returns the served store for `/health`. */
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

export function createDatasets(dependencies: DatasetsDependencies): Datasets {
  const { documents, jobs, markets, folders, stores } = dependencies;
  const closing = new AbortController();
  const activity = createDatasetActivity(dependencies);
  const readPartialDates = createPartialDatesReader(documents);
  const readers = createGate(READERS);
  const uploads = createGate(UPLOADS);
  const sharedDependencies = { ...dependencies, activity, readers, uploads, closing: closing.signal };
  const registration = createDatasetRegistration(sharedDependencies);
  const imports = createDatasetImports(sharedDependencies);
  const submissions = createDatasetSubmissions(sharedDependencies);
  const resumption = createDatasetResumption(sharedDependencies);
  let pendingResumption: Promise<void> = Promise.resolve();

  const audits = createDatasetAudits({
    jobs,
    folders,
    calendarsInUse: dependencies.calendarsInUse,
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
    inspect: createDatasetInspections({
      ...sharedDependencies,
      // The data have no store yet: only indices without a store may use them.
      calendarsInUse: () => dependencies.calendarsInUse('', true),
    }),
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
      await dependencies.versions.close();
    },
    async datasetInUse(datasetId) {
      const storedDocument = await documents.get('store', datasetId);
      const document = readStored(storedDocument, readDataset);
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

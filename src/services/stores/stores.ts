import type { Health } from '#contract/service.js';
import type {
  DataAudit,
  DataStore,
  DataStoreCollection,
  ImportResult,
  InspectRequest,
  InspectResult,
  RepairRequest,
} from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import type { ImportFormat } from '#domain/definition/datasets.js';
import { Mapping } from '#domain/definition/mapping.js';
import type { Authorship } from '#domain/definition/versions.js';
import { listFolderFiles } from '#market/read/folder.js';
import { createImportTemplate } from '#market/read/import-template.js';
import type { InspectedData } from '#market/read/inspection.js';
import { inspectMarket } from '#market/serve/market-process.js';
import { createProblems } from '#market/tables/problems.js';
import { readStoredBody } from '#store/port.js';
import { createGate, type Requester } from '../shared/gate.js';
import { readDataset, toListedDataset } from '../shared/store-documents.js';
import { createDatasetAudits, createPartialDatesReader } from './audits.js';
import type { ServedDataset } from './data.js';
import { createDatasetImports, type ImportedBody } from './imports.js';
import { createDatasetSubmissions, type DatasetJobs, type DatasetSubmissions } from './jobs.js';
import { convertFailure, createDatasetActivity, placeFindings, refuseData } from './loading.js';
import { createDatasetRegistration, type DatasetRegistration } from './registration.js';
import { createDatasetResumption, type StoreContext, type StoreWork } from './serving.js';

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

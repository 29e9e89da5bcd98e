import type { CalendarsInUse } from '#domain/calendars/used-calendars.js';
import type { ImportResult } from '#contract/stores/import.js';
import type { DataStore } from '#contract/stores/store.js';
import type { ImportHeader } from '#domain/documents/import-request.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { listFolderFiles, type TableFiles } from '#market/sources/folder.js';
import type { Locations } from '#market/sources/locations.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import { createProblems } from '#market/tables/problems.js';
import type { DocumentStore } from '#store/port.js';
import type { Requester, Gate } from '../shared/gate.js';
import { placeFindings, refuseData } from './refused-data.js';
import type { DatasetActivity } from './activity.js';
import type { RepairedStore } from './audits.js';
import { blankDataset, createSlug, toDataStore } from '../stored/dataset-documents.js';
import type { DataVersions } from './data-versions.js';
import type { Activations } from './activations.js';
import { assertUnchanged, commitImport } from './import-commit.js';
import { readImport, type ImportedBody } from './import-reading.js';
import { findPrevious } from './previous-import.js';
import { assertIntact } from './damaged-files.js';
import { createLoadedFields, type DatasetLoading } from './loading.js';
import type { StoreFiles } from './store-files.js';

export interface DatasetImportsDependencies {
  readonly documents: DocumentStore;
  readonly activity: DatasetActivity;
  readonly activations: Activations;
  readonly locations: Locations;
  readonly folders: ManagedFolders;
  readonly files: StoreFiles;
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Limits the number of concurrent uploads. */
  readonly uploads: Gate;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
  /** Returns the calendars of the indices that use a store. */
  readonly calendarsInUse: CalendarsInUse;
  readonly timestamp: () => string;
  readonly versions: Pick<DataVersions, 'prepare' | 'preserve'>;
  readonly loading: Pick<DatasetLoading, 'read'>;
}

/** Imports of stores with data that belongs to the service: imported and repaired stores. */
export interface DatasetImports {
  /** Imports data as a store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  importData(body: ImportedBody, asker: Requester, by?: Authorship): Promise<ImportResult>;
  /** Registers a repaired store, and serves it if it includes its panels. */
  register(repairedStore: RepairedStore, by?: Authorship): Promise<DataStore>;
}

/** Codes of an import whose previous store has other files now, or none. */
const REPLACED_CODES: ReadonlySet<string> = new Set<Refusal['code']>(['STORE_LOADING', 'STORE_NOT_FOUND']);

export function createDatasetImports(dependencies: DatasetImportsDependencies): DatasetImports {
  const { documents, activity, locations, folders, files: storeFiles, closing, timestamp } = dependencies;

  async function importData(
    body: ImportedBody,
    { client, signal }: Requester,
    authorship?: Authorship,
  ): Promise<ImportResult> {
    const requester = { client, signal: AbortSignal.any([signal, closing]) };
    let work: { readonly header: ImportHeader; readonly datasetId: string; readonly folder: string } | undefined;
    /** Stored document of the store that the import replaces or appends to. */
    let previousDocument: DatasetDocument | undefined;
    const onImport = async (header: ImportHeader) => {
      const datasetId = header.store_id ?? createSlug(header.name);
      previousDocument = await findPrevious(dependencies, datasetId, header);
      const load = header.activate || (previousDocument !== undefined && activity.isServed(datasetId));
      const previousFiles =
        previousDocument !== undefined && header.on_exists === 'append' ? await readFiles(previousDocument) : null;
      await activity.beginReading(datasetId, { isLoad: load });
      work = { header, datasetId, folder: await folders.create(datasetId) };
      const calendars = await dependencies.calendarsInUse(datasetId, load);
      return { folder: work.folder, storedFiles: previousFiles, load, calendars };
    };
    try {
      const result = await readImport(dependencies, body, { onImport, asker: requester });
      if (result.kind === 'refused') throw refuseData(placeFindings('content', result.findings));
      const { header, datasetId, folder } = work!; // `onImport` sets it before data is accepted
      const document = createImportedDataset(datasetId, header, previousDocument, folder, result.summary);
      const handle =
        result.handle === null
          ? null
          : { ...result.handle, datasetId, adjustment: document.adjustment, currency: document.currency };
      const source = previousDocument === undefined ? 'import' : header.on_exists === 'append' ? 'append' : 'replace';
      await commitImport(dependencies, document, handle, { previous: previousDocument, source, by: authorship });
      return createImportResult(
        toDataStore(document, { isServed: activity.isServed(datasetId), activity: undefined }),
        result.summary,
      );
    } catch (failure) {
      if (work !== undefined) await folders.discardFailed(work.folder, work.datasetId, failure);
      // Another import may have removed the files during the read. Their absence is then not an error in the data.
      if (previousDocument !== undefined && failure instanceof Refusal) await assertCurrent(previousDocument);
      throw failure;
    } finally {
      if (work !== undefined) activity.reading.delete(work.datasetId);
    }
  }

  /** Checks that no other import has replaced a store. @throws Refusal STORE_LOADING, STORE_NOT_FOUND */
  async function assertCurrent(previousDocument: DatasetDocument): Promise<void> {
    try {
      await assertUnchanged(documents, previousDocument);
    } catch (failure) {
      // This import may have fetched the previous files again after their removal.
      const { location, store_id: datasetId } = previousDocument;
      const isReplaced = failure instanceof Refusal && REPLACED_CODES.has(failure.code);
      if (location !== null && isReplaced) await folders.remove(location, datasetId).catch(() => false);
      throw failure;
    }
  }

  /** Returns the files of a managed store. */
  async function readFiles(document: DatasetDocument): Promise<TableFiles> {
    const { location } = await storeFiles.here(document);
    const problems = createProblems();
    const files = await listFolderFiles(location!, { tables: {}, mapping: null }, locations, problems);
    if (problems.errors > 0) throw refuseData(problems.findings());
    await assertIntact({ ...document, location }, files);
    return files;
  }

  function createImportedDataset(
    datasetId: string,
    header: ImportHeader,
    previousDocument: DatasetDocument | undefined,
    folder: string,
    summary: ContentSummary,
  ): DatasetDocument {
    const currentTimestamp = timestamp();
    return {
      store_id: datasetId,
      name: header.name,
      kind: 'imported',
      managed: true,
      active: previousDocument?.active ?? false,
      writing: false,
      location: folder,
      source: null,
      tables: {},
      adjustment: header.adjustment,
      mapping: null, // the import has applied its mapping
      currency: header.currency ?? (header.on_exists === 'append' ? (previousDocument?.currency ?? null) : null),
      created_at: previousDocument?.created_at ?? currentTimestamp,
      last_refreshed_at: previousDocument === undefined ? null : currentTimestamp,
      synthetic: null,
      ...blankDataset,
      ...createLoadedFields(summary, currentTimestamp),
    };
  }

  async function register(repairedStore: RepairedStore, authorship?: Authorship): Promise<DataStore> {
    const { datasetId, name, adjustment, currency, folder, summary, handle } = repairedStore;
    const header = {
      store_id: datasetId,
      name,
      adjustment,
      currency,
      format: 'csv.zip',
      mapping: null,
      activate: handle !== null,
      on_exists: 'refuse',
    } as const;
    const document = createImportedDataset(datasetId, header, undefined, folder, summary);
    await commitImport(dependencies, document, handle, { source: 'repair', by: authorship });
    return toDataStore(document, { isServed: activity.isServed(datasetId), activity: undefined });
  }

  return { importData, register };
}

function createImportResult(store: DataStore, summary: ContentSummary): ImportResult {
  return {
    store,
    rows: { ...(summary.rowsRead ?? summary.rows) },
    identifiers: summary.identifiers,
    start: store.start,
    end: store.end,
    findings: store.findings ?? [],
  };
}

import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImportResult } from '#contract/stores/import.js';
import type { DataStore } from '#contract/stores/store.js';
import type { ImportHeader, TableFormat } from '#domain/documents/import-request.js';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Finding } from '#domain/refusals/findings.js';
import { folderFiles, type TableFiles } from '#market/sources/folder.js';
import type { Locations } from '#market/sources/locations.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import { runMarketTask, type MarketTaskResult } from '#market/process/market-process.js';
import type { ContentSummary } from '#market/process/market-tasks.js';
import type { OnImport } from '#market/import/import-answer.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { isFull } from '#market/panels/shared-market.js';
import { createProblems } from '#market/tables/problems.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { Asker, Gate } from '../shared/gate.js';
import { placeFindings, refuseData, convertFailure } from './refused-data.js';
import type { DatasetActivity } from './activity.js';
import type { Repaired } from './audits.js';
import { blankDataset, requireDataset, slugOf, toDataStore } from '../stored/dataset-documents.js';
import type { DataSource } from '#domain/documents/data-version-document.js';
import { recordCopy } from '../stored/data-history.js';
import type { DataVersions } from './data-versions.js';
import { activateIn } from './activate.js';
import type { Activations } from './activations.js';
import { createLoadedFields, type DatasetLoading } from './loading.js';
import { publishReplaced, type StoreFiles } from './store-files.js';

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
  /** Calendars that stored indices are on. */
  readonly calendarsInUse: () => Promise<UsedCalendars>;
  readonly timestamp: () => string;
  readonly versions: Pick<DataVersions, 'prepare' | 'preserve'>;
  readonly loading: Pick<DatasetLoading, 'read'>;
}

/** The body of an import. */
export type ImportedBody =
  | { readonly kind: 'json'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'table';
      readonly header: ImportHeader;
      readonly dataset: TableKind;
      readonly format: TableFormat;
      readonly bytes: AsyncIterable<Uint8Array>;
    };

/** Stores whose data belongs to the service: imported and repaired ones. */
export interface DatasetImports {
  /** @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  importData(body: ImportedBody, asker: Asker, by?: Authorship): Promise<ImportResult>;
  /** Registers a repaired store, and serves it if it comes with its panels. */
  register(made: Repaired, by?: Authorship): Promise<DataStore>;
}

export function createDatasetImports(dependencies: DatasetImportsDependencies): DatasetImports {
  const {
    documents,
    activity,
    activations,
    locations,
    folders,
    files: storeFiles,
    readers,
    uploads,
    closing,
    calendarsInUse,
    versions,
    loading,
    timestamp,
  } = dependencies;

  async function importData(body: ImportedBody, { client, signal }: Asker, by?: Authorship): Promise<ImportResult> {
    const asker = { client, signal: AbortSignal.any([signal, closing]) };
    let work: { readonly header: ImportHeader; readonly datasetId: string; readonly folder: string } | undefined;
    /** Store to replace or to append to, as it was read. */
    let previous: DatasetDocument | undefined;
    const onImport = async (header: ImportHeader) => {
      const datasetId = header.store_id ?? slugOf(header.name);
      previous = await previousOf(datasetId, header);
      const load = header.activate || (previous !== undefined && activity.isServed(datasetId));
      const held = previous !== undefined && header.on_exists === 'append' ? await filesOf(previous) : null;
      await activity.beginReading(datasetId, { isLoad: load });
      work = { header, datasetId, folder: await folders.create(datasetId) };
      return { folder: work.folder, held, load };
    };
    try {
      const result = await (body.kind === 'json'
        ? readJson(body.bytes, onImport, asker)
        : readTable(body, onImport, asker));
      if (result.kind === 'refused') throw refuseData(placeFindings('content', result.findings));
      const { header, datasetId, folder } = work!; // answered, or nothing would have been accepted
      const document = createImportedDataset(datasetId, header, previous, folder, result.summary);
      const handle =
        result.handle === null
          ? null
          : { ...result.handle, datasetId, adjustment: document.adjustment, currency: document.currency };
      const source = previous === undefined ? 'import' : header.on_exists === 'append' ? 'append' : 'replace';
      await commit(document, handle, { previous, source, by });
      return importResult(
        toDataStore(document, { isServed: activity.isServed(datasetId), activity: undefined }),
        result.summary,
      );
    } catch (failure) {
      if (work !== undefined) await folders.discardFailed(work.folder, work.datasetId, failure);
      // Another import may have removed the files while they were read: their absence is no finding about the data.
      if (previous !== undefined && failure instanceof Refusal) await assertUnchanged(documents, previous);
      throw failure;
    } finally {
      if (work !== undefined) activity.reading.delete(work.datasetId);
    }
  }

  async function readJson(body: Uint8Array, onImport: OnImport, asker: Asker): Promise<MarketTaskResult> {
    const calendars = await calendarsInUse();
    const options = { load: UNNAMED, body, onImport, calendars, signal: asker.signal };
    return readers(() => convertFailure('content', runMarketTask('importBody', {}, options)), asker);
  }

  /** Writes a table next to the future store and reads it there. */
  async function readTable(
    { header, dataset, format, bytes }: Extract<ImportedBody, { kind: 'table' }>,
    onImport: OnImport,
    asker: Asker,
  ): Promise<MarketTaskResult> {
    const calendars = await calendarsInUse();
    return uploads(async () => {
      const answer = await onImport(header);
      const path = join(answer.folder, UPLOADED);
      try {
        await convertFailure('content', writeUpload(path, bytes));
        const options = { load: answer.load ? UNNAMED : null, calendars, signal: asker.signal };
        const input = { table: { path, dataset, format }, answer, terms: header };
        return await readers(() => convertFailure('content', runMarketTask('importTable', input, options)), asker);
      } finally {
        await removeUpload(path);
      }
    }, asker);
  }

  /** Returns the store that an import replaces or appends to. */
  async function previousOf(
    datasetId: string,
    { on_exists, adjustment, currency }: ImportHeader,
  ): Promise<DatasetDocument | undefined> {
    if (on_exists === 'refuse') {
      await activity.assertFree(datasetId);
      return undefined;
    }
    if ((await documents.get('store', datasetId)) === undefined) return undefined;
    const { document } = await requireDataset(documents, datasetId);
    if (await activity.isAbandoned(document)) return undefined;
    await activity.assertIdle(datasetId);
    if (document.kind !== 'imported')
      throw new Refusal(
        'STORE_EXISTS',
        `The data store ${datasetId} is of kind ${document.kind}; only an imported one is replaced or appended to.`,
      );
    if (on_exists === 'append' && adjustment !== document.adjustment) {
      const message = `The data store ${datasetId} holds prices of the basis ${document.adjustment}; prices of the basis ${adjustment} cannot be appended.`;
      throw refusedTerm({ path: 'adjustment', message, value: adjustment }, document.adjustment);
    }
    if (on_exists === 'append' && currency !== undefined && currency !== document.currency) {
      const message = `The data store ${datasetId} holds prices in ${document.currency ?? 'no declared currency'}; prices in ${currency ?? 'no declared currency'} cannot be appended.`;
      throw refusedTerm({ path: 'currency', message, value: currency }, document.currency);
    }
    return document;
  }

  /** Returns the files of a managed store. */
  async function filesOf(document: DatasetDocument): Promise<TableFiles> {
    const { location } = await storeFiles.here(document);
    const problems = createProblems();
    const files = await folderFiles(location!, { tables: {}, mapping: null }, locations, problems);
    if (problems.errors > 0) throw refuseData(problems.findings());
    return files;
  }

  function createImportedDataset(
    datasetId: string,
    header: ImportHeader,
    previous: DatasetDocument | undefined,
    folder: string,
    summary: ContentSummary,
  ): DatasetDocument {
    const at = timestamp();
    return {
      store_id: datasetId,
      name: header.name,
      kind: 'imported',
      managed: true,
      active: previous?.active ?? false,
      writing: false,
      location: folder,
      source: null,
      tables: {},
      adjustment: header.adjustment,
      mapping: null, // The store contains the result.
      currency: header.currency ?? (header.on_exists === 'append' ? (previous?.currency ?? null) : null),
      created_at: previous?.created_at ?? at,
      last_refreshed_at: previous === undefined ? null : at,
      synthetic: null,
      ...blankDataset,
      ...createLoadedFields(summary, at),
    };
  }

  /** Writes an imported store, serves it if it was loaded, and removes the folder that it replaced. */
  async function commit(
    made: DatasetDocument,
    handle: MarketHandle | null,
    { previous, source, by }: CommitTerms,
  ): Promise<void> {
    const document = { ...made, ...(await storeFiles.keep(made.location!)) }; // It was written to a folder.
    const served = handle === null ? undefined : await prepareServedMarket(handle, document.last_loaded_at!);
    const replaceValue = (): Promise<ServedMarket | undefined> => contentOf(previous);
    const version =
      served === undefined
        ? null
        : await versions.prepare(served, { source, kind: document.kind, replaced: replaceValue });
    const preserved =
      served === undefined && previous !== undefined ? await versions.preserve(previous.store_id, replaceValue) : null;
    if (served !== undefined) await activations.prepare(served);
    const write = async (tx: DocumentTransaction): Promise<void> => {
      if (previous === undefined) await activity.assertFree(document.store_id, tx);
      else await assertUnchanged(tx, previous);
      publishReplaced(tx, previous);
      if (preserved !== null) await recordCopy(tx, preserved);
      if (served === undefined) await tx.put('store', document.store_id, document);
      else await activateIn(tx, { document, served, activations, version });
    };
    await documents.transaction(write, { by });
    // The new folder is now the store. If the old one cannot be removed, the next start removes it.
    if (previous?.location != null) await folders.remove(previous.location, document.store_id).catch(() => false);
  }

  /** Reads the content of a store before it is replaced; undefined if the store is no longer readable. */
  async function contentOf(previous: DatasetDocument | undefined): Promise<ServedMarket | undefined> {
    if (previous?.location == null) return undefined;
    try {
      const loaded = await loading.read(previous, { serve: true, signal: closing });
      return loaded.kind === 'loaded' ? loaded.served : undefined;
    } catch (failure) {
      if (failure instanceof Refusal) return undefined;
      throw failure;
    }
  }

  async function register(made: Repaired, by?: Authorship): Promise<DataStore> {
    const { datasetId, name, adjustment, currency, folder, summary, handle } = made;
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
    await commit(document, handle, { source: 'repair', by });
    return toDataStore(document, { isServed: activity.isServed(datasetId), activity: undefined });
  }

  return { importData, register };
}

/** Another process may have imported into the store in the meantime; its rows must not be lost. */
async function assertUnchanged(reader: Pick<DocumentStore, 'get'>, previous: DatasetDocument): Promise<void> {
  const { store_id: datasetId, location } = previous;
  const { document } = await requireDataset(reader, datasetId);
  if (document.location !== location)
    throw new Refusal('STORE_LOADING', `The data store ${datasetId} was changed by another import; send it again.`);
}

interface CommitTerms {
  /** The store that is replaced. */
  readonly previous?: DatasetDocument | undefined;
  /** The origin of the content. */
  readonly source: DataSource;
  readonly by: Authorship | undefined;
}

/** A store has no id before its header is read; its panels are loaded under the one it turns out to have. */
const UNNAMED = { datasetId: '', adjustment: 'none' } as const;

/**
 * Name of a received table in the folder of its future store: never read as data, and removed with the folder after a
 * crash.
 */
const UPLOADED = '.uploaded';

/** @throws Refusal STORAGE_FULL, STORE_WRITE_FAILED; and what reading the bytes throws */
async function writeUpload(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  } catch (failure) {
    if (failure instanceof Refusal) throw failure;
    const code = isFull(failure) ? 'STORAGE_FULL' : 'STORE_WRITE_FAILED';
    throw new Refusal(code, 'The table could not be written.', null, { cause: failure });
  }
}

/** Removes a table, and what an Arrow stream was written as. */
async function removeUpload(path: string): Promise<void> {
  await Promise.all([path, `${path}.parquet`].map((file) => rm(file, { force: true })));
}

function importResult(store: DataStore, summary: ContentSummary): ImportResult {
  return {
    store,
    rows: { ...(summary.rowsRead ?? summary.rows) },
    identifiers: summary.identifiers,
    start: store.start,
    end: store.end,
    findings: store.findings ?? [],
  };
}

/** Returns the refusal for a term that differs from the store to which data is appended. */
function refusedTerm(term: Pick<Finding, 'path' | 'message' | 'value'>, accepted: string | null): Refusal {
  const finding = { severity: 'error', code: 'NOT_IN_CHOICES', ...term } as const;
  return refuseWithFindings('request', [accepted === null ? finding : { ...finding, accepted: [accepted] }]);
}

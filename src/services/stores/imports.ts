import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataStore, ImportResult } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import type { DatasetDocument, DataSource, ImportHeader, TableFormat } from '#domain/definition/datasets.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketHandle } from '#domain/market/market-data.js';
import { isFull } from '#market/panels/market-transfer.js';
import { listFolderFiles, type TableFiles } from '#market/read/folder.js';
import type { OnImport } from '#market/read/import.js';
import { type MarketTaskResult, prepareMarketProcess, runMarketTask } from '#market/serve/market-process.js';
import type { ContentSummary } from '#market/serve/market-tasks.js';
import { prepareServedMarket, type ServedMarket } from '#market/serve/served-markets.js';
import { createProblems } from '#market/tables/problems.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import type { Requester } from '../shared/gate.js';
import {
  blankDataset,
  createSlug,
  publishReplaced,
  recordCopy,
  requireDataset,
  toDataStore,
} from '../shared/store-documents.js';
import type { RepairedStore } from './audits.js';
import {
  assertFilesUnchanged,
  convertFailure,
  createLoadedFields,
  type DatasetActivity,
  placeFindings,
  refuseData,
} from './loading.js';
import { activateDataset, type StoreWork } from './serving.js';

interface CommitTerms {
  /** Store that the import replaces or appends to. */
  readonly previous?: DatasetDocument | undefined;
  /** Origin of the content. */
  readonly source: DataSource;
  readonly by: Authorship | undefined;
}

/** Writes an imported store. Serves the store if it was loaded, and removes the folder that the store used before. */
async function commitImport(
  context: StoreWork,
  dataset: DatasetDocument,
  handle: MarketHandle | null,
  { previous, source, by }: CommitTerms,
): Promise<void> {
  const { documents, activity, activations, folders, files: storeFiles, versions } = context;
  const document = { ...dataset, ...(await storeFiles.keep(dataset.location!)) }; // an imported store has a folder
  const servedMarket = handle === null ? undefined : await prepareServedMarket(handle, document.last_loaded_at!);
  const replaceValue = (): Promise<ServedMarket | undefined> => readReplacedMarket(context, previous);
  const version =
    servedMarket === undefined
      ? null
      : await versions.prepare(servedMarket, { source, kind: document.kind, replaced: replaceValue });
  const preservedContent =
    servedMarket === undefined && previous !== undefined
      ? await versions.preserve(previous.store_id, replaceValue)
      : null;
  if (servedMarket !== undefined) await activations.prepare(servedMarket);
  const write = async (tx: DocumentTransaction): Promise<void> => {
    if (previous === undefined) await activity.assertFree(document.store_id, tx);
    else await assertUnchanged(tx, previous);
    publishReplaced(tx, previous);
    if (preservedContent !== null) await recordCopy(tx, preservedContent);
    if (servedMarket === undefined) await tx.put('store', document.store_id, document);
    else await activateDataset(tx, { document, served: servedMarket, activations, version });
  };
  await documents.transaction(write, { by });
  // The store now uses the new folder. If the old folder cannot be removed, the next start of the service removes it.
  if (previous?.location != null) await folders.remove(previous.location, document.store_id).catch(() => false);
}

/** Reads the content of a store before it is replaced. Returns undefined if the content can no longer be read. */
async function readReplacedMarket(
  { loading, closing }: StoreWork,
  previousDocument: DatasetDocument | undefined,
): Promise<ServedMarket | undefined> {
  if (previousDocument?.location == null) return undefined;
  try {
    const loadOutcome = await loading.read(previousDocument, { serve: true, signal: closing });
    return loadOutcome.kind === 'loaded' ? loadOutcome.served : undefined;
  } catch (failure) {
    if (failure instanceof Refusal) return undefined;
    throw failure;
  }
}

/**
 * Checks that no other process has imported into the store since it was read. The rows of that import would be lost.
 */
async function assertUnchanged(reader: Pick<DocumentStore, 'get'>, previousDocument: DatasetDocument): Promise<void> {
  const { store_id: datasetId, location } = previousDocument;
  const { document } = await requireDataset(reader, datasetId);
  if (document.location !== location)
    throw new Refusal('STORE_LOADING', `The data store ${datasetId} was changed by another import; send it again.`);
}

export type ImportedBody =
  | { readonly kind: 'json'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'table';
      readonly header: ImportHeader;
      readonly dataset: TableKind;
      readonly format: TableFormat;
      readonly bytes: AsyncIterable<Uint8Array>;
    };

interface ImportTerms {
  /** Called when the header has been read. */
  readonly onImport: OnImport;
  readonly asker: Requester;
}

/** Reads the data of an import into the folder of its future store. */
const readImport = (context: StoreWork, body: ImportedBody, terms: ImportTerms): Promise<MarketTaskResult> =>
  body.kind === 'json' ? readJson(context, body.bytes, terms) : readTable(context, body, terms);

async function readJson(
  { readers }: StoreWork,
  body: Uint8Array,
  { onImport, asker }: ImportTerms,
): Promise<MarketTaskResult> {
  const options = { load: UNNAMED, body, onImport, signal: asker.signal };
  return readers(() => convertFailure('content', runMarketTask('importBody', {}, options)), asker);
}

/** Writes a table into the folder of the new store and reads it there. */
async function readTable(
  { readers, uploads }: StoreWork,
  { header, dataset, format, bytes }: Extract<ImportedBody, { kind: 'table' }>,
  { onImport, asker }: ImportTerms,
): Promise<MarketTaskResult> {
  return uploads(async () => {
    prepareMarketProcess(); // it starts while the table is received
    const answer = await onImport(header);
    const path = join(answer.folder, UPLOADED);
    try {
      await convertFailure('content', writeUpload(path, bytes));
      const options = { load: answer.load ? UNNAMED : null, signal: asker.signal };
      const input = { table: { path, dataset, format }, answer, terms: header };
      return await readers(() => convertFailure('content', runMarketTask('importTable', input, options)), asker);
    } finally {
      await removeUpload(path);
    }
  }, asker);
}

/** Identity that is used for panels before the header with the store's id has been read. */
const UNNAMED = { datasetId: '', adjustment: 'none' } as const;

/**
 * File name of a received table in the folder of the new store. The file is never read as data. After a crash it is
 * removed with the folder.
 */
const UPLOADED = '.uploaded';

/** Writes an upload to a file. @throws Refusal STORAGE_FULL, STORE_WRITE_FAILED, and errors of reading the bytes */
async function writeUpload(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx', mode: 0o600 });
  } catch (failure) {
    if (failure instanceof Refusal) throw failure;
    const code = isFull(failure) ? 'STORAGE_FULL' : 'STORE_WRITE_FAILED';
    throw new Refusal(code, 'The table could not be written.', null, { cause: failure });
  }
}

/** Removes a received table, and the file to which an Arrow stream was converted. */
async function removeUpload(path: string): Promise<void> {
  await Promise.all([path, `${path}.parquet`].map((file) => rm(file, { force: true })));
}

/**
 * Returns the store that an import replaces or appends to; undefined for a new store.
 * @throws Refusal STORE_EXISTS, STORE_LOADING, STORE_REFRESHING, VALIDATION_FAILED
 */
async function findPrevious(
  { documents, activity }: { readonly documents: DocumentStore; readonly activity: DatasetActivity },
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
    throw refuseTerm({ path: 'adjustment', message, value: adjustment }, document.adjustment);
  }
  if (on_exists === 'append' && currency !== undefined && currency !== document.currency) {
    const message = `The data store ${datasetId} holds prices in ${document.currency ?? 'no declared currency'}; prices in ${currency ?? 'no declared currency'} cannot be appended.`;
    throw refuseTerm({ path: 'currency', message, value: currency }, document.currency);
  }
  return document;
}

function refuseTerm(term: Pick<Finding, 'path' | 'message' | 'value'>, acceptedValue: string | null): Refusal {
  const finding = { severity: 'error', code: 'NOT_IN_CHOICES', ...term } as const;
  return refuseWithFindings('request', [acceptedValue === null ? finding : { ...finding, accepted: [acceptedValue] }]);
}

const REPLACED_CODES: ReadonlySet<string> = new Set<Refusal['code']>(['STORE_LOADING', 'STORE_NOT_FOUND']);

/** Imports of stores with data that belongs to the service: imported and repaired stores. */
export function createDatasetImports(context: StoreWork) {
  const { documents, activity, locations, folders, files: storeFiles, closing, timestamp } = context;

  /** Imports data as a store. @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
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
      previousDocument = await findPrevious(context, datasetId, header);
      const load = header.activate || (previousDocument !== undefined && activity.isServed(datasetId));
      const previousFiles =
        previousDocument !== undefined && header.on_exists === 'append' ? await readFiles(previousDocument) : null;
      await activity.beginReading(datasetId, { isLoad: load });
      work = { header, datasetId, folder: await folders.create(datasetId) };
      const calendars = await context.calendarsInUse(datasetId, load);
      return { folder: work.folder, storedFiles: previousFiles, load, calendars };
    };
    try {
      const result = await readImport(context, body, { onImport, asker: requester });
      if (result.kind === 'refused') throw refuseData(placeFindings('content', result.findings));
      const { header, datasetId, folder } = work!; // `onImport` sets it before data is accepted
      const document = createImportedDataset(datasetId, header, previousDocument, folder, result.summary);
      const handle =
        result.handle === null
          ? null
          : { ...result.handle, datasetId, adjustment: document.adjustment, currency: document.currency };
      const source = previousDocument === undefined ? 'import' : header.on_exists === 'append' ? 'append' : 'replace';
      await commitImport(context, document, handle, { previous: previousDocument, source, by: authorship });
      return createImportResult(
        toDataStore(document, { isServed: activity.isServed(datasetId), activity: undefined }),
        result.summary,
      );
    } catch (failure) {
      if (work !== undefined) await folders.discardFailed(work.folder, work.datasetId, failure);
      // Another import may have removed the files or their artifacts during the read, which fails in several ways. This
      // is neither an error in the data nor a defect.
      if (previousDocument !== undefined) await assertCurrent(previousDocument);
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

  async function readFiles(document: DatasetDocument): Promise<TableFiles> {
    const { location } = await storeFiles.here(document);
    const problems = createProblems();
    const files = await listFolderFiles(location!, { tables: {}, mapping: null }, locations, problems);
    if (problems.errors > 0) throw refuseData(problems.findings());
    await assertFilesUnchanged({ ...document, location }, files);
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
    await commitImport(context, document, handle, { source: 'repair', by: authorship });
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

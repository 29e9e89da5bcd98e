import type {
  DataAudit, DataStore, DataStoreCollection, DataStoreCreate, DataStoreUpdate, GenerateSyntheticRequest, ImportResult, RefreshRequest, RepairRequest,
} from '#contract/stores.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { civilOf, dayFrom, formatDay } from '#domain/days.js';
import type { ImportHeader } from '#domain/documents/import-request.js';
import type { StoreDocument, StoreKind } from '#domain/documents/store-document.js';
import type { Finding } from '#domain/findings.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { DatabasePlaces } from '#market/databases/database-place.js';
import { folderFiles, type DatasetFiles } from '#market/folder.js';
import { importTemplate, type TemplateFormat } from '#market/import-template.js';
import type { Locations } from '#market/locations.js';
import type { ManagedFolders } from '#market/managed-folder.js';
import { runMarketTask, sweepSharedFolders } from '#market/market-process.js';
import type { ContentSummary } from '#market/market-tasks.js';
import { createProblems } from '#market/problems.js';
import { servedMarket, type ServedMarkets } from '#market/served-markets.js';
import type { DocumentStore } from '#store/documents.js';
import { createGate } from './gate.js';
import { assertPrecondition, type Precondition } from './preconditions.js';
import { createStoreAudits, type Repaired } from './store-audits.js';
import { allStores, isRefreshable, readStore, requireStore, storeNotFound, toDataStore, toListedStore, withoutPassword, type Activity } from './store-documents.js';
import { activateIn, forgetUnwritten, sessionsBetween, writingStore, type GenerateRequest, type StoreJobs } from './store-jobs.js';
import { loadedFields, type StoreLoading } from './store-loading.js';

export interface StoresDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly kinds: StoreJobs;
  readonly markets: ServedMarkets;
  readonly loading: StoreLoading;
  readonly locations: Locations;
  readonly databases: DatabasePlaces;
  readonly folders: ManagedFolders;
  readonly calendars: Calendars;
  readonly timestamp: () => string;
}

export interface Stores {
  list(query: { readonly limit?: number | undefined; readonly after?: string | undefined }): DataStoreCollection;
  /** @returns the store, with its document's etag while nothing is being done to it. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(storeId: string): { readonly store: DataStore; readonly etag: string | undefined };
  /** @throws Refusal VALIDATION_FAILED, STORE_EXISTS, FOLDER_REGISTERED, STORE_LOADING, NOT_SUPPORTED */
  create(request: DataStoreCreate): Promise<DataStore>;
  /** @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, PRECONDITION_FAILED, STORE_LOADING, STORE_REFRESHING, VALIDATION_FAILED */
  update(storeId: string, request: DataStoreUpdate, ifMatch: Precondition | undefined): Promise<{ readonly store: DataStore; readonly etag: string }>;
  /** @throws Refusal STORE_NOT_FOUND, PRECONDITION_FAILED, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  remove(storeId: string, ifMatch: Precondition | undefined): Promise<void>;
  /** @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  activate(storeId: string, origin: Origin | null): Promise<JobStatus>;
  /** @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_ACTIVE, STORE_LOADING, STORE_REFRESHING */
  importData(body: Uint8Array): Promise<ImportResult>;
  /** The blank template of an import. */
  template(format: TemplateFormat): { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string; readonly name: string };
  /** @throws Refusal VALIDATION_FAILED, STORE_EXISTS, STORE_LOADING */
  generate(request: GenerateSyntheticRequest, origin: Origin | null): Promise<JobStatus>;
  /** @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, NOTHING_TO_REFRESH, STORE_NOT_SERVED, STORE_LOADING, STORE_REFRESHING */
  refresh(storeId: string, request: RefreshRequest, origin: Origin | null): Promise<JobStatus>;
  /** Refreshes the served store. @throws Refusal NO_DATA_SOURCE, and as `refresh` */
  sync(request: RefreshRequest, origin: Origin | null): Promise<JobStatus>;
  /** What is probably wrong in a store. @throws Refusal STORE_NOT_FOUND, DOCUMENT_UNREADABLE, STORE_LOADING, STORE_REFRESHING, VALIDATION_FAILED */
  audit(storeId: string, signal: AbortSignal): Promise<DataAudit>;
  /** A new store with chosen repairs applied. @throws Refusal as `audit`, and STORE_EXISTS */
  repair(storeId: string, request: RepairRequest): Promise<ImportResult>;
  /**
   * After the jobs have begun: removes what a crash left behind and reads the store that was served before,
   * without keeping anyone waiting.
   */
  resume(): Promise<void>;
  /** Ends what is being read outside a job. */
  close(): Promise<void>;
  /** What is known of the served store besides its values. */
  servedStore(): { readonly kind: StoreKind; readonly sizeBytes: number | null } | undefined;
  /** The served store in the words of health. */
  health(): { readonly active: string | null; readonly status: string | null; readonly end: string | null };
}

/** Memory that reading a store takes beside its panels: the reader and its buffers. */
const READER_BYTES = 512 << 20;

/** Requests that read or import a store at once, each in a process of its own; those that wait hold their bodies, of up to 64 MiB. */
const READERS_MAX = 2;
const READERS_WAITING_MAX = 8;

export function createStores(dependencies: StoresDependencies): Stores {
  const { documents, jobs, kinds, markets, loading, locations, databases, folders, calendars, timestamp } = dependencies;
  /** Stores that are read outside a job: by a registration, an import or at start. */
  const reading = new Set<string>();
  const closing = new AbortController();
  const readers = createGate({ name: 'imports', runningMax: READERS_MAX, waitingMax: READERS_WAITING_MAX });
  let resuming: Promise<void> = Promise.resolve();

  function activityOf(storeId: string): Activity | undefined {
    if (reading.has(storeId) || jobs.isLive(`load:${storeId}`)) return 'loading';
    return jobs.isLive(`refresh:${storeId}`) || jobs.isLive(`sync:${storeId}`) ? 'refreshing' : undefined;
  }

  const isServed = (storeId: string) => markets.served()?.handle.storeId === storeId;
  const isGone = ({ store_id, writing }: StoreDocument) => writing && !jobs.isLive(`generate:${store_id}`);
  const viewOf = (document: StoreDocument) => toDataStore(document, { isServed: isServed(document.store_id), activity: activityOf(document.store_id) });

  function requireKnown(storeId: string) {
    const stored = requireStore(documents, storeId);
    if (isGone(stored.document)) throw storeNotFound(storeId);
    return stored;
  }

  function assertIdle(storeId: string): void {
    const activity = activityOf(storeId);
    if (activity === 'loading' || jobs.isLive(`generate:${storeId}`)) throw new Refusal('STORE_LOADING', `The data store ${storeId} is being read or written.`);
    if (activity === 'refreshing') throw new Refusal('STORE_REFRESHING', `The data store ${storeId} is being refreshed.`);
  }

  /** One store is loaded at a time, so that two never race for being served. */
  function assertNoneLoads(): void {
    const busy = [...reading, ...documents.ids('store').filter((id) => jobs.isLive(`load:${id}`))];
    if (busy.length > 0) throw new Refusal('STORE_LOADING', `The data store ${busy[0]} is already loading.`);
  }

  function assertFree(storeId: string): void {
    const stored = documents.get('store', storeId);
    const document = stored === undefined || 'unreadable' in stored ? undefined : readStore(stored.body);
    if (stored === undefined || (document !== undefined && isGone(document))) return;
    throw new Refusal('STORE_EXISTS', `A data store is already registered under the id ${storeId}.`);
  }

  /** Runs work on a store as the one load of the moment. */
  async function asReader<T>(storeId: string, work: () => Promise<T>): Promise<T> {
    reading.add(storeId);
    try {
      return await toldAsFindings(work());
    } finally {
      reading.delete(storeId);
    }
  }

  async function create(request: DataStoreCreate): Promise<DataStore> {
    const storeId = request.store_id ?? slugOf(request.name);
    assertFree(storeId);
    const location = await placeOf(request.kind, request.location, 'location');
    assertUnregistered(location);
    assertNoneLoads();
    const source = { store_id: storeId, kind: request.kind, location, tables: request.tables, adjustment: request.adjustment };
    return asReader(storeId, async () => {
      const loaded = await readers(() => loading.read(source, { serve: request.activate, signal: closing.signal }));
      if (loaded.kind === 'refused') throw refusedData(loaded.findings);
      const at = timestamp();
      const document: StoreDocument = {
        ...source, name: request.name, managed: false, active: false, writing: false, source: location, created_at: at, last_refreshed_at: null,
        synthetic: null, ...blank, ...loadedFields(loaded.summary, at),
      };
      await documents.transaction((tx) => {
        assertFree(storeId);
        assertUnregistered(location);
        if (loaded.served === undefined) tx.put('store', storeId, document);
        else activateIn(tx, document);
      });
      if (loaded.served !== undefined) markets.serve(loaded.served);
      return toDataStore(document, { isServed: request.activate, activity: undefined });
    });
  }

  /** Where a store is, as it is remembered: the real path of a folder, the URL of a database. */
  async function placeOf(kind: 'folder' | 'database', location: string, path: string): Promise<string> {
    const resolved = kind === 'folder' ? await locations.resolve(location, 'folder') : await databases.resolve(location);
    if ('problem' in resolved) throw refusedData([{ severity: 'error', ...resolved.problem, path, value: withoutPassword(location) }]);
    return 'path' in resolved ? resolved.path : location;
  }

  function assertUnregistered(place: string): void {
    const holder = allStores(documents).find(({ location }) => location === place);
    if (holder !== undefined) throw new Refusal('FOLDER_REGISTERED', `The place is already registered as the data store ${holder.store_id}.`, { store_id: holder.store_id });
  }

  async function update(storeId: string, request: DataStoreUpdate, ifMatch: Precondition | undefined) {
    requireKnown(storeId);
    assertIdle(storeId);
    const source = request.source == null ? request.source : await sourceOf(requireKnown(storeId).document, request.source);
    const { after, etag } = await documents.transaction((tx) => {
      assertPrecondition(tx, 'store', storeId, ifMatch);
      const { document } = requireStore(tx, storeId);
      const changed: StoreDocument = {
        ...document,
        ...(request.name === undefined ? {} : { name: request.name }),
        ...(source === undefined ? {} : { source }),
        ...(request.adjustment === undefined ? {} : { adjustment: request.adjustment }),
      };
      return { after: changed, etag: tx.put('store', storeId, changed) };
    });
    const served = markets.served();
    if (served?.handle.storeId === storeId && served.handle.adjustment !== after.adjustment) {
      const { adjustment } = after;
      markets.serve({ ...served, handle: { ...served.handle, adjustment }, market: { ...served.market, adjustment } });
    }
    return { store: viewOf(after), etag };
  }

  async function sourceOf({ kind }: StoreDocument, source: string): Promise<string> {
    const refused = (finding: Omit<Finding, 'severity'>) => refuseWithFindings('request', [{ severity: 'error', ...finding }]);
    if (kind === 'synthetic' || kind === 'imported') {
      throw refused({ code: 'IMMUTABLE_FIELD', path: 'source', message: `The source of a data store of kind ${kind} cannot be changed.` });
    }
    return placeOf(kind, source, 'source');
  }

  async function remove(storeId: string, ifMatch: Precondition | undefined): Promise<void> {
    const stored = documents.get('store', storeId);
    const document = stored === undefined || 'unreadable' in stored ? undefined : readStore(stored.body);
    if (stored === undefined || (document !== undefined && isGone(document))) throw storeNotFound(storeId);
    if (isServed(storeId)) throw new Refusal('STORE_ACTIVE', `The data store ${storeId} is being served; activate another one first.`);
    assertIdle(storeId);
    await documents.transaction((tx) => {
      assertPrecondition(tx, 'store', storeId, ifMatch);
      tx.delete('store', storeId);
    });
    if (document?.managed === true && document.location !== null) await folders.remove(document.location, storeId);
  }

  async function activate(storeId: string, origin: Origin | null): Promise<JobStatus> {
    const { document } = requireKnown(storeId);
    if (isServed(storeId)) throw new Refusal('STORE_ACTIVE', `The data store ${storeId} is already being served.`);
    assertIdle(storeId);
    if (!document.writing) assertNoneLoads();
    return jobs.submit({ kind: kinds.load, ident: storeId, payload: { store_id: storeId }, request: null, estimatedBytes: READER_BYTES, message: 'waiting to be read', origin });
  }

  async function importData(body: Uint8Array): Promise<ImportResult> {
    let work: { readonly header: ImportHeader; readonly storeId: string; readonly folder: string; readonly previous: StoreDocument | undefined } | undefined;
    const onImport = async (header: ImportHeader) => {
      const storeId = header.store_id ?? slugOf(header.name);
      const previous = previousOf(storeId, header);
      const load = header.activate || (previous !== undefined && isServed(storeId));
      if (reading.has(storeId)) throw new Refusal('STORE_LOADING', `The data store ${storeId} is being read or written.`);
      if (load) assertNoneLoads();
      const held = previous !== undefined && header.on_exists === 'append' ? await filesOf(previous) : null;
      reading.add(storeId);
      work = { header, storeId, previous, folder: await folders.create(storeId) };
      return { folder: work.folder, held, load };
    };
    try {
      // The store has no id before its header is read; its panels are loaded under the one it turns out to have.
      const result = await readers(() => toldAsFindings(runMarketTask('importBody', {}, { load: { storeId: '', adjustment: 'none' }, body, onImport, signal: closing.signal })));
      if (result.kind === 'refused') throw refusedData(result.findings);
      const { header, storeId, previous, folder } = work!; // answered, or nothing would have been accepted
      const document = importedStore(storeId, header, previous, folder, result.summary);
      const handle = result.handle === null ? null : { ...result.handle, storeId, adjustment: header.adjustment };
      await commit(document, handle, previous);
      return importResult(toDataStore(document, { isServed: isServed(storeId), activity: undefined }), result.summary);
    } catch (failure) {
      if (work !== undefined) await folders.discardFailed(work.folder, work.storeId, failure);
      throw failure;
    } finally {
      if (work !== undefined) reading.delete(work.storeId);
    }
  }

  /** The store that an import replaces or appends to. */
  function previousOf(storeId: string, { on_exists, adjustment }: ImportHeader): StoreDocument | undefined {
    if (on_exists === 'refuse') {
      assertFree(storeId);
      return undefined;
    }
    if (documents.get('store', storeId) === undefined) return undefined;
    const { document } = requireStore(documents, storeId);
    if (isGone(document)) return undefined;
    assertIdle(storeId);
    if (document.kind !== 'imported') throw new Refusal('STORE_EXISTS', `The data store ${storeId} is of kind ${document.kind}; only an imported one is replaced or appended to.`);
    if (on_exists === 'append' && adjustment !== document.adjustment) {
      const message = `The data store ${storeId} holds prices of the basis ${document.adjustment}; prices of the basis ${adjustment} cannot be appended.`;
      throw refuseWithFindings('request', [{ severity: 'error', code: 'NOT_IN_CHOICES', path: 'adjustment', message, accepted: [document.adjustment], value: adjustment }]);
    }
    return document;
  }

  /** The files of a managed store. */
  async function filesOf({ location }: StoreDocument): Promise<DatasetFiles> {
    const problems = createProblems();
    const files = await folderFiles(location!, {}, locations, problems);
    if (problems.errors > 0) throw refusedData(problems.findings());
    return files;
  }

  function importedStore(storeId: string, header: ImportHeader, previous: StoreDocument | undefined, folder: string, summary: ContentSummary): StoreDocument {
    const at = timestamp();
    return {
      store_id: storeId, name: header.name, kind: 'imported', managed: true, active: previous?.active ?? false, writing: false, location: folder, source: null,
      tables: {}, adjustment: header.adjustment, created_at: previous?.created_at ?? at, last_refreshed_at: previous === undefined ? null : at, synthetic: null,
      ...blank, ...loadedFields(summary, at),
    };
  }

  /** Writes an imported store, serves it when it was read for that, and removes the folder it replaced. */
  async function commit(document: StoreDocument, handle: MarketHandle | null, previous: StoreDocument | undefined): Promise<void> {
    const served = handle === null ? undefined : await servedMarket(handle, document.last_loaded_at!);
    await documents.transaction((tx) => {
      if (previous === undefined) assertFree(document.store_id);
      if (served === undefined) tx.put('store', document.store_id, document);
      else activateIn(tx, document);
    });
    if (served !== undefined) markets.serve(served);
    // The new folder is the store now: one that cannot be removed is no failure, and goes at the next start.
    if (previous?.location != null) await folders.remove(previous.location, document.store_id).catch(() => false);
  }

  async function panelsOf(document: StoreDocument): Promise<MarketHandle> {
    const held = markets.served();
    if (held?.handle.storeId === document.store_id) return held.handle;
    assertIdle(document.store_id);
    const loaded = await asReader(document.store_id, () => loading.read(document, { serve: true, signal: closing.signal }));
    if (loaded.kind === 'refused') throw refusedData(loaded.findings);
    return loaded.served!.handle;
  }

  async function register({ storeId, name, adjustment, folder, summary, handle }: Repaired): Promise<DataStore> {
    const header = { store_id: storeId, name, adjustment, format: 'csv', activate: handle !== null, on_exists: 'refuse' } as const;
    const document = importedStore(storeId, header, undefined, folder, summary);
    await commit(document, handle, undefined);
    return toDataStore(document, { isServed: isServed(storeId), activity: undefined });
  }

  const audits = createStoreAudits({ jobs, folders, panelsOf, register });

  async function repair(storeId: string, request: RepairRequest): Promise<ImportResult> {
    const { document } = requireKnown(storeId);
    const newId = request.store_id ?? freeId(`${storeId.slice(0, 48)}-repaired`);
    assertFree(newId);
    if (request.activate) assertNoneLoads();
    return audits.repair(document, { ...request, store_id: newId });
  }

  async function submitRefresh(kind: StoreJobs['refresh'], storeId: string, { request, origin }: { readonly request: RefreshRequest; readonly origin: Origin | null }): Promise<JobStatus> {
    const { document } = requireKnown(storeId);
    assertIdle(storeId);
    if (!isRefreshable(document)) throw new Refusal('NOTHING_TO_REFRESH', `The data store ${storeId} has no source to refresh from.`);
    if (document.kind !== 'synthetic' && !isServed(storeId)) {
      throw new Refusal('STORE_NOT_SERVED', `The data store ${storeId} is not being served; it is read afresh on activation.`);
    }
    return jobs.submit({
      kind, ident: storeId, payload: { store_id: storeId, until: request.until, full: request.full }, request, estimatedBytes: READER_BYTES, message: 'waiting to be refreshed', origin,
    });
  }

  async function generate(request: GenerateSyntheticRequest, origin: Origin | null): Promise<JobStatus> {
    const { store_id, name, ...rest } = request;
    const full: GenerateRequest = { ...rest, end: request.end ?? lastYearEnd(timestamp()) };
    assertGeneratable(full, calendars);
    const storeId = store_id ?? freeId(`synthetic-${request.seed}`);
    assertFree(storeId);
    if (request.activate) assertNoneLoads();
    const payload = { store_id: storeId, name: name ?? `Synthetic market ${request.seed}`, created_at: timestamp(), request: full };
    const status = await jobs.submit({ kind: kinds.generate, ident: storeId, payload, request, estimatedBytes: READER_BYTES, message: 'waiting to be generated', origin });
    // The job may have ended already; its own outcome is then what is stored.
    await documents.transaction((tx) => {
      if (tx.get('store', storeId) === undefined && jobs.isLive(`generate:${storeId}`)) tx.put('store', storeId, writingStore(payload));
    });
    return status;
  }

  /** The first free id of a stem and a number. */
  function freeId(stem: string): string {
    const taken = new Set(documents.ids('store'));
    let n = 1;
    while (taken.has(`${stem}-${n}`)) n += 1;
    return `${stem}-${n}`;
  }

  async function beginAgain(): Promise<void> {
    try {
      await sweepSharedFolders();
      for (const { store_id, writing } of allStores(documents)) if (writing && !jobs.isLive(`generate:${store_id}`)) await forgetUnwritten(documents, store_id);
      const named = allStores(documents);
      // A damaged document may name a folder that nothing else names: with one of those nothing is removed.
      if (named.length === documents.ids('store').length) await folders.sweep(new Set(named.flatMap(({ location }) => location ?? [])));
      const active = allStores(documents).find((store) => store.active);
      if (active !== undefined && markets.served() === undefined) await readAgain(active);
    } finally {
      markets.settle();
    }
  }

  /** Serves the store that was served before; a failure is told by its status, and tried again at the next start. */
  async function readAgain(active: StoreDocument): Promise<void> {
    reading.add(active.store_id);
    try {
      const loaded = await loading.read(active, { serve: true, signal: closing.signal });
      const error = loaded.kind === 'refused' ? refusedData(loaded.findings, 'STORE_READ_FAILED').toDetail() : null;
      const isServed = await documents.transaction((tx) => {
        const { document } = requireStore(tx, active.store_id);
        if (loaded.kind === 'refused') tx.put('store', active.store_id, { ...document, error });
        // A store that was activated in the meantime is the later wish: its document took `active` from this one.
        else if (document.active && markets.served() === undefined) {
          activateIn(tx, { ...document, ...loadedFields(loaded.summary, timestamp()) });
          return true;
        }
        return false;
      });
      if (isServed && loaded.kind === 'loaded') markets.serve(loaded.served);
    } catch (failure) {
      if (closing.signal.aborted) return;
      if (!(failure instanceof Refusal)) throw failure;
      await documents.transaction((tx) => tx.put('store', active.store_id, { ...requireStore(tx, active.store_id).document, error: failure.toDetail() }));
    } finally {
      reading.delete(active.store_id);
    }
  }

  return {
    list({ limit, after }) {
      const { documents: all, skipped, skipped_causes } = documents.list('store', readStore);
      const known = all.filter((document) => !isGone(document) && (after === undefined || document.store_id > after));
      return { stores: known.slice(0, limit).map((document) => toListedStore(viewOf(document))), active: markets.served()?.handle.storeId ?? null, skipped, skipped_causes };
    },
    get(storeId) {
      const { document, etag } = requireKnown(storeId);
      const isAtRest = activityOf(storeId) === undefined && !document.writing;
      return { store: viewOf(document), etag: isAtRest ? etag : undefined };
    },
    create,
    update,
    remove,
    activate,
    importData,
    template: (format) => ({ bytes: importTemplate(format), ...TEMPLATES[format] }),
    generate,
    audit: async (storeId, signal) => audits.audit(requireKnown(storeId).document, signal),
    repair,
    refresh: (storeId, request, origin) => submitRefresh(kinds.refresh, storeId, { request, origin }),
    sync: async (request, origin) => submitRefresh(kinds.sync, markets.require().handle.storeId, { request, origin }),
    resume() {
      resuming = beginAgain();
      return resuming;
    },
    async close() {
      closing.abort(new Refusal('DRAINING', 'The service is stopping.'));
      await resuming.catch(() => {}); // told by whoever awaits the resumption
    },
    servedStore() {
      const storeId = markets.served()?.handle.storeId;
      const stored = storeId === undefined ? undefined : documents.get('store', storeId);
      const document = stored === undefined || 'unreadable' in stored ? undefined : readStore(stored.body);
      return document && { kind: document.kind, sizeBytes: document.size_bytes };
    },
    health() {
      const served = markets.served();
      if (served !== undefined) {
        const end = served.market.dates.at(-1);
        return { active: served.handle.storeId, status: activityOf(served.handle.storeId) ?? 'ready', end: end === undefined ? null : formatDay(end) };
      }
      const [coming] = reading;
      return { active: null, status: coming === undefined ? null : 'loading', end: null };
    },
  };
}

const TEMPLATES: Record<TemplateFormat, { readonly type: string; readonly name: string }> = {
  xlsx: { type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', name: 'import-template.xlsx' },
  csv: { type: 'application/zip', name: 'import-template.zip' },
};

/** The fields of a store that a load fills in. */
const blank = {
  last_loaded_at: null, identifiers: null, start: null, end: null, size_bytes: null, content_hash: null, rows: null, files: [], error: null, findings: [],
};

function importResult(store: DataStore, summary: ContentSummary): ImportResult {
  return {
    store,
    rows: { ...summary.rows },
    identifiers: summary.identifiers,
    start: store.start,
    end: store.end,
    findings: store.findings ?? [],
  };
}

/** A reading process that failed is a finding where the answer is not a job's. */
async function toldAsFindings<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    if (failure instanceof Refusal && failure.code === 'STORE_READ_FAILED') throw refusedData([{ severity: 'error', code: 'UNREADABLE_FILE', message: failure.message, path: '' }]);
    if (failure instanceof Refusal && failure.code === 'STORE_WRITE_FAILED') throw new Refusal('STORE_UNAVAILABLE', failure.message, null, { cause: failure });
    throw failure;
  }
}

const refusedData = (findings: readonly Finding[], code?: 'STORE_READ_FAILED') => refuseWithFindings('data', findings, code);

/** An id made of a name: lower case, what is neither letter nor digit as single dashes. */
export function slugOf(name: string): string {
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 64).replace(/^-|-$/g, '');
  return slug === '' ? 'store' : slug;
}

/** The last day of the last complete calendar year. */
function lastYearEnd(timestamp: string): string {
  return `${civilOf(dayFrom(timestamp.slice(0, 10))).year - 1}-12-31`;
}

/** Bars of a synthetic market: five thousand names over ten years of sessions. */
const SYNTHETIC_BARS_MAX = 12_600_000;

/** @throws Refusal VALIDATION_FAILED when no market can be made by the request */
function assertGeneratable(request: GenerateRequest, calendars: Calendars): void {
  const refused = (finding: Omit<Finding, 'severity'>) => refuseWithFindings('request', [{ severity: 'error', ...finding }]);
  const calendar = calendars.get(request.calendar);
  if (calendar === undefined) {
    throw refused({ code: 'UNKNOWN_CALENDAR', path: 'calendar', message: `${request.calendar} is no calendar of /indices/calendars.`, value: request.calendar });
  }
  if (request.start > request.end) throw new Refusal('INVALID_RANGE', `The start ${request.start} lies after the end ${request.end}.`);
  const sessions = sessionsBetween(calendar.sessions, request.start, request.end).length;
  if (sessions < 2) throw refused({ code: 'EMPTY_RANGE', path: 'start', message: `${sessions} sessions of ${request.calendar} lie in the range; at least 2 are needed.` });
  const bars = sessions * request.assets;
  if (bars > SYNTHETIC_BARS_MAX) throw refused({ code: 'OUT_OF_RANGE', path: 'assets', message: `${request.assets} assets on ${sessions} sessions are ${bars} bars; at most ${SYNTHETIC_BARS_MAX} are generated.` });
}

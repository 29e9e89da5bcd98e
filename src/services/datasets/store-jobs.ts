import type { GenerateSyntheticRequest } from '#contract/stores/synthetic.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { dayFrom } from '#domain/days.js';
import { orderFindings } from '#domain/findings.js';
import { StoreDocument } from '#domain/documents/store-document.js';
import { Refusal } from '#domain/refusal.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';
import type { Attempt, Completion, JobKind } from '#jobs/job-kind.js';
import { datasetRows, type Dataset } from '#market/content/datasets.js';
import type { ManagedFolders } from '#market/content/managed-folder.js';
import { runMarketTask } from '#market/process/market-process.js';
import type { RefreshReport } from '#market/content/refresh-report.js';
import { servedAgain, servedMarket, type ServedMarkets } from '#market/serving/served-markets.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { GENERATOR, type SyntheticSpec } from '#market/synthetic/spec.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { reloadedFields, servedFields } from './served-content.js';
import { allStores, requireStore, toDataStore } from './store-documents.js';
import { loadedFields, readFailed, type Addition, type Source, type StoreLoading } from './store-loading.js';

export interface LoadPayload {
  readonly store_id: string;
}

export interface GeneratePayload {
  readonly store_id: string;
  readonly name: string;
  readonly created_at: string;
  readonly request: GenerateRequest;
}

/** The request with every default that depends on the day it was made filled in: a later attempt makes the same market. */
export type GenerateRequest = Omit<GenerateSyntheticRequest, 'store_id' | 'name' | 'end'> & { readonly end: string };

export interface StoreJobsDependencies {
  readonly documents: DocumentStore;
  readonly markets: ServedMarkets;
  readonly loading: StoreLoading;
  readonly folders: ManagedFolders;
  readonly calendars: Calendars;
  /** Codes of the calendars that stored indices are on. */
  readonly calendarsInUse: () => Promise<readonly string[]>;
  readonly timestamp: () => string;
}

export interface RefreshPayload {
  readonly store_id: string;
  /** Last day to bring in, null for the latest there is. */
  readonly until: string | null;
  readonly full: boolean;
}

/** Kinds of job that change stores. */
export interface StoreJobs {
  readonly load: JobKind<LoadPayload>;
  readonly generate: JobKind<GeneratePayload>;
  readonly refresh: JobKind<RefreshPayload>;
  /** A refresh of the served store under the name of the route that asks for it. */
  readonly sync: JobKind<RefreshPayload>;
}

export function createStoreJobs(dependencies: StoreJobsDependencies): StoreJobs {
  const { documents, markets, loading, folders, calendars, calendarsInUse, timestamp } = dependencies;

  async function runLoad({ store_id: storeId }: LoadPayload, attempt: Attempt): Promise<Completion> {
    const { document } = await requireStore(documents, storeId);
    try {
      const loaded = await loading.read(document, { serve: true, onProgress: attempt.report, signal: attempt.signal });
      if (loaded.kind === 'refused') throw readFailed(loaded.findings, 'location');
      const { summary, served } = loaded;
      const fields = reloadedFields(document, { summary, served: served! }, timestamp()); // it was to be served
      const after = { ...document, ...fields };
      return {
        result: { value: toDataStore({ ...after, active: true }, { isServed: true, activity: undefined }) },
        async effect(tx) {
          const document = { ...(await requireStore(tx, storeId)).document, ...fields };
          await activateIn(tx, { document, served: served!, markets });
        },
      };
    } catch (failure) {
      if (failure instanceof Refusal && !attempt.signal.aborted) await noteFailure(documents, storeId, failure);
      throw failure;
    }
  }

  async function runGenerate(payload: GeneratePayload, attempt: Attempt): Promise<Completion> {
    const { store_id: storeId, request } = payload;
    const folder = await folders.create(storeId);
    try {
      const spec = syntheticSpec(request, calendars);
      const load = request.activate ? { storeId, adjustment: 'none' as const, currency: request.currency } : null;
      const result = await runMarketTask(
        'generate',
        { spec, folder },
        { load, calendars: await calendarsInUse(), onProgress: attempt.report, signal: attempt.signal },
      );
      if (result.kind === 'refused') throw readFailed(result.findings, 'location');
      const at = timestamp();
      const served = result.handle === null ? undefined : await servedMarket(result.handle, at);
      const after: StoreDocument = {
        ...writingStore(payload),
        ...loadedFields(result.summary, at),
        writing: false,
        location: folder,
        active: served !== undefined,
      };
      return {
        result: { value: toDataStore(after, { isServed: served !== undefined, activity: undefined }) },
        async effect(tx) {
          if (served === undefined) await tx.put('store', storeId, after);
          else await activateIn(tx, { document: after, served, markets });
        },
      };
    } catch (failure) {
      await folders.remove(folder, storeId);
      await forgetUnwritten(documents, storeId);
      throw failure;
    }
  }

  async function runRefresh(payload: RefreshPayload, attempt: Attempt): Promise<Completion> {
    await markets.settled();
    const { document } = await requireStore(documents, payload.store_id);
    return document.kind === 'synthetic'
      ? extendSynthetic(document, payload, attempt)
      : refreshFromSource(document, payload, attempt);
  }

  async function refreshFromSource(
    document: StoreDocument,
    { store_id: storeId, until, full }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const held = servedVersion(storeId);
    const fresh = await freshData({ ...document, location: document.source }, held, full, attempt);
    const lastDay = until === null ? null : dayFrom(until);
    const { handle, isSameTables, report, identifiers, warnings } = await attempt.compute(
      'refresh-market',
      {
        held: held.handle,
        fresh: fresh.handle,
        options: { until: lastDay, full, isWhole: fresh.isWhole, kept: fresh.kept },
        calendars: await calendarsInUse(),
      },
      0.3,
    );
    const at = timestamp();
    const changes: Partial<StoreDocument> = {
      ...loadedFields({ ...fresh.summary, warnings: orderFindings([...report.findings, ...warnings]) }, at),
      last_refreshed_at: at,
      location: document.source,
      identifiers,
      start: report.start,
      end: report.end,
      content_hash: handle.contentHash,
      rows: full && lastDay === null ? { ...fresh.summary.rows } : rowsAfter(document, fresh, report),
    };
    // What was left out is to be found the next time.
    const files = fresh.files.filter(
      ({ dataset }) => (lastDay === null && report.left_out === null) || dataset !== 'market',
    );
    const served = isSameTables ? servedAgain(handle, held, at, files) : await servedMarket(handle, at, files);
    return {
      result: { value: { store_id: storeId, ...report } },
      async effect(tx) {
        const { document: stored } = await requireStore(tx, storeId);
        if (!stored.active) throw notServed(storeId); // another store was activated in the meantime
        await activateIn(tx, { document: { ...stored, ...changes }, served, markets });
      },
    };
  }

  /** What a refresh has to bring in: all of a source, or what it holds of later days. */
  async function freshData(source: Source, held: ServedMarket, full: boolean, attempt: Attempt): Promise<FreshData> {
    const options = {
      onProgress: (fraction: number, message: string) => attempt.report(0.7 * fraction, message),
      signal: attempt.signal,
    };
    const after = held.market.dates.at(-1);
    if (full || after === undefined) {
      const read = await loading.read(source, { serve: true, ...options });
      if (read.kind === 'refused') throw readFailed(read.findings, 'source');
      return { summary: read.summary, handle: read.served!.handle, isWhole: true, kept: [], files: read.served!.files };
    }
    const added = await loading.readAddition(source, { lastDay: after, known: held.files, ...options });
    if (added.kind === 'refused') throw readFailed(added.findings, 'source');
    return added;
  }

  /** The served version of a store. @throws Refusal STORE_NOT_SERVED */
  function servedVersion(storeId: string): ServedMarket {
    const held = markets.served();
    if (held?.handle.storeId !== storeId) throw notServed(storeId);
    return held;
  }

  /** Makes the same market again with later sessions: its earlier bars come out the same. */
  async function extendSynthetic(
    document: StoreDocument,
    { store_id: storeId, until }: RefreshPayload,
    attempt: Attempt,
  ): Promise<Completion> {
    const request = document.synthetic!['request'] as GenerateRequest; // written by this engine, and of this generator
    const lastDay = until ?? timestamp().slice(0, 10);
    const end = lastDay > document.end! ? lastDay : document.end!;
    const served = markets.served();
    const isServed = served?.handle.storeId === storeId;
    const held = isServed ? served : (await heldVersion(document, attempt)).served!;
    const folder = await folders.create(storeId);
    try {
      const spec = syntheticSpec({ ...request, end }, calendars);
      const made = await runMarketTask(
        'generate',
        { spec, folder },
        {
          load: { storeId, adjustment: document.adjustment, currency: document.currency },
          onProgress: (fraction, message) => attempt.report(0.8 * fraction, message),
          signal: attempt.signal,
        },
      );
      if (made.kind === 'refused') throw readFailed(made.findings, 'location');
      const { report, warnings } = await attempt.compute(
        'refresh-market',
        {
          held: held.handle,
          fresh: made.handle!,
          options: { until: null, full: true, isWhole: true },
          calendars: await calendarsInUse(),
        },
        0.2,
      );
      const at = timestamp();
      const changes: Partial<StoreDocument> = {
        ...loadedFields({ ...made.summary, warnings }, at),
        last_refreshed_at: at,
        location: folder,
        synthetic: { generator: GENERATOR, request: { ...request, end } },
      };
      const next = isServed ? await servedMarket(made.handle!, at) : undefined;
      return {
        result: { value: { store_id: storeId, ...report } },
        async effect(tx) {
          const { document: stored } = await requireStore(tx, storeId);
          await tx.put('store', storeId, { ...stored, ...changes, ...(next === undefined ? {} : servedFields(next)) });
          if (next !== undefined && stored.active) tx.publish(markets.activation(next));
          if (document.location !== null)
            tx.publish({ type: 'folder-replaced', store_id: storeId, folder: document.location });
        },
      };
    } catch (failure) {
      await folders.remove(folder, storeId);
      throw failure;
    }
  }

  async function heldVersion(document: StoreDocument, attempt: Attempt) {
    const read = await loading.read(document, { serve: true, signal: attempt.signal });
    if (read.kind === 'refused') throw readFailed(read.findings, 'location');
    return read;
  }

  return {
    load: { kind: 'load', run: runLoad },
    generate: { kind: 'generate', run: runGenerate },
    refresh: { kind: 'refresh', run: runRefresh },
    sync: { kind: 'sync', run: runRefresh },
  };
}

type FreshData = Omit<Addition, 'kind'>;

/** Rows of each dataset after a refresh: tables that were not read again have those they had. */
function rowsAfter(
  { rows }: StoreDocument,
  { summary, kept }: FreshData,
  { datasets }: RefreshReport,
): StoreDocument['rows'] {
  const before = (dataset: Dataset) => rows?.[dataset] ?? 0;
  const rowsOf = (dataset: Dataset) => (kept.includes(dataset) ? before(dataset) : (summary.rows[dataset] ?? 0));
  return datasetRows((dataset) =>
    dataset === 'market' ? before('market') + datasets.market.added - datasets.market.removed : rowsOf(dataset),
  );
}

const notServed = (storeId: string) =>
  new Refusal('STORE_NOT_SERVED', `The data store ${storeId} is not being served; it is read afresh on activation.`);

/** A store that is to be the active one, and its market. */
export interface Activation {
  readonly document: StoreDocument;
  readonly served: ServedMarket;
  readonly markets: Pick<ServedMarkets, 'activation'>;
}

/** Writes a store as the active one and takes that from every other. Its market is served once that is on disk, and never if it is refused. */
export async function activateIn(tx: DocumentTransaction, { document, served, markets }: Activation): Promise<void> {
  for (const other of await allStores(tx))
    if (other.active && other.store_id !== document.store_id)
      await tx.put('store', other.store_id, { ...other, active: false });
  await tx.put('store', document.store_id, { ...document, ...servedFields(served), active: true });
  tx.publish(markets.activation(served));
}

/** The document of a synthetic store before its data is there. */
export function writingStore({ store_id, name, created_at, request }: GeneratePayload): StoreDocument {
  return {
    store_id,
    name,
    kind: 'synthetic',
    managed: true,
    active: false,
    writing: true,
    location: null,
    source: 'synthetic',
    tables: {},
    adjustment: 'none',
    currency: request.currency,
    created_at,
    last_loaded_at: null,
    last_refreshed_at: null,
    identifiers: null,
    start: null,
    end: null,
    size_bytes: null,
    content_hash: null,
    rows: null,
    files: [],
    error: null,
    findings: [],
    synthetic: { generator: GENERATOR, request: { ...request } },
  };
}

/** Removes the document of a store whose data was never completed. */
export async function forgetUnwritten(documents: DocumentStore, storeId: string): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const stored = await tx.get('store', storeId);
      if (
        stored !== undefined &&
        !('unreadable' in stored) &&
        StoreDocument.safeParse(stored.body).data?.writing === true
      )
        await tx.delete('store', storeId);
    },
    { reserve: true },
  );
}

/** Remembers why a store could not be read; what it held before is still there to be told. */
async function noteFailure(documents: DocumentStore, storeId: string, failure: Refusal): Promise<void> {
  await documents.transaction(
    async (tx) => {
      const stored = await tx.get('store', storeId);
      const document =
        stored === undefined || 'unreadable' in stored ? undefined : StoreDocument.safeParse(stored.body).data;
      if (document !== undefined)
        await tx.put('store', storeId, {
          ...document,
          error: { code: failure.code, message: failure.message, detail: failure.detail },
        });
    },
    { reserve: true },
  );
}

/** What the generator needs to know: the request with the sessions of its calendar. */
function syntheticSpec(request: GenerateRequest, calendars: Calendars): SyntheticSpec {
  const calendar = calendars.get(request.calendar);
  if (calendar === undefined) throw new Refusal('CALENDAR_NOT_COVERED', `There is no calendar ${request.calendar}.`);
  const sessions = sessionsBetween(calendar.sessions, request.start, request.end);
  return { ...request, exchange: calendar.code, sessions };
}

export function sessionsBetween(sessions: Int32Array, start: string, end: string): Int32Array {
  return sessions.slice(firstAtLeast(sessions, dayFrom(start)), lastAtMost(sessions, dayFrom(end)) + 1);
}

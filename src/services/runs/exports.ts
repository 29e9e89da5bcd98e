import { createHash, randomUUID } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { assertOverlaps, assertOrder } from '#domain/schema/assert-order.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { formatNameInHeader } from '#domain/backtest/run-file/separate-prices.js';
import { findExportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import type { MarketData } from '#domain/market/market-data.js';
import { SINGLE_GROUPS } from '#domain/market/market-groups.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { StaleState } from '#domain/backtest/stale-reasons.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ExportPartInput, OpenRunFiles } from '#jobs/tasks/outputs.js';
import type { ServedMarket } from '#market/serving/markets.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { assertReferenceColumn } from './reference-column.js';
import type { DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { requireRunOn } from './runs-as-known.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { listEarlierFiles, requireRun, type RunName } from '../stored/run-documents.js';
import { listVersionFilesBefore } from '../datasets/known-files.js';
import { readRunDefinition } from '../stored/run-definition.js';
import { computeRunId } from '#store/run-id.js';
import { createStoredState, type RunStates } from './run-states.js';
import { getBytes as bytesOfPart, createBufferPool, createExportStream, type BufferedPart } from './export-stream.js';
import { createStateHead, streamWithHead, prependHead, type StateHead } from '../stored/stamped-json.js';
import type { ViewCache } from './view-cache.js';

export interface ExportRequest {
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  /** Session for which the table is computed. Equals `end`. */
  readonly date?: string | undefined;
  /** Reference column that defines the groups of a table. */
  readonly by?: string | undefined;
  /** Selects the newest run that used the data known at this date. */
  readonly as_known_on?: string | undefined;
}

/** Export that has begun. Its first part exists; the other parts are computed when they are read. */
export interface RunExport {
  readonly etag: string;
  readonly stale: StaleState | null;
  /**
   * Returns the bytes of a small or cached export, otherwise a stream. @throws the errors of the first rows,
   * OVERLOADED
   */
  open(signal: AbortSignal): Promise<ExportBody>;
}

export type ExportBody =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly stream: ReadableStream<Uint8Array>; readonly bytes?: never };

export interface Exports {
  /**
   * Begins an export. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, INVALID_RANGE;
   * VALIDATION_FAILED for a run that used other data than the requested data; NO_DATA_SOURCE, STORE_MISMATCH for a
   * column of issuers
   */
  export(name: RunName, request: ExportRequest): Promise<RunExport>;
}

export interface ExportsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'damaged' | 'read'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly views: Pick<ViewCache, 'find' | 'hold'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly states: Pick<RunStates, 'findStaleState' | 'findMarket' | 'requireMarket' | 'findStore'>;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
}

/** Version of the export formats. Increase it if an export of the same run gets other bytes. */
const EXPORT_VERSION = 3;

/** Maximum number of exports that are remembered as too large for the cache. Their bytes are not collected again. */
const LARGE_EXPORTS_MAX = 1000;

/** Maximum number of attempts to open the files of a run. A newer run may remove the files. */
const OPENS_MAX = 3;

type ExportQuery = Omit<ExportPartInput, 'exportId' | 'run' | 'files' | 'from' | 'buffer' | 'definition'>;

export function createExports({
  documents,
  artifacts,
  jobs,
  views,
  stores,
  states,
  dataVersions,
}: ExportsDependencies): Exports {
  let openedCount = 0;
  const buffers = createBufferPool();
  const tooLarge = createMarks(LARGE_EXPORTS_MAX);

  /** Returns the requested run, and the content from which its tables are computed. */
  async function findSubject(
    name: RunName,
    asKnownOn: string | undefined,
  ): Promise<{ readonly run: RunDocument; readonly known: ServedMarket | undefined }> {
    const newestRun = await requireRun(documents, name);
    if (asKnownOn === undefined) return { run: newestRun, known: undefined };
    return stores.within(await states.findStore(newestRun), async () => {
      const versionedMarket = await dataVersions.at(asKnownOn);
      return { run: await requireRunOn(documents, name, versionedMarket), known: versionedMarket.served };
    });
  }

  async function readMarket(
    run: RunDocument,
    { table, by = SINGLE_GROUPS, as_known_on: knownOn }: ExportRequest,
    servedMarket: ServedMarket | undefined,
  ): Promise<ServedMarket | null> {
    if (findExportTable(table).readsMarket !== true) return null;
    if (findExportTable(table).readsDefinition === true && knownOn === undefined) return states.requireMarket(run);
    if (findExportTable(table).isGrouped === 'issuers' && by !== SINGLE_GROUPS && knownOn === undefined)
      return states.requireMarket(run);
    return servedMarket ?? (await states.findMarket(run)) ?? null;
  }

  /** Returns an export without the state of its run. The cache key contains every input on which the bytes depend. */
  async function readBody(name: RunName, { query, etag }: NamedExport, signal: AbortSignal): Promise<ExportBody> {
    const question = { export: etag };
    const cachedView = views.find(question);
    if (cachedView !== undefined) return { bytes: cachedView };
    if (openedCount >= LIMITS.MAX_OPEN_EXPORTS)
      throw new Refusal('OVERLOADED', `${openedCount} exports are being read (limit ${LIMITS.MAX_OPEN_EXPORTS}).`);
    const { first, part, run, close } = await begin(name, query, signal);
    // Another run may have replaced the run that this etag describes.
    const hold = (bytes: Uint8Array<ArrayBuffer> | null): void => {
      if (computeEtag(run, query) !== etag) return;
      if (bytes === null) tooLarge.add(etag);
      else views.hold(question, bytes);
    };
    const onWhole = tooLarge.has(etag) ? null : hold;
    if (first.next !== null) return { stream: createExportStream(first, { part, close, buffers, whole: onWhole }) };
    const bytes = bytesOfPart(first);
    buffers.give([first.buffer]);
    await close();
    hold(bytes);
    return { bytes };
  }

  /** Produces the first part. The files of the run stay open until `close`. */
  async function begin(name: RunName, exportQuery: ExportQuery, signal: AbortSignal) {
    openedCount++;
    let files: OpenedRun | undefined;
    const close = async (): Promise<void> => {
      openedCount--;
      await files?.close();
    };
    try {
      const { run, path, descriptors } = (files = await openRun({ documents, artifacts }, name));
      const exportId = randomUUID();
      const definition = await readDefinition({ artifacts, dataVersions }, run, exportQuery.table);
      const readPart = async (from: ExportPosition, buffer: SharedArrayBuffer): Promise<BufferedPart> => ({
        ...(await jobs.query(
          'export-part',
          { ...exportQuery, definition, exportId, run: path, files: descriptors, from, buffer },
          signal,
        )),
        buffer,
      });
      return { first: await readPart({ at: 0, rows: 0 }, buffers.take()), part: readPart, run, close };
    } catch (failure) {
      await close();
      throw failure;
    }
  }

  return {
    async export(name, request) {
      const { table, format, by, date } = request;
      const { start = null, end = date ?? null } = request;
      const subject = await findSubject(name, request.as_known_on);
      const { run } = subject;
      const names = ['start', date === undefined || request.end !== undefined ? 'end' : 'date'] as const;
      if (date !== undefined) assertSingleSession(table, date);
      assertOrder({ start, end }, names);
      assertOverlaps({ start, end }, { first: run.start, last: run.end, of: 'the run' }, names);
      const servedMarket = await readMarket(run, request, subject.known);
      if (by !== undefined) assertGroups(table, by, servedMarket && servedMarket.market);
      const state = await createStoredState(states, run);
      const { stale } = state;
      const query = { table, format, start, end, by, market: servedMarket && servedMarket.handle };
      const etag = computeEtag(run, query);
      const runName = request.as_known_on === undefined ? name : { subject: run.run_id, id: computeRunId(run) };
      const open = (signal: AbortSignal) => readBody(runName, { query, etag }, signal);
      if (format !== 'json') return { stale, etag, open };
      const head = createStateHead(state);
      return { stale, etag: head.toEtag(etag), open: async (signal) => prependHeadToBody(head, await open(signal)) };
    },
  };
}

/** Opens the files of a run. If another run has replaced it, opens the files of the new run. */
async function openRun(
  { documents, artifacts }: Pick<ExportsDependencies, 'documents' | 'artifacts'>,
  name: RunName,
): Promise<OpenedRun> {
  for (let attempt = 1; ; attempt++) {
    const run = await requireRun(documents, name);
    try {
      await assertUndamaged(artifacts, run);
      return { run, ...(await openFiles(run, artifacts)) };
    } catch (cause) {
      if (!isUnreadable(cause)) throw cause;
      if (attempt === OPENS_MAX)
        throw new Refusal(
          'DOCUMENT_UNREADABLE',
          'The stored run cannot be read: its file is missing or damaged.',
          null,
          {
            cause,
          },
        );
    }
  }
}

interface NamedExport {
  readonly query: ExportQuery;
  readonly etag: string;
}

function prependHeadToBody(head: StateHead, body: ExportBody): ExportBody {
  return body.bytes === undefined
    ? { stream: streamWithHead(head, body.stream) }
    : { bytes: prependHead(head, body.bytes) };
}

/**
 * Refuses a grouping column if the table has no groups or the market does not have the column. @throws Refusal
 * VALIDATION_FAILED
 */
function assertGroups(table: ExportTableName, by: string, market: MarketData | null): void {
  if (findExportTable(table).isGrouped === undefined)
    throw refuseUnsuitable('by', by, `The rows of ${table} are not grouped: by does not apply to them.`);
  if (market !== null && by !== SINGLE_GROUPS) assertReferenceColumn(market, by);
}

/** Refuses a request with a single session if the table covers several sessions. @throws Refusal VALIDATION_FAILED */
function assertSingleSession(table: ExportTableName, date: string): void {
  if (findExportTable(table).isOfSession === true) return;
  const message = `The rows of ${table} are of many sessions: date does not apply to them, start and end do.`;
  throw refuseUnsuitable('date', date, message);
}

const refuseUnsuitable = (path: string, value: string, message: string): Refusal =>
  refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path, value }]);

/**
 * Returns the definition of a run. Tables that compute the decisions again need it.
 * @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_DATA_KNOWN
 */
async function readDefinition(
  { artifacts, dataVersions }: Pick<ExportsDependencies, 'artifacts' | 'dataVersions'>,
  run: RunDocument,
  table: ExportTableName,
): Promise<ExportPartInput['definition']> {
  if (findExportTable(table).readsDefinition !== true) return undefined;
  const { definition, request } = await readRunDefinition(artifacts, run);
  if (request.as_known === undefined) return definition;
  return { ...definition, known: await listVersionFilesBefore({ artifacts, dataVersions }, run.store_version ?? null) };
}

/** Returns an etag that changes with every input on which the bytes depend. */
function computeEtag(run: RunDocument, { market, ...query }: ExportQuery): string {
  const { columns, plan } = run.artifacts;
  const decidedBy = findExportTable(query.table).readsDefinition === true && plan !== undefined ? [plan] : [];
  const files = [columns, ...listEarlierFiles(run), ...decidedBy].map(({ sha256 }) => sha256);
  return createHash('sha256')
    .update(JSON.stringify([EXPORT_VERSION, files, query, market && createMarketKey(market)]))
    .digest('hex');
}

/** Creates a set that keeps the names that were added last. */
function createMarks(marksMax: number) {
  const names = new Set<string>();
  return {
    has: (name: string): boolean => names.has(name),
    add(name: string): void {
      names.add(name);
      for (const oldestName of names) if (names.size > marksMax) names.delete(oldestName);
    },
  };
}

interface OpenedRun {
  readonly run: RunDocument;
  /** File with the columns of the run. */
  readonly path: string;
  readonly descriptors: OpenRunFiles;
  close(): Promise<void>;
}

async function openFiles(run: RunDocument, artifacts: Pick<ArtifactStore, 'file'>): Promise<Omit<OpenedRun, 'run'>> {
  const handles: FileHandle[] = [];
  const close = async (): Promise<void> => {
    for (const handle of handles) await handle.close();
  };
  const openPath = async (path: string): Promise<number> => {
    const handle = await open(path, 'r');
    handles.push(handle);
    return handle.fd;
  };
  try {
    const path = await artifacts.file(run.artifacts.columns);
    const columns = await openPath(path);
    const files: Record<string, number> = {};
    for (const ref of listEarlierFiles(run))
      files[formatNameInHeader(run.artifacts.columns.name, ref.name)] = await openPath(await artifacts.file(ref));
    return { path, descriptors: { columns, earlier: files }, close };
  } catch (failure) {
    await close();
    throw failure;
  }
}

function isUnreadable(failure: unknown): boolean {
  if (failure instanceof Refusal) return failure.code === 'DOCUMENT_UNREADABLE';
  return failure instanceof Error && 'code' in failure && failure.code === 'ENOENT';
}

/** Maximum size in bytes of an export that is collected in memory. */
const COLLECTED_BYTES_MAX = 512 << 20;

/** Returns the bytes of an export. @throws Refusal VALIDATION_FAILED for an export that is too large */
export async function readBytes(body: ExportBody): Promise<Uint8Array> {
  if (body.bytes !== undefined) return body.bytes;
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body.stream) {
    length += part.length;
    if (length > COLLECTED_BYTES_MAX)
      throw new Refusal('VALIDATION_FAILED', `The file is larger than ${COLLECTED_BYTES_MAX} bytes.`, null);
    parts.push(part);
  }
  return Buffer.concat(parts, length);
}

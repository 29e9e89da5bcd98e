import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { StaleState } from '#domain/backtest/plan.js';
import { formatNameInHeader } from '#domain/backtest/run-file/header.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder, assertOverlaps } from '#domain/base/schema.js';
import type { RunDocument } from '#domain/definition/runs.js';
import { createMarketKey, type MarketData, SINGLE_GROUPS } from '#domain/market/market-data.js';
import {
  type ExportFormat,
  type ExportPosition,
  type ExportTableName,
  findExportTable,
} from '#domain/outputs/exports.js';
import type { ExportPart, ExportPartInput, OpenRunFiles } from '#jobs/tasks/runs.js';
import type { ServedMarket } from '#market/serve/served-markets.js';
import { type ArtifactStore, computeRunId, type DocumentStore } from '#store/port.js';
import type { Context, VersionedMarket } from '../shared/context.js';
import {
  assertUndamaged,
  listEarlierFiles,
  listEarlierRuns,
  readRunDefinition,
  requireRun,
  type RunName,
} from '../shared/run-documents.js';
import { createStateHead, prependHead, type StateHead, streamWithHead } from '../shared/stamped-json.js';
import { listVersionFilesBefore } from '../stores/data-versions.js';
import { createStoredState } from './plans.js';
import { assertReferenceColumn, type ViewCache } from './views.js';

/** Size in bytes of the buffer for one part. It is twice the intended size of a part. */
const BUFFER_BYTES = 2 ** 21;

/** Maximum number of buffers that are kept for later exports. This is enough for two exports at a time. */
const BUFFERS_KEPT = 4;

/** Size in bytes of the buffer if the reader provides none. */
const CHUNK_BYTES = 256 * 1024;

/** Maximum size in bytes of an export that is cached for later requests. */
const BYTES_COLLECTED_MAX = 4 * 2 ** 20;

/**
 * Pool of buffers into which parts are written. To fill 2 MiB with zeros for each request would be the largest cost of
 * a small table.
 */
function createBufferPool() {
  const keptBuffers: SharedArrayBuffer[] = [];
  return {
    take: (): SharedArrayBuffer => keptBuffers.pop() ?? new SharedArrayBuffer(BUFFER_BYTES),
    /** Returns buffers that no thread writes to any more. */
    give(buffers: Iterable<SharedArrayBuffer>): void {
      for (const buffer of buffers) if (keptBuffers.length < BUFFERS_KEPT) keptBuffers.push(buffer);
    },
  };
}

interface BufferedPart extends ExportPart {
  readonly buffer: SharedArrayBuffer;
}

interface PartSource {
  part(from: ExportPosition, buffer: SharedArrayBuffer): Promise<BufferedPart>;
  readonly buffers: ReturnType<typeof createBufferPool>;
  /**
   * Receives all bytes after the last one was read, or null if there were too many. The member is null if the export is
   * known to be too large.
   */
  readonly whole: ((bytes: Uint8Array<ArrayBuffer> | null) => void) | null;
  /** Called once, when the stream has ended or was cancelled. */
  close(): Promise<void>;
}

/**
 * Creates a stream of parts. While one part is sent, the next part is produced. No further part is produced until that
 * part is read.
 */
function createExportStream(
  firstPart: BufferedPart,
  { part, buffers, whole, close }: PartSource,
): ReadableStream<Uint8Array> {
  const readFollowing = ({ next }: BufferedPart, buffer: SharedArrayBuffer): Promise<BufferedPart> | null => {
    const result = next && part(next, buffer);
    result?.catch(() => undefined); // The reader of the stream receives the error.
    return result;
  };
  let bufferedPart = firstPart;
  const other = firstPart.next === null ? null : buffers.take();
  let nextRead = other && readFollowing(firstPart, other);
  /** Number of bytes of the present part that were sent. */
  let sentBytes = 0;
  const collector = createCollector(whole === null ? 0 : BYTES_COLLECTED_MAX);
  let endPromise: Promise<void> | undefined;
  /** Closes the files once no thread reads them. */
  const endStream = (): Promise<void> => (endPromise ??= (nextRead ?? Promise.resolve()).then(close, close));

  /** Moves to a part that has bytes left. Returns false after the last part. */
  async function advance(): Promise<boolean> {
    while (sentBytes === bufferedPart.length + bufferedPart.rest.length) {
      collector.add(bufferedPart);
      if (nextRead === null) return false;
      const { buffer } = bufferedPart;
      bufferedPart = await nextRead;
      sentBytes = 0;
      nextRead = readFollowing(bufferedPart, buffer);
    }
    return true;
  }

  /** Copies bytes of the current part to the reader's buffer, as many as fit. */
  function fill(target: Uint8Array): number {
    const { buffer, length, rest } = bufferedPart;
    const source =
      sentBytes < length ? new Uint8Array(buffer, sentBytes, length - sentBytes) : rest.subarray(sentBytes - length);
    const count = Math.min(target.length, source.length);
    target.set(source.subarray(0, count));
    sentBytes += count;
    return count;
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      try {
        const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
        if (await advance()) {
          const { buffer, byteOffset, byteLength } = request.view!;
          request.respond(fill(new Uint8Array(buffer, byteOffset, byteLength)));
          return;
        }
        await endStream();
        whole?.(collector.all());
        // Buffers of an aborted export are not returned, because a thread may still write to them.
        buffers.give(other === null ? [firstPart.buffer] : [firstPart.buffer, other]);
        controller.close();
        request.respond(0);
      } catch (failure) {
        await endStream();
        throw failure;
      }
    },
    cancel: endStream,
  });
}

function getBytes({ buffer, length, rest }: BufferedPart): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length + rest.length);
  bytes.set(new Uint8Array(buffer, 0, length));
  bytes.set(rest, length);
  return bytes;
}

/** Creates an object that collects the bytes of parts up to a maximum size. */
function createCollector(bytesMax: number) {
  let chunks: Uint8Array[] | null = [];
  let length = 0;
  return {
    add(part: BufferedPart): void {
      length += part.length + part.rest.length;
      if (length > bytesMax) chunks = null;
      chunks?.push(getBytes(part));
    },
    /** Returns all bytes; null if there were too many. */
    all(): Uint8Array<ArrayBuffer> | null {
      return chunks && new Uint8Array(Buffer.concat(chunks));
    },
  };
}

/**
 * Returns the latest stored run of a subject on a content of its store, or the run with the requested id.
 * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED for an id of a run on another
 * content
 */
async function requireRunOn(
  reader: Pick<DocumentStore, 'get'>,
  name: RunName,
  versionedMarket: VersionedMarket,
): Promise<RunDocument> {
  const { subject, id } = typeof name === 'string' ? { subject: name, id: undefined } : name;
  const run = await requireRun(reader, name);
  if (isRunOfMarket(run, versionedMarket)) return run;
  if (id !== undefined) throw createOtherContentRefusal(run, versionedMarket);
  for await (const earlierRun of listEarlierRuns(reader, subject))
    if (isRunOfMarket(earlierRun, versionedMarket)) return earlierRun;
  throw new Refusal(
    'RUN_NOT_FOUND',
    `${subject} has no stored run on version ${versionedMarket.version} of the data. A backtest with \`as_known_on\` creates one.`,
    { index_id: subject, data_version: versionedMarket.version },
  );
}

function isRunOfMarket(run: RunDocument, { served, version }: VersionedMarket): boolean {
  const { datasetId, contentHash } = served.identity;
  if (run.store_id !== undefined && run.store_id !== datasetId) return false;
  // If a store was deleted and created again, its versions start with 1 again, but their content is different.
  if (run.store_content_hash !== contentHash) return false;
  return version === null || run.store_version == null || run.store_version === version;
}

function createOtherContentRefusal(run: RunDocument, { version }: VersionedMarket): Refusal {
  const contentText = run.store_version == null ? 'other content' : `version ${run.store_version} of the data`;
  return refuseWithFindings('query', [
    {
      severity: 'error',
      code: 'DIFFERENT_DATA',
      message: `The run ${computeRunId(run)} was made on ${contentText}, not on version ${version}: omit \`run_id\` or \`as_known_on\`.`,
      path: 'as_known_on',
      value: version,
    },
  ]);
}

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
  readonly runId: string;
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

/** Version of the export formats. Increase it if an export of the same run gets other bytes. */
const EXPORT_VERSION = 3;

/** Maximum number of exports that are remembered as too large for the cache. Their bytes are not collected again. */
const LARGE_EXPORTS_MAX = 1000;

/** Maximum number of attempts to open the files of a run. A newer run may remove the files. */
const OPENS_MAX = 3;

type ExportQuery = Omit<ExportPartInput, 'exportId' | 'run' | 'files' | 'from' | 'buffer' | 'definition'>;

export function createExports(context: Context, views: ViewCache): Exports {
  const { documents, jobs, stores, states, dataVersions } = context;
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
  async function readBody(
    name: RunName,
    { query, etag }: { readonly query: ExportQuery; readonly etag: string },
    signal: AbortSignal,
  ): Promise<ExportBody> {
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
    const bytes = getBytes(first);
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
      const { run, path, descriptors } = (files = await openRun(context, name));
      const exportId = randomUUID();
      const definition = await readDefinition(context, run, exportQuery.table);
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
      const runId = computeRunId(run);
      if (format !== 'json') return { runId, stale, etag, open };
      const head = createStateHead(state);
      return {
        runId,
        stale,
        etag: head.toEtag(etag),
        open: async (signal) => prependHeadToBody(head, await open(signal)),
      };
    },
  };
}

/** Opens the files of a run. If another run has replaced it, opens the files of the new run. */
async function openRun({ documents, artifacts }: Context, name: RunName): Promise<OpenedRun> {
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
  context: Context,
  run: RunDocument,
  table: ExportTableName,
): Promise<ExportPartInput['definition']> {
  if (findExportTable(table).readsDefinition !== true) return undefined;
  const { definition, request } = await readRunDefinition(context.artifacts, run);
  if (request.as_known === undefined) return definition;
  return { ...definition, known: await listVersionFilesBefore(context, run.store_version ?? null) };
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
export async function collectBytes(body: ExportBody): Promise<Uint8Array> {
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

import { createHash, randomUUID } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import type { RunDocument } from '#domain/documents/run-document.js';
import { exportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import type { ExportFormat, ExportPosition } from '#domain/exports/formats.js';
import { LIMITS } from '#domain/limits.js';
import { marketKey } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import type { StaleState } from '#domain/backtest/stale.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ExportPart, ExportPartInput, OpenRunFiles } from '#jobs/tasks/outputs.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { ArtifactRef, ArtifactStore, DocumentStore } from '#store/port.js';
import { assertOrder } from './backtest-plans.js';
import { assertReferenceColumn } from './reference-column.js';
import type { DataVersions } from '../datasets/data-versions.js';
import { requireRunOn } from './runs-as-known.js';
import { earlierFiles, requireRun, type RunName } from './run-documents.js';
import { runIdOf } from '#store/run-id.js';
import { stateOf, type RunStates } from './run-states.js';
import { stateHead, streamWithHead } from './stamped-json.js';

export interface ExportRequest {
  readonly table: ExportTableName;
  readonly format: ExportFormat;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  /** Reference column of a table of groups. */
  readonly by?: string | undefined;
  /** The run is the newest that was made on the content of then. */
  readonly as_known_on?: string | undefined;
}

/** An export on its way: its first part is made, the others when they are asked for. */
export interface RunExport {
  readonly etag: string;
  readonly stale: StaleState | null;
  /** @throws Refusal as the table does of its first rows, OVERLOADED */
  open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
}

export interface Exports {
  /**
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, DOCUMENT_UNREADABLE, INVALID_RANGE; VALIDATION_FAILED for a run of
   *   other content than is asked for; NO_DATA_SOURCE, STORE_MISMATCH for issuers of a column
   */
  export(name: RunName, request: ExportRequest): Promise<RunExport>;
}

export interface ExportsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Pick<Markets, 'served'>;
  readonly states: Pick<RunStates, 'staleOf' | 'isOtherDataset' | 'requireMarket'>;
  readonly dataVersions: Pick<DataVersions, 'at'>;
}

/** Changes with what an export of the same run is made of. */
const EXPORT_VERSION = 2;

/** Memory for a part: twice what one is meant to have. */
const ROOM_BYTES = 2 ** 21;

/** Rooms that are kept for later exports: of two that are read at once. */
const ROOMS_KEPT = 4;

/** Bytes that are read into at a time where the reader brings no memory of its own. */
const CHUNK_BYTES = 256 * 1024;

/** Groups of which every name is one by itself. */
const OWN_GROUPS = 'IDENTIFIER';

/** Times the files of a run may be gone because a newer run took its place. */
const OPENS_MAX = 3;

type Asked = Omit<ExportPartInput, 'exportId' | 'files' | 'from' | 'room'>;

export function createExports({
  documents,
  artifacts,
  jobs,
  markets,
  states,
  dataVersions,
}: ExportsDependencies): Exports {
  let opened = 0;
  const rooms = createRooms();

  /** The run that is asked for, and the content that its tables are made with. */
  async function subjectOf(
    name: RunName,
    asKnownOn: string | undefined,
  ): Promise<{ readonly run: RunDocument; readonly served: ServedMarket | undefined }> {
    if (asKnownOn === undefined) return { run: await requireRun(documents, name), served: markets.served() };
    const known = await dataVersions.at(asKnownOn);
    return { run: await requireRunOn(documents, name, known), served: known.served };
  }

  async function marketOf(
    run: RunDocument,
    { table, by = OWN_GROUPS, as_known_on: knownOn }: ExportRequest,
    served: ServedMarket | undefined,
  ): Promise<ServedMarket | null> {
    if (exportTable(table).readsMarket !== true) return null;
    if (exportTable(table).isGrouped === 'issuers' && by !== OWN_GROUPS && knownOn === undefined)
      return states.requireMarket(run);
    return served === undefined || (await states.isOtherDataset(run, served)) ? null : served;
  }

  /** Opens the files of a run, or of the one that took its place meanwhile. */
  async function openRun(name: RunName): Promise<OpenedRun> {
    for (let attempt = 1; ; attempt++) {
      const run = await requireRun(documents, name);
      try {
        return await openFiles(run, artifacts);
      } catch (cause) {
        if (!isFileMissing(cause)) throw cause;
        if (attempt === OPENS_MAX)
          throw new Refusal('DOCUMENT_UNREADABLE', 'The stored run cannot be read: its file is missing.', null, {
            cause,
          });
      }
    }
  }

  async function stream(name: RunName, asked: Asked, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    if (opened >= LIMITS.MAX_OPEN_EXPORTS)
      throw new Refusal('OVERLOADED', `${opened} exports are being read (limit ${LIMITS.MAX_OPEN_EXPORTS}).`);
    opened++;
    let run: OpenedRun | undefined;
    const close = async (): Promise<void> => {
      opened--;
      await run?.close();
    };
    try {
      const files = (run = await openRun(name)).descriptors;
      const exportId = randomUUID();
      const part = async (from: ExportPosition, room: SharedArrayBuffer): Promise<MadePart> => ({
        ...(await jobs.query('export-part', { ...asked, exportId, files, from, room }, signal)),
        room,
      });
      return streamOf(await part({ at: 0, rows: 0 }, rooms.take()), { part, close, rooms });
    } catch (failure) {
      await close();
      throw failure;
    }
  }

  return {
    async export(name, request) {
      const { table, format, by, start = null, end = null } = request;
      const subject = await subjectOf(name, request.as_known_on);
      const { run } = subject;
      assertOrder({ start, end });
      assertReached(run, { start, end });
      const served = await marketOf(run, request, subject.served);
      if (by !== undefined) assertGroups(table, by, served && served.market);
      const state = await stateOf(states, run);
      const { stale } = state;
      const asked = { table, format, start, end, by, market: served && served.handle };
      const etag = etagOf(run, asked);
      const found = request.as_known_on === undefined ? name : { subject: run.run_id, id: runIdOf(run) };
      if (format !== 'json') return { stale, etag, open: (signal) => stream(found, asked, signal) };
      const head = stateHead(state);
      return {
        stale,
        etag: head.etagOf(etag),
        open: async (signal) => streamWithHead(head, await stream(found, asked, signal)),
      };
    },
  };
}

/** @throws Refusal NO_DATA_IN_RANGE for dates after the end of the run, or before its start */
function assertReached({ start: first, end: last }: RunDocument, { start, end }: Pick<Asked, 'start' | 'end'>): void {
  if (start !== null && start > last)
    throw new Refusal('NO_DATA_IN_RANGE', `start ${start} is after the last date of the run, ${last}.`, {
      start,
      last,
    });
  if (end !== null && end < first)
    throw new Refusal('NO_DATA_IN_RANGE', `end ${end} is before the first date of the run, ${first}.`, { end, first });
}

/** @throws Refusal VALIDATION_FAILED for a table without groups, and for a column that the market does not have */
function assertGroups(table: ExportTableName, by: string, market: MarketData | null): void {
  if (exportTable(table).isGrouped === undefined)
    throw refuseWithFindings('query', [
      {
        severity: 'error',
        code: 'UNKNOWN_FIELD',
        message: `The rows of ${table} are not of groups: by says nothing of them.`,
        path: 'by',
        value: by,
      },
    ]);
  if (market !== null && by !== OWN_GROUPS) assertReferenceColumn(market, by);
}

/** Everything that the bytes depend on. */
function etagOf(run: RunDocument, { market, ...asked }: Asked): string {
  const files = [run.artifacts.columns, ...earlierFiles(run)].map(({ sha256 }) => sha256);
  return createHash('sha256')
    .update(JSON.stringify([EXPORT_VERSION, files, asked, market && marketKey(market)]))
    .digest('hex');
}

interface OpenedRun {
  readonly descriptors: OpenRunFiles;
  close(): Promise<void>;
}

async function openFiles(run: RunDocument, artifacts: Pick<ArtifactStore, 'file'>): Promise<OpenedRun> {
  const handles: FileHandle[] = [];
  const close = async (): Promise<void> => {
    for (const handle of handles) await handle.close();
  };
  const descriptorOf = async (ref: ArtifactRef): Promise<number> => {
    const handle = await open(await artifacts.file(ref), 'r');
    handles.push(handle);
    return handle.fd;
  };
  try {
    const columns = await descriptorOf(run.artifacts.columns);
    const earlier: Record<string, number> = {};
    for (const ref of earlierFiles(run)) earlier[ref.name] = await descriptorOf(ref);
    return { descriptors: { columns, earlier }, close };
  } catch (failure) {
    await close();
    throw failure;
  }
}

function isFileMissing(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === 'ENOENT';
}

/** Memory that parts are written to: 2 MiB of zeros a request is what a small table costs most. */
interface Rooms {
  take(): SharedArrayBuffer;
  /** Keeps rooms that no thread writes to any more. */
  give(rooms: Iterable<SharedArrayBuffer>): void;
}

function createRooms(): Rooms {
  const kept: SharedArrayBuffer[] = [];
  return {
    take: () => kept.pop() ?? new SharedArrayBuffer(ROOM_BYTES),
    give(rooms) {
      for (const room of rooms) if (kept.length < ROOMS_KEPT) kept.push(room);
    },
  };
}

/** A part in the room that it was written to. */
interface MadePart extends ExportPart {
  readonly room: SharedArrayBuffer;
}

interface PartSource {
  part(from: ExportPosition, room: SharedArrayBuffer): Promise<MadePart>;
  readonly rooms: Rooms;
  /** Called once, when the stream has ended or was cancelled. */
  close(): Promise<void>;
}

/** Parts as a stream: the next part is made while one is sent, and no further one before it is read. */
function streamOf(first: MadePart, { part, rooms, close }: PartSource): ReadableStream<Uint8Array> {
  const following = ({ next }: MadePart, room: SharedArrayBuffer): Promise<MadePart> | null => {
    const made = next && part(next, room);
    made?.catch(() => undefined); // The reader of the stream receives the error.
    return made;
  };
  let shown = first;
  const other = first.next === null ? null : rooms.take();
  let coming = other && following(first, other);
  /** Bytes of the shown part that were sent. */
  let sent = 0;
  let ended: Promise<void> | undefined;
  /** Files are closed when no thread reads them any more. */
  const end = (): Promise<void> => (ended ??= (coming ?? Promise.resolve()).then(close, close));

  /** Goes on to a part with bytes left; false after the last. */
  async function advance(): Promise<boolean> {
    while (sent === shown.length + shown.rest.length) {
      if (coming === null) return false;
      const { room } = shown;
      shown = await coming;
      sent = 0;
      coming = following(shown, room);
    }
    return true;
  }

  /** Copies what is left of the shown part, as much as there is place for. */
  function fill(into: Uint8Array): number {
    const { room, length, rest } = shown;
    const from = sent < length ? new Uint8Array(room, sent, length - sent) : rest.subarray(sent - length);
    const count = Math.min(into.length, from.length);
    into.set(from.subarray(0, count));
    sent += count;
    return count;
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      try {
        const request = controller.byobRequest!; // Memory is allocated for those who bring none.
        if (await advance()) {
          const { buffer, byteOffset, byteLength } = request.view!;
          request.respond(fill(new Uint8Array(buffer, byteOffset, byteLength)));
          return;
        }
        await end();
        // Those of an export that is given up may still be written to.
        rooms.give(other === null ? [first.room] : [first.room, other]);
        controller.close();
        request.respond(0);
      } catch (failure) {
        await end();
        throw failure;
      }
    },
    cancel: end,
  });
}

import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as ByteStream } from 'node:stream/web';
import type { SqlFormat } from '#contract/sql.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { findReferenceKind } from '#domain/datapoints/fields.js';
import { createMarketKey, type MarketData } from '#domain/market/market-data.js';
import {
  type ExportColumn,
  type ListCell,
  type ListViewName,
  PRICE_KEYS,
  REFERENCE_KEYS,
  SQL_VIEWS,
} from '#domain/outputs/exports.js';
import { answerQuery } from '#market/serve/market-process.js';
import type { SqlColumnType, SqlInputs, SqlNeeds, SqlOrder, SqlOutcome } from '#market/serve/market-tasks.js';
import { computeRunId } from '#store/port.js';
import { createIndexList } from '../indices/indices.js';
import type { Context } from '../shared/context.js';
import { createGate, Postponed, type Requester } from '../shared/gate.js';
import { readRun } from '../shared/run-documents.js';
import type { ExportBody, Exports } from './exports.js';

/** File that exists until it is released. */
interface LeasedFile {
  readonly path: string;
  release(): void;
}

/** Files with the tables that queries read. A file stays cached for later queries while there is space. */
interface InputFiles {
  /**
   * Returns the file of a key. Requests of the same file share its creation, which ends when all of them are aborted.
   * @param key identifies the content
   * @param write creates the file, which does not exist yet
   * @throws Refusal QUERY_LIMIT if the files in use exceed the space, and the refusals of `write`; the reason of the
   * signal
   */
  hold(
    key: string,
    write: (path: string, signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<LeasedFile>;
  /** Removes all files. */
  close(): Promise<void>;
}

interface CachedFile {
  readonly path: string;
  readonly written: Promise<number>;
  /** Ends the creation of the file. */
  readonly unwanted: AbortController;
  bytes: number;
  holders: number;
}

/** @param bytesMax maximum total size of all files */
function createInputFiles(bytesMax: number): InputFiles {
  /** Files by key, least recently used first. */
  const cachedFiles = new Map<string, CachedFile>();
  let folder: Promise<string> | undefined;
  let writtenBytes = 0;

  async function remove(key: string, file: CachedFile): Promise<void> {
    if (cachedFiles.get(key) === file) cachedFiles.delete(key);
    await rm(file.path, { force: true });
  }

  /** Removes files that no query uses until the remaining files fit into the space. */
  async function removeOldFiles(): Promise<void> {
    let total = [...cachedFiles.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [key, file] of cachedFiles) {
      if (total <= bytesMax) return;
      if (file.holders > 0) continue;
      total -= file.bytes;
      await remove(key, file);
    }
    if (total > bytesMax)
      throw new Refusal('QUERY_LIMIT', `The tables that queries read are larger than ${bytesMax} bytes together.`, {
        limit: bytesMax,
      });
  }

  function createFile(path: string, write: Parameters<InputFiles['hold']>[1]): CachedFile {
    const unwanted = new AbortController();
    const written = write(path, unwanted.signal).then(async () => (await stat(path)).size);
    written.catch(() => rm(path, { force: true })); // thrown to those who wait for it
    return { path, written, unwanted, bytes: 0, holders: 0 };
  }

  return {
    async hold(key, write, signal) {
      folder ??= mkdtemp(join(tmpdir(), `divisor-${process.pid}-`));
      const path = join(await folder, `${(writtenBytes += 1)}.parquet`);
      signal.throwIfAborted();
      const file = cachedFiles.get(key) ?? createFile(path, write);
      cachedFiles.delete(key);
      cachedFiles.set(key, file);
      file.holders++;
      let isHeld = true;
      const releaseFile = (): void => {
        if (!isHeld) return;
        isHeld = false;
        file.holders--;
        if (file.holders > 0 || file.bytes > 0) return;
        if (cachedFiles.get(key) === file) cachedFiles.delete(key); // a later request creates the file again
        file.unwanted.abort(signal.reason);
      };
      const abortedSignal = onceAborted(signal);
      try {
        file.bytes = await Promise.race([file.written, abortedSignal.promise]);
        await removeOldFiles();
        return { path: file.path, release: releaseFile };
      } catch (failure) {
        releaseFile();
        if (!signal.aborted && file.holders === 0) await remove(key, file);
        throw failure;
      } finally {
        abortedSignal.forget();
      }
    },
    async close() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}

/** Returns a promise that rejects when a signal is aborted. @returns also a function that stops listening */
function onceAborted(signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } {
  let forget = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    forget = () => signal.removeEventListener('abort', onAbort);
  });
  return { promise, forget };
}

/** Inputs of one query. They stay in use until the query is answered. */
export interface OpenInputs {
  /** @param runs ids of indices and strategies whose runs may be read */
  read(needs: SqlNeeds, runs: ReadonlySet<string>): Promise<SqlInputs>;
  release(): void;
}

/** Creates the tables that queries can read: the tables of runs, the served market, and lists of documents. */
function createSqlInputs({ documents, jobs, markets }: Context, exports: Exports, files: InputFiles) {
  const listIndices = createIndexList(documents);

  async function holdRunFile(
    view: SqlNeeds['runs'][number]['view'],
    subject: string,
    signal: AbortSignal,
  ): Promise<LeasedFile> {
    const { etag, open } = await exports.export({ subject, id: undefined }, { table: view, format: 'parquet' });
    return files.hold(etag, async (path, unwanted) => writeBody(path, await open(unwanted)), signal);
  }

  async function readMarketFile({ view, columns }: SqlNeeds['market'][number], signal: AbortSignal) {
    const { market, handle } = markets.require();
    const viewColumns = Object.keys(createColumns(market)[view]);
    const selectedColumns = columns === null ? viewColumns : viewColumns.filter((name) => columns.includes(name));
    const key = createHash('sha256')
      .update(JSON.stringify([createMarketKey(handle), view, selectedColumns]))
      .digest('hex');
    const leasedFile = await files.hold(
      key,
      async (path, unwanted) => {
        await jobs.query('market-table', { market: handle, table: view, columns: selectedColumns, path }, unwanted);
      },
      signal,
    );
    const keys: Readonly<Record<string, ExportColumn>> = SQL_VIEWS[view].columns;
    return { held: leasedFile, columns: viewColumns.filter((name) => name in keys || selectedColumns.includes(name)) };
  }

  const lists: Readonly<Record<ListViewName, () => Promise<readonly (readonly ListCell[])[]>>> = {
    indices: async () =>
      (await listIndices({ limit: undefined, after: undefined })).indices.map((index) => [
        index.id,
        index.name,
        index.kind,
        index.source_index_id,
        index.calendar,
        index.currency,
        index.base_date,
      ]),
    runs: async () =>
      (await documents.list('run', readRun)).documents.map((run) => [
        run.run_id,
        computeRunId(run),
        run.name,
        run.run_at,
        run.start,
        run.end,
        run.index_version ?? null,
        run.store_id ?? null,
        run.store_version ?? null,
        run.store_content_hash,
        run.engine_version,
      ]),
  };

  return {
    /** Returns the ids with a run that the client may read. */
    runs: () => documents.ids('run'),
    columns: async (): Promise<SqlOrder['columns']> => createColumns(markets.current()?.market),
    open(signal: AbortSignal): OpenInputs {
      const leasedFiles: LeasedFile[] = [];

      async function holdRunFiles(runNeeds: SqlNeeds['runs'], allowedIds: ReadonlySet<string>): Promise<string[]> {
        const paths: string[] = [];
        for (const { view, indexId } of runNeeds) {
          if (!allowedIds.has(indexId)) throw new Error(`a query asked for ${view} of ${indexId}`);
          const leasedFile = await holdRunFile(view, indexId, signal);
          leasedFiles.push(leasedFile);
          paths.push(leasedFile.path);
        }
        return paths;
      }

      async function readMarketFiles(marketNeeds: SqlNeeds['market']): Promise<SqlInputs['market']> {
        const marketFiles: SqlInputs['market'][number][] = [];
        for (const need of marketNeeds) {
          const { held, columns } = await readMarketFile(need, signal);
          leasedFiles.push(held);
          marketFiles.push({ file: held.path, columns });
        }
        return marketFiles;
      }

      return {
        async read(needs, allowedIds) {
          const runs = holdRunFiles(needs.runs, allowedIds);
          const market = readMarketFiles(needs.market);
          await Promise.allSettled([runs, market]); // Waits also after an error, because no file may be in use after the release.
          return {
            runs: await runs,
            market: await market,
            lists: await Promise.all(needs.lists.map((list) => lists[list]())),
          };
        },
        release: () => leasedFiles.forEach((leasedFile) => leasedFile.release()),
      };
    },
  };
}

/** Returns the columns of the views. The columns of a market view depend on the fields of the market. */
function createColumns(market: MarketData | undefined): SqlOrder['columns'] {
  const fixedColumns = Object.entries(SQL_VIEWS).map(([view, { columns }]) => [view, getTypes(columns)]);
  return {
    ...(Object.fromEntries(fixedColumns) as SqlOrder['columns']), // the object has one member per view
    prices: { ...getTypes(PRICE_KEYS), ...nameColumns(PRICE_KEYS, [...(market?.fields.keys() ?? [])], () => 'number') },
    reference: {
      ...getTypes(REFERENCE_KEYS),
      ...nameColumns(
        REFERENCE_KEYS,
        market?.reference.columns ?? [],
        (name) => COLUMN_KINDS[findReferenceKind(market!, name)],
      ),
    },
  };
}

const COLUMN_KINDS = { string: 'text', number: 'number', boolean: 'flag' } as const;

const getTypes = (columns: Readonly<Record<string, ExportColumn>>) =>
  Object.fromEntries(Object.entries(columns).map(([name, { type }]) => [name, type]));

/** Returns the types of columns. A column is left out if its name equals another column or a key, ignoring case. */
function nameColumns(
  keys: Readonly<Record<string, ExportColumn>>,
  names: readonly string[],
  getType: (name: string) => SqlColumnType,
): Record<string, SqlColumnType> {
  const usedNames = new Set(Object.keys(keys));
  const types: Record<string, SqlColumnType> = {};
  for (const name of names) {
    if (usedNames.has(name.toLowerCase())) continue;
    usedNames.add(name.toLowerCase());
    types[name] = getType(name);
  }
  return types;
}

async function writeBody(path: string, body: ExportBody): Promise<void> {
  if (body.bytes !== undefined) return writeFile(path, body.bytes, { mode: 0o600 });
  await pipeline(Readable.fromWeb(body.stream as ByteStream), createWriteStream(path, { mode: 0o600 }));
}

export interface SqlResponse extends SqlOutcome {
  readonly stream: ReadableStream<Uint8Array>;
}

export interface Sql {
  /**
   * Answers a query. It covers only documents that the client may read.
   * @throws Refusal VALIDATION_FAILED, QUERY_LIMIT, NO_DATA_SOURCE, OVERLOADED, RATE_LIMITED
   */
  answer(request: { readonly query: string; readonly format: SqlFormat }, asker: Requester): Promise<SqlResponse>;
  close(): Promise<void>;
}

export interface SqlTerms {
  /** Path of the module that encodes results. */
  readonly encoder: string;
  readonly secondsMax: number;
}

/**
 * Limits on concurrent queries. Each query runs in its own process. One place is kept for keys that run nothing, and
 * longer queries take turns.
 */
const QUERIES = {
  name: 'queries',
  runningMax: 3,
  waitingMax: 30,
  clientRunningMax: 2,
  clientWaitingMax: 10,
  keptPlaces: 1,
  turnMs: LIMITS.MAX_SQL_TURN_SECONDS * 1000,
};

/**
 * Bytes of results on disk by key: of running queries the maximum size of a result, and of the results that their clients
 * have not read yet the actual size.
 */
function createUnreadResults() {
  const heldBytes = new Map<string | null, number>();
  const add = (client: string | null, bytes: number): void => {
    const total = (heldBytes.get(client) ?? 0) + bytes;
    if (total > 0) heldBytes.set(client, total);
    else heldBytes.delete(client);
  };
  return {
    /** Returns true if a result of the maximum size fits. */
    hasSpace: (client: string | null): boolean =>
      client === null || (heldBytes.get(client) ?? 0) + LIMITS.MAX_SQL_BYTES <= LIMITS.MAX_SQL_UNREAD_BYTES,
    /** Reserves space for a result. @returns a function that sets the number of bytes that are still held */
    reserve(client: string | null): (bytes: number) => void {
      let held = 0;
      const setHeld = (bytes: number): void => {
        add(client, bytes - held);
        held = bytes;
      };
      setHeld(LIMITS.MAX_SQL_BYTES);
      return setHeld;
    },
  };
}

export function createSql(context: Context, exports: Exports, { encoder, secondsMax }: SqlTerms): Sql {
  const unreadResults = createUnreadResults();
  const gate = createGate({ ...QUERIES, mayBegin: unreadResults.hasSpace });
  const files = createInputFiles(LIMITS.MAX_SQL_INPUT_BYTES);
  const inputs = createSqlInputs(context, exports, files);
  const limits = { runs: LIMITS.MAX_SQL_RUNS, rows: LIMITS.MAX_SQL_ROWS, bytes: LIMITS.MAX_SQL_BYTES };

  return {
    answer: ({ query, format }, requester) =>
      gate(async ({ follow }) => {
        const { client, signal } = requester;
        const setHeld = unreadResults.reserve(client);
        const openInputs = inputs.open(signal);
        const onDisplaced = () => new Postponed('other queries need the memory');
        try {
          const [runs, columns] = await Promise.all([inputs.runs(), inputs.columns()]);
          // The process asks for data outside the HTTP request. The prefixes of the client still apply.
          const onNeeds = AsyncResource.bind((needs: SqlNeeds): Promise<SqlInputs> =>
            openInputs.read(needs, new Set(runs)),
          );
          const order = { query, format, runs, columns, encoder, limits };
          const options = { onNeeds, secondsMax, signal, client, follow, onDisplaced };
          return await answerQuery(order, options, async (path, outcome) => {
            const file = await open(path, 'r');
            setHeld((await file.stat()).size);
            const release = (): void => {
              setHeld(0);
              gate.review();
            };
            return { ...outcome, stream: createFileStream(file, release) };
          });
        } catch (failure) {
          setHeld(0);
          throw failure;
        } finally {
          openInputs.release();
        }
      }, requester),
    close: () => files.close(),
  };
}

/** Number of bytes that are read at a time if the reader provides no buffer. */
const CHUNK_BYTES = 256 * 1024;

/** Streams the bytes of a file, and closes the file at the end. @param onClosed called once after it is closed */
function createFileStream(file: FileHandle, onClosed: () => void): ReadableStream<Uint8Array> {
  const close = () => file.close().finally(onClosed);
  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
      const { buffer, byteOffset, byteLength } = request.view!;
      const { bytesRead } = await file.read(new Uint8Array(buffer, byteOffset, byteLength), 0, byteLength);
      if (bytesRead > 0) return request.respond(bytesRead);
      await close();
      controller.close();
      request.respond(0);
    },
    cancel: close,
  });
}

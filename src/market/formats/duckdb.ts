import type * as DuckDbApi from '@duckdb/node-api';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBInstance as Instance, DuckDBValue } from '@duckdb/node-api';
import type Bindings from '@duckdb/node-bindings';
import { createRequire } from 'node:module';
import { type Cell, Instant, TEXT_BYTES_MAX } from './cells.js';
import { TEXT_BYTES } from './direct-duckdb.js';

// Loads the package by `require`. `import` takes 0.1 s more, because it searches all CommonJS files for export names,
// and the first load of a store would wait for it.
const require = createRequire(import.meta.url);
const {
  DuckDBInstance,
  DuckDBTypeId,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampValue,
  DuckDBTimestampTZValue,
} = require('@duckdb/node-api') as typeof DuckDbApi;
const bindings = require('@duckdb/node-bindings') as typeof Bindings;

const TYPE_IDS: Readonly<Record<Kind, readonly DuckDbApi.DuckDBTypeId[]>> = {
  integer: [DuckDBTypeId.INTEGER, DuckDBTypeId.DATE],
  double: [DuckDBTypeId.DOUBLE],
  text: [DuckDBTypeId.VARCHAR],
};

/** Memory limit of DuckDB in MiB, in addition to panels. */
const MEMORY_MEGABYTES = 1024;

/** DuckDB with one connection. Further connections run concurrent statements. */
export interface DuckDb {
  readonly connection: DuckDBConnection;
  connect(): Promise<DuckDBConnection>;
  /** Closes every connection and the database. */
  close(): void;
}

let preparedInstance: Promise<Instance> | undefined;

/**
 * Opens the database for the next `openDuckDb` in advance, unless one is already open. For processes that wait for
 * work. @cost 10 ms
 */
export function prepareDuckDb(): void {
  preparedInstance ??= DuckDBInstance.create(':memory:');
  preparedInstance.catch(() => {}); // thrown by the next `openDuckDb`
}

/**
 * Creates a separate DuckDB in memory that can read only the given files or the attached database. It cannot use the
 * network, another file, an extension, or a statement that could change these limits.
 */
export async function openDuckDb(readable: ReadableFiles): Promise<DuckDb> {
  const pendingInstance = preparedInstance ?? DuckDBInstance.create(':memory:');
  preparedInstance = undefined;
  const instance = await pendingInstance;
  const connections: DuckDBConnection[] = [];
  async function connect(): Promise<DuckDBConnection> {
    const connection = await instance.connect();
    connections.push(connection);
    return connection;
  }
  const close = () => {
    for (const openConnection of connections) openConnection.closeSync();
    instance.closeSync();
  };
  const connection = await connect();
  await connection.run(formatSettings(readable)).catch((error: unknown) => {
    close();
    throw findLockFault(error) ?? error;
  });
  return { connection, connect, close };
}

/**
 * Returns a simpler error for a database file that another process has open for writing. The message of DuckDB contains
 * paths and a web address. Returns undefined for other errors.
 */
function findLockFault(error: unknown): Error | undefined {
  const message = error instanceof Error ? error.message : '';
  if (!message.includes('Could not set lock on file')) return undefined;
  const [, pid] = /\(PID (\d+)\)/.exec(message) ?? [];
  const holder = pid === undefined ? 'another process' : `process ${pid}`;
  return new Error(`${holder} has the file open for writing; close the file there and try again.`, { cause: error });
}

/** Files and databases that a DuckDB may read. */
interface ReadableFiles {
  readonly files?: readonly string[];
  readonly attach?: { readonly path: string; readonly name: string };
  /** Further settings, as SQL statements. Default: none. */
  readonly settings?: string;
  /** Memory limit in MiB. Default: MEMORY_MEGABYTES. */
  readonly megabytes?: number;
}

/**
 * Returns the statements that restrict a DuckDB to permitted files. They disable its file cache: the operating system
 * caches files already, and use of new memory costs more than reading again.
 */
export function formatSettings({
  files = [],
  attach,
  settings = '',
  megabytes = MEMORY_MEGABYTES,
}: ReadableFiles): string {
  return `
    SET memory_limit = '${megabytes}MiB';
    SET autoinstall_known_extensions = false;
    SET autoload_known_extensions = false;
    SET temp_directory = '';
    SET enable_external_file_cache = false;
    ${settings}
    ${attach === undefined ? '' : `ATTACH ${quoteText(attach.path)} AS ${quoteName(attach.name)} (READ_ONLY);`}
    SET allowed_paths = [${files.map(quoteText).join(', ')}];
    SET enable_external_access = false;
    SET lock_configuration = true`;
}

/** Returns a clear message for an error of insufficient memory. Returns undefined for other errors. */
export function describeMemoryFault(error: unknown): string | undefined {
  if (!(error instanceof Error) || !/out of memory|bad allocation/i.test(error.message)) return undefined;
  return `The rows need more memory than their reader may use: ${MEMORY_MEGABYTES} MiB for data that is decompressed, within the limit of the process (setting --reader-memory-mb). Write the file with smaller row groups or shorter texts.`;
}

/** Returns a text as a SQL literal. */
export const quoteText = (text: string) => `'${text.replaceAll("'", "''")}'`;
/** Returns a name as a SQL identifier. */
export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Matches types with a bounded size of values. */
const BOUNDED_TYPE =
  /^(?:BOOLEAN|U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL|DATE|TIME|TIMESTAMP|INTERVAL|UUID)\b(?!.*\[)/;

/**
 * Returns the SQL of a value. It fails inside DuckDB if the text of the value is too long. @param what description of
 * the value for the message
 */
export const formatBoundText = (value: string, what: string) =>
  `CASE WHEN strlen((${value})::VARCHAR) > ${TEXT_BYTES_MAX} THEN error(${quoteText(`${what} has a text of more than ${TEXT_BYTES_MAX} bytes`)}) ELSE ${value} END`;

/** Returns the SQL of a source column, which fails if a text is too long. */
export function formatBoundColumn({ name, type }: { readonly name: string; readonly type: string }): string {
  const column = quoteName(name);
  return BOUNDED_TYPE.test(type)
    ? column
    : `${formatBoundText(column, `The column ${name.slice(0, 80)}`)} AS ${column}`;
}

/** Number of processed chunks between two garbage collections: 8 MiB for eight columns. */
const CHUNKS_BETWEEN_COLLECTIONS = 64;

let chunksSince = 0;

/** Type of a column with values that are read in place. */
type Kind = 'integer' | 'double' | 'text';

/**
 * Yields the rows of a query as they arrive. The whole result is never stored: the next chunk is fetched while the
 * previous one is processed.
 * @param kinds of the columns that `readIntegers`, `readDoubles` and `readTexts` will read; null for other columns.
 */
export async function* streamChunks(
  connection: DuckDBConnection,
  sql: string,
  kinds: readonly (Kind | null)[] = [],
): AsyncGenerator<DuckDBDataChunk> {
  const result = await connection.stream(sql);
  kinds.forEach((kind, column) => {
    if (kind !== null && !TYPE_IDS[kind].includes(result.columnTypeId(column)))
      throw new Error(`column ${column} of the query holds no ${kind}`);
  });
  let nextChunk = result.fetchChunk();
  try {
    for (;;) {
      const chunk = await nextChunk;
      if (chunk === null || chunk.rowCount === 0) return;
      collectChunks();
      nextChunk = result.fetchChunk();
      nextChunk.catch(() => {}); // thrown when the chunk is awaited
      yield chunk;
    }
  } finally {
    await nextChunk.catch(() => {}); // the connection must not close during a fetch; its error was thrown above, or no reader needs it
  }
}

/**
 * Collects unused chunks, if the process may request a garbage collection. The engine does not count the memory of
 * chunks outside its heap. Without collections, the operating system would supply new pages, and that memory would not
 * be reused.
 */
function collectChunks(): void {
  chunksSince = (chunksSince + 1) % CHUNKS_BETWEEN_COLLECTIONS;
  if (chunksSince === 0) void globalThis.gc?.({ type: 'minor' });
}

/** Returns the doubles of a column without copying them. The query must return doubles, with NaN for null. */
export function readDoubles(chunk: DuckDBDataChunk, column: number): Float64Array {
  const { buffer, byteOffset } = readData(chunk, column, Float64Array.BYTES_PER_ELEMENT);
  return new Float64Array(buffer, byteOffset, chunk.rowCount);
}

/**
 * Returns the integers of a column without copying them. Dates are days since 1970. The query must return integers
 * without null.
 */
export function readIntegers(chunk: DuckDBDataChunk, column: number): Int32Array {
  const { buffer, byteOffset } = readData(chunk, column, Int32Array.BYTES_PER_ELEMENT);
  return new Int32Array(buffer, byteOffset, chunk.rowCount);
}

/** Returns the texts of a column without copying them, in the form that `createNameTable` uses. */
export function readTexts(chunk: DuckDBDataChunk, column: number): Int32Array {
  const { buffer, byteOffset } = readData(chunk, column, TEXT_BYTES);
  return new Int32Array(buffer, byteOffset, (chunk.rowCount * TEXT_BYTES) / Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Returns the bytes of a column without a copy. The vectors of the Node package would create four objects per column.
 */
function readData({ chunk, rowCount }: DuckDBDataChunk, column: number, width: number): Uint8Array {
  return bindings.vector_get_data(bindings.data_chunk_get_vector(chunk, column), rowCount * width);
}

/** Converts a value to a cell. Values of special DuckDB types become a number, a date or a text. */
export function toCell(value: DuckDBValue): Cell {
  if (
    value === null ||
    typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean'
  )
    return value;
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (value instanceof DuckDBDateValue) return new Date(value.days * 86_400_000);
  if (value instanceof DuckDBTimestampValue) return new Date(Number(value.micros / 1000n));
  if (value instanceof DuckDBTimestampTZValue) return new Instant(Number(value.micros / 1000n));
  return String(value);
}

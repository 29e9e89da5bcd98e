import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * DuckDB in memory that is called synchronously through its C interface. Rows are copied to memory of the caller. It
 * suits a separate thread: a chunk of five columns takes 4 µs in addition to its decoding. The Node package takes 70
 * µs, because it uses another thread for each call.
 */
export interface DirectDuckDb {
  /** Maximum number of rows per chunk. */
  readonly chunkRows: number;
  /**
   * Streams the rows of a query.
   * @param columns receive the values of each chunk; each column has a fixed width and space for `chunkRows`
   * @param onRows called for each chunk with its number of rows
   * @throws Error with the message of DuckDB
   */
  stream(sql: string, columns: readonly DirectColumn[], onRows: (rows: number) => void): void;
  close(): void;
}

export interface DirectColumn {
  readonly into: Uint8Array;
  /** Bytes per value. */
  readonly width: number;
}

/**
 * Opens the database.
 * @param settings statements that are executed first
 * @throws Error if DuckDB or the package for native calls is unavailable on this platform
 */
export function openDirectDuckDb(settings: string): DirectDuckDb {
  const calls = openCalls();
  const database = allocatePointer();
  const connection = allocatePointer();
  if (calls.open(':memory:', database) !== 0 || calls.connect(database[0]!, connection) !== 0)
    throw new Error('DuckDB could not be opened');
  const prepareStatement = (sql: string): BigUint64Array => {
    const statement = allocatePointer();
    if (calls.prepare(connection[0]!, sql, statement) === 0) return statement;
    const message = calls.prepareError(statement[0]!);
    calls.destroyPrepared(statement);
    throw new Error(message ?? 'a statement could not be prepared');
  };
  const close = (): void => {
    calls.disconnect(connection);
    calls.close(database);
  };
  const run = (sql: string): void => {
    const result = new Uint8Array(RESULT_BYTES);
    const hasFailed = calls.query(connection[0]!, sql, result) !== 0;
    const message = hasFailed ? calls.resultError(result) : null;
    calls.destroyResult(result);
    if (hasFailed) throw new Error(message ?? 'a statement failed');
  };
  try {
    run(settings);
  } catch (fault) {
    close();
    throw fault;
  }
  return {
    chunkRows: Number(calls.vectorSize()),
    stream(sql, columns, onRows) {
      const statement = prepareStatement(sql);
      const result = new Uint8Array(RESULT_BYTES);
      try {
        if (calls.executeStreaming(statement[0]!, result) !== 0)
          throw new Error(calls.resultError(result) ?? 'a query failed');
        drain(calls, calls.resultOf(result), columns, onRows);
        const message = calls.resultError(result);
        if (message !== null && message !== '') throw new Error(message);
      } finally {
        calls.destroyResult(result);
        calls.destroyPrepared(statement);
      }
    },
    close,
  };
}

function drain(calls: Calls, result: object, columns: readonly DirectColumn[], onRows: (rows: number) => void): void {
  const chunkPointer = allocatePointer();
  for (;;) {
    const chunk = calls.fetch(result);
    if (chunk === 0) return;
    const rows = Number(calls.size(chunk));
    for (const [c, { into, width }] of columns.entries())
      calls.copy(into, calls.data(calls.vector(chunk, c)), rows * width);
    chunkPointer[0] = BigInt(chunk);
    calls.destroyChunk(chunkPointer);
    if (rows === 0) return;
    onRows(rows);
  }
}

/** Allocates memory for an address that a call writes. */
const allocatePointer = () => new BigUint64Array(1);

/** Size of `duckdb_result`, which consists of three counts and three addresses. */
const RESULT_BYTES = 48;

/** Memory address; 0 is a null pointer. */
type Address = number;

interface Calls {
  readonly open: (path: string, database: BigUint64Array) => number;
  readonly connect: (database: bigint, connection: BigUint64Array) => number;
  readonly query: (connection: bigint, sql: string, result: Uint8Array) => number;
  readonly prepare: (connection: bigint, sql: string, statement: BigUint64Array) => number;
  readonly prepareError: (statement: bigint) => string | null;
  readonly executeStreaming: (statement: bigint, result: Uint8Array) => number;
  readonly resultError: (result: Uint8Array) => string | null;
  /** Returns the result in the form in which it is passed by value. */
  readonly resultOf: (result: Uint8Array) => object;
  readonly fetch: (result: object) => Address;
  readonly size: (chunk: Address) => number;
  readonly vector: (chunk: Address, column: number) => Address;
  readonly data: (vector: Address) => Address;
  readonly copy: (to: Uint8Array, from: Address, bytes: number) => unknown;
  readonly vectorSize: () => number;
  readonly destroyChunk: (chunk: BigUint64Array) => void;
  readonly destroyResult: (result: Uint8Array) => void;
  readonly destroyPrepared: (statement: BigUint64Array) => void;
  readonly disconnect: (connection: BigUint64Array) => void;
  readonly close: (database: BigUint64Array) => void;
}

function openCalls(): Calls {
  const koffi = require('koffi') as typeof import('koffi');
  const duckDbLibrary = koffi.load(findLibrary());
  const result = koffi.struct({
    columns: 'uint64_t',
    rows: 'uint64_t',
    changed: 'uint64_t',
    held: 'uintptr_t',
    message: 'uintptr_t',
    inside: 'uintptr_t',
  });
  // the C prototypes match the types above
  const call = <C extends keyof Calls>(prototype: string): Calls[C] =>
    duckDbLibrary.func(prototype) as unknown as Calls[C];
  return {
    open: call<'open'>('int duckdb_open(const char *, void *)'),
    connect: call<'connect'>('int duckdb_connect(uintptr_t, void *)'),
    query: call<'query'>('int duckdb_query(uintptr_t, const char *, void *)'),
    prepare: call<'prepare'>('int duckdb_prepare(uintptr_t, const char *, void *)'),
    prepareError: call<'prepareError'>('const char *duckdb_prepare_error(uintptr_t)'),
    executeStreaming: call<'executeStreaming'>('int duckdb_execute_prepared_streaming(uintptr_t, void *)'),
    resultError: call<'resultError'>('const char *duckdb_result_error(void *)'),
    resultOf: (bytes) => koffi.decode(bytes, result) as object,
    fetch: duckDbLibrary.func('duckdb_fetch_chunk', 'uintptr_t', [result]) as unknown as Calls['fetch'],
    size: call<'size'>('uint64_t duckdb_data_chunk_get_size(uintptr_t)'),
    vector: call<'vector'>('uintptr_t duckdb_data_chunk_get_vector(uintptr_t, uint64_t)'),
    data: call<'data'>('uintptr_t duckdb_vector_get_data(uintptr_t)'),
    copy: koffi.load(null).func('void *memcpy(void *, uintptr_t, size_t)') as unknown as Calls['copy'],
    vectorSize: call<'vectorSize'>('uint64_t duckdb_vector_size()'),
    destroyChunk: call<'destroyChunk'>('void duckdb_destroy_data_chunk(void *)'),
    destroyResult: call<'destroyResult'>('void duckdb_destroy_result(void *)'),
    destroyPrepared: call<'destroyPrepared'>('void duckdb_destroy_prepare(void *)'),
    disconnect: call<'disconnect'>('void duckdb_disconnect(void *)'),
    close: call<'close'>('void duckdb_close(void *)'),
  };
}

/** Returns the path of the library in the Node package. @throws Error if the package does not contain it */
function findLibrary(): string {
  const name = `@duckdb/node-bindings-${process.platform}-${process.arch}`;
  const bindings = createRequire(require.resolve('@duckdb/node-bindings'));
  try {
    return bindings.resolve(`${name}/libduckdb.so`);
  } catch {
    return bindings.resolve(`${name}-musl/libduckdb.so`);
  }
}

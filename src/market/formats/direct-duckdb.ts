import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * DuckDB in memory that is called synchronously through its C interface. Rows are copied to memory of the caller. It
 * suits a separate thread: a chunk of five columns takes 4 µs in addition to its decoding. The Node package takes 70
 * µs, because it uses another thread for each call.
 */
export interface DirectDuckDb {
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

interface DirectColumn {
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

/**
 * Size in bytes of a text in the memory of DuckDB. Four bytes of length are followed by up to twelve bytes of UTF-8,
 * padded with zeros.
 */
export const TEXT_BYTES = 16;
const WORDS_PER_TEXT = TEXT_BYTES / Int32Array.BYTES_PER_ELEMENT;

/** Maximum UTF-8 length of a text that DuckDB stores without a pointer. */
const SHORT_BYTES_MAX = 12;

/**
 * Function that returns the positions of the identifiers in a column of texts. An unknown text has position -1. The
 * result is valid until the next call.
 */
type PositionsOf = (texts: Int32Array) => Int32Array;

/**
 * Finds identifiers by their bytes in the memory of DuckDB, without a join. Rows usually repeat an order: an identifier
 * follows the same identifier, or the identifier that it followed on the day before. Texts are therefore compared with
 * the expected identifier, and few are looked up.
 * @param positions of each spelling of an identifier
 * @returns a function that creates a lookup for one stream of rows; undefined if a spelling is too long
 * @cost 3 ns a row
 */
export function createNameTable(positions: ReadonlyMap<string, number>): (() => PositionsOf) | undefined {
  const table = new Int32Array(positions.size * WORDS_PER_TEXT);
  const bytes = new Uint8Array(table.buffer);
  const encoder = new TextEncoder();
  const spellings = [...positions.keys()];
  for (const [s, text] of spellings.entries()) {
    const textBytes = encoder.encode(text);
    if (textBytes.length > SHORT_BYTES_MAX) return undefined;
    table[s * WORDS_PER_TEXT] = textBytes.length;
    bytes.set(textBytes, s * TEXT_BYTES + Int32Array.BYTES_PER_ELEMENT);
  }
  const slots = createSlots(table);
  const columns = Int32Array.from(positions.values());
  return () => createReader(table, slots, columns);
}

function createReader(table: Int32Array, slots: Int32Array, columns: Int32Array): PositionsOf {
  /** Most recent successor of each spelling. At first, this is the next spelling of the table. */
  const nextColumns = columns.map((_, s) => (s + 1) % columns.length);
  let result = new Int32Array(0);
  let last = 0;
  return (texts) => {
    const rows = texts.length / WORDS_PER_TEXT;
    if (result.length < rows) result = new Int32Array(rows);
    for (let row = 0, offset = 0; row < rows; row++, offset += WORDS_PER_TEXT) {
      let s = nextColumns[last]!;
      if (!areEqualTexts(table, s * WORDS_PER_TEXT, texts, offset)) {
        s = areEqualTexts(table, last * WORDS_PER_TEXT, texts, offset) ? last : findSlot(table, slots, texts, offset);
        if (s < 0) {
          result[row] = -1;
          continue;
        }
        if (s !== last) nextColumns[last] = s;
      }
      result[row] = columns[s]!;
      last = s;
    }
    return result;
  };
}

function areEqualTexts(a: Int32Array, i: number, b: Int32Array, j: number): boolean {
  return a[i + 1] === b[j + 1] && a[i + 2] === b[j + 2] && a[i + 3] === b[j + 3] && a[i] === b[j];
}

/**
 * Returns a hash table of spellings. The number of slots is a power of two, and at most half of them are used. An empty
 * slot is -1.
 */
function createSlots(table: Int32Array): Int32Array {
  const count = table.length / WORDS_PER_TEXT;
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1))).fill(-1);
  for (let s = 0; s < count; s++) {
    let slot = hashToSlot(table, s * WORDS_PER_TEXT, slots.length);
    while (slots[slot]! >= 0) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = s;
  }
  return slots;
}

function findSlot(table: Int32Array, slots: Int32Array, texts: Int32Array, offset: number): number {
  for (let slot = hashToSlot(texts, offset, slots.length); ; slot = (slot + 1) & (slots.length - 1)) {
    const s = slots[slot]!;
    if (s < 0 || areEqualTexts(table, s * WORDS_PER_TEXT, texts, offset)) return s;
  }
}

/** Hashes the words of a text by FNV and returns its slot. */
function hashToSlot(texts: Int32Array, offset: number, slots: number): number {
  let hash = texts[offset]!;
  for (let w = 1; w < WORDS_PER_TEXT; w++) {
    hash = Math.imul(hash ^ texts[offset + w]!, 0x01000193);
    hash ^= hash >>> 15;
  }
  return (hash >>> 0) & (slots - 1);
}

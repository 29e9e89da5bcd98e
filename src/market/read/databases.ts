import sqlite from 'node-sqlite3-wasm';
import { constants } from 'node:fs';
import { copyFile, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type QueryArrayResult } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { maskUrlPasswords } from '#base/addresses.js';
import type { Day } from '#domain/base/time.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import { reportSeries } from '../content/market-content.js';
import { boundCell, type Cell, shortenColumns, TEXT_BYTES_MAX } from '../formats/cells.js';
import {
  type DuckDb,
  formatBoundColumn as formatBoundColumnOfDuckdb,
  openDuckDb,
  quoteName as quoteDuckdbName,
  quoteText as quoteDuckdbText,
  streamChunks,
  toCell as toDuckdbCell,
} from '../formats/duckdb.js';
import { digestSource } from '../formats/source-file.js';
import { createByteTexts } from '../formats/csv.js';
import { completeMappedContent, DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import { formatReason, type Problems } from '../tables/problems.js';
import { countRowsByTable, getColumnName, type TableKind } from '../tables/table-kinds.js';
import { type ContentRows, createContentRows } from './content-rows.js';
import type { DatabaseLocation } from './database-location.js';
import { readTypedMarket } from './parquet-market.js';
import { planInstants, planMarketColumns, readColumns, reportMarketProblems } from './parquet.js';
import {
  chooseTables,
  type DatabaseProgress,
  type ReadOptions,
  type SourceResult,
  type TableNames,
} from './source-read.js';

/** Row of a binary COPY as ranges of its bytes. `starts[c]` is negative for a null. Valid only during the call. */
interface CopyRow {
  readonly bytes: Buffer;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/** Thrown if a stream is not a binary COPY, or is truncated. */
class CopyFault extends Error {
  override readonly name = 'CopyFault';
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');
/** Length of the header: signature, flags, and length of the extension. */
const HEADER_BYTES = 19;
const ROW_BYTES_MAX = 1 << 22;

/**
 * Decodes the binary format of COPY as its bytes arrive.
 * @source PostgreSQL documentation, COPY, binary format
 */
function createCopyDecoder(columns: number, onRow: (row: CopyRow) => void): { push(chunk: Buffer): void; end(): void } {
  let restBytes: Buffer = Buffer.alloc(0);
  let hasHeader = false;
  let isDone = false;
  const row = { bytes: restBytes, starts: new Int32Array(columns), ends: new Int32Array(columns) };

  /**
   * Returns the position after the row that begins at `from`. Returns -1 if the row is incomplete, -2 after the last
   * row.
   */
  function readRow(bytes: Buffer, from: number): number {
    if (from + 2 > bytes.length) return -1;
    const count = bytes.readInt16BE(from);
    if (count === -1) return -2;
    if (count !== columns) throw new CopyFault(`a row has ${count} columns; ${columns} were asked for`);
    let offset = from + 2;
    for (let column = 0; column < columns; column++) {
      if (offset + 4 > bytes.length) return -1;
      const length = bytes.readInt32BE(offset);
      offset += 4;
      if (length > ROW_BYTES_MAX) throw new CopyFault(`a value has ${length} bytes; at most ${ROW_BYTES_MAX} are read`);
      row.starts[column] = length < 0 ? -1 : offset;
      offset += Math.max(length, 0);
      row.ends[column] = offset;
    }
    return offset > bytes.length ? -1 : offset;
  }

  return {
    push(chunk) {
      if (isDone) return;
      const bytes = restBytes.length === 0 ? chunk : Buffer.concat([restBytes, chunk]);
      let offset = 0;
      if (!hasHeader) {
        if (bytes.length < HEADER_BYTES) {
          restBytes = bytes;
          return;
        }
        if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw new CopyFault('the stream is no binary COPY');
        offset = HEADER_BYTES + bytes.readInt32BE(15);
        hasHeader = true;
      }
      row.bytes = bytes;
      for (;;) {
        const next = readRow(bytes, offset);
        if (next === -2) {
          isDone = true;
          return;
        }
        if (next < 0) break;
        onRow(row);
        offset = next;
      }
      restBytes = bytes.subarray(offset);
    },
    end() {
      if (!isDone) throw new CopyFault('the stream ended before its last row');
    },
  };
}

type PostgresqlLocation = Extract<DatabaseLocation, { kind: 'postgresql' }>;

const CONNECT_MS = 5000;
/** Maximum duration of a statement, enforced by the server. */
const STATEMENT_MS = 600_000;
/** Maximum wait for a locked table. Only a change of the table definition blocks readers. */
const LOCK_MS = 5000;
/** Number of rows fetched at a time from a table that is not copied. */
const FETCH_ROWS = 10_000;

/** Type OIDs of columns in the catalogue. */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 21, 23, 700, 701, 1700]);
const TEXT_TYPES: ReadonlySet<number> = new Set([19, 25, 1042, 1043]);
const DATE_TYPES: ReadonlySet<number> = new Set([1082, 1114, 1184]);
const BOOLEAN_TYPE = 16;
const INSTANT_TYPE = 1184;

/** Days between 1970-01-01 and 2000-01-01, the epoch of PostgreSQL. */
const EPOCH_DAYS = 10_957;

/**
 * Reads a PostgreSQL database in one read-only transaction, so that all tables have the same state. A market with
 * numeric columns is copied in binary; all other tables are read row by row.
 */
async function readPostgresql(
  place: PostgresqlLocation,
  named: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  { terms = DEFAULT_TERMS }: ReadOptions,
): Promise<SourceResult | undefined> {
  const client = openPostgresql(place);
  try {
    onProgress(0, 'connecting');
    await client.connect();
    await client.query("SET TIME ZONE 'UTC'; SET extra_float_digits = 3; SET DateStyle = 'ISO, YMD'");
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const rows = createContentRows(problems, terms);
    const tables = chooseTables(await listTableNames(client), named, problems, terms.mapping);
    for (const tableKind of TABLE_KINDS)
      for (const table of tables[tableKind] ?? [])
        await readTable(client, { dataset: tableKind, table, rows, problems, terms, onProgress });
    await client.query('COMMIT');
    const completeContent = rows.toContent();
    if (completeContent === undefined || problems.errors > 0) return undefined;
    return { ...completeContent, rows: countRowsByTable(rows.rowsOf), files: [] };
  } catch (error) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatError(error)}`,
    });
    return undefined;
  } finally {
    await client.end().catch(() => {});
  }
}

function openPostgresql(place: PostgresqlLocation): Client {
  const client = new Client({
    host: place.address,
    port: place.port,
    user: place.user,
    password: place.password,
    database: place.database,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    lock_timeout: LOCK_MS,
    application_name: 'divisor',
    ssl: place.isEncrypted ? { servername: place.host } : false,
  });
  client.on('error', () => {}); // a broken connection fails the running query, which reports it
  return client;
}

/** Returns the first line of an error message, with passwords in URLs masked. */
function formatError(error: unknown): string {
  const text = (
    error instanceof Error ? error.message || (error as { code?: string }).code || error.name : String(error)
  ).split('\n')[0]!;
  return maskUrlPasswords(text).slice(0, 160);
}

/**
 * Returns the names of readable tables and views. Names include their schema. Tables on the search path are listed
 * without it too.
 */
async function listTableNames(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ table_schema: string; table_name: string; is_visible: boolean }>(
    "SELECT table_schema, table_name, pg_table_is_visible(to_regclass(quote_ident(table_schema) || '.' || quote_ident(table_name))) AS is_visible FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
  );
  return new Set(
    rows.flatMap((row) => [...(row.is_visible ? [row.table_name] : []), `${row.table_schema}.${row.table_name}`]),
  );
}

interface TableReadResult {
  readonly dataset: TableKind;
  readonly table: string;
  readonly rows: ContentRows;
  readonly problems: Problems;
  readonly terms: MarketInterpretation;
  readonly onProgress: DatabaseProgress;
}

interface DatabaseColumn {
  readonly name: string;
  readonly type: number;
}

async function readTable(client: Client, tableReadResult: TableReadResult): Promise<void> {
  const { dataset: tableKind, table, onProgress } = tableReadResult;
  const source = table.split('.').map(quoteName).join('.');
  onProgress(tableKind === 'market' ? 0.05 : 0.9, `reading ${tableKind}`);
  const { fields } = await client.query(`SELECT * FROM ${source} LIMIT 0`);
  const columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
  const hasKeys = ['identifier', 'date'].every((key) =>
    columns.some(({ name }) => getColumnName('market', name) === key),
  );
  const isTyped =
    hasKeys &&
    tableReadResult.terms.mapping === null &&
    columns.every(({ name, type }) => {
      const columnName = getColumnName('market', name);
      if (columnName === 'identifier') return TEXT_TYPES.has(type);
      return columnName === 'date' ? DATE_TYPES.has(type) : NUMBER_TYPES.has(type);
    });
  const hasTimes = isTyped && (await hasTimesOfDay(client, source, columns));
  if (tableKind === 'market' && isTyped && !hasTimes) await copyMarket(client, source, columns, tableReadResult);
  else await readCells(client, source, columns, tableReadResult);
}

/** Returns true if the dates are instants, and not all of them are midnight in UTC. */
async function hasTimesOfDay(client: Client, source: string, columns: readonly DatabaseColumn[]): Promise<boolean> {
  const date = columns.find(({ name, type }) => getColumnName('market', name) === 'date' && type === INSTANT_TYPE);
  if (date === undefined) return false;
  const name = quoteName(date.name);
  const { rows } = await client.query(
    `SELECT 1 FROM ${source} WHERE isfinite(${name}) AND ${name} <> date_trunc('day', ${name}) LIMIT 1`,
  );
  return rows.length > 0;
}

/** Copies a market with numeric columns: eight bytes a value, decoded in place. */
async function copyMarket(
  client: Client,
  source: string,
  columns: readonly DatabaseColumn[],
  { rows, problems, onProgress }: TableReadResult,
): Promise<void> {
  const columnNames = columns.map(({ name }) => getColumnName('market', name));
  const writer = rows.beginMarket(
    'market',
    columns.map(({ name }) => name),
  );
  if (writer === undefined) return;
  const { file, market } = writer;
  const columnList = columns.map(({ name, type }, i) => {
    if (columnNames[i] === 'identifier') return `${quoteName(name)}::text`;
    return columnNames[i] === 'date'
      ? `${quoteName(name)}::date`
      : `${quoteName(name)}${type === 701 ? '' : '::float8'}`;
  });
  const { rows: estimate } = await client.query<{ reltuples: number }>(
    'SELECT reltuples::float8 AS reltuples FROM pg_class WHERE oid = to_regclass($1)',
    [source],
  );
  const expectedRows = Math.max(estimate[0]?.reltuples ?? 0, 1);
  const nameCodes = createByteTexts((bytes, start, end) =>
    market.codeOf(file, Buffer.from(bytes.subarray(start, end)).toString('utf8').trim() || null),
  );
  const name = file.identifierColumn;
  const day = file.dateColumn;
  const decoder = createCopyDecoder(columns.length, ({ bytes, starts, ends }) => {
    const code = starts[name]! < 0 ? market.codeOf(file, null) : nameCodes(bytes, starts[name]!, ends[name]!);
    market.beginRow(
      code,
      starts[day]! < 0 ? market.dayOf(file, null) : convertDay(bytes.readInt32BE(starts[day]), market, file),
    );
    for (let column = 0; column < starts.length; column++) {
      const start = starts[column]!;
      if (start < 0 || file.fieldOf[column]! < 0) continue;
      const value = bytes.readDoubleBE(start);
      if (value !== value) continue;
      if (Number.isFinite(value)) market.setNumber(file, column, value);
      else market.refuseNumber(file, column, String(value));
    }
    if (market.rows % (1 << 18) === 0)
      onProgress(0.05 + 0.8 * Math.min(market.rows / expectedRows, 1), 'reading market');
  });
  const stream = client.query(
    copyTo(`COPY (SELECT ${columnList.join(', ')} FROM ${source}) TO STDOUT (FORMAT binary)`),
  );
  for await (const chunk of stream) decoder.push(chunk as Buffer); // COPY streams bytes
  decoder.end();
  if (market.rows === 0)
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market holds no row; at least one is needed.',
    });
}

/** Converts a date of PostgreSQL. The largest and smallest values are infinities, which are not valid days. */
function convertDay(
  value: number,
  market: { dayOf(file: never, cell: Cell): Day | undefined },
  file: unknown,
): Day | undefined {
  if (value !== 0x7fffffff && value !== -0x80000000) return value + EPOCH_DAYS;
  return market.dayOf(file as never, value > 0 ? 'infinity' : '-infinity');
}

/** Reads a table row by row through a cursor, with every value as text of the server. */
async function readCells(
  client: Client,
  source: string,
  columns: readonly DatabaseColumn[],
  { dataset: tableKind, table, rows }: TableReadResult,
): Promise<void> {
  const addRow = rows.beginCells(
    tableKind,
    tableKind,
    columns.map(({ name }) => name),
    { name: table },
  );
  if (addRow === undefined) return;
  const columnList = columns.map(formatBoundColumn).join(', ');
  await client.query(`DECLARE rows_of_table NO SCROLL CURSOR FOR SELECT ${columnList} FROM ${source}`);
  for (;;) {
    const batch: QueryArrayResult<(string | null)[]> = await client.query({
      text: `FETCH ${FETCH_ROWS} FROM rows_of_table`,
      rowMode: 'array',
      types: { getTypeParser: () => (value: string) => value },
    });
    for (const row of batch.rows)
      addRow(row.map((value, i) => boundCell(toCell(value, columns[i]!.type), columns[i]!.name)));
    if (batch.rows.length < FETCH_ROWS) break;
  }
  await client.query('CLOSE rows_of_table');
}

/**
 * Returns the SQL of a column. A text is cut just above the maximum length, so that `boundCell` detects that it is too
 * long.
 */
function formatBoundColumn({ name, type }: DatabaseColumn): string {
  const column = quoteName(name);
  if (NUMBER_TYPES.has(type) || DATE_TYPES.has(type) || type === BOOLEAN_TYPE) return column;
  return `left(${column}::text, ${TEXT_BYTES_MAX + 1}) AS ${column}`;
}

function toCell(value: string | null, type: number): Cell {
  if (value === null) return null;
  return type === BOOLEAN_TYPE ? value === 't' : value;
}

const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** First rows of a table, after its column names. */
interface TableSample {
  readonly name: string;
  readonly rows: readonly (readonly (Cell | undefined)[])[];
}

/** Returns the first rows of the tables and views on the search path, with every value as text of the server. */
async function samplePostgresql(
  place: Extract<DatabaseLocation, { kind: 'postgresql' }>,
  limit: number,
  tablesMax: number,
): Promise<TableSample[]> {
  const client = openPostgresql(place);
  try {
    await client.connect();
    await client.query("SET TIME ZONE 'UTC'; SET DateStyle = 'ISO, YMD'");
    await client.query('BEGIN TRANSACTION READ ONLY');
    const { rows: tables } = await client.query<{ table_name: string }>(
      "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND pg_table_is_visible(to_regclass(quote_ident(table_schema) || '.' || quote_ident(table_name))) ORDER BY 1 LIMIT $1",
      [tablesMax],
    );
    const samples: TableSample[] = [];
    for (const { table_name: name } of tables) {
      const { fields } = await client.query(`SELECT * FROM ${quoteName(name)} LIMIT 0`);
      const columnList = fields
        .map((field) => formatBoundColumn({ name: field.name, type: field.dataTypeID }))
        .join(', ');
      const { rows } = await client.query<Cell[]>({
        text: `SELECT ${columnList} FROM ${quoteName(name)} LIMIT ${limit}`,
        rowMode: 'array',
        types: { getTypeParser: () => (value: string) => value },
      });
      const names = fields.map((field) => field.name);
      samples.push({ name, rows: [names, ...rows.map((row) => row.map((cell, i) => boundCell(cell, names[i]!)))] });
    }
    await client.query('COMMIT');
    return samples;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Name under which the file is attached. */
const CATALOGUE = 'source';

/**
 * Reads a DuckDB file. The file is attached read-only, so that no process can write it meanwhile. A market with numeric
 * columns is read column by column, all other tables row by row.
 */
async function readDuckDbFile(
  path: string,
  named: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  { follower, terms = DEFAULT_TERMS }: ReadOptions,
): Promise<SourceResult | undefined> {
  const duckDb = await openDuckDb({ attach: { path, name: CATALOGUE } }).catch((error: unknown) => {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatReason(error)}`,
    });
  });
  if (duckDb === undefined) return undefined;
  const pendingDigest = digestSource(path, 'database');
  pendingDigest.catch(() => {}); // thrown when it is awaited
  try {
    const tableRows = await duckDb.connection.runAndReadAll(
      `SELECT table_name FROM information_schema.tables WHERE table_catalog = '${CATALOGUE}' AND table_schema = 'main'`,
    );
    const tables = chooseTables(
      new Set(tableRows.getRows().map(([name]) => String(name))),
      named,
      problems,
      terms.mapping,
    );
    const fileReading = { duck: duckDb, tables, problems, rows: createContentRows(problems, terms), terms, follower };
    const tablesResult = await readTables(fileReading, onProgress);
    return tablesResult && { ...tablesResult, files: [await pendingDigest] };
  } catch (error) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatReason(error)}`,
    });
    return undefined;
  } finally {
    await pendingDigest.catch(() => {});
    duckDb.close();
  }
}

interface FileReading {
  readonly duck: DuckDb;
  readonly tables: ReturnType<typeof chooseTables>;
  readonly problems: Problems;
  readonly rows: ReturnType<typeof createContentRows>;
  readonly terms: MarketInterpretation;
  readonly follower: ReadOptions['follower'];
}

async function readTables(
  reading: FileReading,
  onProgress: DatabaseProgress,
): Promise<Omit<SourceResult, 'files'> | undefined> {
  const { duck, tables, problems, rows } = reading;
  for (const tableKind of TABLE_KINDS)
    if (tableKind !== 'market')
      for (const table of tables[tableKind] ?? []) await readCellsOfDatabases(reading, tableKind, table);
  if (tables.market === undefined) {
    rows.toTables(); // overlapping memberships are reported too
    return undefined;
  }
  onProgress(0.2, 'reading market');
  const [first = 'market', ...others] = tables.market;
  const scan = formatScan(first);
  const typed = await readColumns(duck.connection, scan);
  const columns = await planInstants(
    duck.connection,
    scan,
    planMarketColumns(typed, problems, reading.terms.mapping),
    typed.map(({ name }) => name),
  );
  const numberedScan = `(SELECT 'market' AS filename, row_number() OVER () - 1 AS file_row_number, * FROM ${scan})`;
  if (columns.kind === 'refused') {
    await reportMarketProblems(duck, { files: [], numberedScan, columns: columns.rest }, problems);
    rows.toTables();
    return undefined;
  }
  if (columns.kind === 'cells') {
    for (const table of [first, ...others]) await readCellsOfDatabases(reading, 'market', table);
    const completeContent = rows.toContent();
    return completeContent && { ...completeContent, rows: countRowsByTable(rows.rowsOf) };
  }
  let names: readonly string[] = [];
  const market = await readTypedMarket(
    duck,
    { files: [], scan, numberedScan, columns, onNames: (found) => (names = found) },
    problems,
    (fraction) => onProgress(0.2 + 0.7 * fraction, 'reading market'),
    reading.follower,
  );
  const otherTables = rows.toTables();
  if (market === undefined) reportSeries(names, otherTables.series, problems);
  const complete = market && completeMappedContent(market.panels, otherTables, reading.terms, problems);
  if (market === undefined || complete === undefined || problems.errors > 0) return undefined;
  return {
    ...complete,
    rows: countRowsByTable((tableKind) => (tableKind === 'market' ? market.rows : rows.rowsOf(tableKind))),
  };
}

const formatScan = (table: string) => `${CATALOGUE}.main.${quoteDuckdbName(table)}`;

async function readCellsOfDatabases(
  { duck: { connection }, rows }: FileReading,
  tableKind: TableKind,
  table: string,
): Promise<void> {
  const scan = formatScan(table);
  const typedColumns = await readColumns(connection, scan);
  const columns = typedColumns.map(({ name }) => name);
  const addRow = rows.beginCells(tableKind, tableKind, columns, { name: table });
  if (addRow === undefined) return;
  for await (const chunk of streamChunks(
    connection,
    `SELECT ${typedColumns.map(formatBoundColumnOfDuckdb).join(', ')} FROM ${scan}`,
  ))
    for (const row of chunk.getRows()) addRow(row.map(toDuckdbCell));
}

/** Offset of two header bytes with the journal mode: 1 for a rollback journal, 2 for a write-ahead log. */
const WRITE_VERSION = 18;
const MAGIC = 'SQLite format 3\0';

/**
 * Reads a copy of a SQLite file. The driver would write a lock to the folder of the original, and a copy does not
 * change while it is read. A file is rejected if its write-ahead log or rollback journal is not empty, because the file
 * may then lack changes.
 */
async function readSqlite(
  path: string,
  named: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  { terms = DEFAULT_TERMS }: ReadOptions,
): Promise<SourceResult | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-sqlite-'));
  try {
    for (const ending of ['-wal', '-journal']) {
      const journalStat = await stat(path + ending).catch(() => undefined);
      if (journalStat !== undefined && journalStat.size > 0) {
        problems.error({
          code: 'UNREADABLE_FILE',
          path: '',
          message: 'The database has changes that are not in its file yet; close it or write a checkpoint first.',
        });
        return undefined;
      }
    }
    onProgress(0, 'copying the database');
    const copyPath = join(folder, 'copy.db');
    await copyFile(path, copyPath, constants.COPYFILE_FICLONE);
    const digest = await digestSource(copyPath, 'database');
    if (!(await toRollbackFile(copyPath))) {
      problems.error({ code: 'UNREADABLE_FILE', path: '', message: 'The file is not an SQLite database.' });
      return undefined;
    }
    const rows = createContentRows(problems, terms);
    readSqliteTables(copyPath, { named, terms }, rows, problems, onProgress);
    const completeContent = rows.toContent();
    if (completeContent === undefined || problems.errors > 0) return undefined;
    return { ...completeContent, rows: countRowsByTable(rows.rowsOf), files: [digest] };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes a copy of a file with a write-ahead log readable. Returns false if the file is not a database. */
async function toRollbackFile(path: string): Promise<boolean> {
  const file = await open(path, 'r+');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(20), 0, 20, 0);
    if (bytesRead < 20 || buffer.toString('latin1', 0, 16) !== MAGIC) return false;
    if (buffer[WRITE_VERSION] === 2) await file.write(Uint8Array.of(1, 1), 0, 2, WRITE_VERSION);
    return true;
  } finally {
    await file.close();
  }
}

function readSqliteTables(
  copy: string,
  { named, terms }: { readonly named: TableNames; readonly terms: MarketInterpretation },
  rows: ContentRows,
  problems: Problems,
  onProgress: DatabaseProgress,
): void {
  let database: InstanceType<typeof sqlite.Database> | undefined;
  try {
    database = new sqlite.Database(copy, { readOnly: true, fileMustExist: true });
    const existingTables = new Set(
      database.all("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").map((row) => String(row['name'])),
    );
    const tables = chooseTables(existingTables, named, problems, terms.mapping);
    for (const tableKind of TABLE_KINDS) {
      for (const table of tables[tableKind] ?? []) {
        onProgress(tableKind === 'market' ? 0.1 : 0.9, `reading ${tableKind}`);
        readTableOfDatabases(database, tableKind, table, rows);
      }
    }
  } catch (error) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${formatReason(error)}.`,
    });
  } finally {
    database?.close();
  }
}

function readTableOfDatabases(
  database: InstanceType<typeof sqlite.Database>,
  tableKind: TableKind,
  table: string,
  rows: ContentRows,
): void {
  const columns = database
    .all(`SELECT name FROM pragma_table_info(${quoteText(table)})`)
    .map((row) => String(row['name']));
  const addRow = rows.beginCells(tableKind, tableKind, columns, { name: table });
  if (addRow === undefined) return;
  const statement = database.prepare(`SELECT ${shortenColumns(columns)} FROM ${quoteNameOfDatabases(table)}`);
  try {
    for (const row of statement.iterate())
      addRow(columns.map((column) => boundCell(toCellOfDatabases(row[column]), column)));
  } finally {
    statement.finalize();
  }
}

function toCellOfDatabases(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  return String(value);
}

const quoteText = (value: string) => `'${value.replaceAll("'", "''")}'`;
const quoteNameOfDatabases = (value: string) => `"${value.replaceAll('"', '""')}"`;

/** Reads the tables of a database into one content and reports every problem. Returns undefined after an error. */
export function readDatabase(
  place: DatabaseLocation,
  tables: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  options: ReadOptions = {},
): Promise<SourceResult | undefined> {
  switch (place.kind) {
    case 'sqlite':
      return readSqlite(place.path, tables, problems, onProgress, options);
    case 'duckdb':
      return readDuckDbFile(place.path, tables, problems, onProgress, options);
    case 'postgresql':
      return readPostgresql(place, tables, problems, onProgress, options);
  }
}

const TABLES_MAX = 40;

/**
 * Reads the first rows of the tables of a database, ordered by table name. Reports problems. Returns undefined if the
 * database is unreadable.
 */
export async function sampleDatabase(
  place: DatabaseLocation,
  rows: number,
  problems: Problems,
): Promise<TableSample[] | undefined> {
  try {
    switch (place.kind) {
      case 'duckdb':
        return await sampleDuckDb(place.path, rows);
      case 'sqlite':
        return await sampleSqlite(place.path, rows);
      case 'postgresql':
        return await samplePostgresql(place, rows, TABLES_MAX);
    }
  } catch (error) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: '',
      message: `The database cannot be read: ${maskUrlPasswords(formatReason(error))}`,
    });
    return undefined;
  }
}

async function sampleDuckDb(path: string, rows: number): Promise<TableSample[]> {
  const { connection, close } = await openDuckDb({ attach: { path, name: 'source' } });
  try {
    const tableRows = await connection.runAndReadAll(
      `SELECT table_name FROM information_schema.tables WHERE table_catalog = 'source' AND table_schema = 'main' ORDER BY 1 LIMIT ${TABLES_MAX}`,
    );
    const samples: TableSample[] = [];
    for (const [name] of tableRows.getRows()) {
      const scan = `source.main.${quoteDuckdbName(String(name))}`;
      const columnList = (await readColumns(connection, scan)).map(formatBoundColumnOfDuckdb).join(', ');
      const queryResult = await connection.runAndReadAll(`SELECT ${columnList} FROM ${scan} LIMIT ${rows}`);
      samples.push({
        name: String(name),
        rows: [queryResult.columnNames(), ...queryResult.getRows().map((row) => row.map(toDuckdbCell))],
      });
    }
    return samples;
  } finally {
    close();
  }
}

/** Copies the file first, as `readSqlite` does, because the driver would write a lock to the folder of the original. */
async function sampleSqlite(path: string, limit: number): Promise<TableSample[]> {
  const { default: sqlite } = await import('node-sqlite3-wasm');
  const folder = await mkdtemp(join(tmpdir(), 'divisor-sqlite-'));
  try {
    const copyPath = join(folder, 'copy.db');
    await copyFile(path, copyPath, constants.COPYFILE_FICLONE);
    const database = new sqlite.Database(copyPath, { readOnly: true, fileMustExist: true });
    try {
      const names = database
        .all(`SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1 LIMIT ${TABLES_MAX}`)
        .map((row) => String(row['name']));
      return names.map((name) => {
        const columns = database
          .all(`SELECT name FROM pragma_table_info(${quoteDuckdbText(name)})`)
          .map((row) => String(row['name']));
        const rows = database.all(`SELECT ${shortenColumns(columns)} FROM ${quoteDuckdbName(name)} LIMIT ${limit}`);
        const cells = rows.map((row) => columns.map((column) => boundCell(row[column] as Cell, column)));
        return { name, rows: [columns, ...cells] };
      });
    } finally {
      database.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

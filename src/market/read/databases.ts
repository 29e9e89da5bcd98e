import sqlite from 'node-sqlite3-wasm';
import { constants } from 'node:fs';
import { copyFile, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maskUrlPasswords } from '#base/addresses.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import { reportSeries } from '../content/table-rows.js';
import { boundCell, type Cell, shortenColumns } from '../formats/cells.js';
import {
  type DuckDb,
  formatBoundColumn,
  openDuckDb,
  quoteName as quoteDuckdbName,
  quoteText as quoteDuckdbText,
  streamChunks,
  toCell as toDuckdbCell,
} from '../formats/duckdb.js';
import { digestFile } from '../formats/source-file.js';
import { completeMappedContent, DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import { formatReason, type Problems } from '../tables/problems.js';
import { countRowsByTable, type TableKind } from '../tables/table-kinds.js';
import { type ContentRows, createContentRows } from './content-rows.js';
import type { DatabaseLocation } from './database-location.js';
import { readTypedMarket } from './parquet-market.js';
import { planInstants, planMarketColumns, readColumns, reportMarketProblems } from './parquet.js';
import { readPostgresql, type TableSample } from './postgresql.js';
import {
  chooseTables,
  type DatabaseProgress,
  type ReadOptions,
  type SourceResult,
  type TableNames,
} from './source-read.js';

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
  const pendingDigest = digestFile(path, 'database');
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
    if (tableKind !== 'market') for (const table of tables[tableKind] ?? []) await readCells(reading, tableKind, table);
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
    for (const table of [first, ...others]) await readCells(reading, 'market', table);
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

/** Reads a table row by row. */
async function readCells(
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
    `SELECT ${typedColumns.map(formatBoundColumn).join(', ')} FROM ${scan}`,
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
    const digest = await digestFile(copyPath, 'database');
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
        readTable(database, tableKind, table, rows);
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

function readTable(
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
  const statement = database.prepare(`SELECT ${shortenColumns(columns)} FROM ${quoteName(table)}`);
  try {
    for (const row of statement.iterate()) addRow(columns.map((column) => boundCell(toCell(row[column]), column)));
  } finally {
    statement.finalize();
  }
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value;
  return String(value);
}

const quoteText = (value: string) => `'${value.replaceAll("'", "''")}'`;
const quoteName = (value: string) => `"${value.replaceAll('"', '""')}"`;

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

/** Maximum number of tables in a sample. */
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
        return await (await import('./postgresql.js')).samplePostgresql(place, rows, TABLES_MAX);
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
      const columnList = (await readColumns(connection, scan)).map(formatBoundColumn).join(', ');
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

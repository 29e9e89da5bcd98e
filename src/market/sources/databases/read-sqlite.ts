import { constants } from 'node:fs';
import { copyFile, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite from 'node-sqlite3-wasm';
import type { Cell } from '../../formats/cells.js';
import { createContentRows, type ContentRows } from '../content-rows.js';
import { countRowsByTable, type TableKind } from '../../tables/table-kinds.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { digestFile } from '../../formats/digest-file.js';
import { formatReason } from '../../tables/fault-reason.js';
import type { Problems } from '../../tables/problems.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '../../mapping/mapped-content.js';
import type { ReadOptions, SourceResult } from '../source-read.js';
import { boundCell, shortenColumns } from './bounded-cells.js';
import { chooseTables, type DatabaseProgress, type TableNames } from './tables-to-read.js';

/** Offset of two header bytes with the journal mode: 1 for a rollback journal, 2 for a write-ahead log. */
const WRITE_VERSION = 18;
const MAGIC = 'SQLite format 3\0';

/**
 * Reads a copy of a SQLite file. The driver would write a lock to the folder of the original, and a copy does not
 * change while it is read. A file is rejected if its write-ahead log or rollback journal is not empty, because the file
 * may then lack changes.
 */
export async function readSqlite(
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
    readTables(copyPath, { named, terms }, rows, problems, onProgress);
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

function readTables(
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

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { maskUrlPasswords } from '#base/text/url-passwords.js';
import type { Cell } from '../../formats/cells.js';
import type { Problems } from '../../tables/problems.js';
import { toCell, openDuckDb, quoteName, quoteText, formatBoundColumn } from '../../formats/duckdb.js';
import { formatReason } from '../../tables/fault-reason.js';
import { readColumns } from '../parquet/parquet.js';
import type { DatabaseLocation } from './database-location.js';
import { boundCell, shortenColumns } from './bounded-cells.js';
import type { TableSample } from './sample-postgresql.js';

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
        return await (await import('./sample-postgresql.js')).samplePostgresql(place, rows, TABLES_MAX);
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
      const scan = `source.main.${quoteName(String(name))}`;
      const columnList = (await readColumns(connection, scan)).map(formatBoundColumn).join(', ');
      const queryResult = await connection.runAndReadAll(`SELECT ${columnList} FROM ${scan} LIMIT ${rows}`);
      samples.push({
        name: String(name),
        rows: [queryResult.columnNames(), ...queryResult.getRows().map((row) => row.map(toCell))],
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
          .all(`SELECT name FROM pragma_table_info(${quoteText(name)})`)
          .map((row) => String(row['name']));
        const rows = database.all(`SELECT ${shortenColumns(columns)} FROM ${quoteName(name)} LIMIT ${limit}`);
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

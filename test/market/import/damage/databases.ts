import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { changeBytes, createFolder, type Damage, fillBytes, type Outcome, ROWS } from './damage.js';
import { VALID_COLUMNS } from './parquet.js';
import { expect } from 'vitest';
import { readDatabase } from '#market/read/databases.js';
import { createProblems } from '#market/tables/problems.js';
import { writeFiles } from '../../store-folder.js';

const createDatabase =
  (kind: 'sqlite' | 'duckdb', make: () => Promise<Uint8Array>, beside: Readonly<Record<string, string>> = {}) =>
  async (): Promise<Outcome> => {
    const folder = await createFolder();
    await writeFiles(folder, { 'market.db': await make(), ...beside });
    const problems = createProblems();
    const read = await readDatabase({ kind, path: join(folder, 'market.db') }, {}, problems, () => {});
    expect(JSON.stringify(problems.findings())).not.toContain(folder);
    return { isRead: read !== undefined, findings: problems.findings() };
  };

async function createSqliteFile(statements: readonly string[]): Promise<Buffer> {
  const path = join(await createFolder(), 'made.db');
  const database = new sqlite.Database(path);
  for (const statement of statements) database.exec(statement);
  database.close();
  return readFile(path);
}

async function createDuckDbFile(statements: readonly string[]): Promise<Buffer> {
  const path = join(await createFolder(), 'made.duckdb');
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
  return readFile(path);
}

const SQLITE_ROWS = [
  'CREATE TABLE market (identifier, date, CLOSE)',
  "INSERT INTO market WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT 'N' || i, '2024-01-02', 1 + i FROM n",
];
const DUCKDB_ROWS = [`CREATE TABLE market AS ${ROWS}`];
const listOneRow = (values: string) => [
  'CREATE TABLE market (identifier, date, CLOSE)',
  `INSERT INTO market VALUES (${values})`,
];

export const SQLITE: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], createDatabase('sqlite', async () => Buffer.alloc(0))],
  [
    'text, called a database',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => Buffer.from('no database at all')),
  ],
  [
    'another mark',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => changeBytes(await createSqliteFile(SQLITE_ROWS), 0, [0x58])),
  ],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => (await createSqliteFile(SQLITE_ROWS)).subarray(0, 20_000)),
  ],
  [
    'a page of ones',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => fillBytes(await createSqliteFile(SQLITE_ROWS), 255, 8192, 16_384)),
  ],
  [
    'pages of a size that cannot be',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => changeBytes(await createSqliteFile(SQLITE_ROWS), 16, [0x00, 0x03])),
  ],
  [
    'an accompanying log with changes',
    ['UNREADABLE_FILE '],
    createDatabase('sqlite', async () => fillBytes(await createSqliteFile(SQLITE_ROWS), 2, 18, 20), {
      'market.db-wal': 'x',
    }),
  ],
  [
    'no market',
    ['LOCATION_NOT_FOUND market'],
    createDatabase('sqlite', () => createSqliteFile(['CREATE TABLE prices (a)'])),
  ],
  [
    'no CLOSE',
    ['MISSING_COLUMN market.CLOSE'],
    createDatabase('sqlite', () => createSqliteFile(['CREATE TABLE market (identifier, date, OPEN)'])),
  ],
  [
    'no row',
    ['EMPTY_DATASET market'],
    createDatabase('sqlite', () => createSqliteFile(['CREATE TABLE market (identifier, date, CLOSE)'])),
  ],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    createDatabase('sqlite', () => createSqliteFile(listOneRow("'A', '2024-01-02', 'x'"))),
  ],
  [
    'bytes in a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    createDatabase('sqlite', () => createSqliteFile(listOneRow("'A', '2024-01-02', x'00ff'"))),
  ],
];

export const DUCKDB: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], createDatabase('duckdb', async () => Buffer.alloc(0))],
  [
    'text, called a database',
    ['UNREADABLE_FILE '],
    createDatabase('duckdb', async () => Buffer.from('no database at all'.repeat(1000))),
  ],
  [
    'a header that was changed',
    ['UNREADABLE_FILE '],
    createDatabase('duckdb', async () => fillBytes(await createDuckDbFile(DUCKDB_ROWS), 0, 0, 64)),
  ],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    createDatabase('duckdb', async () => (await createDuckDbFile(DUCKDB_ROWS)).subarray(0, 100_000)),
  ],
  [
    'blocks of ones',
    ['UNREADABLE_FILE '],
    createDatabase('duckdb', async () => {
      const bytes = await createDuckDbFile(DUCKDB_ROWS);
      return fillBytes(bytes, 255, 3 * 4096 + 100, bytes.length);
    }),
  ],
  [
    'no market',
    ['LOCATION_NOT_FOUND market'],
    createDatabase('duckdb', () => createDuckDbFile(['CREATE TABLE prices (a INT)'])),
  ],
  [
    'no CLOSE',
    ['MISSING_COLUMN market.CLOSE'],
    createDatabase('duckdb', () =>
      createDuckDbFile(["CREATE TABLE market AS SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS OPEN"]),
    ),
  ],
  [
    'a list for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    createDatabase('duckdb', () =>
      createDuckDbFile([`CREATE TABLE market AS SELECT ${VALID_COLUMNS}, [1.0] AS CLOSE`]),
    ),
  ],
];

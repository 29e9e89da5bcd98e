import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '#domain/base/findings.js';
import { readDatabase } from '#market/read/databases.js';
import { createProblems } from '#market/tables/problems.js';
import { readImport, writeZip } from '#market/read/import.js';
import { Client } from 'pg';
import { hasPostgresql, openTestDatabase, type TestDatabase } from '../../postgresql/shared-postgresql.js';
import { formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';
import { createFolder, createDuckDbFile, checkFolder, checkDatabase } from './problem-folders.js';

/** Tables with rows of every kind of problem. The rest of each row is valid. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  market: [
    'identifier,date,CLOSE,VOLUME',
    'A,2024-01-02,0,5',
    'A,2024-01-02,10,5',
    'B,2024-01-02,10,-5',
    'C,soon,10,5',
    ',2024-01-02,10,5',
    'B,2024-01-03,10,5',
    'B,2024-01-03,11,5',
  ],
  reference: ['identifier,SECTOR,LISTED', 'A,X,', 'A,Y,never'],
  corporate_actions: [
    'identifier,type,value,ex_date,pay_date',
    'A,DIVIDENT,1,2024-01-02,',
    'A,DIVIDEND,1,2024-01-02,',
    'A,DIVIDEND,1,2024-01-02,later',
  ],
  universes: [
    'universe,identifier,start,end',
    'U,A,2020-01-01,2021-01-01',
    'U,A,2020-06-01,',
    'U,B,2021-01-01,2020-01-01',
  ],
  series: ['identifier,date,CLOSE', 'B,2024-01-02,1', 'RATE,2024-01-02,2'],
};
const PROBLEMS = [
  'BAD_DATE corporate_actions[row 3].pay_date',
  'BAD_DATE market[row 4].date',
  'BAD_DATE reference[row 2].LISTED',
  'BAD_IDENTIFIER market[row 5].identifier',
  'DUPLICATE_KEY corporate_actions[row 3]',
  'DUPLICATE_KEY market[row 2]',
  'DUPLICATE_KEY market[row 7]',
  'DUPLICATE_KEY reference[row 2]',
  'DUPLICATE_KEY series[B]',
  'INVALID_RANGE universes[row 3].end',
  'NON_POSITIVE_PRICE market[row 1].CLOSE',
  'OUT_OF_RANGE market[row 3].VOLUME',
  'OVERLAPPING_MEMBERSHIP universes[row 2]',
  'UNKNOWN_ACTION_TYPE corporate_actions[row 1].type',
];

const csv = Object.fromEntries(Object.entries(TABLES).map(([name, rows]) => [`${name}.csv`, `${rows.join('\n')}\n`]));
const splitCells = (row: string) => row.split(',').map((cell) => (cell === '' ? null : cell));
const isNumeric = (name: string) => ['CLOSE', 'VOLUME', 'value'].includes(name);

/** Returns the tables as SQL statements. The parameter has the column types of text and of numbers. */
function listStatements([text, double]: readonly [string, string]): string[] {
  return Object.entries(TABLES).flatMap(([table, [header = '', ...rows]]) => {
    const names = header.split(',');
    const values = rows.map(
      (row) =>
        `(${splitCells(row)
          .map((cell, i) => (cell === null ? 'NULL' : isNumeric(names[i]!) ? cell : `'${cell}'`))
          .join(', ')})`,
    );
    return [
      `CREATE TABLE ${table} (${names.map((name) => `"${name}" ${isNumeric(name) ? double : text}`).join(', ')})`,
      `INSERT INTO ${table} VALUES ${values.join(', ')}`,
    ];
  });
}

const SOURCES: Readonly<Record<string, () => Promise<readonly Finding[]>>> = {
  'CSV files': () => checkFolder(csv),
  'JSON lines': () =>
    checkFolder(
      Object.fromEntries(
        Object.entries(TABLES).map(([name, [header = '', ...rows]]) => [
          `${name}.jsonl`,
          rows
            .map((row) => {
              const names = header.split(',');
              return JSON.stringify(
                Object.fromEntries(
                  splitCells(row).map((cell, i) => [
                    names[i]!,
                    cell !== null && isNumeric(names[i]!) ? Number(cell) : cell,
                  ]),
                ),
              );
            })
            .join('\n'),
        ]),
      ),
    ),
  'a Parquet market with CSV files': async () => {
    const folder = await createFolder();
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    for (const line of listStatements(['VARCHAR', 'DOUBLE'])) await connection.run(line);
    await connection.run(`COPY market TO '${join(folder, 'market.parquet')}' (FORMAT parquet)`);
    connection.closeSync();
    const { 'market.csv': _, ...otherFiles } = csv;
    await writeFiles(folder, otherFiles);
    return (await readFolder(folder)).findings;
  },
  'a DuckDB file': async () => checkDatabase('duckdb', await createDuckDbFile(listStatements(['VARCHAR', 'DOUBLE']))),
  'a SQLite file': async () => {
    const path = join(await createFolder(), 'made.db');
    const database = new sqlite.Database(path);
    for (const line of listStatements(['TEXT', 'REAL'])) database.exec(line);
    database.close();
    return checkDatabase('sqlite', path);
  },
  'inline tables': async () => {
    const problems = createProblems();
    const tables = Object.fromEntries(
      Object.entries(TABLES).map(([name, [header = '', ...rows]]) => [
        name,
        { columns: header.split(','), data: rows.map(splitCells) },
      ]),
    );
    await readImport({ kind: 'tables', tables }, problems);
    return problems.findings();
  },
  'a zip of CSV files': async () => {
    const problems = createProblems();
    await readImport(
      { kind: 'csv', bytes: writeZip(Object.entries(csv).map(([name, text]) => ({ name, text }))) },
      problems,
    );
    return problems.findings();
  },
};

test.each(Object.entries(SOURCES))('all problems of all tables of %s are reported at once', async (_name, findings) => {
  expect(formatFindingPaths(await findings()).toSorted()).toEqual(PROBLEMS);
});

describe.skipIf(!hasPostgresql)('a PostgreSQL database', () => {
  let server: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    server = await openTestDatabase();
    client = new Client(server.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await server.drop();
  });

  const read = async (tables = {}) => {
    const problems = createProblems();
    const location = {
      kind: 'postgresql',
      address: '127.0.0.1',
      host: '127.0.0.1',
      port: Number(new URL(server.url).port),
      user: 'tester',
      password: '',
      database: server.name,
      isEncrypted: false,
    } as const;
    await readDatabase(location, tables, problems, () => {}, { isPart: false });
    return problems.findings();
  };

  test('reports all problems of all of its tables', async () => {
    for (const line of listStatements(['text', 'float8'])) await client.query(line);
    expect(formatFindingPaths(await read()).toSorted()).toEqual(PROBLEMS);
  });

  test('reports the problems of the rows of a table that lacks a column, and the intended table', async () => {
    await client.query(
      `CREATE TABLE bars AS SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0::float8 AS "CLSOE", -1.0::float8 AS "VOLUME" FROM generate_series(1, 2)`,
    );
    const findings = await read({ market: 'bars', reference: 'referense' });
    expect(formatFindingPaths(findings)).toEqual(
      expect.arrayContaining([
        'MISSING_COLUMN market.CLOSE',
        'OUT_OF_RANGE market[row 1].VOLUME',
        'DUPLICATE_KEY market[row 2]',
        'LOCATION_NOT_FOUND tables.reference',
      ]),
    );
    expect(findings.map(({ message }) => message).join()).toContain('Did you mean reference?');
  });
});

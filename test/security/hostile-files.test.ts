import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode, ErrorDetail } from '#domain/base/refusals.js';
import { runService, type RunningService } from '../services/running-service.js';

/** Media type of Parquet. The tests send files that are made to fill memory or disk. */

const PARQUET = 'application/vnd.apache.parquet';
const ARROW = 'application/vnd.apache.arrow.stream';

/** Returns a gzip file of 10 MB. It consists of several members and expands to 10 GB of zeros. */
function createGzipOfZeros(): Buffer {
  const member = gzipSync(Buffer.alloc(64 << 20));
  return Buffer.concat(Array.from({ length: 160 }, () => member));
}

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const listCodes = (error: ErrorDetail | undefined): string[] =>
  ((error?.detail?.['findings'] ?? []) as { readonly code: string }[]).map(({ code }) => code);

async function uploadFile(
  bytes: Uint8Array,
  type: string,
): Promise<{ status: number; code?: ErrorCode; codes: string[] }> {
  const response = await fetch(`${service.url()}/data/import?name=x`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: bytes as Uint8Array<ArrayBuffer>,
  });
  const { error } = (await response.json()) as { error?: ErrorDetail };
  return { status: response.status, ...(error && { code: error.code }), codes: listCodes(error) };
}

describe('10 GB of zeros in a gzip', () => {
  const zeros = createGzipOfZeros();

  test.each([
    ['as the market of a folder', 'market.csv.gz', null],
    ['as a file of a vendor, read by a mapping', 'A_data.csv.gz', { identifier_from: 'file:{identifier}_data.csv.gz' }],
  ])('%s are refused when inspected and when registered', async (_, name, mapping) => {
    const location = join(service.root, name.replaceAll(/\W/g, ''));
    await mkdir(location);
    await writeFile(join(location, name), zeros);
    const store = { store_id: 'zeros', name: 'Zeros', kind: 'folder', location, ...(mapping && { mapping }) };
    const { status, detail, ...error } = await service.refusal('POST', '/data/stores', store);
    expect([status, listCodes({ ...error, detail })]).toEqual([422, ['UNREADABLE_FILE']]);
    const { body } = await service.ask<{ rows_read: number; findings: { code: string }[] }>('POST', '/data/inspect', {
      location,
    });
    expect([body.rows_read, body.findings.map(({ code }) => code)]).toEqual([0, ['UNREADABLE_FILE']]);
  });

  test('as a body, compressed or declared as a table, are refused', async () => {
    const response = await fetch(`${service.url()}/data/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: zeros as Buffer<ArrayBuffer>,
    });
    expect(response.status).toBe(400);
    for (const type of [PARQUET, ARROW]) {
      expect(await uploadFile(zeros, type)).toMatchObject({ status: 422, codes: ['UNREADABLE_FILE'] });
    }
    const content = zeros.toString('base64');
    const { status } = await service.refusal('POST', '/data/import', { name: 'x', format: 'csv', content });
    expect(status).toBe(422);
  });
});

describe('a table with a false size', () => {
  const table = Buffer.from(
    tableToIPC(
      tableFromArrays({ identifier: ['A', 'A'], date: ['2024-01-02', '2024-01-03'], CLOSE: Float64Array.of(1, 2) }),
      'stream',
    ),
  );

  test('is refused as Arrow, wherever a length in it is changed', async () => {
    // The length of the first message follows its marker.
    for (const length of [0x7fffffff, -2]) {
      const lyingTable = Buffer.from(table);
      lyingTable.writeInt32LE(length, 4);
      const { status, codes } = await uploadFile(lyingTable, ARROW);
      expect([status, codes.length]).toEqual([422, 1]);
    }
    expect(await uploadFile(table.subarray(0, table.length - 40), ARROW)).toMatchObject({ status: 422 });
  });

  test('is refused as Parquet, whatever length its footer claims', async () => {
    for (const length of [0x7fffffff, -1]) {
      const lyingFile = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(64), Buffer.alloc(4), Buffer.from('PAR1')]);
      lyingFile.writeInt32LE(length, lyingFile.length - 8);
      expect(await uploadFile(lyingFile, PARQUET)).toMatchObject({ status: 422, codes: ['UNREADABLE_FILE'] });
    }
  });
});

describe('one text of forty megabytes in a file of some kilobytes', () => {
  const LONG = 40_000_000;
  const columns = `SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 10.0 AS CLOSE, repeat('x', ${LONG}) AS "NOTE"`;
  const longName = `SELECT repeat('x', ${LONG}) AS identifier, DATE '2024-01-02' AS date, 10.0 AS CLOSE`;
  const longDates = `SELECT 'A' AS identifier, repeat('2', ${LONG}) AS date, 10.0 AS CLOSE`;

  async function writeParquet(query: string, name: string): Promise<string> {
    const location = join(service.root, name);
    await mkdir(location);
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${query}) TO '${join(location, 'market.parquet')}' (FORMAT parquet, COMPRESSION zstd)`);
    connection.closeSync();
    expect((await stat(join(location, 'market.parquet'))).size).toBeLessThan(100_000);
    return location;
  }

  test.each([
    ['as an identifier', longName, ['BAD_IDENTIFIER']],
    ['as a date', longDates, ['BAD_DATE']],
  ] as const)('of Parquet %s is refused without being shown', async (what, query, codes) => {
    const location = await writeParquet(query, what.replaceAll(' ', '-'));
    const error = await service.refusal('POST', '/data/stores', { name: 'Long', kind: 'folder', location });
    expect([error.status, listCodes(error), JSON.stringify(error).length < 10_000]).toEqual([422, codes, true]);
    const { body } = await service.ask('POST', '/data/inspect', { location });
    expect(JSON.stringify(body).length).toBeLessThan(10_000);
  });

  test('of Parquet in an adjacent column is refused with the name of the column', async () => {
    const location = await writeParquet(columns, 'beside');
    const mapping = { columns: { date: 'date', identifier: 'identifier', CLOSE: 'CLOSE', NOTE: 'NOTE' } };
    for (const path of ['/data/inspect', '/data/stores']) {
      const request =
        path === '/data/inspect' ? { location, mapping } : { name: 'L', kind: 'folder', location, mapping };
      const { body } = await service.ask('POST', path, request);
      const text = JSON.stringify(body);
      expect([path, text.length < 20_000]).toEqual([path, true]);
    }
  });

  test('of a DuckDB or SQLite file is refused', async () => {
    const duckdbPath = join(service.root, 'long.duckdb');
    const instance = await DuckDBInstance.create(duckdbPath);
    const connection = await instance.connect();
    await connection.run(`CREATE TABLE market AS SELECT 'A' AS identifier, '2024-01-02' AS date, '10' AS "CLOSE"`);
    await connection.run(`CREATE TABLE reference AS SELECT 'A' AS identifier, repeat('x', ${LONG}) AS "NAME"`);
    connection.closeSync();
    instance.closeSync(); // DuckDB locks the file until the instance is closed
    const sqlitePath = join(service.root, 'long.sqlite');
    const database = new sqlite.Database(sqlitePath);
    database.exec(`CREATE TABLE market AS SELECT 'A' AS identifier, '2024-01-02' AS date, 10.0 AS "CLOSE"`);
    database.exec(
      `CREATE TABLE reference AS SELECT 'A' AS identifier, replace(hex(zeroblob(${LONG / 2})), '0', 'x') AS "NAME"`,
    );
    database.close();
    for (const location of [`duckdb://${duckdbPath}`, `sqlite://${sqlitePath}`]) {
      const error = await service.refusal('POST', '/data/stores', { name: 'Long', kind: 'database', location });
      const [finding] = (error.detail?.['findings'] ?? []) as { code: string; message: string }[];
      expect([location, error.status, finding?.code]).toEqual([location, 422, 'UNREADABLE_FILE']);
      expect(finding?.message).toContain('a text of more than 32768 bytes');
    }
  });
});

test('a Parquet file and a DuckDB table with too many columns are refused with both numbers', async () => {
  const manyColumns = `SELECT 'A' AS identifier, ${Array.from({ length: 8192 }, (_, i) => `1 AS c${i}`).join(', ')}`;
  const location = join(service.root, 'many');
  const duckdbPath = join(service.root, 'many.duckdb');
  await mkdir(location);
  const instance = await DuckDBInstance.create(duckdbPath);
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE market AS ${manyColumns}`);
  await connection.run(`COPY market TO '${join(location, 'market.parquet')}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync(); // DuckDB locks the file until the instance is closed
  const stores = [
    { kind: 'folder', location },
    { kind: 'database', location: `duckdb://${duckdbPath}` },
  ];
  for (const store of stores) {
    const report = 'There are 8193 columns; at most 8192 are read.';
    const error = await service.refusal('POST', '/data/stores', { name: 'Many', ...store });
    const [finding] = (error.detail?.['findings'] ?? []) as { code: string; message: string }[];
    expect([store.kind, error.status, finding?.code]).toEqual([store.kind, 422, 'UNREADABLE_FILE']);
    expect(finding?.message).toContain(report);
    const { body } = await service.ask('POST', '/data/inspect', { location: store.location });
    expect(JSON.stringify(body)).toContain(report);
  }
});

test('no part of a refused file remains in the home, and the service responds', async () => {
  expect(await readdir(join(service.root, 'home', 'stores'))).toEqual([]);
  expect((await service.ask('GET', '/health')).status).toBe(200);
});

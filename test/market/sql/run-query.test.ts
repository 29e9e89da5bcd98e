import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, describe, expect, test } from 'vitest';
import { SQL_VIEWS } from '#domain/outputs/exports.js';
import { type ErrorDetail, Refusal } from '#domain/base/refusals.js';
import { runQuery } from '#market/serve/sql-query.js';
import type { SqlNeeds, SqlOrder } from '#market/serve/market-tasks.js';
import { QUERY_MEMORY } from '#market/serve/process-pool.js';

const folder = mkdtempSync(join(tmpdir(), 'divisor-queries-'));
afterAll(() => rmSync(folder, { recursive: true }));

const columns = Object.fromEntries(
  Object.entries(SQL_VIEWS).map(([view, { columns: own }]) => [
    view,
    Object.fromEntries([
      ...Object.entries(own).map(([name, { type }]) => [name, type]),
      ...(view === 'prices' ? [['CLOSE', 'number']] : []),
    ]),
  ]),
) as SqlOrder['columns'];
let count = 0;

const createOrder = (query: string, extra: Partial<SqlOrder> = {}): SqlOrder => ({
  query,
  format: 'json',
  runs: ['A', 'B', 'C'],
  columns,
  resultFile: join(folder, String((count += 1))),
  encoder: new URL('../../../workers/sql/result-writer.js', import.meta.url).href,
  limits: { runs: 2, rows: 100, bytes: 10_000 },
  memory: QUERY_MEMORY,
  ...extra,
});

async function readNeeds(query: string, extra: Partial<SqlOrder> = {}): Promise<SqlNeeds> {
  const stop = new Error('stop');
  let foundNeeds: SqlNeeds | undefined;
  await runQuery(createOrder(query, extra), (needs) => {
    foundNeeds = needs;
    return Promise.reject(stop);
  }).catch((error: unknown) => {
    if (error !== stop) throw error;
  });
  return foundNeeds!;
}

const listRuns = async (query: string) =>
  (await readNeeds(query)).runs.map(({ view, indexId }) => `${view} ${indexId}`);

async function catchRefusal(query: string, extra: Partial<SqlOrder> = {}): Promise<ErrorDetail> {
  const loadNothing = async () => ({ runs: [], market: [], lists: [] });
  const refusal = await runQuery(createOrder(query, extra), loadNothing).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refusal instanceof Refusal)) throw new Error(`${query} was not refused: ${String(refusal)}`);
  return refusal.toDetail();
}

async function readAnswer(query: string, extra: Partial<SqlOrder> = {}) {
  const order = createOrder(query, extra);
  const outcome = await runQuery(order, async () => ({ runs: [], market: [], lists: [] }));
  return { ...outcome, text: readFileSync(order.resultFile, 'utf8') };
}

describe('a query reads the tables that its conditions leave', () => {
  test.each([
    ["SELECT * FROM weights WHERE index_id = 'A'", ['weights A']],
    ["SELECT * FROM weights WHERE index_id IN ('A', 'B') AND weight > 0.5", ['weights A', 'weights B']],
    ["SELECT * FROM weights WHERE index_id = 'A' AND index_id = 'B'", []],
    ["SELECT * FROM weights WHERE index_id = 'X'", []],
    [
      "SELECT * FROM weights x JOIN levels y USING (date) WHERE x.index_id = 'A' AND y.index_id = 'B'",
      ['levels B', 'weights A'],
    ],
    ["WITH w AS (SELECT * FROM weights) SELECT * FROM w WHERE w.index_id = 'C'", ['weights C']],
    ["SELECT count(*) FROM levels WHERE index_id = 'A' HAVING count(*) > 1", ['levels A']],
    ['SELECT 1', []],
  ] as const)('%s', async (query, expected) => expect((await listRuns(query)).toSorted()).toEqual(expected));

  test('all runs where no condition names them, up to the limit', async () => {
    const detail = await catchRefusal("SELECT * FROM weights WHERE index_id <> 'A' OR weight > 0");
    expect(detail).toMatchObject({ code: 'QUERY_LIMIT', detail: { view: 'weights', indices: 3, limit: 2 } });
  });

  test('of a thousand runs and more those that it names', async () => {
    const runs = Array.from({ length: 1001 }, (_, i) => `R${i}`);
    const detail = await catchRefusal('SELECT * FROM levels', { runs });
    expect(detail.detail).toMatchObject({ indices: 1001 });
    const needs = await readNeeds("SELECT * FROM levels WHERE index_id = 'R7' AND level > 3", { runs });
    expect(needs.runs).toEqual([{ view: 'levels', indexId: 'R7' }]);
  });

  test('columns of prices that it names, all where it has a star', async () => {
    expect((await readNeeds('SELECT close FROM prices')).market).toEqual([{ view: 'prices', columns: ['CLOSE'] }]);
    expect((await readNeeds('SELECT * FROM prices')).market).toEqual([{ view: 'prices', columns: null }]);
  });
});

describe('errors name their place', () => {
  test.each([
    ['SELEC 1', 1, 1],
    ['SELECT foo FROM weights', 1, 8],
    ['SELECT date,\n  nope\nFROM weights', 2, 3],
    ["SELECT read_text('x')", 1, 8],
    ["SELECT 1,\n '한' || current_setting('memory_limit')", 2, 9],
    ["SELECT 'a'::INT", 1, 11],
  ])('%s', async (query, line, column) => {
    const { detail } = await catchRefusal(query);
    const [finding] = (detail as { findings: { message: string; position: { start: number } }[] }).findings;
    expect(finding!.message).toMatch(new RegExp(`^Line ${line}, column ${column}: `));
    const linesBefore = query.slice(0, finding!.position.start).split('\n');
    expect([linesBefore.length, linesBefore.at(-1)!.length + 1]).toEqual([line, column]);
  });
});

const HOSTILE = [
  "COPY (SELECT 1) TO '/tmp/x.csv'",
  "COPY levels FROM '/etc/passwd'",
  "ATTACH '/tmp/x.db'",
  "ATTACH 'https://example.com/x.db'",
  'INSTALL httpfs',
  'LOAD httpfs',
  'PRAGMA database_list',
  'CALL pragma_version()',
  'SET memory_limit = 0',
  'RESET memory_limit',
  'CHECKPOINT',
  "EXPORT DATABASE '/tmp/x'",
  'CREATE TABLE x (a INT)',
  'CREATE MACRO f() AS 1',
  "CREATE SECRET (TYPE s3, KEY_ID 'x')",
  'DROP VIEW levels',
  'DELETE FROM input.indices',
  'INSERT INTO input.indices VALUES (1)',
  'UPDATE input.indices SET name = 1',
  'BEGIN',
  'PREPARE x AS SELECT 1',
  'EXECUTE x',
  'USE input',
  'SELECT 1; SELECT 2',
  "SELECT 1; COPY (SELECT 1) TO '/tmp/x'",
  "SELECT * FROM '/etc/passwd'",
  "SELECT * FROM 'https://example.com/x.parquet'",
  "SELECT * FROM 's3://bucket/x.parquet'",
  "SELECT * FROM read_csv('/etc/passwd')",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM read_blob('/etc/passwd')",
  "SELECT * FROM read_json('/etc/passwd')",
  "SELECT * FROM read_parquet('/tmp/*')",
  "SELECT * FROM parquet_metadata('/tmp/x')",
  "SELECT * FROM glob('/*')",
  "SELECT * FROM sniff_csv('/etc/passwd')",
  'SELECT * FROM duckdb_settings()',
  'SELECT * FROM duckdb_secrets()',
  "SELECT * FROM query('SELECT 1')",
  "SELECT * FROM query_table('levels')",
  "SELECT * FROM json_execute_serialized_sql('{}')",
  'SELECT * FROM pg_settings',
  'SELECT * FROM main.duckdb_views v',
  'SELECT * FROM memory.pg_catalog.pg_views',
  'SELECT sql FROM "SQLite_Master"',
  'SELECT view_definition FROM information_schema.views',
  'SUMMARIZE pg_settings',
  'SELECT * FROM (DESCRIBE duckdb_views)',
  "SELECT getenv('HOME')",
  "SELECT current_setting('allowed_paths')",
  "SELECT * FROM (VALUES (1)) v(a) WHERE a IN (SELECT content FROM read_text('/etc/passwd'))",
  "WITH f AS (SELECT * FROM read_csv('/etc/passwd')) SELECT 1",
  'SELECT * FROM pg_catalog.pg_read_file()',
  'SELECT',
  '',
  '--',
  ';',
  'SELECT * FROM nosuch',
  "SELECT * FROM sqlite_scan('/tmp/x', 'y')",
  "SELECT * FROM postgres_scan('host=x', 'a', 'b')",
  `SELECT ${'1+'.repeat(5000)}1`,
  `SELECT error('stop')`,
];

test.each(HOSTILE.map((query) => [query.slice(0, 60), query]))('%s is refused', async (_, query) => {
  expect(['VALIDATION_FAILED', 'QUERY_LIMIT']).toContain((await catchRefusal(query!)).code);
});

test('no table of DuckDB about itself can be read, except the descriptions of tables and columns', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const result = await connection.runAndReadAll('SELECT schema_name, view_name FROM duckdb_views() WHERE internal');
  connection.closeSync();
  instance.closeSync();
  const names = result.getRows().map((row) => row.join('.'));
  expect(names.length).toBeGreaterThan(40);
  const answered = await Promise.all(
    names.map(async (name) => {
      const refusal = await readAnswer(`SELECT * FROM ${name}`, { limits: LARGE }).catch((error: unknown) => error);
      return refusal instanceof Refusal && refusal.code === 'VALIDATION_FAILED' ? [] : [name];
    }),
  );
  expect(answered.flat().toSorted()).toEqual(['information_schema.columns', 'information_schema.tables']);
});

const LARGE = { runs: 2, rows: 10_000, bytes: 10_000_000 };

describe('a result', () => {
  test('keeps order, gives repeated columns names, and has the types of files', async () => {
    const { text, rows } = await readAnswer(
      "SELECT i AS a, 0 - i AS a, i = 1 AS flag, DATE '2024-02-29' AS day, 1.0 / 0 AS none, [i] AS list FROM range(3) t(i) ORDER BY i DESC",
    );
    expect(rows).toBe(3);
    const { columns: found, data } = JSON.parse(text) as {
      columns: { name: string; type: string }[];
      data: unknown[][];
    };
    expect(found.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'a number',
      'a_1 number',
      'flag count',
      'day date',
      'none number',
      'list text',
    ]);
    expect(data).toEqual([2, 1, 0].map((i) => [i, 0 - i, i === 1 ? 1 : 0, '2024-02-29', null, `[${i}]`]));
  });

  test('has every value of many chunks: long, short, repeated and missing texts, days, counts and numbers', async () => {
    const rows = 70_000;
    const query = `SELECT 'N' || (i * 7919 % 50000) AS short, CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE repeat('é', (i % 20)::INT) END AS text,
      'a text of more than twelve bytes ' || (i % 10) AS long, DATE '2020-01-01' + (i % 1000)::INT AS day,
      CASE WHEN i % 5 = 0 THEN NULL ELSE DATE '2020-01-01' END AS some, (i % 100)::INT AS count,
      CASE WHEN i % 4 = 0 THEN NULL ELSE i / 8 END AS part, CASE WHEN i = 9 THEN 'inf'::DOUBLE ELSE i * 0.5::DOUBLE END AS number,
      i * 1.25::DECIMAL(9, 2) AS money, i > 5 AS flag FROM range(${rows}) t(i)`;
    const limits = { runs: 2, rows, bytes: 100_000_000 };
    const { data } = JSON.parse((await readAnswer(query, { limits })).text) as { data: unknown[][] };
    const formatDay = (i: number) => new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10);
    const expected = Array.from({ length: rows }, (_, i) => [
      `N${(i * 7919) % 50_000}`,
      [null, '', 'é'.repeat(i % 20)][i % 3],
      `a text of more than twelve bytes ${i % 10}`,
      formatDay(i % 1000),
      i % 5 === 0 ? null : '2020-01-01',
      i % 100,
      i % 4 === 0 ? null : i / 8,
      i === 9 ? null : i * 0.5,
      i * 1.25,
      Number(i > 5),
    ]);
    expect(data.length).toBe(rows);
    expect(data.findIndex((row, i) => JSON.stringify(row) !== JSON.stringify(expected[i]))).toBe(-1);
  });

  test('is cut at the limit of rows, which is reported', async () => {
    const { rows, isTruncated, text } = await readAnswer('SELECT * FROM range(101)');
    expect([rows, isTruncated, (JSON.parse(text) as { truncated: boolean }).truncated]).toEqual([100, true, true]);
    expect((await readAnswer('SELECT * FROM range(100)')).isTruncated).toBe(false);
  });

  test('beyond the limit of bytes is refused', async () => {
    expect((await catchRefusal("SELECT repeat('x', 20000)")).code).toBe('QUERY_LIMIT');
  });

  test('describes views, without their underlying tables', async () => {
    expect((JSON.parse((await readAnswer('SHOW TABLES')).text) as { data: string[][] }).data.flat()).toEqual(
      Object.keys(SQL_VIEWS).toSorted(),
    );
    expect((await readAnswer('DESCRIBE weights', { format: 'csv' })).text).toContain('index_id,VARCHAR');
  });
});

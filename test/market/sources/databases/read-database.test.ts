import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { formatDay } from '#domain/base/time.js';
import { computeContentHash } from '#market/content/content-hash.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { DatabaseLocation } from '#market/read/database-location.js';
import { readDatabase } from '#market/read/databases.js';
import type { TableNames } from '#market/read/source-read.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../../store/temporary-folder.js';
import { readContentHash, formatFindingPaths, writeFiles } from '../../store-folder.js';
import { hasPostgresql, startPostgresql } from '../../../postgresql/postgresql-server.js';
import { openTestDatabase, type TestDatabase } from '../../../postgresql/shared-postgresql.js';

const createFolder = openTemporaryFolders();

/** Tables of one store as statements that every database accepts. `FILES` has the same tables as files. */
const TABLES = [
  'CREATE TABLE market (identifier text, date date, "CLOSE" double precision, "VOLUME" bigint)',
  "INSERT INTO market VALUES ('A', '2024-01-02', 10.5, 100), ('B', '2024-01-02', 20.25, NULL), ('A', '2024-01-03', 11.5, 9007199254740991)",
  'CREATE TABLE reference (identifier text, "NAME" text, "SCORE" double precision)',
  "INSERT INTO reference VALUES ('A', 'Alpha', 1.5), ('B', 'Beta', NULL)",
  'CREATE TABLE corporate_actions (identifier text, type text, value double precision, ex_date date, status text)',
  "INSERT INTO corporate_actions VALUES ('A', 'DIVIDEND', 0.25, '2024-01-03', 'paid')",
  'CREATE TABLE universes (universe text, identifier text, "start" date, "end" date)',
  "INSERT INTO universes VALUES ('ALL', 'A', '2024-01-01', NULL)",
  'CREATE TABLE series (identifier text, date date, "CLOSE" double precision, "CURRENCY" text)',
  "INSERT INTO series VALUES ('INDEX', '2024-01-03', 4704.81, 'USD'), ('INDEX', '2024-01-02', 4742.83, 'USD')",
];
const FILES = {
  'market.csv':
    'identifier,date,CLOSE,VOLUME\nA,2024-01-02,10.5,100\nB,2024-01-02,20.25,\nA,2024-01-03,11.5,9007199254740991\n',
  'reference.csv': 'identifier,NAME,SCORE\nA,Alpha,1.5\nB,Beta,\n',
  'corporate_actions.csv': 'identifier,type,value,ex_date,status\nA,DIVIDEND,0.25,2024-01-03,paid\n',
  'universes.csv': 'universe,identifier,start,end\nALL,A,2024-01-01,\n',
  'series.csv': 'identifier,date,CLOSE,CURRENCY\nINDEX,2024-01-02,4742.83,USD\nINDEX,2024-01-03,4704.81,USD\n',
};

async function readExpectedHash(): Promise<string> {
  const folder = await createFolder();
  await writeFiles(folder, FILES);
  return readContentHash(folder);
}

async function read(location: DatabaseLocation, tables: TableNames = {}, mapping: Partial<Mapping> | null = null) {
  const problems = createProblems();
  const terms = { mapping: mapping && Mapping.parse(mapping), adjustment: 'none', calendars: openCalendars() } as const;
  const result = await readDatabase(location, tables, problems, () => {}, { terms });
  return { found: result, findings: problems.findings(), reported: formatFindingPaths(problems.findings()) };
}

describe('a SQLite file', () => {
  async function createDatabase(statements: readonly string[]): Promise<string> {
    const path = join(await createFolder(), 'market.db');
    const database = new sqlite.Database(path);
    for (const statement of statements) database.exec(statement);
    database.close();
    return path;
  }

  test('has the content of the same data in files, and its folder is unchanged', async () => {
    const path = await createDatabase(TABLES);
    const { found, findings } = await read({ kind: 'sqlite', path });
    expect(findings).toEqual([]);
    expect(await computeContentHash(found!.content)).toBe(await readExpectedHash());
    expect(found!.rows).toEqual({ market: 3, reference: 2, corporate_actions: 1, universes: 1, series: 2 });
    expect(readdirSync(join(path, '..'))).toEqual(['market.db']);
  });

  test('may be one that is written with a log, but not while the log holds changes', async () => {
    const path = await createDatabase(TABLES);
    const bytes = readFileSync(path);
    bytes.fill(2, 18, 20); // bytes that mark a database in WAL mode
    writeFileSync(path, bytes);
    expect((await read({ kind: 'sqlite', path })).findings).toEqual([]);
    appendFileSync(`${path}-wal`, 'x');
    expect((await read({ kind: 'sqlite', path })).reported).toEqual(['UNREADABLE_FILE ']);
  });

  test.each([
    [
      'text in a price',
      ['CREATE TABLE market (identifier, date, CLOSE)', "INSERT INTO market VALUES ('A', '2024-01-02', 'x')"],
      ['NOT_A_NUMBER market[row 1].CLOSE'],
    ],
    ['no market', ['CREATE TABLE prices (a)'], ['LOCATION_NOT_FOUND market']],
    ['a missing column', ['CREATE TABLE market (identifier, date, OPEN)'], ['MISSING_COLUMN market.CLOSE']],
  ])('with %s is reported', async (_what, statements, expected) => {
    expect((await read({ kind: 'sqlite', path: await createDatabase(statements) })).reported).toEqual(expected);
  });

  test('is read from the tables that are named', async () => {
    const path = await createDatabase([
      'CREATE TABLE bars (identifier, date, CLOSE)',
      "INSERT INTO bars VALUES ('A', '2024-01-02', 1)",
    ]);
    expect((await read({ kind: 'sqlite', path }, { market: 'bars' })).found?.content.identifiers).toEqual(['A']);
    expect((await read({ kind: 'sqlite', path }, { market: 'bars', reference: 'names' })).reported).toEqual([
      'LOCATION_NOT_FOUND tables.reference',
    ]);
  });

  test.each([
    ['text', Buffer.from('no database')],
    ['nothing', Buffer.alloc(0)],
    ['a header alone', Buffer.from('SQLite format 3\0'.padEnd(100, '\u0001'))],
  ])('that is %s is one finding', async (_what, bytes) => {
    const path = join(await createFolder(), 'x.db');
    writeFileSync(path, bytes);
    expect((await read({ kind: 'sqlite', path })).reported).toEqual(['UNREADABLE_FILE ']);
  });
});

describe('a DuckDB file', () => {
  async function createDatabase(statements: readonly string[]): Promise<string> {
    const path = join(await createFolder(), 'market.duckdb');
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    for (const statement of statements) await connection.run(statement);
    connection.closeSync();
    instance.closeSync();
    return path;
  }

  test('has the content of the same data in files', async () => {
    const path = await createDatabase(TABLES);
    const { found, findings } = await read({ kind: 'duckdb', path });
    expect(findings).toEqual([]);
    expect(await computeContentHash(found!.content)).toBe(await readExpectedHash());
    const bytes = readFileSync(path);
    expect(found!.files).toEqual([
      { label: 'database', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    ]);
  });

  test('with text prices is read row by row, and bad ones are reported', async () => {
    const path = await createDatabase([
      'CREATE TABLE market (identifier VARCHAR, date VARCHAR, CLOSE VARCHAR)',
      "INSERT INTO market VALUES ('A', '2024-01-02', '1.5'), ('A', '2024-01-03', 'x')",
    ]);
    expect((await read({ kind: 'duckdb', path })).reported).toEqual(['NOT_A_NUMBER market[row 2].CLOSE']);
  });

  test('reports a repeated key and a price of zero at their rows', async () => {
    const path = await createDatabase([
      'CREATE TABLE market (identifier VARCHAR, date DATE, CLOSE DOUBLE)',
      "INSERT INTO market VALUES ('A', '2024-01-02', 1), ('A', '2024-01-02', 0)",
    ]);
    expect((await read({ kind: 'duckdb', path })).reported).toEqual([
      'DUPLICATE_KEY market[row 2]',
      'NON_POSITIVE_PRICE market[row 2].CLOSE',
    ]);
  });

  test('that is something else is one finding without a path', async () => {
    const path = join(await createFolder(), 'x.duckdb');
    writeFileSync(path, 'no database at all');
    const { reported, findings } = await read({ kind: 'duckdb', path });
    expect(reported).toEqual(['UNREADABLE_FILE ']);
    expect(findings[0]?.message).not.toContain(path);
  });
});

describe.skipIf(!hasPostgresql)('a PostgreSQL database', () => {
  let server: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    server = await openTestDatabase();
    client = new Client(server.url);
    await client.connect();
    for (const statement of TABLES) await client.query(statement);
  });
  afterAll(async () => {
    await client.end();
    await server.drop();
  });

  const place = (): DatabaseLocation => ({
    kind: 'postgresql',
    address: '127.0.0.1',
    host: '127.0.0.1',
    port: Number(new URL(server.url).port),
    user: 'tester',
    password: 'secret-of-the-test',
    database: server.name,
    isEncrypted: false,
  });

  test('has the content of the same data in files, dates by the calendar whatever the time zone', async () => {
    await client.query(`ALTER DATABASE ${server.name} SET timezone TO 'America/New_York'`);
    const { found, findings } = await read(place());
    expect(findings).toEqual([]);
    expect(await computeContentHash(found!.content)).toBe(await readExpectedHash());
    expect(found!.rows).toEqual({ market: 3, reference: 2, corporate_actions: 1, universes: 1, series: 2 });
  });

  test.each([
    [
      'numeric prices and timestamps',
      'SELECT identifier, date::timestamp AS date, "CLOSE"::numeric(12,4) AS "CLOSE", "VOLUME" FROM market',
    ],
    ['text prices', 'SELECT identifier, date, "CLOSE"::text AS "CLOSE", "VOLUME" FROM market'],
    [
      'names of a fixed width',
      'SELECT identifier::char(8) AS identifier, date, "CLOSE"::real AS "CLOSE", "VOLUME" FROM market',
    ],
  ])('with %s gives the same bars', async (_what, query) => {
    await client.query(`CREATE OR REPLACE VIEW bars AS ${query}`);
    const { found, findings } = await read(place(), { market: 'bars' });
    await client.query('DROP VIEW bars');
    expect(findings).toEqual([]);
    expect(await computeContentHash(found!.content)).toBe(await readExpectedHash());
  });

  describe('with instants', () => {
    /** Midnight in Tokyo of Tuesday 9 and Wednesday 10 January 2024. */
    const formatBars = (type: string) =>
      `CREATE VIEW instants AS SELECT 'A' AS identifier, (TIMESTAMPTZ '2024-01-08 15:00:00+00' + i * INTERVAL '1 day')::${type} AS date, i + 10.5 AS "CLOSE" FROM generate_series(0, 1) i`;
    const readInstants = async (type: string, mapping: Partial<Mapping> | null, exchange: string | null) => {
      await client.query(formatBars(type));
      await client.query(
        `CREATE VIEW exchanges AS SELECT 'A' AS identifier, ${exchange === null ? 'NULL::text' : `'${exchange}'`} AS "EXCHANGE"`,
      );
      const tables = {
        market: 'instants',
        reference: 'exchanges',
        corporate_actions: 'no',
        universes: 'no',
        series: 'no',
      };
      const { corporate_actions: _, universes: __, series: ___, ...own } = tables;
      try {
        const { found, findings } = await read(place(), own, mapping);
        return found === undefined
          ? findings.map(({ code, path, value }) => [code, path, value])
          : [...found.content.dates].map(formatDay);
      } finally {
        await client.query('DROP VIEW instants; DROP VIEW exchanges');
      }
    };
    const DAYS = ['2024-01-09', '2024-01-10'];

    test.each([['timestamptz'], ['text']])(
      'of type %s has the days of the exchange or of the mapping',
      async (type) => {
        expect(await readInstants(type, null, 'XTKS')).toEqual(DAYS);
        expect(await readInstants(type, { time_zone: 'Asia/Tokyo' }, null)).toEqual(DAYS);
        expect(await readInstants(type, { time_zone: 'UTC' }, 'XTKS')).toEqual(['2024-01-08', '2024-01-09']);
        expect(await readInstants(type, null, null)).toEqual([
          ['REQUIRED', 'mapping.time_zone', '2024-01-08T15:00:00.000Z'],
        ]);
      },
    );

    test('without a time zone keeps its days', async () => {
      expect(await readInstants('timestamp', null, 'XTKS')).toEqual(['2024-01-08', '2024-01-09']);
    });
  });

  test.each([
    ['a price of zero', "('A', '2024-01-02', 0)", 'NON_POSITIVE_PRICE market[row 1].CLOSE'],
    ['an infinite price', "('A', '2024-01-02', 'Infinity')", 'NOT_A_NUMBER market[row 1].CLOSE'],
    ['a date without an end', "('A', 'infinity', 1)", 'BAD_DATE market[row 1].date'],
    ['no identifier', "(NULL, '2024-01-02', 1)", 'BAD_IDENTIFIER market[row 1].identifier'],
    ['the same key twice', "('A', '2024-01-02', 1), ('A', '2024-01-02', 1)", 'DUPLICATE_KEY market[row 2]'],
  ])('with %s is reported', async (_what, values, reported) => {
    await client.query(
      `CREATE TABLE bad (identifier text, date date, "CLOSE" float8); INSERT INTO bad VALUES ${values}`,
    );
    const { reported: findings } = await read(place(), { market: 'bad' });
    await client.query('DROP TABLE bad');
    expect(findings).toEqual([reported]);
  });

  test('is read from tables of other schemas', async () => {
    await client.query('CREATE SCHEMA other; CREATE TABLE other."My bars" AS SELECT * FROM market');
    expect((await read(place(), { market: 'other.My bars' })).findings).toEqual([]);
    expect((await read(place(), { market: 'My bars' })).reported).toEqual(['LOCATION_NOT_FOUND tables.market']);
  });

  test('whose server dies during a read is reported, without the password', async () => {
    const ownServer = await startPostgresql();
    // Rows before the first progress report. When the server is killed, it is still processing the last row.
    await ownServer.query(
      `CREATE VIEW market AS
        SELECT 'N' || (i % 500) AS identifier, DATE '2000-01-01' + (i / 500) AS date, 1.0::float8 AS "CLOSE"
        FROM generate_series(0, 269999) i
        UNION ALL SELECT 'A', DATE '2024-01-02', (SELECT 1.0::float8 FROM pg_sleep(600))`,
    );
    const problems = createProblems();
    const reading = readDatabase(
      { ...place(), port: ownServer.port, database: 'postgres' } as DatabaseLocation,
      {},
      problems,
      (fraction) => {
        if (fraction > 0.05) ownServer.kill();
      },
    );
    expect(await reading).toBeUndefined();
    await ownServer.stop();
    expect(formatFindingPaths(problems.findings())).toEqual(['UNREADABLE_FILE ']);
    expect(JSON.stringify(problems.findings())).not.toContain('secret-of-the-test');
  });

  test('with a view that writes is refused by the server, and one with a locked table is not waited for', async () => {
    await client.query(
      `CREATE FUNCTION noisy() RETURNS float8 AS $$ BEGIN DELETE FROM market; RETURN 1; END $$ LANGUAGE plpgsql; CREATE VIEW writes AS SELECT identifier, date, noisy() AS "CLOSE" FROM market`,
    );
    const writtenContent = await read(place(), { market: 'writes' });
    expect(writtenContent.findings).toMatchObject([
      {
        code: 'UNREADABLE_FILE',
        message: 'The database cannot be read: cannot execute DELETE in a read-only transaction',
      },
    ]);
    const locker = new Client(server.url);
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE market IN ACCESS EXCLUSIVE MODE');
    const result = await read(place());
    await locker.query('ROLLBACK');
    await locker.end();
    expect(result.findings).toMatchObject([
      { code: 'UNREADABLE_FILE', message: 'The database cannot be read: canceling statement due to lock timeout' },
    ]);
  });

  test('that does not exist, or refuses access, is reported', async () => {
    expect((await read({ ...place(), port: 1 } as DatabaseLocation)).reported).toEqual(['UNREADABLE_FILE ']);
    expect((await read({ ...place(), database: 'none' } as DatabaseLocation)).reported).toEqual(['UNREADABLE_FILE ']);
  });
});

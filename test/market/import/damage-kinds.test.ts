import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { describe, expect, test } from 'vitest';
import type { Finding } from '#domain/findings.js';
import { readDatabase } from '#market/sources/databases/read-database.js';
import { emptyPanel } from '#market/serving/panels.js';
import { createProblems } from '#market/content/problems.js';
import { readImport } from '#market/import/read-import.js';
import { writeMarket } from '#market/content/write-market.js';
import { writeWorkbook } from '#market/formats/workbook-writer.js';
import { writeZip } from '#market/formats/zip-writer.js';
import { temporaryFolders } from '../../store/temporary-folder.js';
import { hashOf, places, readFolder, writeFiles } from '../store-folder.js';

/**
 * Every way we know in which a file that is given to the service can be wrong, each with the findings that a person would write by
 * hand: the file, and where it is known the row and the column. None is a crash, none a store.
 */
const folderFor = temporaryFolders();

interface Outcome {
  readonly isRead: boolean;
  readonly findings: readonly Finding[];
}

/** What a kind of damage has to be told as. */
type Damage = readonly [kind: string, told: readonly string[], read: () => Promise<Outcome>];

const files = (made: Readonly<Record<string, string | Uint8Array>>) => async (): Promise<Outcome> => {
  const folder = await folderFor();
  await writeFiles(folder, made);
  const { read, findings } = await readFolder(folder);
  expect(JSON.stringify(findings)).not.toContain(folder);
  return { isRead: read !== undefined, findings };
};

const imported = (kind: 'xlsx' | 'csv', bytes: Uint8Array) => async (): Promise<Outcome> => {
  const problems = createProblems();
  const read = await readImport({ kind, bytes }, problems);
  return { isRead: read !== undefined, findings: problems.findings() };
};

const database =
  (kind: 'sqlite' | 'duckdb', make: () => Promise<Uint8Array>, beside: Readonly<Record<string, string>> = {}) =>
  async (): Promise<Outcome> => {
    const folder = await folderFor();
    await writeFiles(folder, { 'market.db': await make(), ...beside });
    const problems = createProblems();
    const read = await readDatabase({ kind, path: join(folder, 'market.db') }, {}, problems, () => {});
    expect(JSON.stringify(problems.findings())).not.toContain(folder);
    return { isRead: read !== undefined, findings: problems.findings() };
  };

// --- Parquet

const ROWS =
  "SELECT 'N' || (i % 40) AS identifier, DATE '2020-01-01' + (i // 40)::INT AS date, 1.0 + i AS CLOSE, i AS VOLUME FROM range(8000) t(i)";

/** The rows of a query as a Parquet file of another writer, with some bytes of it changed. */
const parquet =
  (query: string, change: (bytes: Buffer) => Uint8Array = (bytes) => bytes, options = '') =>
  async (): Promise<Outcome> => {
    const folder = await folderFor();
    const path = join(folder, 'market.parquet');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet${options})`);
    connection.closeSync();
    await writeFile(path, change(await readFile(path)));
    const { read, findings } = await readFolder(folder);
    expect(JSON.stringify(findings)).not.toContain(folder);
    return { isRead: read !== undefined, findings };
  };

/** As above, of a file of our own: uncompressed, with keys coded by a dictionary. */
const ownParquet = (change: (bytes: Buffer) => Uint8Array) => async (): Promise<Outcome> =>
  files({ 'market.parquet': change(await ownBytes()) })();

async function ownBytes(): Promise<Buffer> {
  const folder = await folderFor();
  const identifiers = Array.from({ length: 40 }, (_, n) => `NAME${String(n).padStart(2, '0')}`);
  const close = emptyPanel(200 * 40);
  close.forEach((_, i) => (close[i] = 1 + i));
  const content = {
    identifiers,
    dates: Int32Array.from({ length: 200 }, (_, t) => 18_000 + t),
    fields: new Map([['CLOSE', close]]),
    reference: { columns: [], rows: new Map() },
    actions: [],
    universes: [],
  };
  await writeMarket(join(folder, 'made'), content, () => {});
  return readFile(join(folder, 'made', 'market.parquet'));
}

const changed = (bytes: Buffer, at: number, values: readonly number[]) => {
  const copy = Buffer.from(bytes);
  copy.set(values, at);
  return copy;
};
const filled = (bytes: Buffer, value: number, from: number, to: number) => Buffer.from(bytes).fill(value, from, to);
const footerStart = (bytes: Buffer) => bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
/** In the footer, the description of a column chunk of our own files: after its name come its codec and its count of values. */
const codecOf = (bytes: Buffer, column: string) => bytes.indexOf(Buffer.from([0x15, 0x00]), bytes.lastIndexOf(column));
/** 8,000 and 8,064 as the footer writes them. */
const [COUNT, MORE] = [Buffer.from([0x16, 0x80, 0x7d]), [0x16, 0x80, 0x7e]];

const row = (rest: string) => `SELECT ${rest}`;
const GOOD = "'A' AS identifier, DATE '2024-01-02' AS date";

const PARQUET: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], files({ 'market.parquet': '' })],
  ['the two marks and nothing between', ['UNREADABLE_FILE market'], files({ 'market.parquet': 'PAR1PAR1' })],
  ['half of it', ['UNREADABLE_FILE market'], parquet(ROWS, (bytes) => bytes.subarray(0, bytes.length >> 1))],
  ['no footer', ['UNREADABLE_FILE market'], parquet(ROWS, (bytes) => bytes.subarray(0, footerStart(bytes)))],
  ['no last mark', ['UNREADABLE_FILE market'], parquet(ROWS, (bytes) => bytes.subarray(0, bytes.length - 4))],
  [
    'the mark of an encrypted footer',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => Buffer.concat([bytes.subarray(0, bytes.length - 4), Buffer.from('PARE')])),
  ],
  [
    'a footer of two gigabytes',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => changed(bytes, bytes.length - 8, [0xff, 0xff, 0xff, 0x7f])),
  ],
  [
    'a footer of no length',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => changed(bytes, bytes.length - 8, [0, 0, 0, 0])),
  ],
  [
    'a footer of zeros',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => filled(bytes, 0, footerStart(bytes), bytes.length - 8)),
  ],
  [
    'a footer of ones',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => filled(bytes, 255, footerStart(bytes), bytes.length - 8)),
  ],
  [
    'the footer of another file',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => Buffer.concat([bytes.subarray(0, 40), bytes.subarray(footerStart(bytes))])),
  ],
  ['a page header of zeros', ['UNREADABLE_FILE market'], parquet(ROWS, (bytes) => filled(bytes, 0, 4, 60))],
  [
    'compressed pages of noise',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => filled(bytes, 0xa5, 60, footerStart(bytes) >> 1), ", CODEC 'zstd'"),
  ],
  [
    'snappy pages of noise',
    ['UNREADABLE_FILE market'],
    parquet(ROWS, (bytes) => filled(bytes, 0xff, 60, footerStart(bytes) >> 1), ", CODEC 'snappy'"),
  ],
  [
    'plain pages that are called compressed',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => changed(bytes, codecOf(bytes, 'identifier') + 1, [0x02])),
  ],
  [
    'a codec that nobody knows',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => changed(bytes, codecOf(bytes, 'identifier') + 1, [0x5e])),
  ],
  [
    'a dictionary whose texts have no end',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => changed(bytes, bytes.indexOf('NAME00') - 4, [0xff, 0xff, 0xff, 0x7f])),
  ],
  [
    'a dictionary that is not UTF-8',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => changed(bytes, bytes.indexOf('NAME07'), [0xff, 0xfe])),
  ],
  [
    'more rows in a group than there are',
    ['UNREADABLE_FILE market'],
    ownParquet((bytes) => changed(bytes, bytes.lastIndexOf(COUNT), MORE)),
  ],
  [
    'text, called Parquet',
    ['UNREADABLE_FILE market'],
    files({ 'market.parquet': 'identifier,date,CLOSE\nA,2024-01-02,1\n' }),
  ],
  [
    'gzip, called Parquet',
    ['UNREADABLE_FILE market'],
    files({ 'market.parquet': gzipSync('identifier,date,CLOSE\nA,2024-01-02,1\n') }),
  ],
  ['no row', ['EMPTY_DATASET market'], parquet(`${ROWS} LIMIT 0`)],
  ['no CLOSE', ['MISSING_COLUMN market.CLOSE'], parquet(row(`${GOOD}, 1.0 AS OPEN`))],
  ['no date', ['MISSING_COLUMN market.date'], parquet(row("'A' AS identifier, 1.0 AS CLOSE"))],
  ['no identifier', ['MISSING_COLUMN market.identifier'], parquet(row("DATE '2024-01-02' AS date, 1.0 AS CLOSE"))],
  [
    'a column twice, once in small letters',
    ['DUPLICATE_KEY market.CLOSE'],
    parquet(row(`${GOOD}, 1.0 AS CLOSE, 2.0 AS "close "`)),
  ],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 2].CLOSE'],
    parquet(`${row(`${GOOD}, '1.5' AS CLOSE`)} UNION ALL ${row("'B', DATE '2024-01-02', '19.96x'")}`),
  ],
  ['a price of zero', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], parquet(row(`${GOOD}, 0.0 AS CLOSE`))],
  ['a negative price', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], parquet(row(`${GOOD}, -1.0 AS CLOSE`))],
  ['an infinite price', ['NOT_A_NUMBER market[row 1].CLOSE'], parquet(row(`${GOOD}, 'inf'::DOUBLE AS CLOSE`))],
  ['a negative volume', ['OUT_OF_RANGE market[row 1].VOLUME'], parquet(row(`${GOOD}, 1.0 AS CLOSE, -5 AS VOLUME`))],
  [
    'a key twice',
    ['DUPLICATE_KEY market[row 2]'],
    parquet(`${row(`${GOOD}, 1.0 AS CLOSE`)} UNION ALL ${row(`${GOOD}, 2.0`)}`),
  ],
  [
    'a date that is missing',
    ['BAD_DATE market[row 1].date'],
    parquet(row("'A' AS identifier, NULL::DATE AS date, 1.0 AS CLOSE")),
  ],
  [
    'an identifier that is missing',
    ['BAD_IDENTIFIER market[row 1].identifier'],
    parquet(row("NULL::VARCHAR AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE")),
  ],
  [
    'a date in the year 20000',
    ['BAD_DATE market[row 1].date'],
    parquet(row("'A' AS identifier, DATE '20000-01-01' AS date, 1.0 AS CLOSE")),
  ],
  [
    'a date that is a number',
    ['BAD_DATE market.date'],
    parquet(row("'A' AS identifier, 20240102 AS date, 1.0 AS CLOSE")),
  ],
  ['a list for a price', ['NOT_A_NUMBER market.CLOSE'], parquet(row(`${GOOD}, [1.0, 2.0] AS CLOSE`))],
  ['a record for a price', ['NOT_A_NUMBER market.CLOSE'], parquet(row(`${GOOD}, {'last': 1.0} AS CLOSE`))],
  ['a truth value for a price', ['NOT_A_NUMBER market.CLOSE'], parquet(row(`${GOOD}, true AS CLOSE`))],
  ['a day for a price', ['NOT_A_NUMBER market.CLOSE'], parquet(row(`${GOOD}, DATE '2024-01-02' AS CLOSE`))],
];

// --- Text files

const HEAD = 'identifier,date,CLOSE,VOLUME\n';
const csv = (rows: string | Uint8Array) =>
  files({ 'market.csv': typeof rows === 'string' ? `${HEAD}${rows}\n` : Buffer.concat([Buffer.from(HEAD), rows]) });
const MARKET = `${HEAD}A,2024-01-02,1,1\n`;
const withTables = (tables: Readonly<Record<string, string>>) => files({ 'market.csv': MARKET, ...tables });

const CSV: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], files({ 'market.csv': '' })],
  ['a header and no row', ['EMPTY_DATASET market'], csv('')],
  ['no CLOSE', ['MISSING_COLUMN market.CLOSE'], files({ 'market.csv': 'identifier,date,OPEN\nA,2024-01-02,1\n' })],
  [
    'a column twice',
    ['DUPLICATE_KEY market.CLOSE'],
    files({ 'market.csv': 'identifier,date,CLOSE,CLOSE\nA,2024-01-02,1,2\n' }),
  ],
  [
    'a column twice in other letters',
    ['DUPLICATE_KEY market.CLOSE'],
    files({ 'market.csv': 'identifier,date,CLOSE,close\nA,2024-01-02,1,2\n' }),
  ],
  [
    'a column without a name',
    ['MISSING_COLUMN market'],
    files({ 'market.csv': 'identifier,date,CLOSE,\nA,2024-01-02,1,2\n' }),
  ],
  ['a quote that is never closed', ['UNREADABLE_FILE market[row 1]'], csv('"A,2024-01-02,1,1')],
  ['text after a closing quote', ['UNREADABLE_FILE market[row 1]'], csv('"A"x,2024-01-02,1,1')],
  ['a row that is too short', ['UNREADABLE_FILE market[row 2]'], csv('A,2024-01-02,1,1\nB,2024-01-02,1')],
  ['a row that is too long', ['UNREADABLE_FILE market[row 2]'], csv('A,2024-01-02,1,1\nB,2024-01-02,1,1,1')],
  ['NUL bytes in an identifier', ['BAD_IDENTIFIER market[row 1].identifier'], csv('A\u0000B,2024-01-02,1,1')],
  ['NUL bytes in a price', ['NOT_A_NUMBER market[row 1].CLOSE'], csv('A,2024-01-02,1\u00000,1')],
  ['Latin-1', ['UNREADABLE_FILE market'], csv(Buffer.from('Soci\u00e9t\u00e9,2024-01-02,1,1\n', 'latin1'))],
  ['UTF-16', ['UNREADABLE_FILE market'], files({ 'market.csv': Buffer.from(`\ufeff${MARKET}`, 'utf16le') })],
  ['a decimal comma', ['NOT_A_NUMBER market[row 1].CLOSE'], csv('A,2024-01-02,"1,5",1')],
  ['thousands set apart', ['NOT_A_NUMBER market[row 1].VOLUME'], csv('A,2024-01-02,1,"1,000,000"')],
  ['text in a price', ['NOT_A_NUMBER market[row 1].CLOSE'], csv('A,2024-01-02,n/a,1')],
  ['an infinite price', ['NOT_A_NUMBER market[row 1].CLOSE'], csv('A,2024-01-02,inf,1')],
  ['a number that no double holds', ['NOT_A_NUMBER market[row 1].CLOSE'], csv('A,2024-01-02,1e999,1')],
  ['a negative price', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], csv('A,2024-01-02,-1,1')],
  ['a price of zero', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], csv('A,2024-01-02,0,1')],
  ['a negative volume', ['OUT_OF_RANGE market[row 1].VOLUME'], csv('A,2024-01-02,1,-1')],
  ['a day that does not exist', ['BAD_DATE market[row 1].date'], csv('A,2023-02-29,1,1')],
  ['a month that does not exist', ['BAD_DATE market[row 1].date'], csv('A,2024-13-01,1,1')],
  ['days before months', ['BAD_DATE market[row 1].date'], csv('A,31/12/2024,1,1')],
  ['years of two digits', ['BAD_DATE market[row 1].date'], csv('A,24-01-02,1,1')],
  ['the year 0', ['BAD_DATE market[row 1].date'], csv('A,0000-01-01,1,1')],
  ['no identifier', ['BAD_IDENTIFIER market[row 1].identifier'], csv(',2024-01-02,1,1')],
  ['an identifier with a slash', ['BAD_IDENTIFIER market[row 1].identifier'], csv('A/B,2024-01-02,1,1')],
  [
    'an identifier of a hundred letters',
    ['BAD_IDENTIFIER market[row 1].identifier'],
    csv(`${'A'.repeat(100)},2024-01-02,1,1`),
  ],
  ['a key twice', ['DUPLICATE_KEY market[row 2]'], csv('A,2024-01-02,1,1\nA,2024-01-02,1,1')],
  ['a line without end', ['UNREADABLE_FILE market[row 1]'], csv('A'.repeat(3 << 20))],
  [
    'Parquet, called CSV',
    ['UNREADABLE_FILE market'],
    files({ 'market.csv': Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(400, 0xfe), Buffer.from('PAR1')]) }),
  ],
  ['gzip, called CSV', ['UNREADABLE_FILE market'], files({ 'market.csv': gzipSync(MARKET) })],
  [
    'one of two files in a folder damaged',
    ['NOT_A_NUMBER market/2.csv[row 1].CLOSE'],
    files({ 'market/1.csv': MARKET, 'market/2.csv': `${HEAD}A,2024-01-03,x,1\n` }),
  ],
  [
    'an action that nobody knows',
    ['UNKNOWN_ACTION_TYPE corporate_actions[row 1].type'],
    withTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,PARTY,1,2024-01-02\n' }),
  ],
  [
    'a split by zero',
    ['BAD_RATIO corporate_actions[row 1].value'],
    withTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,SPLIT,0,2024-01-02\n' }),
  ],
  [
    'an action without a day',
    ['BAD_DATE corporate_actions[row 1].ex_date'],
    withTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,DIVIDEND,1,soon\n' }),
  ],
  [
    'memberships that overlap',
    ['OVERLAPPING_MEMBERSHIP universes[row 2]'],
    withTables({ 'universes.csv': 'universe,identifier,start,end\nU,A,2020-01-01,2021-01-01\nU,A,2020-06-01,\n' }),
  ],
  [
    'a membership that ends before it begins',
    ['INVALID_RANGE universes[row 1].end'],
    withTables({ 'universes.csv': 'universe,identifier,start,end\nU,A,2021-01-01,2020-01-01\n' }),
  ],
  [
    'a reference row twice',
    ['DUPLICATE_KEY reference[row 2]'],
    withTables({ 'reference.csv': 'identifier,SECTOR\nA,X\nA,Y\n' }),
  ],
  [
    'a listing on no day',
    ['BAD_DATE reference[row 1].LISTED'],
    withTables({ 'reference.csv': 'identifier,LISTED\nA,yesterday\n' }),
  ],
];

const flippedTail = (bytes: Buffer) => changed(bytes, bytes.length - 6, [bytes[bytes.length - 6]! ^ 0xff]);

const GZIP: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], files({ 'market.csv.gz': '' })],
  ['no gzip at all', ['UNREADABLE_FILE market'], files({ 'market.csv.gz': MARKET })],
  [
    'its end missing',
    ['UNREADABLE_FILE market'],
    files({
      'market.csv.gz': gzipSync(
        `${HEAD}${Array.from({ length: 500 }, (_, i) => `N${i},2024-01-02,${i + 1},1`).join('\n')}`,
      ).subarray(0, 600),
    }),
  ],
  ['a wrong checksum', ['UNREADABLE_FILE market'], files({ 'market.csv.gz': flippedTail(gzipSync(MARKET)) })],
  [
    'a bomb',
    ['UNREADABLE_FILE market[row 1]'],
    files({
      'market.csv.gz': gzipSync(Buffer.concat([Buffer.from(HEAD), Buffer.alloc(300 << 20, 0x30)]), { level: 9 }),
    }),
  ],
  ['gzip in gzip', ['UNREADABLE_FILE market'], files({ 'market.csv.gz': gzipSync(gzipSync(MARKET)) })],
];

const LINE = '{"identifier":"A","date":"2024-01-02","CLOSE":1}';
const lines = (...texts: readonly string[]) => files({ 'market.jsonl': `${texts.join('\n')}\n` });

const JSON_LINES: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], files({ 'market.jsonl': '' })],
  ['a line that stops', ['UNREADABLE_FILE market[row 2]'], lines(LINE, '{"identifier":')],
  ['a line that is a list', ['UNREADABLE_FILE market[row 2]'], lines(LINE, '["A","2024-01-02",1]')],
  ['all rows in one list', ['UNREADABLE_FILE market[row 1]'], lines(`[${LINE},${LINE}]`)],
  [
    'a value within a value',
    ['UNREADABLE_FILE market[row 1]'],
    lines('{"identifier":"A","date":"2024-01-02","CLOSE":{"last":1}}'),
  ],
  [
    'a number that no double holds',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    lines('{"identifier":"A","date":"2024-01-02","CLOSE":1e999}'),
  ],
  [
    'a truth value for a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    lines('{"identifier":"A","date":"2024-01-02","CLOSE":true}'),
  ],
  [
    'bytes that are not UTF-8',
    ['UNREADABLE_FILE market[row 2]'],
    files({ 'market.jsonl': Buffer.concat([Buffer.from(`${LINE}\n`), Buffer.from([0xff, 0xfe, 0x0a])]) }),
  ],
  [
    'a line without end',
    ['UNREADABLE_FILE market[row 1]'],
    files({ 'market.jsonl': `{"identifier":"${'A'.repeat(3 << 20)}"}` }),
  ],
  [
    'a member that comes late',
    ['UNREADABLE_FILE market[row 1001]'],
    lines(
      ...Array.from({ length: 1000 }, (_, i) => `{"identifier":"N${i}","date":"2024-01-02","CLOSE":1}`),
      '{"identifier":"A","date":"2024-01-02","CLOSE":1,"HIGH":2}',
    ),
  ],
];

// --- Databases

async function sqliteFile(statements: readonly string[]): Promise<Buffer> {
  const path = join(await folderFor(), 'made.db');
  const held = new sqlite.Database(path);
  for (const statement of statements) held.exec(statement);
  held.close();
  return readFile(path);
}

async function duckDbFile(statements: readonly string[]): Promise<Buffer> {
  const path = join(await folderFor(), 'made.duckdb');
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
const oneRow = (values: string) => [
  'CREATE TABLE market (identifier, date, CLOSE)',
  `INSERT INTO market VALUES (${values})`,
];

const SQLITE: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], database('sqlite', async () => Buffer.alloc(0))],
  ['text, called a database', ['UNREADABLE_FILE '], database('sqlite', async () => Buffer.from('no database at all'))],
  [
    'another mark',
    ['UNREADABLE_FILE '],
    database('sqlite', async () => changed(await sqliteFile(SQLITE_ROWS), 0, [0x58])),
  ],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    database('sqlite', async () => (await sqliteFile(SQLITE_ROWS)).subarray(0, 20_000)),
  ],
  [
    'a page of ones',
    ['UNREADABLE_FILE '],
    database('sqlite', async () => filled(await sqliteFile(SQLITE_ROWS), 255, 8192, 16_384)),
  ],
  [
    'pages of a size that cannot be',
    ['UNREADABLE_FILE '],
    database('sqlite', async () => changed(await sqliteFile(SQLITE_ROWS), 16, [0x00, 0x03])),
  ],
  [
    'a log with changes beside it',
    ['UNREADABLE_FILE '],
    database('sqlite', async () => filled(await sqliteFile(SQLITE_ROWS), 2, 18, 20), { 'market.db-wal': 'x' }),
  ],
  ['no market', ['LOCATION_NOT_FOUND market'], database('sqlite', () => sqliteFile(['CREATE TABLE prices (a)']))],
  [
    'no CLOSE',
    ['MISSING_COLUMN market.CLOSE'],
    database('sqlite', () => sqliteFile(['CREATE TABLE market (identifier, date, OPEN)'])),
  ],
  [
    'no row',
    ['EMPTY_DATASET market'],
    database('sqlite', () => sqliteFile(['CREATE TABLE market (identifier, date, CLOSE)'])),
  ],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    database('sqlite', () => sqliteFile(oneRow("'A', '2024-01-02', 'x'"))),
  ],
  [
    'bytes in a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    database('sqlite', () => sqliteFile(oneRow("'A', '2024-01-02', x'00ff'"))),
  ],
];

const DUCKDB: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], database('duckdb', async () => Buffer.alloc(0))],
  [
    'text, called a database',
    ['UNREADABLE_FILE '],
    database('duckdb', async () => Buffer.from('no database at all'.repeat(1000))),
  ],
  [
    'a header that was changed',
    ['UNREADABLE_FILE '],
    database('duckdb', async () => filled(await duckDbFile(DUCKDB_ROWS), 0, 0, 64)),
  ],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    database('duckdb', async () => (await duckDbFile(DUCKDB_ROWS)).subarray(0, 100_000)),
  ],
  [
    'blocks of ones',
    ['UNREADABLE_FILE '],
    database('duckdb', async () => {
      const bytes = await duckDbFile(DUCKDB_ROWS);
      return filled(bytes, 255, 3 * 4096 + 100, bytes.length);
    }),
  ],
  ['no market', ['LOCATION_NOT_FOUND market'], database('duckdb', () => duckDbFile(['CREATE TABLE prices (a INT)']))],
  [
    'no CLOSE',
    ['MISSING_COLUMN market.CLOSE'],
    database('duckdb', () =>
      duckDbFile(["CREATE TABLE market AS SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS OPEN"]),
    ),
  ],
  [
    'a list for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    database('duckdb', () => duckDbFile([`CREATE TABLE market AS SELECT ${GOOD}, [1.0] AS CLOSE`])),
  ],
];

// --- Workbooks

const HEADER = ['identifier', 'date', 'CLOSE'];
const CELLS =
  '<row r="1"><c r="A1" t="inlineStr"><is><t>identifier</t></is></c><c r="B1" t="inlineStr"><is><t>date</t></is></c><c r="C1" t="inlineStr"><is><t>CLOSE</t></is></c></row>';
const TEXT = (cell: string, text: string) => `<c r="${cell}" t="inlineStr"><is><t>${text}</t></is></c>`;

function workbookParts({
  sheet,
  name = 'market',
  sheets,
  relations,
  texts = '',
}: {
  sheet: string;
  name?: string;
  sheets?: string;
  relations?: string;
  texts?: string;
}) {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  return [
    {
      name: 'xl/workbook.xml',
      text: `<workbook xmlns="${main}" xmlns:r="r"><sheets>${sheets ?? `<sheet name="${name}" sheetId="1" r:id="rId1"/>`}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: relations ?? '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    },
    { name: 'xl/sharedStrings.xml', text: `<sst>${texts}</sst>` },
    { name: 'xl/worksheets/sheet1.xml', text: sheet },
  ];
}
const rowsOf = (rows: string) => `<worksheet><sheetData>${CELLS}${rows}</sheetData></worksheet>`;
const workbook = (sheet: string, more: Partial<Parameters<typeof workbookParts>[0]> = {}) =>
  imported('xlsx', writeZip(workbookParts({ sheet, ...more })));
const sheetRows = (...rows: Parameters<typeof writeWorkbook>[0][number]['rows']) =>
  imported('xlsx', writeWorkbook([{ name: 'market', rows: [HEADER, ...rows] }]));

const WORKBOOK: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], imported('xlsx', new Uint8Array(0))],
  ['text, called a workbook', ['UNREADABLE_FILE '], imported('xlsx', Buffer.from(MARKET))],
  [
    'a workbook under a password, or of before 2007',
    ['UNREADABLE_FILE '],
    imported('xlsx', Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4000)])),
  ],
  ['a zip of something else', ['UNREADABLE_FILE '], imported('xlsx', writeZip([{ name: 'readme.txt', text: 'x' }]))],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    imported('xlsx', writeWorkbook([{ name: 'market', rows: [HEADER] }]).subarray(0, 500)),
  ],
  ['a cell in column XFD', ['UNREADABLE_FILE market'], workbook(rowsOf('<row r="2"><c r="XFD2"><v>1</v></c></row>'))],
  [
    'a cell in row 99,999,999',
    ['UNREADABLE_FILE market'],
    workbook(rowsOf('<row r="99999999"><c r="A99999999"><v>1</v></c></row>')),
  ],
  [
    'a formula',
    ['WRONG_TYPE market[row 1].CLOSE'],
    workbook(rowsOf(`<row r="2">${TEXT('A2', 'A')}${TEXT('B2', '2024-01-02')}<c r="C2"><f>1+1</f><v>2</v></c></row>`)),
  ],
  [
    'entities that grow',
    ['UNREADABLE_FILE '],
    workbook(`<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>${rowsOf('')}`),
  ],
  [
    'an entity of a file of ours',
    ['UNREADABLE_FILE '],
    workbook(
      `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${rowsOf(`<row r="2">${TEXT('A2', '&e;')}</row>`)}`,
    ),
  ],
  ['an entity that nobody knows', ['UNREADABLE_FILE '], workbook(rowsOf(`<row r="2">${TEXT('A2', '&bomb;')}</row>`))],
  ['a tag that does not end', ['UNREADABLE_FILE '], workbook(`<worksheet><sheetData>${CELLS}<row r="2"><c r="A2"`)],
  [
    'a text that is not there',
    ['UNREADABLE_FILE market'],
    workbook(rowsOf('<row r="2"><c r="A2" t="s"><v>77</v></c></row>')),
  ],
  [
    'a sheet that is named and not there',
    ['UNREADABLE_FILE market'],
    workbook(rowsOf(''), {
      relations: '<Relationships><Relationship Id="rId1" Target="worksheets/sheet9.xml"/></Relationships>',
    }),
  ],
  [
    'a sheet that nobody asked for',
    ['EMPTY_DATASET market', 'UNKNOWN_FIELD prices'],
    workbook(rowsOf(''), { name: 'prices' }),
  ],
  [
    'the same sheet twice',
    ['UNKNOWN_FIELD Market'],
    workbook(rowsOf(`<row r="2">${TEXT('A2', 'A')}${TEXT('B2', '2024-01-02')}<c r="C2"><v>1</v></c></row>`), {
      sheets: '<sheet name="market" sheetId="1" r:id="rId1"/><sheet name="Market" sheetId="2" r:id="rId1"/>',
    }),
  ],
  ['a sheet that inflates to 60 MB', ['UNREADABLE_FILE '], workbook(rowsOf(' '.repeat(60 << 20)))],
  ['an error of the spreadsheet', ['NOT_A_NUMBER market[row 1].CLOSE'], sheetRows(['A', '2024-01-02', '#DIV/0!'])],
  ['a number for a date', ['BAD_DATE market[row 1].date'], sheetRows(['A', 45_293, 1])],
  ['no identifier', ['BAD_IDENTIFIER market[row 1].identifier'], sheetRows([null, '2024-01-02', 1])],
  ['a value beyond the header', ['UNREADABLE_FILE market[row 1]'], sheetRows(['A', '2024-01-02', 1, 5])],
];

// --- Archives

const archive = (members: Parameters<typeof writeZip>[0], change: (bytes: Buffer) => Uint8Array = (bytes) => bytes) =>
  imported('csv', change(Buffer.from(writeZip(members))));
const ONE = [{ name: 'market.csv', text: MARKET }];
const directoryOf = (bytes: Buffer) => bytes.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));

/** A zip of one member whose headers say what they are told to. */
function zipSaying({
  name = 'market.csv',
  content,
  method = 8,
  flags = 0,
  crc = crc32(content),
  size = content.length,
}: {
  name?: string;
  content: Buffer;
  method?: number;
  flags?: number;
  crc?: number;
  size?: number;
}): Uint8Array {
  const packed = method === 8 ? deflateRawSync(content) : content;
  const label = Buffer.from(name);
  const fields = Buffer.alloc(26);
  [20, flags, method, 0, 0x21].forEach((value, i) => fields.writeUInt16LE(value, 2 * i));
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(label.length, 22);
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), fields, label, packed]);
  const entry = Buffer.concat([
    Buffer.from('PK\u0001\u0002', 'latin1'),
    Buffer.from([20, 0]),
    fields,
    Buffer.alloc(14),
    label,
  ]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, entry, end]);
}
const saying = (what: Parameters<typeof zipSaying>[0]) => imported('csv', zipSaying(what));

const ARCHIVE: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], imported('csv', new Uint8Array(0))],
  ['text, called a zip', ['UNREADABLE_FILE '], imported('csv', Buffer.from(MARKET))],
  ['half of it', ['UNREADABLE_FILE '], archive(ONE, (bytes) => bytes.subarray(0, bytes.length >> 1))],
  [
    'no directory',
    ['UNREADABLE_FILE '],
    archive(ONE, (bytes) => Buffer.concat([bytes.subarray(0, directoryOf(bytes)), Buffer.alloc(60)])),
  ],
  [
    'a directory that points outside',
    ['UNREADABLE_FILE '],
    archive(ONE, (bytes) => changed(bytes, bytes.length - 6, [0xff, 0xff, 0xff, 0x00])),
  ],
  ['a name that climbs out', ['UNREADABLE_FILE '], archive([...ONE, { name: '../../etc/market.csv', text: MARKET }])],
  ['a name from the root', ['UNREADABLE_FILE '], archive([{ name: '/etc/market.csv', text: MARKET }])],
  ['a name with a drive', ['UNREADABLE_FILE '], archive([{ name: 'C:/market.csv', text: MARKET }])],
  ['a name with backslashes', ['UNREADABLE_FILE '], archive([{ name: 'a\\..\\market.csv', text: MARKET }])],
  ['a password', ['UNREADABLE_FILE '], saying({ content: Buffer.from(MARKET), flags: 1 })],
  ['a compression that nobody asked for', ['UNREADABLE_FILE '], saying({ content: Buffer.from(MARKET), method: 12 })],
  ['a wrong checksum', ['UNREADABLE_FILE '], saying({ content: Buffer.from(MARKET), crc: 1 })],
  ['more than it says', ['UNREADABLE_FILE '], saying({ content: Buffer.from(MARKET.repeat(1000)), size: 20 })],
  ['less than it says', ['UNREADABLE_FILE '], saying({ content: Buffer.from(MARKET), size: 5000 })],
  ['a bomb', ['UNREADABLE_FILE '], archive([{ name: 'market.csv', text: `${HEAD}${'0'.repeat(60 << 20)}` }])],
  [
    'eighty members',
    ['UNREADABLE_FILE '],
    archive(Array.from({ length: 80 }, (_, i) => ({ name: `f${i}.csv`, text: 'x' }))),
  ],
  [
    'a zip in the zip',
    ['EMPTY_DATASET market', 'UNKNOWN_FIELD market.zip'],
    archive([{ name: 'market.zip', text: Buffer.from(writeZip(ONE)).toString('latin1') }]),
  ],
  [
    'a file that nobody asked for',
    ['UNKNOWN_FIELD prices.csv'],
    archive([...ONE, { name: 'prices.csv', text: MARKET }]),
  ],
  [
    'the same file in two folders',
    ['UNKNOWN_FIELD b/market.csv'],
    archive([
      { name: 'a/market.csv', text: MARKET },
      { name: 'b/market.csv', text: MARKET },
    ]),
  ],
  ['no market', ['EMPTY_DATASET market'], archive([{ name: 'reference.csv', text: 'identifier\nA\n' }])],
  ['an empty file', ['UNREADABLE_FILE market'], archive([{ name: 'market.csv', text: '' }])],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 2].CLOSE'],
    archive([{ name: 'market.csv', text: `${MARKET}A,2024-01-03,x,1\n` }]),
  ],
  [
    'a formula for a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    archive([{ name: 'market.csv', text: `${HEAD}A,2024-01-02,=1+1,1\n` }]),
  ],
];

const KINDS = {
  Parquet: PARQUET,
  CSV,
  gzip: GZIP,
  'JSON lines': JSON_LINES,
  SQLite: SQLITE,
  DuckDB: DUCKDB,
  workbook: WORKBOOK,
  zip: ARCHIVE,
};

describe.each(Object.entries(KINDS))('%s with', (_format, damages) => {
  test.each(damages)('%s is told where it is, and no store is made of it', async (_kind, told, read) => {
    const { isRead, findings } = await read();
    expect(places(findings.filter(({ severity }) => severity === 'error'))).toEqual(told);
    expect(isRead).toBe(false);
    // A sentence for a person: no call stack, no class names, no bytes of the file.
    for (const { message } of findings) expect(message).toMatch(/^\P{Cc}{10,400}$/u);
  });
});

test.each([
  ['a column', (bytes: Buffer) => bytes.indexOf(COUNT, codecOf(bytes, 'CLOSE'))],
  ['the file', (bytes: Buffer) => bytes.indexOf(COUNT, footerStart(bytes))],
])('a count of %s that nothing is read by changes nothing that is read', async (_what, at) => {
  const folder = await folderFor();
  const bytes = await ownBytes();
  await writeFiles(folder, { 'sound/market.parquet': bytes, 'other/market.parquet': changed(bytes, at(bytes), MORE) });
  expect(await hashOf(join(folder, 'other'))).toBe(await hashOf(join(folder, 'sound')));
});

test('there are more than 58 kinds of damage, each of its own', () => {
  const kinds = Object.entries(KINDS).flatMap(([format, damages]) => damages.map(([kind]) => `${format} ${kind}`));
  expect(new Set(kinds).size).toBe(kinds.length);
  expect(kinds.length).toBeGreaterThanOrEqual(58);
});

import { gzipSync } from 'node:zlib';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { readFolder } from '../../store-folder.js';
import { type Outcome, type Damage, createFolder, createFiles, changeBytes, fillBytes, ROWS } from './damage.js';
import { NO_TABLES } from '../../../domain/backtest/market-builder.js';

/** Returns the rows of a query as a Parquet file that another program writes. Some of its bytes are changed. */
const createParquet =
  (query: string, change: (bytes: Buffer) => Uint8Array = (bytes) => bytes, options = '') =>
  async (): Promise<Outcome> => {
    const folder = await createFolder();
    const path = join(folder, 'market.parquet');
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    await connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet${options})`);
    connection.closeSync();
    await writeFile(path, change(await readFile(path)));
    const { read, findings } = await readFolder(folder);
    expect(JSON.stringify(findings)).not.toContain(folder);
    return { isRead: read !== undefined, findings };
  };

/**
 * Like `createParquet`, but the writer of this project writes the file. It is uncompressed and has dictionary-encoded
 * keys.
 */
const createOwnParquet = (change: (bytes: Buffer) => Uint8Array) => async (): Promise<Outcome> =>
  createFiles({ 'market.parquet': change(await copyBytes()) })();

export async function copyBytes(): Promise<Buffer> {
  const folder = await createFolder();
  const identifiers = Array.from({ length: 40 }, (_, n) => `NAME${String(n).padStart(2, '0')}`);
  const close = allocateEmptyPanel(200 * 40);
  close.forEach((_, i) => (close[i] = 1 + i));
  const content = {
    identifiers,
    dates: Int32Array.from({ length: 200 }, (_, t) => 18_000 + t),
    fields: new Map([['CLOSE', close]]),
    ...NO_TABLES,
  };
  await writeMarket(join(folder, 'made'), content, () => {});
  return readFile(join(folder, 'made', 'market.parquet'));
}

export const findFooterStart = (bytes: Buffer) => bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
/**
 * Returns the position at which the footer describes a column chunk, in a file that this project wrote. The codec and
 * the number of values follow the column name.
 */
export const findCodec = (bytes: Buffer, column: string) =>
  bytes.indexOf(Buffer.from([0x15, 0x00]), bytes.lastIndexOf(column));
/** The numbers 8,000 and 8,064 as the footer encodes them. */
export const [COUNT, LARGER_COUNT] = [Buffer.from([0x16, 0x80, 0x7d]), [0x16, 0x80, 0x7e]];

export const formatRow = (rest: string) => `SELECT ${rest}`;
export const VALID_COLUMNS = "'A' AS identifier, DATE '2024-01-02' AS date";

export const PARQUET: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], createFiles({ 'market.parquet': '' })],
  ['the two marks and nothing between', ['UNREADABLE_FILE market'], createFiles({ 'market.parquet': 'PAR1PAR1' })],
  ['half of it', ['UNREADABLE_FILE market'], createParquet(ROWS, (bytes) => bytes.subarray(0, bytes.length >> 1))],
  ['no footer', ['UNREADABLE_FILE market'], createParquet(ROWS, (bytes) => bytes.subarray(0, findFooterStart(bytes)))],
  ['no last mark', ['UNREADABLE_FILE market'], createParquet(ROWS, (bytes) => bytes.subarray(0, bytes.length - 4))],
  [
    'the mark of an encrypted footer',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => Buffer.concat([bytes.subarray(0, bytes.length - 4), Buffer.from('PARE')])),
  ],
  [
    'a footer of two gigabytes',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => changeBytes(bytes, bytes.length - 8, [0xff, 0xff, 0xff, 0x7f])),
  ],
  [
    'a footer of no length',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => changeBytes(bytes, bytes.length - 8, [0, 0, 0, 0])),
  ],
  [
    'a footer of zeros',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => fillBytes(bytes, 0, findFooterStart(bytes), bytes.length - 8)),
  ],
  [
    'a footer of ones',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => fillBytes(bytes, 255, findFooterStart(bytes), bytes.length - 8)),
  ],
  [
    'the footer of another file',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => Buffer.concat([bytes.subarray(0, 40), bytes.subarray(findFooterStart(bytes))])),
  ],
  ['a page header of zeros', ['UNREADABLE_FILE market'], createParquet(ROWS, (bytes) => fillBytes(bytes, 0, 4, 60))],
  [
    'compressed pages of noise',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => fillBytes(bytes, 0xa5, 60, findFooterStart(bytes) >> 1), ", CODEC 'zstd'"),
  ],
  [
    'snappy pages of noise',
    ['UNREADABLE_FILE market'],
    createParquet(ROWS, (bytes) => fillBytes(bytes, 0xff, 60, findFooterStart(bytes) >> 1), ", CODEC 'snappy'"),
  ],
  [
    'plain pages that are called compressed',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => changeBytes(bytes, findCodec(bytes, 'identifier') + 1, [0x02])),
  ],
  [
    'a codec that nobody knows',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => changeBytes(bytes, findCodec(bytes, 'identifier') + 1, [0x5e])),
  ],
  [
    'a dictionary whose texts have no end',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => changeBytes(bytes, bytes.indexOf('NAME00') - 4, [0xff, 0xff, 0xff, 0x7f])),
  ],
  [
    'a dictionary that is not UTF-8',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => changeBytes(bytes, bytes.indexOf('NAME07'), [0xff, 0xfe])),
  ],
  [
    'more rows in a group than there are',
    ['UNREADABLE_FILE market'],
    createOwnParquet((bytes) => changeBytes(bytes, bytes.lastIndexOf(COUNT), LARGER_COUNT)),
  ],
  [
    'text, called Parquet',
    ['UNREADABLE_FILE market'],
    createFiles({ 'market.parquet': 'identifier,date,CLOSE\nA,2024-01-02,1\n' }),
  ],
  [
    'gzip, called Parquet',
    ['UNREADABLE_FILE market'],
    createFiles({ 'market.parquet': gzipSync('identifier,date,CLOSE\nA,2024-01-02,1\n') }),
  ],
  ['no row', ['EMPTY_DATASET market'], createParquet(`${ROWS} LIMIT 0`)],
  ['no CLOSE', ['MISSING_COLUMN market.CLOSE'], createParquet(formatRow(`${VALID_COLUMNS}, 1.0 AS OPEN`))],
  ['no date', ['MISSING_COLUMN market.date'], createParquet(formatRow("'A' AS identifier, 1.0 AS CLOSE"))],
  [
    'no identifier',
    ['MISSING_COLUMN market.identifier'],
    createParquet(formatRow("DATE '2024-01-02' AS date, 1.0 AS CLOSE")),
  ],
  [
    'a column twice, once in small letters',
    ['DUPLICATE_KEY market.CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, 1.0 AS CLOSE, 2.0 AS "close "`)),
  ],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 2].CLOSE'],
    createParquet(
      `${formatRow(`${VALID_COLUMNS}, '1.5' AS CLOSE`)} UNION ALL ${formatRow("'B', DATE '2024-01-02', '19.96x'")}`,
    ),
  ],
  [
    'a price of zero',
    ['NON_POSITIVE_PRICE market[row 1].CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, 0.0 AS CLOSE`)),
  ],
  [
    'a negative price',
    ['NON_POSITIVE_PRICE market[row 1].CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, -1.0 AS CLOSE`)),
  ],
  [
    'an infinite price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, 'inf'::DOUBLE AS CLOSE`)),
  ],
  [
    'a negative volume',
    ['OUT_OF_RANGE market[row 1].VOLUME'],
    createParquet(formatRow(`${VALID_COLUMNS}, 1.0 AS CLOSE, -5 AS VOLUME`)),
  ],
  [
    'a key twice',
    ['DUPLICATE_KEY market[row 2]'],
    createParquet(`${formatRow(`${VALID_COLUMNS}, 1.0 AS CLOSE`)} UNION ALL ${formatRow(`${VALID_COLUMNS}, 2.0`)}`),
  ],
  [
    'a date that is missing',
    ['BAD_DATE market[row 1].date'],
    createParquet(formatRow("'A' AS identifier, NULL::DATE AS date, 1.0 AS CLOSE")),
  ],
  [
    'an identifier that is missing',
    ['BAD_IDENTIFIER market[row 1].identifier'],
    createParquet(formatRow("NULL::VARCHAR AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE")),
  ],
  [
    'a date in the year 20000',
    ['BAD_DATE market[row 1].date'],
    createParquet(formatRow("'A' AS identifier, DATE '20000-01-01' AS date, 1.0 AS CLOSE")),
  ],
  [
    'a date that is a number',
    ['BAD_DATE market.date'],
    createParquet(formatRow("'A' AS identifier, 20240102 AS date, 1.0 AS CLOSE")),
  ],
  [
    'a list for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, [1.0, 2.0] AS CLOSE`)),
  ],
  [
    'a record for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, {'last': 1.0} AS CLOSE`)),
  ],
  [
    'a truth value for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, true AS CLOSE`)),
  ],
  [
    'a day for a price',
    ['NOT_A_NUMBER market.CLOSE'],
    createParquet(formatRow(`${VALID_COLUMNS}, DATE '2024-01-02' AS CLOSE`)),
  ],
];

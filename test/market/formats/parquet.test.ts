import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetReadObjects } from 'hyparquet';
import { fc } from '../../fast-check.js';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { computeContentHash } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { describeMemoryFault, openDuckDb } from '#market/formats/duckdb.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, readContentHash, formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const createFolder = openTemporaryFolders();

/** Writes the rows of a query as Parquet with an independent writer. */
async function copy(query: string, target: string, options = ''): Promise<void> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(`COPY (${query}) TO '${target}' (FORMAT parquet${options})`);
  connection.closeSync();
}

const PLAIN_QUERY =
  "SELECT * FROM (VALUES ('A', DATE '2024-01-02', 10.5, 100), ('B', DATE '2024-01-02', 20.25, NULL), ('A', DATE '2024-01-03', 11.5, 110)) AS t(identifier, date, CLOSE, VOLUME)";

async function listFindings(query: string) {
  const folder = await createFolder();
  await copy(query, join(folder, 'market.parquet'));
  return formatFindingPaths((await readFolder(folder)).findings);
}

const CODECS = ['snappy', 'zstd', 'gzip', 'brotli', 'lz4_raw', 'uncompressed'] as const;

const DAMAGED_QUERIES = [
  [
    'a text among text prices',
    "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, '19.96x' AS CLOSE",
    ['NOT_A_NUMBER market[row 1].CLOSE'],
  ],
  [
    'a price of zero',
    "SELECT 'A' AS identifier, DATE '2024-01-02' + i::INT AS date, CASE i WHEN 2 THEN 0.0 ELSE 1.0 END AS CLOSE FROM range(4) t(i)",
    ['NON_POSITIVE_PRICE market[row 3].CLOSE'],
  ],
  [
    'an infinite price',
    "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 'inf'::DOUBLE AS CLOSE",
    ['NOT_A_NUMBER market[row 1].CLOSE'],
  ],
  [
    'the same key twice',
    "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE FROM range(3)",
    ['DUPLICATE_KEY market[row 2]', 'DUPLICATE_KEY market[row 3]'],
  ],
  [
    'a date that is null',
    "SELECT 'A' AS identifier, NULL::DATE AS date, 1.0 AS CLOSE",
    ['BAD_DATE market[row 1].date'],
  ],
  [
    'a text that is no date',
    "SELECT 'A' AS identifier, '2024-02-30' AS date, 1.0 AS CLOSE",
    ['BAD_DATE market[row 1].date'],
  ],
  [
    'an identifier that is null',
    "SELECT NULL::VARCHAR AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE",
    ['BAD_IDENTIFIER market[row 1].identifier'],
  ],
  [
    'a missing column',
    "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS OPEN",
    ['MISSING_COLUMN market.CLOSE'],
  ],
  ['no row', "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE LIMIT 0", ['EMPTY_DATASET market']],
] as const;

describe('Parquet of other writers', () => {
  test.each(CODECS)('compressed with %s gives the same content', async (codec) => {
    const [csv, parquet] = [await createFolder(), await createFolder()];
    await writeFiles(csv, {
      'market.csv': 'identifier,date,CLOSE,VOLUME\nA,2024-01-02,10.5,100\nB,2024-01-02,20.25,\nA,2024-01-03,11.5,110\n',
    });
    await copy(PLAIN_QUERY, join(parquet, 'market.parquet'), `, CODEC '${codec}'`);
    expect(await readContentHash(parquet)).toBe(await readContentHash(csv));
  });

  test.each([
    ['timestamps', 'SELECT identifier, date::TIMESTAMP AS date, CLOSE, VOLUME'],
    ['timestamps with a zone', "SELECT identifier, (date::TIMESTAMP AT TIME ZONE 'UTC') AS date, CLOSE, VOLUME"],
    ['text dates', 'SELECT identifier, date::VARCHAR AS date, CLOSE, VOLUME'],
    ['decimals', 'SELECT identifier, date, CLOSE::DECIMAL(18,4) AS CLOSE, VOLUME::BIGINT AS VOLUME'],
    ['floats that are exact', 'SELECT identifier, date, CLOSE::FLOAT AS CLOSE, VOLUME::USMALLINT AS VOLUME'],
    ['text prices', 'SELECT identifier, date, CLOSE::VARCHAR AS CLOSE, VOLUME'],
    [
      'names of columns in small letters',
      'SELECT identifier AS Identifier, date AS "Date", CLOSE AS close, VOLUME AS volume',
    ],
    ['columns in another order', 'SELECT VOLUME, CLOSE, date, identifier'],
  ])('with %s gives the same content', async (_what, select) => {
    const [one, other] = [await createFolder(), await createFolder()];
    await copy(PLAIN_QUERY, join(one, 'market.parquet'));
    await copy(`${select} FROM (${PLAIN_QUERY})`, join(other, 'market.parquet'));
    expect(await readContentHash(other)).toBe(await readContentHash(one));
  });

  test('partitioned by year, or by identifier with the key only in the name of the folder, gives the same content', async () => {
    const [one, years, names] = [await createFolder(), await createFolder(), await createFolder()];
    await copy(PLAIN_QUERY, join(one, 'market.parquet'));
    await copy(`SELECT *, year(date) AS year FROM (${PLAIN_QUERY})`, join(years, 'market'), ', PARTITION_BY (year)');
    await copy(PLAIN_QUERY, join(names, 'market'), ', PARTITION_BY (identifier)');
    expect([await readContentHash(years), await readContentHash(names)]).toEqual([
      await readContentHash(one),
      await readContentHash(one),
    ]);
  });

  test('of a file a day, more of them than a process may have open, is one table', { timeout: 120_000 }, async () => {
    const [folder, made] = [await createFolder(), await createFolder()];
    await copy("SELECT 'A' AS identifier, 1.5 AS CLOSE UNION ALL SELECT 'B', 2.5", join(made, 'day.parquet'));
    const days = Array.from({ length: 1100 }, (_, t) => new Date(Date.UTC(2010, 0, 1 + t)).toISOString().slice(0, 10));
    for (const day of days) {
      await mkdir(join(folder, 'market', `date=${day}`), { recursive: true });
      await copyFile(join(made, 'day.parquet'), join(folder, 'market', `date=${day}`, 'part.parquet'));
    }
    const { identifiers, dates, fields } = await readFolderContent(folder);
    expect([identifiers, [...dates].map(formatDay)]).toEqual([['A', 'B'], days]);
    expect(new Set(fields.get('CLOSE')!.filter((_, cell) => cell % 2 === 0))).toEqual(new Set([1.5]));
  });

  test('in files of different columns is one table', async () => {
    const folder = await createFolder();
    await writeFiles(folder, { 'market/.keep': '' });
    await copy(
      "SELECT 'A' AS identifier, DATE '2024-01-02' AS date, 1.0 AS CLOSE",
      join(folder, 'market', '1.parquet'),
    );
    await copy(
      "SELECT 'A' AS identifier, DATE '2024-01-03' AS date, 2.0 AS CLOSE, 7 AS VOLUME",
      join(folder, 'market', '2.parquet'),
    );
    const { fields } = await readFolderContent(folder);
    expect([[...fields.get('CLOSE')!], [...fields.get('VOLUME')!]]).toEqual([
      [1, 2],
      [Number.NaN, 7],
    ]);
  });

  test.each(DAMAGED_QUERIES)('with %s is reported', async (_what, query, expected) => {
    expect(await listFindings(query)).toEqual(expected);
  });
});

/**
 * Random contents with every kind of column and with missing cells. Their reference data has several periods of
 * validity.
 */
const contents: fc.Arbitrary<MarketContent> = fc
  .record({
    names: fc.uniqueArray(
      fc.string({ unit: fc.constantFrom('A', 'b', '9', 'é', '.', '𐀀', '~'), minLength: 1, maxLength: 4 }),
      { minLength: 1, maxLength: 5 },
    ),
    days: fc.uniqueArray(fc.integer({ min: -20_000, max: 40_000 }), { minLength: 1, maxLength: 8 }),
    cells: fc.array(fc.oneof(fc.constant(Number.NaN), fc.double({ min: 1e-300, max: 1e300, noNaN: true })), {
      minLength: 40,
      maxLength: 40,
    }),
    texts: fc.array(fc.option(fc.string({ minLength: 1, maxLength: 5 }).map((text) => text.trim() || 'x')), {
      minLength: 5,
      maxLength: 5,
    }),
  })
  .map(({ names, days, cells, texts }) => {
    const identifiers = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const dates = Int32Array.from(days).sort();
    const close = allocateEmptyPanel(dates.length * identifiers.length);
    close.forEach((_, i) => (close[i] = cells[i % cells.length]!));
    // Every day and every security must have a value. Otherwise the axes would not contain it.
    for (let t = 0; t < dates.length; t++)
      for (let n = 0; n < identifiers.length; n++)
        if (t === 0 || n === 0) close[t * identifiers.length + n] = 1 + t + n;
    const volume = allocateEmptyPanel(close.length);
    close.forEach((value, i) => (volume[i] = i % 3 === 0 ? Number.NaN : Math.round(value % 1e6)));
    return {
      identifiers,
      dates,
      fields: new Map([
        ['CLOSE', close],
        ['VOLUME', volume],
      ]),
      reference: {
        columns: ['NAME', 'SCORE', 'LIVE'],
        rows: new Map(
          identifiers.map((name, n) => [
            name,
            [
              { validFrom: null, values: [texts[n] ?? null, n === 0 ? 1.5 : null, true] },
              { validFrom: 17_000 + n, values: [texts[n] ?? null, 3 - 2.25 * n, false] },
            ],
          ]),
        ),
      },
      actions: identifiers.map((identifier, n) => ({
        identifier,
        type: n % 2 === 0 ? 'SPLIT' : 'DIVIDEND',
        value: 2.5,
        exDay: dates[0]!,
        payDay: null,
        status: 'paid',
        announcedDay: dates[0]! - 3,
        related: null,
        subscriptionPrice: null,
        ...(n % 2 === 0 ? {} : { scripRatio: 0.02, electionDefault: 'cash' as const }),
        ...(n % 4 === 1 ? { electionDay: dates[0]! + 9 } : {}),
      })),
      universes: identifiers.map((identifier, n) => ({
        universe: 'U',
        identifier,
        start: n % 2 === 0 ? null : 10_000,
        end: n === 1 ? null : 20_000,
      })),
    };
  });

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 8);

describe('Parquet of our own', () => {
  test('reads back as the same bits', async () => {
    await fc.assert(
      fc.asyncProperty(contents, async (content) => {
        const folder = join(await createFolder(), 'store');
        await writeMarket(folder, content, () => {});
        const read = await readFolderContent(folder);
        expect(read.identifiers).toEqual(content.identifiers);
        expect(read.dates).toEqual(content.dates);
        for (const [name, panel] of content.fields)
          expect(Buffer.from(read.fields.get(name)!.buffer).equals(Buffer.from(panel.buffer))).toBe(true);
        expect(read.reference.rows).toEqual(content.reference.rows);
        expect(read.actions).toEqual(content.actions);
        expect(await computeContentHash(read)).toBe(
          await computeContentHash({ ...content, universes: read.universes }),
        );
      }),
      { numRuns: RUNS },
    );
  });

  test('is read equally by an independent reader', async () => {
    const folder = join(await createFolder(), 'store');
    const identifiers = ['A', 'B', 'C'];
    const dates = Int32Array.from({ length: 5000 }, (_, t) => 10_000 + t);
    const close = allocateEmptyPanel(15_000);
    const shares = allocateEmptyPanel(15_000);
    close.forEach((_, i) => (close[i] = i % 7 === 0 ? Number.NaN : 1 + i / 3));
    // Few distinct values in long runs. The writer encodes them with a dictionary.
    shares.forEach((_, i) => (shares[i] = 1000 * (1 + Math.floor(i / 3000))));
    await writeMarket(
      folder,
      {
        identifiers,
        dates,
        fields: new Map([
          ['CLOSE', close],
          ['SHARES_OUTSTANDING', shares],
        ]),
        ...NO_TABLES,
      },
      () => {},
    );
    const bytes = await readFile(join(folder, 'market.parquet'));
    const rows = await parquetReadObjects({
      file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    });
    expect(rows).toHaveLength(15_000);
    expect(Object.keys(rows[0]!)).toEqual(['date', 'identifier', 'CLOSE', 'SHARES_OUTSTANDING']);
    const isOther = ({ date, identifier, CLOSE, SHARES_OUTSTANDING }: Record<string, unknown>, i: number) =>
      Number(date) !== dates[Math.floor(i / 3)]! * 86_400_000 ||
      identifier !== identifiers[i % 3] ||
      CLOSE !== (i % 7 === 0 ? null : 1 + i / 3) ||
      SHARES_OUTSTANDING !== 1000 * (1 + Math.floor(i / 3000));
    expect(rows.flatMap((row, i) => (isOther(row, i) ? [{ i, row }] : []))).toEqual([]);
  });
});

test('an error of insufficient memory names both limits and no size of a block', async () => {
  const { connection, close } = await openDuckDb({ megabytes: 16 });
  const fault: unknown = await connection
    .run('SELECT list(repeat(range::VARCHAR, 100)) FROM range(1000000)')
    .catch((error: unknown) => error);
  close();
  const allocationFault = new Error('Failed to allocate block of 134217728 bytes (bad allocation)');
  for (const each of [fault, allocationFault])
    expect(describeMemoryFault(each)).toBe(
      'The rows need more memory than their reader may use: 1024 MiB for data that is decompressed, within the limit of the process (setting --reader-memory-mb). Write the file with smaller row groups or shorter texts.',
    );
  expect(describeMemoryFault(new Error('No magic bytes found at end of file'))).toBeUndefined();
});

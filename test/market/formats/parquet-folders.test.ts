import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { createProblems } from '#market/tables/problems.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { readSource } from '#market/read/read-source.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, readFolder, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

/** Creates a folder. Each file is the result of one query; the keys are file names. */
async function writeFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await createFolder();
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const [name, query] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await connection.run(`COPY (${query}) TO '${join(folder, name)}' (FORMAT parquet)`);
  }
  connection.closeSync();
  return folder;
}

const listFindings = async (files: Readonly<Record<string, string>>) =>
  (await readFolder(await writeFolder(files))).findings.map(({ severity, code, path, message }) => [
    severity,
    `${code} ${path}`,
    message,
  ]);

const BAR = "SELECT 'N106' AS identifier, DATE '2015-01-02' AS date, 5.5 AS CLOSE";

describe('keys of folders', () => {
  test.each([
    ['a date that the file has', 'market/date=2015-01-05/a.parquet', BAR, ['date', '2015-01-05', '2015-01-02']],
    ['a name that the file has', 'market/identifier=AAA/a.parquet', BAR, ['identifier', 'AAA', 'N106']],
    [
      'a date that the file has in another case',
      'market/DATE=2015-01-05/a.parquet',
      BAR,
      ['date', '2015-01-05', '2015-01-02'],
    ],
    ['a year for the date that the file has', 'market/date=2015/a.parquet', BAR, undefined],
    ['what the file says as well', 'market/date=2015-01-02/identifier=N106/a.parquet', BAR, undefined],
  ])('do not replace the column: %s', async (_what, name, query, expected) => {
    const { read, findings } = await readFolder(await writeFolder({ [name]: query }));
    expect([read?.content.identifiers, [...(read?.content.dates ?? [])].map(formatDay)]).toEqual([
      ['N106'],
      ['2015-01-02'],
    ]);
    expect(findings.map(({ severity, code, path }) => [severity, `${code} ${path}`])).toEqual(
      expected === undefined ? [] : [['warning', `COLUMN_IGNORED ${name}`]],
    );
    for (const part of expected ?? []) expect(findings[0]!.message).toContain(part);
  });

  test('that are no key of a bar leave columns of the files as they are', async () => {
    const { fields } = await readFolderContent(
      await writeFolder({ 'market/year=2015/VOLUME=7/CLOSE=9/a.parquet': `${BAR}, 1234 AS VOLUME` }),
    );
    expect([...fields].map(([name, panel]) => [name, ...panel])).toEqual([
      ['CLOSE', 5.5],
      ['VOLUME', 1234],
    ]);
  });

  test('fill missing columns of the files, next to keys that they have, decoded', async () => {
    const files = {
      'market/date=2015-01-02/CLOSE=1/identifier=A%20B/a.parquet': 'SELECT 5.5 AS CLOSE',
      'market/date=2015-01-05/CLOSE=1/identifier=C/a.parquet': 'SELECT 6.5 AS CLOSE',
      'reference/CURRENCY=EUR/a.parquet': "SELECT 'C' AS identifier, 'Gamma' AS NAME",
    };
    const { identifiers, dates, fields, reference } = await readFolderContent(await writeFolder(files));
    expect([identifiers, [...dates].map(formatDay), [...fields.get('CLOSE')!]]).toEqual([
      ['A B', 'C'],
      ['2015-01-02', '2015-01-05'],
      [5.5, Number.NaN, Number.NaN, 6.5],
    ]);
    expect([reference.columns, reference.rows.get('C')?.[0]?.values]).toEqual([
      ['NAME', 'CURRENCY'],
      ['Gamma', 'EUR'],
    ]);
  });

  test('that are not dates where the files have none are reported with the folder', async () => {
    const query = "SELECT 'A' AS identifier, 1.0 AS CLOSE";
    expect(await listFindings({ 'market/date=2015/a.parquet': query, 'market/date=2015/b.parquet': query })).toEqual([
      ['error', 'BAD_DATE market/date=2015', 'The folder key date=2015 is no date; YYYY-MM-DD is needed.'],
    ]);
  });
});

test('two columns that differ in case are refused with both names', async () => {
  const folder = await writeFolder({ 'market.parquet': `${BAR}, 7 AS CLOSF, 8 AS X_1, 9 AS X` });
  const path = join(folder, 'market.parquet');
  await renameColumn(path, 'CLOSF', 'close');
  const { findings } = await readFolder(folder);
  expect(findings.map(({ code, path: at, message }) => [`${code} ${at}`, message])).toEqual([
    [
      'DUPLICATE_KEY market.close',
      'market has the columns CLOSE and close, which are one name in any case; it may have one of them.',
    ],
  ]);
});

/** Replaces a column name by another name of equal length, everywhere in the file. */
async function renameColumn(path: string, from: string, to: string): Promise<void> {
  const text = (await readFile(path)).toString('latin1');
  expect(text).toContain(from);
  await writeFile(path, Buffer.from(text.replaceAll(from, to), 'latin1'));
}

/** One bar with a close of 29.4 and four decimals. pyarrow 25 wrote it. The keys are numbers of digits. */
const DECIMALS = {
  38: [
    'UEFSMRUAFRYVFiwVAhUAFQYVBhwAAAACAAAAAgEBAAAAQRUAFRQVFCwVAhUAFQYVBhwAAAACAAAAAgE1QAAAFQAVLBUsLBUCFQAVBhUGHAAA',
    'AAIAAAACAQAAAAAAAAAAAAAAAAAEfHAVBBlMNQAYBnNjaGVtYRUGABUMJQIYCmlkZW50aWZpZXIlAEwcAAAAFQIlAhgEZGF0ZSUMTGwAAAAV',
    'DhUgFQIYBUNMT1NFJQoVCBVMLFwVCBVMAAAAFgIZHBk8JgAcFQwZJQYAGRgKaWRlbnRpZmllchUAFgIWPBY8JghJHBUAFQAVAgA8FgIZBhkm',
    'AAIAAAAmABwVAhklBgAZGARkYXRlFQAWAhY6FjomREkcFQAVABUCADwpBhkmAAIAAAAmABwVDhklBgAZGAVDTE9TRRUAFgIWUhZSJn5JHBUA',
    'FQAVAgA8KQYZJgACAAAAFsgBFgImCBbIAQAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjUuMC4xGTwcAAAcAAAcAAAAJAEAAFBBUjE=',
  ],
  60: [
    'UEFSMRUAFRYVFiwVAhUAFQYVBhwAAAACAAAAAgEBAAAAQRUAFRQVFCwVAhUAFQYVBhwAAAACAAAAAgE1QAAAFQAVQBVALBUCFQAVBhUGHAAA',
    'AAIAAAACAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABHxwFQQZTDUAGAZzY2hlbWEVBgAVDCUCGAppZGVudGlmaWVyJQBMHAAAABUCJQIYBGRh',
    'dGUlDExsAAAAFQ4VNBUCGAVDTE9TRSUKFQgVeCxcFQgVeAAAABYCGRwZPCYAHBUMGSUGABkYCmlkZW50aWZpZXIVABYCFjwWPCYISRwVABUA',
    'FQIAPBYCGQYZJgACAAAAJgAcFQIZJQYAGRgEZGF0ZRUAFgIWOhY6JkRJHBUAFQAVAgA8KQYZJgACAAAAJgAcFQ4ZJQYAGRgFQ0xPU0UVABYC',
    'FmYWZiZ+SRwVABUAFQIAPCkGGSYAAgAAABbcARYCJggW3AEAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI1LjAuMRk8HAAAHAAAHAAA',
    'ACQBAABQQVIx',
  ],
} as const;

test('a decimal of more digits than the reader takes is refused, one of 38 is read', async () => {
  const [shortFolder, longFolder] = [await createFolder(), await createFolder()];
  const encodeDecimal = (digits: 38 | 60) => Buffer.from(DECIMALS[digits].join(''), 'base64');
  await writeFiles(shortFolder, { 'market.parquet': encodeDecimal(38) });
  await writeFiles(longFolder, { 'market/a.parquet': encodeDecimal(38), 'market/b.parquet': encodeDecimal(60) });
  expect([...(await readFolderContent(shortFolder)).fields.get('CLOSE')!]).toEqual([29.4]);
  const { read, findings } = await readFolder(longFolder);
  expect([read, findings.map(({ code, path, message }) => [`${code} ${path}`, message])]).toEqual([
    undefined,
    [
      [
        'NOT_A_NUMBER market.CLOSE',
        'The column CLOSE of market/b.parquet is of type DECIMAL(60,4); decimals of at most 38 digits are read.',
      ],
    ],
  ]);
});

test('a repeated key is reported with the position of the earlier row, and whether its values are equal', async () => {
  const formatBar = (close: number) =>
    `SELECT 'A' AS identifier, DATE '2015-01-02' AS date, ${close}.0 AS CLOSE, NULL::DOUBLE AS VOLUME`;
  const other = "SELECT 'B' AS identifier, DATE '2015-01-02' AS date, 1.0 AS CLOSE, NULL::DOUBLE AS VOLUME";
  const files = {
    'market/a.parquet': `${other} UNION ALL ${formatBar(5)}`,
    'market/b.parquet': formatBar(5),
    'market/c.parquet': formatBar(6),
  };
  expect(await listFindings(files)).toEqual([
    [
      'error',
      'DUPLICATE_KEY market/b.parquet[row 1]',
      'An earlier row already holds A on 2015-01-02: market/a.parquet[row 2], with the same values.',
    ],
    [
      'error',
      'DUPLICATE_KEY market/c.parquet[row 1]',
      'An earlier row already holds A on 2015-01-02: market/a.parquet[row 2], with other values.',
    ],
  ]);
});

describe('files that are not as they should be', () => {
  test('of another kind are named', async () => {
    const folder = await writeFolder({ 'market/a.parquet': BAR });
    await writeFiles(folder, { 'market/readme.txt': 'Prices.\n' });
    const { findings } = await readFolder(folder);
    expect(findings.map(({ message }) => message)).toEqual([expect.stringContaining('readme.txt')]);
  });

  test('are reported as truncated', async () => {
    const folder = await writeFolder({ 'market/a.parquet': BAR, 'market/b.parquet': BAR.replace('-02', '-05') });
    const path = join(folder, 'market/b.parquet');
    await writeFile(path, (await readFile(path)).subarray(0, -20));
    const { findings } = await readFolder(folder);
    expect(findings.map(({ path: at, message }) => [at, message])).toEqual([
      ['market/b.parquet', 'The file is cut off, or is no Parquet file: there is no Parquet footer at its end.'],
    ]);
  });

  test('are reported as changed when they changed before they were read, whatever the reader reports', async () => {
    const folder = await writeFolder({ 'market/a.parquet': BAR });
    const problems = createProblems();
    const files = await listFolderFiles(folder, { tables: {}, mapping: null }, createLocations([folder]), problems);
    await writeFile(join(folder, 'market/a.parquet'), 'other');
    await readSource(files, problems, () => {});
    expect(problems.findings().map(({ path, message }) => [path, message])).toEqual([
      ['market/a.parquet', 'The file changed while it was read.'],
    ]);
  });

  test('with numbers for dates are led to the mapping that reads them', async () => {
    const result = await listFindings({ 'market.parquet': BAR.replace("DATE '2015-01-02'", '20150102::BIGINT') });
    expect(result.map(([, place, message]) => [place, message])).toEqual([
      ['BAD_DATE market.date', expect.stringContaining('date_format: YYYYMMDD')],
    ]);
  });
});

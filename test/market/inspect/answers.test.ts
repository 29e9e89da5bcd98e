import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect } from '#market/read/inspection.js';
import type { Answers } from '#market/read/questions.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-answers-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function inspectFiles(given: Record<string, string>, answers: Answers = {}) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, given);
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  return inspect({ kind: 'files', files }, { answers });
}

const WIDE_FILES = { 'volume.csv': 'Date,A,B\n2024-01-02,10,\n2024-01-03,11,7\n' };
const LONG_ROWS = 'Date,Ticker,Close\n2024-01-02,A,10\n2024-01-03,A,11\n';
const REPEATED_ROWS = 'Date,Ticker,Close\n2024-01-02,A,10\n2024-01-02,A,12\n';

/** Each entry has a field that the data leaves open, the data, the answer, and the resulting closes of A. */
const QUESTIONS: readonly (readonly [keyof Answers, Record<string, string>, Answers, readonly number[]])[] = [
  ['field', WIDE_FILES, { field: 'CLOSE' }, [10, 11]],
  [
    'fields',
    { 'a.csv': WIDE_FILES['volume.csv'], 'b.csv': 'Date,A,B\n2024-01-02,1,\n2024-01-03,2,3\n' },
    { fields: { 'a.csv': 'CLOSE', 'b.csv': 'VOLUME' } },
    [10, 11],
  ],
  [
    'date_format',
    { 'x.csv': 'Date,Ticker,Close\n01/02/2024,A,10\n01/03/2024,A,11\n' },
    { date_format: 'DD/MM/YYYY' },
    [10, 11],
  ],
  ['columns', { 'x.csv': LONG_ROWS.replace('Close', 'Clsoe') }, { columns: { CLOSE: 'Clsoe' } }, [10, 11]],
  [
    'columns',
    { 'x.csv': LONG_ROWS.replace('Close', 'Kurs').replace('Date', 'Tag') },
    { columns: { date: 'Tag', CLOSE: 'Kurs', identifier: 'Ticker' } },
    [10, 11],
  ],
  [
    'identifier_from',
    { 'prices A.csv': 'Date,Close\n2024-01-02,10\n2024-01-03,11\n' },
    { identifier_from: 'file:prices {identifier}.csv' },
    [10, 11],
  ],
  [
    'columns',
    { 'x.csv': 'Date,Land,Wertpapier,Close\n2024-01-02,DE,B,1\n2024-01-02,DE,A,10\n2024-01-03,DE,A,11\n' },
    { columns: { identifier: 'Wertpapier' } },
    [10, 11],
  ],
  ['on_duplicate', { 'x.csv': REPEATED_ROWS }, { on_duplicate: 'first' }, [10]],
  ['on_duplicate', { 'x.csv': REPEATED_ROWS }, { on_duplicate: 'last' }, [12]],
  [
    'adjusted_close',
    { 'x.csv': 'Date,Ticker,Close,Adj Close\n2024-01-02,A,10,-inf\n2024-01-03,A,11,11\n' },
    { adjusted_close: null, ignore: ['Adj Close'] },
    [10, 11],
  ],
  [
    'ignore',
    { 'x.csv': 'Date,Ticker,Close,Rank\n2024-01-02,A,10,1\n2024-01-03,A,11,first\n' },
    { ignore: ['Rank'] },
    [10, 11],
  ],
  ['adjustment', { 'x.csv': LONG_ROWS.replace('Close', 'Adj Close') }, { adjustment: 'splits' }, [10, 11]],
];

test.each(QUESTIONS)(
  'an answered question about %s is not repeated: %j by %j',
  async (field, files, answers, closes) => {
    const response = await inspectFiles(files);
    expect(response.confidence).toBe('unsure');
    expect(response.unsure.filter(({ required }) => required).map((question) => question.field)).toContain(field);
    const reply = await inspectFiles(files, { adjustment: 'none', ...answers });
    expect([reply.unsure, reply.findings]).toEqual([[], []]);
    expect(reply.confidence).not.toBe('unsure');
    const close = reply.preview.columns.indexOf('CLOSE');
    expect(reply.preview.data.filter(([name]) => name === 'A').map((row) => row[close])).toEqual(closes);
  },
);

test('a text column that distinguishes the rows of one day is proposed as the identifier, with a question', async () => {
  const formatBars = (name: string) => `2024-01-02,Auto,${name},10\n2024-01-03,Auto,${name},11\n`;
  const { rows_read, unsure, preview } = await inspectFiles({
    'x.csv': `Date,Branche,Wertpapier,Close\n${formatBars('BMW')}${formatBars('VOW')}`,
  });
  expect(rows_read).toBe(4);
  expect(unsure.filter(({ required }) => required).map(({ field, taken }) => [field, taken])).toEqual([
    ['columns', 'identifier=Wertpapier'],
  ]);
  expect(new Set(preview.data.map(([name]) => name))).toEqual(new Set(['BMW', 'VOW']));
});

test('a single file named after a security is that security, and any other name causes a question', async () => {
  const table = 'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,10,10,10,10,10,5\n2024-01-03,11,11,11,11,11,6\n';
  const readPreview = async (file: string) => {
    const { confidence, mapping, preview } = await inspectFiles({ [file]: table });
    return [confidence === 'unsure', mapping.identifier_from, preview.data[0]![0]];
  };
  expect(await readPreview('BRK-B.csv')).toEqual([false, 'file:{identifier}.csv', 'BRK-B']);
  expect(await readPreview('download.csv')).toEqual([true, 'file:{identifier}.csv', 'download']);
  expect(await readPreview('PRICES.csv')).toEqual([true, 'file:{identifier}.csv', 'PRICES']);
});

test('the value next to a label above the header names a file, quoted or not, in any case', async () => {
  const createLineFile = (line: string, close: number) =>
    `${line}\nStart;2024-01-02\nDate;Close\n2024-01-02;${close}\n`;
  const answers = { identifier_from: 'heading:Security', skip_rows: 2 };
  const { findings, preview } = await inspectFiles(
    { 'a.csv': createLineFile('SECURITY:;"AAPL US"', 10), 'b.csv': createLineFile('security;;MSFT US', 20) },
    answers,
  );
  expect(findings).toEqual([]);
  expect(preview.data).toEqual([
    ['AAPL US', '2024-01-02', 10],
    ['MSFT US', '2024-01-02', 20],
  ]);
  const inspectionWithout = await inspectFiles({ 'a.csv': createLineFile('Name;AAPL', 10) }, answers);
  expect(inspectionWithout.findings.map(({ code, path }) => [code, path])).toContainEqual([
    'BAD_IDENTIFIER',
    'market/a.csv',
  ]);
});

test('the price basis states the choice, the reason and the alternatives', async () => {
  const { basis, unsure } = await inspectFiles({ 'x.csv': LONG_ROWS });
  expect(basis).toMatchObject({ adjustment: 'none', reason: expect.stringContaining('do not state') as string });
  expect(basis.others.map(({ adjustment }) => adjustment)).toEqual(['splits', 'total']);
  expect(unsure).toMatchObject([{ field: 'adjustment', taken: 'none', others: ['splits', 'total'], required: false }]);
  const yahoo = await inspectFiles({
    'A.csv': 'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,1,1,1,1,1,5\n',
    'B.csv': 'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,1,1,1,1,1,5\n',
  });
  expect([yahoo.basis.adjustment, yahoo.basis.reason]).toEqual([
    'splits',
    'Yahoo Finance writes closes adjusted for splits, not for dividends.',
  ]);
  for (const [name, adjustment] of [
    ['adj_close_2005.csv', 'total'],
    ['close_split_adjusted.csv', 'splits'],
    ['stock_prices.csv', 'none'],
  ] as const) {
    const namedInspection = await inspectFiles({ [name]: WIDE_FILES['volume.csv'] });
    expect([namedInspection.basis.adjustment, namedInspection.mapping.field, namedInspection.confidence]).toEqual([
      adjustment,
      'CLOSE',
      'likely',
    ]);
  }
  const output = await inspectFiles({ 'x.csv': LONG_ROWS }, { adjustment: 'total' });
  expect([output.basis.adjustment, output.basis.reason, output.unsure]).toEqual(['total', 'It is given.', []]);
});

test('zeros and repeated rows are read without an answer, and counted', async () => {
  const rows = ['02,10', '03,0', '04,11', '04,11', '05,12', '05,12'].map((row) => `2024-01-${row.replace(',', ',A,')}`);
  const {
    unsure,
    confidence,
    rows_read: read,
  } = await inspectFiles({ 'x.csv': `Date,Ticker,Close\n${rows.join('\n')}\n` });
  expect(unsure.filter(({ field }) => field !== 'adjustment')).toMatchObject([
    {
      field: 'zero_prices',
      taken: 'missing',
      required: false,
      question: expect.stringMatching(/^1 price is 0/) as string,
    },
    {
      field: 'on_duplicate',
      taken: 'identical',
      question: expect.stringMatching(/^2 rows repeat the identifier and date of an earlier row/) as string,
    },
  ]);
  expect([confidence === 'unsure', read]).toEqual([false, 3]);
});

test('rows of one date that differ cause a question with their values and number, for each security', async () => {
  const rows = ['A,10,1', 'A,12,1', 'A,13,1', 'B,20,2', 'B,20,3', 'C,30,4', 'C,30,4'];
  const laterRows = ['2024-01-03,A,11,1', '2024-01-03,A,11.5,1'];
  const { unsure } = await inspectFiles({
    'x.csv': `Date,Ticker,Close,Volume\n${[...rows.map((row) => `2024-01-02,${row}`), ...laterRows].join('\n')}\n`,
  });
  const question = unsure.find(({ field }) => field === 'on_duplicate')!;
  expect(question).toMatchObject({ taken: 'last', required: true });
  expect(question.conflicts).toEqual([
    { identifier: 'A', rows: 3, date: '2024-01-02', column: 'CLOSE', first: 10, other: 12 },
    { identifier: 'B', rows: 1, date: '2024-01-02', column: 'VOLUME', first: 2, other: 3 },
  ]);
  expect(question.question).toContain(
    'of 2 securities: A 3 rows (CLOSE 10 and 12 on 2024-01-02), B 1 row (VOLUME 2 and 3 on 2024-01-02)',
  );
});

test('a file that has a header alone is refused by its name among others', async () => {
  const bars = 'Date,Close\n2024-01-02,10\n';
  const { findings } = await inspectFiles({ 'A.csv': bars, 'B.csv': 'Date,Close\n', 'C.csv': bars });
  expect(findings).toMatchObject([{ severity: 'error', code: 'EMPTY_DATASET', file: 'B.csv' }]);
});

test('German headings, and days after the identifiers, are recognised', async () => {
  const german = 'Datum;Eröffnung;Hoch;Tief;Schluss;Volumen\n02.01.2024;10,5;11;10;10,7;100\n';
  const { mapping } = await inspectFiles({ 'A.csv': german, 'B.csv': german });
  expect(mapping).toMatchObject({
    columns: { date: 'Datum', OPEN: 'Eröffnung', HIGH: 'Hoch', LOW: 'Tief', CLOSE: 'Schluss', VOLUME: 'Volumen' },
    decimal: ',',
  });
  const pieces = 'Datum;Erster;Hoch;Tief;Schlusskurs;Stuecke;Volumen\n02.01.2024;10,5;11;10;10,7;100;1.070\n';
  expect((await inspectFiles({ 'A.csv': pieces, 'B.csv': pieces })).mapping).toMatchObject({
    columns: { OPEN: 'Erster', CLOSE: 'Schlusskurs', VOLUME: 'Stuecke' }, // Volumen contains traded money
  });
  const long = await inspectFiles({ 'BASF.csv': 'Datum;Kurs\n02.01.2024;45,10\n03.01.2024;45,25\n' });
  expect(long.mapping).toMatchObject({ layout: 'long', columns: { date: 'Datum', CLOSE: 'Kurs' }, decimal: ',' });
  expect(long.preview.data).toEqual([
    ['BASF', '2024-01-02', 45.1],
    ['BASF', '2024-01-03', 45.25],
  ]);
  const wideInspection = await inspectFiles({ 'x.csv': 'A,B,__index_level_0__\n10,20,2024-01-02\n11,21,2024-01-03\n' });
  expect(wideInspection.mapping).toMatchObject({ layout: 'wide', columns: { date: '__index_level_0__' } });
  expect(wideInspection.preview.data.slice(0, 2)).toEqual([
    ['A', '2024-01-02', 10],
    ['A', '2024-01-03', 11],
  ]);
});

test('a truncated Parquet file and contradicting rows are reported by name and location', async () => {
  const torn = await inspectFiles({ 'A.parquet': 'PAR1 and no end', 'B.parquet': 'PAR1 and no end' });
  expect(torn.findings.map(({ code, file }) => [code, file])).toEqual([
    ['UNREADABLE_FILE', 'A.parquet'],
    ['UNREADABLE_FILE', 'B.parquet'],
  ]);
  const { unsure } = await inspectFiles({ 'x.csv': REPEATED_ROWS });
  expect(unsure.find(({ field }) => field === 'on_duplicate')!.question).toMatch(/x\.csv .*\[row 2\]: /);
});

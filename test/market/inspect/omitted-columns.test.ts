import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { formatFindingPaths, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-left-out-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function inspectFiles(given: Record<string, string>) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, given);
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  return inspect({ kind: 'files', files });
}

const LONG_ROWS = 'Date,Ticker,Close,Currency,Sector\n2024-01-02,A,10,GBP,Tech\n2024-01-03,A,11,GBP,Tech\n';

test.each([
  ['one code is proposed as the currency of the store', LONG_ROWS, '--currency GBP'],
  ['pence are a unit of a currency', LONG_ROWS.replaceAll('GBP', 'GBp'), '--currency GBp'],
  ['several are declared by name', LONG_ROWS.replace('GBP', 'USD'), 'Declare the CURRENCY of each security'],
])('columns of terms next to bars are reported where they are not read: %s', async (_case, text, said) => {
  const { findings, unsure, mapping, rows_read } = await inspectFiles({ 'x.csv': text });
  expect(rows_read).toBe(2);
  expect(mapping.ignore).toEqual(['Currency', 'Sector']);
  expect(formatFindingPaths(findings)).toEqual(['COLUMN_IGNORED market.Currency', 'COLUMN_IGNORED market.Sector']);
  const [question] = unsure.filter(({ field }) => field === 'ignore');
  expect([question!.taken, question!.required]).toEqual(['Currency', false]);
  expect(question!.question).toContain(said);
});

test('the one file whose adjusted closes are no numbers is named by the question', async () => {
  const formatBars = (adjusted: string) => `Date,Close,Adj Close\n2024-01-02,10,${adjusted}\n2024-01-03,11,11\n`;
  const { unsure } = await inspectFiles({
    'A.csv': formatBars('10'),
    'B.csv': formatBars('-inf'),
    'C.csv': formatBars('10'),
  });
  const [question] = unsure.filter(({ field }) => field === 'adjusted_close');
  expect(question!.question).toContain('B.csv');
  expect(question!.question).toContain('-inf');
});

test('a column with a point in its name is called by all of it', async () => {
  const { mapping, findings } = await inspectFiles({
    'A.csv': 'Date,Close,Chg. net\n2024-01-02,10,1.5\n2024-01-03,11,2 pts\n',
  });
  expect([mapping.ignore, findings]).toEqual([['Chg. net'], []]);
});

test.each([
  ['before the day, without a name', ',Date,A,B\n0,2024-01-02,10,7\n1,2024-01-03,11,8\n', []],
  ['before the day', 'index,Date,A,B\n5,2024-01-02,10,7\n6,2024-01-03,11,8\n', ['index']],
  ['twice', ',level_0,Date,A,B\n0,0,2024-01-02,10,7\n1,1,2024-01-03,11,8\n', ['level_0']],
  ['behind the day', 'Date,Unnamed: 0,A,B\n2024-01-02,0,10,7\n2024-01-03,1,11,8\n', ['Unnamed: 0']],
])('a column that counts the rows of a wide table is no name: %s', async (_where, text, ignored) => {
  const { mapping, unsure, preview, findings } = await inspectFiles({ 'close.csv': text });
  expect([mapping.layout, mapping.ignore, findings]).toEqual(['wide', ignored, []]);
  expect(unsure.filter(({ required }) => required)).toEqual([]);
  expect(preview.data).toEqual([
    ['A', '2024-01-02', 10],
    ['A', '2024-01-03', 11],
    ['B', '2024-01-02', 7],
    ['B', '2024-01-03', 8],
  ]);
});

test('a security called index whose prices do not count rows stays', async () => {
  const { mapping, rows_read } = await inspectFiles({
    'close.csv': 'Date,index,A\n2024-01-02,5,10\n2024-01-03,7,11\n',
  });
  expect([mapping.ignore, rows_read]).toEqual([[], 4]);
});

test('where nothing is recognised the question names the columns, and the layout of names across', async () => {
  const { unsure } = await inspectFiles({ 'x.csv': 'colour,shape\nred,round\n' });
  expect(unsure[0]!.question).toMatch(/"colour", "shape".*wide/);
});

test('a wide table without a number is reported', async () => {
  const { rows_read, confidence, findings } = await inspectFiles({ 'x.csv': 'Date,A,B\n2024-01-02,,\n2024-01-03,,\n' });
  expect([rows_read, confidence, formatFindingPaths(findings)]).toEqual([0, 'unsure', ['EMPTY_DATASET market']]);
  expect(findings[0]!.message).toContain('no row with a number');
});

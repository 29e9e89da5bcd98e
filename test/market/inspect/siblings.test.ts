import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect, type InspectionTerms } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-siblings-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function inspectFiles(given: Record<string, string>, terms: InspectionTerms = {}) {
  const folder = join(root, String((folders += 1)));
  for (const name of Object.keys(given)) await mkdir(join(folder, name, '..'), { recursive: true });
  await writeFiles(folder, given);
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  return inspect({ kind: 'files', files }, terms);
}

const STOCKS =
  'Date,Symbol,Adj Close,Close,High,Low,Open,Volume\n' +
  '2024-01-02,AAPL,10,10,11,9,10,100\n2024-01-02,MSFT,20,20,21,19,20,100\n' +
  '2024-01-03,AAPL,11,11,12,10,11,100\n2024-01-03,MSFT,21,21,22,20,21,100\n';

test('companies and an index by day are ignored next to the table of all securities', async () => {
  const files = {
    'sp500_companies.csv': 'Exchange,Symbol,Shortname,Marketcap\nNMS,AAPL,Apple,1000\nNMS,MSFT,Microsoft,1000\n',
    'sp500_index.csv': 'Date,S&P500\n2024-01-02,4000\n2024-01-03,4001\n',
    'sp500_stocks.csv': STOCKS,
  };
  const result = await inspectFiles(files);
  expect(result).toMatchObject({ recognised_as: 'Kaggle, S&P 500 stocks', rows_read: 4, files: 1 });
  expect(result.mapping).toMatchObject({ layout: 'long', ignore: ['sp500_companies.csv', 'sp500_index.csv'] });
  // If files are excluded by name, this does not affect how the other files are read.
  const { mapping, rows_read } = await inspectFiles(files, {
    answers: { ignore: ['sp500_companies.csv', 'sp500_index.csv'] },
  });
  expect([mapping.layout, rows_read]).toEqual(['long', 4]);
});

test('files excluded by name are added to the known other files of a vendor', async () => {
  const bars = 'Date,Open,High,Low,Close,Adj Close,Volume,Dividends\n2024-01-02,10,11,9,10,10,100,0\n';
  const { mapping } = await inspectFiles(
    { 'A.csv': bars, 'B.csv': bars, 'C.csv': 'x\n' },
    { answers: { ignore: ['C.csv'] } },
  );
  expect(mapping.ignore).toEqual(['Dividends', 'C.csv']);
});

test('a tree of folders by month is one market, and other kinds of files in it are passed over', async () => {
  const formatDayFile = (date: string) =>
    `ticker,volume,open,close,high,low,window_start,transactions\nA,1,1,2,3,1,${Date.parse(date)}000000,4\n`;
  const result = await inspectFiles({
    '2023/11/2023-11-30.csv': formatDayFile('2023-11-30'),
    '2023/12/2023-12-01.csv': formatDayFile('2023-12-01'),
    '2023/12/notes.md': 'none\n',
  });
  expect(result).toMatchObject({ recognised_as: 'Polygon flat file', files: 2, rows_read: 2, findings: [] });
});

test('the days of an exchange are days: a history of prices as Refinitiv exports it', async () => {
  const result = await inspectFiles({
    'IBM.csv':
      'Exchange Date,Close,Net,%Chg,Open,Low,High,Volume\n2024-01-03,160,1,0.6%,159,158,161,100\n2024-01-02,159,1,0.6%,158,157,160,100\n',
  });
  expect(result).toMatchObject({ recognised_as: 'Refinitiv', rows_read: 2 });
});

test('an empty table is reported, and causes no question', async () => {
  const { findings, unsure, rows_read } = await inspectFiles({ 'A.csv': 'date,identifier,CLOSE\n' });
  expect([rows_read, unsure, findings.map(({ code, path }) => `${code} ${path}`)]).toEqual([
    0,
    [],
    ['EMPTY_DATASET market'],
  ]);
});

test('all damaged files are reported at once', async () => {
  const formatBars = (adjusted: string) => `Date,Close,Adj Close\n2024-01-02,10,${adjusted}\n2024-01-03,11,11\n`;
  const { unsure } = await inspectFiles({
    'A.csv': formatBars('10'),
    'B.csv': formatBars('?'),
    'C.csv': formatBars('ten'),
    'D.csv': formatBars('10'),
  });
  expect(unsure.map(({ question }) => question).join(' ')).toContain(
    'To ignore these 2 files instead, use --ignore B.csv,C.csv.',
  );
});

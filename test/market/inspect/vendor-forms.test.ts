import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { writeWorkbook } from '#market/read/import.js';
import { inspect, type InspectionTerms } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-vendor-forms-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Inspects a folder as the service does, including reports of unreadable files. */
async function inspectFiles(given: Record<string, string>, terms: InspectionTerms = {}) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, given);
  const problems = createProblems();
  const request = { tables: {}, mapping: Mapping.parse({ ignore: terms.answers?.ignore ?? [] }) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), problems);
  const inspection = await inspect(
    { kind: 'files', files, unread: { findings: problems.findings(), files: problems.files() } },
    terms,
  );
  return { ...inspection, names: [...new Set(inspection.preview.data.map(([name]) => name))] };
}

const readInspectedSheet = async (rows: readonly (readonly (string | number | null)[])[]) => {
  const content = Buffer.from(writeWorkbook([{ name: 'Sheet1', rows }])).toString('base64');
  return inspect({ kind: 'xlsx', content });
};

const YFINANCE = 'Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n2024-01-02,1,1,1,1,5,0.0,0.0\n';
const YAHOO = 'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,1,1,1,1,1,5\n';
const NYSE = 'date,symbol,open,close,low,high,volume\n2016-01-05,A,1,1,1,1,5\n';
const CIZ = 'PERMNO,Ticker,DlyCalDt,DlyPrc,DlyVol,DlyRet,ShrOut\n10026,A,2024-01-02,1,5,0.1,7\n';

test.each<[string, string, Record<string, string>, string, string]>([
  ['history of yfinance', 'Yahoo Finance, yfinance', { 'A.csv': YFINANCE }, 'total', 'A'],
  [
    'the same with closes that are not adjusted for dividends',
    'Yahoo Finance',
    {
      'A.csv':
        'Date,Open,High,Low,Close,Adj Close,Volume,Dividends,Stock Splits\n2024-01-02,1,1,1,1,1,5,0,0\n2024-01-03,1,1,1,1,1,5,0,0\n',
    },
    'splits',
    'A',
  ],
  [
    'files of Kaggle by their names',
    'Kaggle, New York Stock Exchange',
    { 'prices-split-adjusted.csv': NYSE },
    'splits',
    'A',
  ],
  ['daily files of CRSP since 2022', 'CRSP', { 'dsf_v2.csv': CIZ }, 'none', '10026'],
])('%s are recognised with the basis of their closes', async (_what, vendor, files, adjustment, name) => {
  const { recognised_as, adjustment: taken, names } = await inspectFiles(files);
  expect([recognised_as, taken, names]).toEqual([vendor, adjustment, [name]]);
});

test('CRSP needs splits and dividends in addition to its closes', async () => {
  const { unsure } = await inspectFiles({ 'dsf_v2.csv': CIZ });
  expect(unsure.map(({ field, question }) => [field, /corporate_actions/.test(question)])).toContainEqual([
    'adjustment',
    true,
  ]);
});

test('identifiers of Datastream are above their codes and currencies, which are reported', async () => {
  const { recognised_as, preview, unsure, findings } = await readInspectedSheet([
    ['Name', 'ALPHA INC', 'BETA INC'],
    ['Code', '@A(P)', '@B(P)'],
    ['CURRENCY', 'USD', 'USD'],
    ['2024-01-02', 10, 20],
    ['2024-01-03', 11, 21],
  ]);
  expect([recognised_as, findings]).toEqual(['Refinitiv Datastream', []]);
  expect(preview.data.map(([name, , close]) => [name, close])).toEqual([
    ['@A(P)', 10],
    ['@A(P)', 11],
    ['@B(P)', 20],
    ['@B(P)', 21],
  ]);
  expect(unsure.map(({ question }) => question)).toContainEqual(expect.stringContaining('--currency USD'));
});

test('days next to each of many securities form pairs, and a slash in an identifier is read as a point', async () => {
  const names = ['A', 'B', 'C', 'D', 'BRK/B'].map((name) => `${name} US Equity`);
  const { recognised_as, rows_read, findings, preview } = await readInspectedSheet([
    names.flatMap((name, i) => (i === names.length - 1 ? [name] : [name, null])),
    names.flatMap(() => ['Dates', 'PX_LAST']),
    names.flatMap((_, i) => ['2024-01-02', 10 + i]),
  ]);
  expect([recognised_as, rows_read]).toEqual(['Bloomberg', 5]);
  expect(preview.data.at(2)).toEqual(['BRK.B US Equity', '2024-01-02', 14]);
  expect(findings.map(({ severity, code, value }) => [severity, code, value])).toEqual([
    ['warning', 'BAD_IDENTIFIER', 'BRK/B US Equity'],
  ]);
});

test('bars of a table with several fields a name are counted once', async () => {
  const { rows_read } = await readInspectedSheet([
    [null, 'A', 'A', 'B', 'B'],
    ['Date', 'Close', 'Volume', 'Close', 'Volume'],
    ['2024-01-02', 10, 5, 20, 6],
    ['2024-01-03', 11, 5, 21, 6],
  ]);
  expect(rows_read).toBe(4);
});

test('an empty file blocks no other file, and is ignored if a mapping ignores it', async () => {
  const files = { 'ABNB.csv': '', 'AAA.csv': YAHOO, 'ERIE.csv': YAHOO };
  const response = await inspectFiles(files);
  expect([response.rows_read, response.confidence]).toEqual([2, 'unsure']);
  expect(response.unsure.filter(({ required }) => required).map(({ field, question }) => [field, question])).toEqual([
    ['ignore', 'ABNB.csv cannot be read. To ignore it, use --ignore ABNB.csv.'],
  ]);
  expect(response.findings.map(({ code, file }) => [code, file])).toEqual([['UNREADABLE_FILE', 'ABNB.csv']]);
  const { confidence, findings, files: read } = await inspectFiles(files, { answers: { ignore: ['ABNB.csv'] } });
  expect([confidence, findings, read]).toEqual(['sure', [], 2]);
});

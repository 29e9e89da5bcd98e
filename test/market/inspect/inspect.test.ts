import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { type Sheet, writeWorkbook, writeZip } from '#market/read/import.js';
import { inspect } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { readSource } from '#market/read/read-source.js';
import { formatFindingPaths, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-inspect-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function inspectFiles(files: Record<string, string>) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, files);
  const problems = createProblems();
  const listedFiles = await listFolderFiles(
    folder,
    { tables: {}, mapping: Mapping.parse({}) },
    createLocations([folder]),
    problems,
  );
  expect(formatFindingPaths(problems.findings())).toEqual([]);
  return inspect({ kind: 'files', files: listedFiles });
}

const readInspectedSheets = (sheets: readonly Sheet[]) =>
  inspect({ kind: 'xlsx', content: Buffer.from(writeWorkbook(sheets)).toString('base64') });

/** Files of vendors. Each has the closes of A on 2 and 3 January 2024, which are 10 and 11. */
const VENDORS: readonly (readonly [vendor: string, files: Record<string, string>, mapping: Partial<Mapping>])[] = [
  [
    'Yahoo Finance',
    {
      'A.csv':
        'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,10,10,10,10,9.9,5\n2024-01-03,11,11,11,11,10.89,6\n',
      'B.csv':
        'Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,null,null,null,null,null,null\n2024-01-03,1,1,1,1,1,1\n',
    },
    { identifier_from: 'file:{identifier}.csv', adjusted_close: 'Adj Close' },
  ],
  [
    'Stooq',
    {
      'x.txt':
        '<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\nA,D,20240102,000000,10,10,10,10,5,0\nA,D,20240103,000000,11,11,11,11,6,0\n',
    },
    {
      date_format: 'YYYYMMDD',
      columns: {
        date: '<DATE>',
        identifier: '<TICKER>',
        CLOSE: '<CLOSE>',
        OPEN: '<OPEN>',
        HIGH: '<HIGH>',
        LOW: '<LOW>',
        VOLUME: '<VOL>',
      },
    },
  ],
  [
    'Stooq',
    { 'A_us_d.csv': 'Date,Open,High,Low,Close,Volume\n2024-01-02,10,10,10,10,5\n2024-01-03,11,11,11,11,6\n' },
    { identifier_from: 'file:{identifier}_us_d.csv' },
  ],
  [
    'Tiingo',
    {
      'A.csv':
        'date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor\n2024-01-02T00:00:00.000Z,10,10,10,10,5,9.9,1,1,1,1,0.0,1.0\n2024-01-03T00:00:00.000Z,11,11,11,11,5,10.89,1,1,1,1,0.0,1.0\n',
    },
    { adjusted_close: 'adjClose' },
  ],
  [
    'Polygon flat file',
    {
      '2024-01-02.csv':
        'ticker,volume,open,close,high,low,window_start,transactions\nA,5,10,10,10,10,1704171600000000000,7\n',
      '2024-01-03.csv':
        'ticker,volume,open,close,high,low,window_start,transactions\nA,5,11,11,11,11,1704258000000000000,7\n',
    },
    {
      date_format: 'epoch_ns',
      columns: {
        date: 'window_start',
        identifier: 'ticker',
        CLOSE: 'close',
        OPEN: 'open',
        HIGH: 'high',
        LOW: 'low',
        VOLUME: 'volume',
      },
    },
  ],
  [
    'EOD Historical Data',
    {
      'A.US.csv':
        'Date,Open,High,Low,Close,Adjusted_close,Volume\n2024-01-02,10,10,10,10,9.9,5\n2024-01-03,11,11,11,11,10.89,6\n',
      'B.US.csv': 'Date,Open,High,Low,Close,Adjusted_close,Volume\n2024-01-03,1,1,1,1,1,6\n',
    },
    { identifier_from: 'file:{identifier}.US.csv', adjusted_close: 'Adjusted_close' },
  ],
  [
    'CRSP',
    {
      'x.csv':
        'PERMNO,date,TICKER,COMNAM,PRC,VOL,RET,SHROUT\nA,20240102,AA,ALPHA INC,-10,5,C,100\nA,20240103,AA,ALPHA INC,11,5,0.1,100\nB,20240103,BB,BETA INC,0,,,\n',
    },
    { negative_prices: 'absolute', zero_prices: 'missing', date_format: 'YYYYMMDD' },
  ],
  [
    'Kaggle, S&P 500 of five years',
    {
      'all_stocks_5yr.csv':
        'date,open,high,low,close,volume,Name\n2024-01-02,10,10,10,10,5,A\n2024-01-03,,11,11,11,5,A\n',
    },
    {
      columns: {
        date: 'date',
        identifier: 'Name',
        CLOSE: 'close',
        OPEN: 'open',
        HIGH: 'high',
        LOW: 'low',
        VOLUME: 'volume',
      },
    },
  ],
  [
    'Kaggle, S&P 500 stocks',
    {
      'sp500_stocks.csv':
        'Date,Symbol,Adj Close,Close,High,Low,Open,Volume\n2024-01-02,A,9.9,10,10,10,10,5\n2024-01-03,A,10.89,11,11,11,11,5\n2024-01-03,B,,,,,,\n',
    },
    { adjusted_close: 'Adj Close' },
  ],
  [
    'Yahoo Finance', // A download of several securities in one file.
    {
      'x.csv':
        'Price,Adj Close,Close,High,Low,Open,Volume\nTicker,A,A,A,A,A,A\nDate,,,,,,\n2024-01-02,9.9,10,10,10,10,5\n2024-01-03,10.89,11,11,11,11,5\n',
    },
    { layout: 'wide', adjusted_close: 'Adj Close' },
  ],
  [
    'one column per security',
    { 'close.csv': ',A,B\n2024-01-02,10,\n2024-01-03,11,7\n' },
    { layout: 'wide', field: 'CLOSE' },
  ],
  [
    'one column per security',
    {
      'close.csv': 'Date,A,B\n1/13/2024,10,\n1/14/2024,11,7\n',
      'volume.csv': 'Date,A,B\n1/13/2024,1,\n1/14/2024,2,3\n',
    },
    { layout: 'wide', date_format: 'M/D/YYYY', fields: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' } },
  ],
];

test("a vendor's dividend column next to adjusted closes is reported as unused", async () => {
  const { mapping, findings, unsure } = await inspectFiles(VENDORS.find(([vendor]) => vendor === 'Tiingo')![1]);
  expect(mapping.adjusted_close).toBe('adjClose');
  const text = expect.stringMatching(/divCash.*adjClose.*dividends_from/) as string;
  expect(findings).toEqual([expect.objectContaining({ severity: 'warning', path: 'market.divCash', message: text })]);
  expect(unsure).toContainEqual(
    expect.objectContaining({ field: 'dividends_from', taken: 'adjusted_close', others: ['column'], required: false }),
  );
});

describe('files are recognised, and read as proposed without a finding', () => {
  test.each(VENDORS)('%s', async (vendor, files, mapping) => {
    const { recognised_as, mapping: proposed, findings, preview } = await inspectFiles(files);
    expect(findings.filter(({ code }) => code !== 'COLUMN_IGNORED')).toEqual([]);
    expect(recognised_as).toBe(vendor);
    expect(proposed).toMatchObject(mapping);
    const close = preview.columns.indexOf('CLOSE');
    expect(preview.data.filter(([name]) => String(name).startsWith('A')).map((row) => row[close])).toEqual([10, 11]);
  });
});

describe('exports to Excel', () => {
  const days = ['2024-01-02', '2024-01-03'];
  test.each<[string, Sheet[], string]>([
    [
      'Bloomberg',
      [
        {
          name: 'Sheet1',
          rows: [
            ['Start Date', days[0]!],
            ['End Date', days[1]!],
            [null, 'A US Equity', null, 'B US Equity', null],
            ['Dates', 'PX_LAST', 'PX_VOLUME', 'PX_LAST', 'PX_VOLUME'],
            [days[0]!, 10, 5, 20, 6],
            [days[1]!, 11, 5, 21, 6],
          ],
        },
      ],
      'A US Equity',
    ],
    [
      'Refinitiv',
      [
        {
          name: 'Sheet1',
          rows: [
            ['Instrument', 'Date', 'Price Close', 'Volume'],
            ['A.N', days[0]!, 10, 5],
            ['A.N', days[1]!, 11, 5],
          ],
        },
      ],
      'A.N',
    ],
  ])('of %s are read, whatever stands above them', async (vendor, sheets, name) => {
    const { recognised_as, findings, preview } = await readInspectedSheets(sheets);
    expect(findings).toEqual([]);
    expect(recognised_as).toBe(vendor);
    const close = preview.columns.indexOf('CLOSE');
    expect(preview.data.filter(([identifier]) => identifier === name).map((row) => row[close])).toEqual([10, 11]);
  });
});

describe('facts that the data does not state cause questions', () => {
  test('days that may be of two formats', async () => {
    const { unsure, confidence } = await inspectFiles({
      'x.csv': 'Date,Ticker,Close\n01/02/2024,A,10\n01/03/2024,A,11\n',
    });
    expect(confidence).toBe('unsure');
    const question = expect.stringContaining('M/D/YYYY and D/M/YYYY') as string;
    expect(unsure).toContainEqual({
      field: 'date_format',
      question,
      taken: 'M/D/YYYY',
      others: ['D/M/YYYY'],
      required: true,
    });
  });

  test('a name that is nearly a known one', async () => {
    const { unsure, mapping } = await inspectFiles({ 'x.csv': 'Date,Ticker,Clsoe\n2024-01-02,A,10\n' });
    expect(mapping.columns['CLOSE']).toBe('Clsoe');
    expect(unsure).toContainEqual({
      field: 'columns',
      question: expect.stringContaining('Did you mean CLOSE?') as string,
      taken: 'CLOSE=Clsoe',
      others: [],
      required: true,
    });
  });

  test('rows of one name and date that differ; those that are the same are accepted without a question', async () => {
    const createRows = (second: string) => ({
      'x.csv': `Date,Ticker,Close,Adj Close\n2024-01-02,A,10,10\n2024-01-02,A,${second}\n`,
    });
    expect((await inspectFiles(createRows('10,10'))).mapping.on_duplicate).toBe('identical');
    const differingInspection = await inspectFiles(createRows('12,12'));
    expect([differingInspection.mapping.on_duplicate, differingInspection.confidence]).toEqual(['last', 'unsure']);
  });

  test('where no table is one of prices', async () => {
    const { confidence, rows_read, unsure } = await inspectFiles({ 'x.csv': 'name,colour\nA,red\n' });
    expect([confidence, rows_read, unsure.length]).toEqual(['unsure', 0, 1]);
  });
});

test('zeros, decimal commas and columns of words are provided for', async () => {
  const { mapping, findings, preview } = await inspectFiles({
    'x.csv':
      'Date;Ticker;Close;Exchange\n02.01.2024;A;0;Xetra\n03.01.2024;A;1.234,5;Xetra\n13.01.2024;A;1.235,5;Xetra\n',
  });
  expect(formatFindingPaths(findings)).toEqual(['COLUMN_IGNORED market.Exchange']);
  expect(mapping).toMatchObject({
    decimal: ',',
    zero_prices: 'missing',
    date_format: 'D.M.YYYY',
    ignore: ['Exchange'],
  });
  expect(preview.data.map((row) => row.at(-1))).toEqual([1234.5, 1235.5]);
});

test('adjusted closes that are not numbers are ignored, so that the proposal is readable', async () => {
  const { mapping, findings, rows_read, confidence } = await inspectFiles({
    'x.csv': 'Date,Ticker,Close,Adj Close\n2024-01-02,A,10,-inf\n2024-01-03,A,11,11\n',
  });
  expect(mapping).toMatchObject({ adjusted_close: null, ignore: ['Adj Close'] });
  expect([rows_read, findings, confidence]).toEqual([2, [], 'unsure']);
});

test('adjusted closes show if closes are as traded: a split appears between them or not', async () => {
  const head = 'Date,Ticker,Close,Adj Close\n';
  const raw = await inspectFiles({ 'x.csv': `${head}2024-01-02,A,100,50\n2024-01-03,A,51,51\n` });
  const split = await inspectFiles({ 'x.csv': `${head}2024-01-02,A,50,49\n2024-01-03,A,51,51\n` });
  expect([raw.adjustment, split.adjustment]).toEqual(['none', 'splits']);
});

test('a zip of files is inspected like a folder', async () => {
  const head = 'Date,Close,Adj Close,Open,High,Low,Volume\n';
  const files = [
    { name: 'data/AAA_data.csv', text: `${head}2024-01-02,10,10,10,10,10,1\n` },
    { name: 'data/BBB_data.csv', text: `${head}2024-01-02,20,20,20,20,20,1\n` },
  ];
  const {
    files: count,
    rows_read,
    mapping,
  } = await inspect({ kind: 'csv', content: Buffer.from(writeZip(files)).toString('base64') });
  expect([count, rows_read, mapping.identifier_from]).toEqual([2, 2, 'file:{identifier}_data.csv']);
});

describe('hostile files', () => {
  test('a gzip of zeros, a zip that inflates without end and a formula are refused, looked at or read', async () => {
    const folder = join(root, 'hostile');
    await mkdir(folder);
    await writeFile(join(folder, 'x.csv.gz'), gzipSync(Buffer.alloc(64 << 20)));
    const problems = createProblems();
    const mapping = Mapping.parse({ identifier_from: 'file:{identifier}.csv.gz' });
    const files = await listFolderFiles(folder, { tables: {}, mapping }, createLocations([folder]), problems);
    expect((await inspect({ kind: 'files', files })).findings[0]).toMatchObject({ code: 'UNREADABLE_FILE' });
    expect(await readSource(files, problems, () => {}, { terms: { mapping, adjustment: 'none' } })).toBeUndefined();
    expect(formatFindingPaths(problems.findings())).toEqual(['UNREADABLE_FILE market/x.csv.gz']);
    const bomb = writeZip([{ name: 'x.csv', text: '0'.repeat(32 << 20) }]);
    const bombInspection = await inspect({ kind: 'csv', content: Buffer.from(bomb).toString('base64') }).catch(
      (fault: Error) => fault.message,
    );
    expect(typeof bombInspection === 'string' || bombInspection.confidence === 'unsure').toBe(true);
    const { findings } = await readInspectedSheets([
      {
        name: 'x',
        rows: [
          ['Date', 'Ticker', 'Close'],
          ['2024-01-02', '=1+1', 10],
          ['2024-01-02', 'A', 10],
        ],
      },
    ]);
    expect(findings.every(({ severity }) => severity !== 'error')).toBe(true); // formulas are accepted as text
  });
});

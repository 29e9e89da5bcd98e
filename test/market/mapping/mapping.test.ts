import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { Mapping } from '#domain/definition/mapping.js';
import { readImport, writeWorkbook, writeZip } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-mapping-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Reads files with a mapping. @returns bars as `NAME date field` with their numbers, and the findings */
async function read(files: Record<string, string>, mapping: Partial<Mapping>, tables = {}) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, files);
  const { read: source, findings } = await readFolder(folder, tables, () => {}, {
    mapping: Mapping.parse(mapping),
    adjustment: 'none',
  });
  return { bars: source && listBars(source.content), places: formatFindingPaths(findings), findings };
}

function listBars({
  identifiers,
  dates,
  fields,
}: NonNullable<Awaited<ReturnType<typeof readFolder>>['read']>['content']) {
  const bars: Record<string, number> = {};
  dates.forEach((day, t) =>
    identifiers.forEach((name, n) => {
      for (const [field, panel] of fields) {
        const value = panel[t * identifiers.length + n]!;
        if (!Number.isNaN(value)) bars[`${name} ${formatDay(day)} ${field}`] = value;
      }
    }),
  );
  return bars;
}

const TWO_BARS = { 'A 2024-01-02 CLOSE': 10, 'B 2024-01-02 CLOSE': 20 };

describe('columns', () => {
  const mapping = { columns: { date: 'Date', identifier: 'Ticker', CLOSE: 'Last Price' } };

  test('are read by the names of the mapping, others by their own names', async () => {
    const { bars } = await read({ 'x.csv': 'Date,Ticker,Last Price,volume\n2024-01-02,A,10,5\n' }, mapping);
    expect(bars).toEqual({ 'A 2024-01-02 CLOSE': 10, 'A 2024-01-02 VOLUME': 5 });
  });

  test('that the mapping names and the table lacks are reported', async () => {
    const { findings } = await read({ 'x.csv': 'Date,Ticker,Last Prise\n2024-01-02,A,10\n' }, mapping);
    expect(findings[0]).toMatchObject({
      code: 'MISSING_COLUMN',
      message: expect.stringContaining('Did you mean Last Prise?'),
    });
  });

  test.each([
    ['CLOSE', 'Colse', 'Date,Ticker,Close\n2024-01-02,A,10\n'],
    ['CLOSE', 'Adj Closee', 'Date,Ticker,Close,Adj Close\n2024-01-02,A,10,9\n'],
    ['VOLUME', 'Volumme', 'Date,Ticker,Close,Volume\n2024-01-02,A,10,5\n'],
    ['date', 'Datte', 'Date,Ticker,Close\n2024-01-02,A,10\n'],
  ])('that hold %s are not replaced by the unmapped columns when %s is misspelt', async (name, from, text) => {
    const columns = { identifier: 'Ticker', [name]: from };
    const { bars, findings } = await read({ 'x.csv': text }, { columns });
    expect([bars, findings.map(({ code, path }) => [code, path])]).toEqual([
      undefined,
      [['MISSING_COLUMN', expect.stringContaining(from) as string]],
    ]);
  });

  test('that a file lacks, without a similar one, are reported with those that it has', async () => {
    const { findings } = await read({ 'x.csv': 'Date,Ticker,Kurs\n2024-01-02,A,10\n' }, mapping);
    expect(findings[0]!.message).toMatch(/"Last Price", which is not a column.* Its columns are Date, Ticker, Kurs\.$/);
  });

  test('that only some of the files have are read where they are', async () => {
    const { bars } = await read(
      { 'x.csv': 'Date,Ticker,Close\n2024-01-02,A,10\n', 'y.csv': 'Date,Ticker,Close,Turn\n2024-01-02,B,20,7\n' },
      { columns: { identifier: 'Ticker', VOLUME: 'Turn' } },
    );
    expect(bars).toEqual({ 'A 2024-01-02 CLOSE': 10, 'B 2024-01-02 CLOSE': 20, 'B 2024-01-02 VOLUME': 7 });
  });

  test('of no number are left out with one finding, however many rows there are', async () => {
    const { bars, places: found } = await read(
      { 'x.csv': 'Date,Ticker,Last Price,Repaired?\n2024-01-02,A,10,True\n2024-01-02,B,20,False\n' },
      mapping,
    );
    expect(bars).toEqual(TWO_BARS);
    expect(found).toEqual(['COLUMN_IGNORED market.Repaired?']);
  });

  test('of numbers with a text among them are refused at its row', async () => {
    const { bars, places: found } = await read(
      { 'x.csv': 'Date,Ticker,Last Price,BETA\n2024-01-02,A,10,1.5\n2024-01-02,B,20,high\n' },
      mapping,
    );
    expect(bars).toBeUndefined();
    expect(found).toEqual(['NOT_A_NUMBER market.BETA'.replace('market.', 'market/x.csv[row 2].')]);
  });

  test('that are ignored, or have no name, are not read', async () => {
    const { bars, places: found } = await read(
      { 'x.csv': ',Date,Ticker,Last Price,Note\n0,2024-01-02,A,10,x\n1,2024-01-02,B,20,y\n' },
      { ...mapping, ignore: ['note'] },
    );
    expect([bars, found]).toEqual([TWO_BARS, []]);
  });
});

describe('the identifier', () => {
  test('is read from the name of the file, and files with another name are not read', async () => {
    const { bars } = await read(
      {
        'A_data.csv': 'date,close\n2024-01-02,10\n',
        'B_data.csv': 'close,date\n20,2024-01-02\n',
        'notes.csv': 'a\n1\n',
      },
      { identifier_from: 'file:{identifier}_data.csv' },
    );
    expect(bars).toEqual(TWO_BARS);
  });

  test('that no asset can have is refused by the name of its file', async () => {
    const { places: found } = await read(
      { 'x\u0007y.csv': 'date,close\n2024-01-02,1\n' },
      { identifier_from: 'file:{identifier}.csv' },
    );
    expect(found[0]).toMatch(/^BAD_IDENTIFIER market\//);
  });
});

describe('days', () => {
  test.each([
    ['MM/DD/YYYY', '01/02/2024'],
    ['M/D/YY', '1/2/24'],
    ['DD.MM.YYYY', '02.01.2024'],
    ['YYYYMMDD', '20240102'],
    ['D-MMM-YYYY', '2-Jan-2024'],
    ['MMM D, YYYY', '"Jan 2, 2024"'],
    ['M/D/YYYY', '1/2/2024 16:00'],
    ['epoch_s', '1704153600'],
    ['epoch_ms', '1704153600000'],
    ['epoch_ns', '1704153600000000000'],
  ])('written %s are read', async (date_format, text) => {
    const { bars } = await read({ 'x.csv': `date,identifier,CLOSE\n${text},A,10\n${text},B,20\n` }, { date_format });
    expect(bars).toEqual(TWO_BARS);
  });

  test('the last nanosecond of a day is not rounded to the next day', async () => {
    const { bars } = await read(
      { 'x.csv': 'date,identifier,CLOSE\n1704239999999999999,A,10\n1704239999999999999,B,20\n' },
      { date_format: 'epoch_ns', time_zone: 'UTC' },
    );
    expect(bars).toEqual(TWO_BARS);
  });

  test.each([
    ['DD/MM/YYYY', '30/02/2024'],
    ['DD/MM/YYYY', '02/13/2024'],
    ['YYYYMMDD', '2024-01-02'],
  ])('that %s does not write are refused', async (date_format, text) => {
    const { places: found } = await read({ 'x.csv': `date,identifier,CLOSE\n${text},A,10\n` }, { date_format });
    expect(found).toEqual(['BAD_DATE market/x.csv[row 1].date']);
  });

  test('in a format that writes no whole date make no mapping', () => {
    for (const date_format of ['YYYY-MM', 'month D YYYY', ''])
      expect(Mapping.safeParse({ date_format }).success).toBe(false);
  });
});

test.each([
  ['1.234,5', 1234.5],
  ['1234,5', 1234.5],
  ['1.234', 1234],
  ['12.345.678', 12_345_678],
  ['1 234,25', 1234.25],
])('a decimal comma on request: %s', async (text, value) => {
  const { bars } = await read({ 'x.csv': `date;identifier;CLOSE\n2024-01-02;A;${text}\n` }, { decimal: ',' });
  expect(bars).toEqual({ 'A 2024-01-02 CLOSE': value });
});

test.each([
  ['"1,234.513"', 1234.513],
  ['"12,345,678"', 12_345_678],
  ['"7,233"', 7233],
  ['987.5', 987.5],
])('commas between thousands on request: %s', async (text, value) => {
  const { bars } = await read({ 'x.csv': `date,identifier,CLOSE\n2024-01-02,A,${text}\n` }, { thousands: ',' });
  expect(bars).toEqual({ 'A 2024-01-02 CLOSE': value });
});

test.each(['1.5', '1,2,3', ',', '1.23,4'])('%s is no number with a decimal comma', async (text) => {
  const { places: found } = await read({ 'x.csv': `date;identifier;CLOSE\n2024-01-02;A;${text}\n` }, { decimal: ',' });
  expect(found).toEqual(['NOT_A_NUMBER market/x.csv[row 1].CLOSE']);
});

describe('a second row of one name and date', () => {
  const repeat = (second: string) => ({ 'x.csv': `date,identifier,CLOSE,VOLUME\n2024-01-02,A,10,1\n${second}\n` });
  const [copy, variant] = [repeat('2024-01-02,A,10,1'), repeat('2024-01-02,A,11,')];

  test('is refused, or accepted where it is the same', async () => {
    expect((await read(copy, {})).places).toEqual(['DUPLICATE_KEY market/x.csv[row 2]']);
    expect((await read(copy, { on_duplicate: 'identical' })).bars).toEqual({
      'A 2024-01-02 CLOSE': 10,
      'A 2024-01-02 VOLUME': 1,
    });
    expect((await read(variant, { on_duplicate: 'identical' })).places).toEqual(['DUPLICATE_KEY market/x.csv[row 2]']);
  });

  test('is left out, or takes the place of the first as a whole', async () => {
    expect((await read(variant, { on_duplicate: 'first' })).bars).toEqual({
      'A 2024-01-02 CLOSE': 10,
      'A 2024-01-02 VOLUME': 1,
    });
    expect((await read(variant, { on_duplicate: 'last' })).bars).toEqual({ 'A 2024-01-02 CLOSE': 11 });
  });
});

test('a price of zero is missing on request, a negative one its amount, and both are refused otherwise', async () => {
  const files = { 'x.csv': 'date,identifier,CLOSE,OPEN\n2024-01-02,A,10,0\n2024-01-02,B,-20,\n' };
  expect((await read(files, {})).places).toEqual([
    'NON_POSITIVE_PRICE market/x.csv[row 1].OPEN',
    'NON_POSITIVE_PRICE market/x.csv[row 2].CLOSE',
  ]);
  expect((await read(files, { zero_prices: 'missing', negative_prices: 'absolute' })).bars).toEqual(TWO_BARS);
});

describe('a wide table', () => {
  const WIDE = ',A,B\n2024-01-02,10,20\n2024-01-03,,21\n';
  const WIDE_BARS = { ...TWO_BARS, 'B 2024-01-03 CLOSE': 21 };

  test('has a date a row and a name a column', async () => {
    expect((await read({ 'x.csv': WIDE }, { layout: 'wide', field: 'CLOSE' })).bars).toEqual(WIDE_BARS);
  });

  test('of each field is joined with the others by name and date', async () => {
    const { bars } = await read(
      { 'close.csv': WIDE, 'volume.csv': 'Date,B,A\n2024-01-02,7,8\n', 'readme.csv': 'x\n1\n' },
      { layout: 'wide', fields: { 'close.csv': 'CLOSE', 'volume.csv': 'VOLUME' } },
    );
    expect(bars).toEqual({ ...WIDE_BARS, 'A 2024-01-02 VOLUME': 8, 'B 2024-01-02 VOLUME': 7 });
  });

  test.each([
    ['fields first', 'Price,Close,Close,Volume\nTicker,A,B,A\nDate,,,\n'],
    ['names first', 'Ticker,A,B,A\nPrice,Close,Close,Volume\nDate,,,\n'],
    ['dates named next to the fields', ',A,B,A\nDates,Close,Close,Volume\n'],
    ['the first row written once a span', ',A,,B\nDates,Close,Volume,Close\n'],
  ])('with two header rows, %s', async (title, header) => {
    const row = title.startsWith('the first') ? '2024-01-02,10,5,20\n' : '2024-01-02,10,20,5\n';
    const { bars, findings } = await read(
      { 'x.csv': header + row },
      { layout: 'wide', columns: { date: 'Dates', CLOSE: 'Close' } },
    );
    expect(findings).toEqual([]);
    expect(bars).toEqual({ ...TWO_BARS, 'A 2024-01-02 VOLUME': 5 });
  });

  test('with two values of one security and date is refused at its row', async () => {
    const { places: found } = await read({ 'x.csv': 'date,A,A\n2024-01-02,1,2\n' }, { layout: 'wide', field: 'CLOSE' });
    expect(found[0]).toMatch(/^DUPLICATE_KEY market\/x.csv/);
  });

  test('without a field for its numbers is refused', async () => {
    const { findings } = await read({ 'x.csv': WIDE }, { layout: 'wide' });
    expect(findings).toMatchObject([{ code: 'MISSING_COLUMN', message: expect.stringContaining('no field') }]);
  });

  test('without a close is no market', async () => {
    const { places: found } = await read({ 'x.csv': WIDE }, { layout: 'wide', field: 'VOLUME' });
    expect(found).toEqual(['MISSING_COLUMN market.CLOSE']);
  });
});

describe('wherever data enters', () => {
  const mapping = Mapping.parse({ layout: 'wide', fields: { close: 'CLOSE' }, date_format: 'D/M/YYYY' });
  const terms = { mapping, adjustment: 'none' } as const;
  const columns = ['Date', 'A', 'B'];

  test('as tables of a request, a workbook and a zip, the same bars are read', async () => {
    const tables = { close: { index: [0], columns, data: [['2/1/2024', 10, 20]] } };
    const workbook = writeWorkbook([
      { name: 'close', rows: [columns, ['2/1/2024', 10, 20]] },
      { name: 'notes', rows: [['x']] },
    ]);
    const zip = writeZip([
      { name: 'close', text: '' },
      { name: 'close.csv', text: 'Date,A,B\n2/1/2024,10,20\n' },
    ]);
    const byFile = { ...terms, mapping: { ...mapping, fields: { 'close.csv': 'CLOSE' } } };
    for (const [source, by] of [
      [{ kind: 'tables', tables }, terms],
      [{ kind: 'xlsx', bytes: workbook }, terms],
      [{ kind: 'csv', bytes: zip }, byFile],
    ] as const) {
      const problems = createProblems();
      const importedResult = await readImport(source, problems, by);
      expect(formatFindingPaths(problems.findings())).toEqual([]);
      expect(importedResult && listBars(importedResult.content)).toEqual(TWO_BARS);
    }
  });

  test('as Parquet: typed columns under other names, two levels as pandas writes them, one file a name', async () => {
    const folder = join(root, 'parquet');
    await writeFiles(folder, { 'long/.keep': '', 'levels/.keep': '', 'files/.keep': '' });
    const { connection, close } = await createParquetWriter();
    const write = (sql: string, path: string) =>
      connection.run(`COPY (${sql}) TO '${join(folder, path)}' (FORMAT parquet)`);
    await write(
      "SELECT DATE '2024-01-02' AS \"Date\", t AS ticker, c AS \"Close\" FROM (VALUES ('A', 10.0), ('B', 20)) v(t, c)",
      'long/x.parquet',
    );
    await write(
      `SELECT TIMESTAMP '2024-01-02' AS "Date", 10.0 AS "('Close', 'A')", 20.0 AS "('Close', 'B')"`,
      'levels/x.parquet',
    );
    for (const [name, price] of [
      ['A', 10],
      ['B', 20],
    ] as const)
      await write(
        `SELECT TIMESTAMP '2024-01-02' AS "Date", ${price}.0 AS "Close", TRUE AS flag`,
        `files/${name}.parquet`,
      );
    close();
    const readBy = async (below: string, by: Partial<Mapping>) => {
      const { read: source, findings } = await readFolder(join(folder, below), {}, () => {}, {
        mapping: Mapping.parse(by),
        adjustment: 'none',
      });
      return [source && listBars(source.content), formatFindingPaths(findings)];
    };
    expect(await readBy('long', { columns: { identifier: 'ticker' } })).toEqual([TWO_BARS, []]);
    expect(await readBy('levels', { layout: 'wide' })).toEqual([TWO_BARS, []]);
    expect(await readBy('files', { identifier_from: 'file:{identifier}.parquet' })).toEqual([
      TWO_BARS,
      ['COLUMN_IGNORED market.flag'],
    ]);
  });
});

/** Opens a DuckDB that may write files, as the program of a vendor would. */
async function createParquetWriter() {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  return { connection, close: () => connection.closeSync() };
}

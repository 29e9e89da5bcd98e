import { describe, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { type Sheet, writeWorkbook } from '#market/read/import.js';
import { inspect, type InspectionTerms } from '#market/read/inspection.js';

const readInspectedSheets = (sheets: readonly Sheet[], terms: InspectionTerms = {}) =>
  inspect({ kind: 'xlsx', content: Buffer.from(writeWorkbook(sheets)).toString('base64') }, terms);

describe('a workbook', () => {
  const createSheet = (name: string, close: number): Sheet => ({
    name,
    rows: [
      ['Date', 'Open', 'Close'],
      ['2024-01-02', close, close],
      ['2024-01-03', close + 1, close + 1],
    ],
  });
  const reference: Sheet = {
    name: 'Reference',
    rows: [
      ['identifier', 'SECTOR'],
      ['AAPL', 'Technology'],
    ],
  };
  const notes: Sheet = {
    name: 'Notes',
    rows: [
      ['Source', 'Desk'],
      ['Contact', 'nobody'],
    ],
  };

  test('of one sheet per security is read whole, with its reference and without its notes', async () => {
    const sheets = [notes, createSheet('AAPL', 10), createSheet('BRK.B', 20), reference, { name: 'Sheet4', rows: [] }];
    const { files, rows_read, mapping, preview, unsure, findings } = await readInspectedSheets(sheets);
    expect([files, rows_read, mapping.identifier_from, mapping.ignore]).toEqual([2, 4, 'file:{identifier}', ['Notes']]);
    expect(preview.data.map(([name, day, , close]) => [name, day, close])).toEqual([
      ['AAPL', '2024-01-02', 10],
      ['AAPL', '2024-01-03', 11],
      ['BRK.B', '2024-01-02', 20],
      ['BRK.B', '2024-01-03', 21],
    ]);
    expect(unsure.filter(({ field }) => field === 'ignore')).toEqual([
      expect.objectContaining({ question: 'Notes has no dates and is ignored.', taken: 'Notes', required: false }),
    ]);
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  const addHeading = (name: string, security: string, close: number): Sheet => ({
    name,
    rows: [
      ['Security', security],
      ['Start Date', '2024-01-02'],
      ['Currency', 'USD'],
      [],
      ['Date', 'PX_LAST', 'PX_VOLUME'],
      ['2024-01-02', close, 100],
      ['2024-01-03', close + 1, 100],
    ],
  });

  test('of a sheet a name with a heading above its prices is named by the security there, and by no other line', async () => {
    const sheets = [addHeading('Sheet1', 'USB US Equity', 10), addHeading('Sheet2', 'LH US Equity', 20)];
    const { mapping, rows_read, preview, recognised_as, unsure } = await readInspectedSheets(sheets);
    expect([mapping.identifier_from, rows_read, recognised_as]).toEqual(['heading:Security', 4, 'Bloomberg']);
    expect(unsure.filter(({ required }) => required)).toEqual([]);
    expect(preview.data.map(([name, day, close]) => [name, day, close])).toEqual([
      ['LH US Equity', '2024-01-02', 20],
      ['LH US Equity', '2024-01-03', 21],
      ['USB US Equity', '2024-01-02', 10],
      ['USB US Equity', '2024-01-03', 11],
    ]);
  });

  test('with one security in two sheets is refused by the names of both, and joined if the terms state which row counts', async () => {
    const sheets = [addHeading('Old', 'LH US Equity', 10), addHeading('New', 'LH US Equity', 20)];
    const refusal = await readInspectedSheets(sheets);
    expect([refusal.rows_read, refusal.confidence]).toEqual([0, 'unsure']);
    const bothMessage = expect.stringContaining('"Old" and "New" are both of "LH US Equity"');
    expect(refusal.findings).toContainEqual(expect.objectContaining({ code: 'DUPLICATE_ID', message: bothMessage }));
    const inspection = await readInspectedSheets(sheets, { answers: { on_duplicate: 'last' } });
    expect(inspection.preview.data.map(([, , close]) => close)).toEqual([20, 21]);
    expect(inspection.findings).toContainEqual(expect.objectContaining({ severity: 'warning', message: bothMessage }));
  });

  test('with default sheet names of Excel causes a question whether those are the securities', async () => {
    const { confidence, unsure } = await readInspectedSheets([createSheet('Sheet1', 10), createSheet('Sheet2', 20)]);
    expect(confidence).toBe('unsure');
    expect(unsure.filter(({ required }) => required).map(({ field, taken }) => [field, taken])).toEqual([
      ['identifier_from', 'file:{identifier}'],
    ]);
  });

  test('of one sheet causes a question whether its name is the security', async () => {
    const { mapping, confidence, unsure } = await readInspectedSheets([createSheet('Sheet1', 10)]);
    expect([mapping.identifier_from, confidence]).toEqual(['file:{identifier}', 'unsure']);
    expect(unsure.filter(({ required }) => required).map(({ field, question }) => [field, question])).toEqual([
      ['identifier_from', 'No column contains the identifier. The name of the sheet is used: Sheet1.'],
    ]);
  });

  test('of a sheet a year is read whole', async () => {
    const createYear = (name: string, day: string): Sheet => ({
      name,
      rows: [
        ['Date', 'Ticker', 'Close'],
        [day, 'A', 10],
      ],
    });
    const { files, rows_read, preview } = await readInspectedSheets([
      createYear('2023', '2023-01-03'),
      createYear('2024', '2024-01-02'),
    ]);
    expect([files, rows_read, preview.data.map(([, day]) => day)]).toEqual([2, 2, ['2023-01-03', '2024-01-02']]);
  });

  test('with a sheet that lacks the columns of the others is refused by its name', async () => {
    const other: Sheet = {
      name: 'MSFT',
      rows: [
        ['Day', 'Last'],
        ['2024-01-02', 30],
      ],
    };
    const mapping = Mapping.parse({ identifier_from: 'file:{identifier}', columns: { date: 'Date', CLOSE: 'Close' } });
    const { rows_read, findings } = await readInspectedSheets([createSheet('AAPL', 10), other], { mapping });
    expect(rows_read).toBe(0);
    expect(findings.map(({ code, file, path }) => [code, file, path])).toEqual([
      ['MISSING_COLUMN', 'MSFT', 'market/MSFT.Close'],
      ['MISSING_COLUMN', 'MSFT', 'market/MSFT.Date'],
    ]);
  });
});

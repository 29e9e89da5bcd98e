import { describe, expect, test } from 'vitest';
import { Mapping } from '#domain/documents/mapping.js';
import { writeWorkbook, type Sheet } from '#market/formats/workbook-writer.js';
import { inspect, type Said } from '#market/inspect/inspect.js';

const inspectedSheets = (sheets: readonly Sheet[], said: Said = {}) =>
  inspect({ kind: 'xlsx', content: Buffer.from(writeWorkbook(sheets)).toString('base64') }, said);

describe('a workbook', () => {
  const sheet = (name: string, close: number): Sheet => ({
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

  test('of a sheet a name is read whole, beside its reference and without its notes', async () => {
    const sheets = [notes, sheet('AAPL', 10), sheet('BRK.B', 20), reference, { name: 'Sheet4', rows: [] }];
    const { files, rows_read, mapping, preview, unsure, findings } = await inspectedSheets(sheets);
    expect([files, rows_read, mapping.identifier_from, mapping.ignore]).toEqual([2, 4, 'file:{identifier}', ['Notes']]);
    expect(preview.data.map(([name, day, , close]) => [name, day, close])).toEqual([
      ['AAPL', '2024-01-02', 10],
      ['AAPL', '2024-01-03', 11],
      ['BRK.B', '2024-01-02', 20],
      ['BRK.B', '2024-01-03', 21],
    ]);
    expect(unsure.filter(({ field }) => field === 'ignore')).toEqual([
      expect.objectContaining({ question: 'No days stand in Notes: left out.', taken: 'Notes', required: false }),
    ]);
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('of a sheet a name with a heading above its prices takes no line of the heading for a name', async () => {
    const withHeading = (name: string, close: number): Sheet => ({
      name,
      rows: [
        ['Security', `${name} US Equity`],
        ['Start Date', '2024-01-02'],
        ['Currency', 'USD'],
        [],
        ['Date', 'PX_LAST', 'PX_VOLUME'],
        ['2024-01-02', close, 100],
        ['2024-01-03', close + 1, 100],
      ],
    });
    const { rows_read, preview, recognised_as } = await inspectedSheets([
      withHeading('USB', 10),
      withHeading('LH', 20),
    ]);
    expect([rows_read, recognised_as]).toEqual([4, 'Bloomberg']);
    expect(preview.data.map(([name, day, close]) => [name, day, close])).toEqual([
      ['LH', '2024-01-02', 20],
      ['LH', '2024-01-03', 21],
      ['USB', '2024-01-02', 10],
      ['USB', '2024-01-03', 11],
    ]);
  });

  test('of one sheet asks whether it is called like its name', async () => {
    const { mapping, confidence, unsure } = await inspectedSheets([sheet('Sheet1', 10)]);
    expect([mapping.identifier_from, confidence]).toEqual(['file:{identifier}', 'unsure']);
    expect(unsure.filter(({ required }) => required).map(({ field, question }) => [field, question])).toEqual([
      ['identifier_from', 'No column holds the identifier; the name of the sheet is taken for it: Sheet1.'],
    ]);
  });

  test('of a sheet a year is read whole', async () => {
    const year = (name: string, day: string): Sheet => ({
      name,
      rows: [
        ['Date', 'Ticker', 'Close'],
        [day, 'A', 10],
      ],
    });
    const { files, rows_read, preview } = await inspectedSheets([
      year('2023', '2023-01-03'),
      year('2024', '2024-01-02'),
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
    const { rows_read, findings } = await inspectedSheets([sheet('AAPL', 10), other], { mapping });
    expect(rows_read).toBe(0);
    expect(findings.map(({ code, file, path }) => [code, file, path])).toEqual([
      ['MISSING_COLUMN', 'MSFT', 'market/MSFT.Close'],
      ['MISSING_COLUMN', 'MSFT', 'market/MSFT.Date'],
    ]);
  });
});

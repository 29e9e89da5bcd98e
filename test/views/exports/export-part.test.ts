import { tableFromIPC } from 'apache-arrow';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import {
  EXPORT_NAMES,
  type ExportPosition,
  type ExportTableName,
  findExportTable,
  FORMAT_NAMES,
  listExportColumns,
  type RowFormat,
} from '#domain/outputs/exports.js';
import { formatCsvText } from '#views/formats/text.js';
import { exportPart } from '#views/exports/tables.js';
import { createClosingFile } from '#views/index-files.js';
import { createWorkbookStream } from '#views/exports/files.js';
import { sampleRun } from '../report/sample-run.js';
import { readWorkbook } from './read-workbook.js';

const sample = sampleRun({
  names: 30,
  start: '2021-01-01',
  end: '2022-12-30',
  cap: 0.08,
  costs: 10,
  companies: ['Plain plc', '=SUM(A1:A9)', 'Commas, and "quotes"', '삼성전자', 'a_x0041_b'],
  sectors: ['-Energy', '+Health', '@Banks', '\tTabs', 'Lines\r\nbroken'],
});
const columns = openColumns((from, to) => sample.columns.subarray(from, to));

/** Announced file that contains the current holdings. */
const closingFile = createClosingFile(columns, null, null);
const announcedFile = { ...closingFile, effective: closingFile.day };

/** Returns an export in parts. Each part has about `bytes` bytes. */
function listParts(table: ExportTableName, format: RowFormat, bytes: number): Uint8Array[] {
  const results: Uint8Array[] = [];
  let from: ExportPosition | null = { at: 0, rows: 0 };
  while (from !== null) {
    const pieces: Uint8Array[] = [];
    from = exportPart({
      columns,
      table,
      format,
      bytes,
      from,
      sink: { append: (piece) => void pieces.push(piece.slice()) },
      window: { start: null, end: null },
      market: null,
      announced: announcedFile,
      tick: () => {},
    });
    results.push(Buffer.concat(pieces));
  }
  return results;
}

/** Reads a Parquet file. Its row groups are the parts. */
const readParquetRows = (bytes: Buffer) => parquetReadObjects({ file: Uint8Array.from(bytes).buffer });

const exportWhole = (table: ExportTableName, format: RowFormat): Buffer =>
  Buffer.concat(listParts(table, format, Infinity));

describe.each(EXPORT_NAMES)('%s', (table) => {
  test.each(FORMAT_NAMES.filter((format) => format !== 'xlsx'))(
    'has equal rows as %s in one part and in many',
    async (format) => {
      const manyParts = listParts(table, format, 1);
      const wholeBytes = exportWhole(table, format);
      // the batches of an Arrow stream are the batches of its parts
      if (format === 'arrow')
        expect(tableFromIPC(Buffer.concat(manyParts)).toArray().map(String)).toEqual(
          tableFromIPC(wholeBytes).toArray().map(String),
        );
      else if (format === 'parquet')
        expect(await readParquetRows(Buffer.concat(manyParts))).toEqual(await readParquetRows(wholeBytes));
      else expect(Buffer.concat(manyParts).equals(wholeBytes)).toBe(true);
      if (table === 'weights') expect(manyParts.length).toBeGreaterThan(2);
    },
  );

  test('names its columns as the catalogue does', () => {
    const names = Object.keys(listExportColumns(table, []));
    expect(exportWhole(table, 'csv').toString().split('\r\n')[0]).toBe(names.join(','));
    expect(tableFromIPC(exportWhole(table, 'arrow')).schema.names).toEqual(names);
    const { schema, key_value_metadata: metadata } = parquetMetadata(
      Uint8Array.from(exportWhole(table, 'parquet')).buffer,
    );
    expect(schema.slice(1).map(({ name }) => name)).toEqual(names);
    expect(metadata?.find(({ key }) => key === `${names[0]}.meaning`)?.value).toBe(
      findExportTable(table).columns[names[0]!]!.meaning,
    );
    expect((JSON.parse(exportWhole(table, 'json').toString()) as { columns: string[] }).columns).toEqual(names);
  });
});

describe('text in CSV', () => {
  test.each([
    ['Plain plc', 'Plain plc'],
    ['', '""'],
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\tx', `"'\tx"`],
    ['\rx', `"'\rx"`],
    ['a=1', 'a=1'],
    ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`],
  ])('%j is written %s', (text, expected) => expect(formatCsvText(text)).toBe(expected));

  test('begins no cell of any table with characters that a spreadsheet computes', () => {
    const csv = exportWhole('constituents', 'csv').toString();
    const cells = csv.split(/,|\r\n/).filter((cell) => /^"?[=+@\t\r-]/.test(cell));
    expect(cells.filter((cell) => !/^-?\d/.test(cell))).toEqual([]);
    expect(csv).toContain(`"'=SUM(A1:A9)"`);
    expect(csv).toContain(`"'-Energy"`);
  });
});

describe('a workbook', () => {
  const encodeWorkbook = async (table: ExportTableName, sheetRows?: number): Promise<Buffer> => {
    const source = { columns, window: { start: null, end: null }, market: null };
    const stream = createWorkbookStream({
      ...source,
      table,
      tick: () => {},
      ...(sheetRows === undefined ? {} : { sheetRows }),
    });
    return Buffer.from(await new Response(stream).arrayBuffer());
  };

  test('has texts as texts, whatever they look like, below a frozen header', async () => {
    const [sheet, ...otherSheets] = await readWorkbook(await encodeWorkbook('constituents'));
    expect(otherSheets).toEqual([]);
    expect(sheet!.name).toBe('constituents');
    expect(sheet!.frozenRows).toBe(1);
    expect(sheet!.formulas).toBe(0);
    const [header, ...rows] = sheet!.rows;
    expect(header).toEqual(Object.keys(findExportTable('constituents').columns));
    const names = new Set(rows.map((row) => row[header!.indexOf('name')]));
    expect(names).toEqual(new Set(['Plain plc', '=SUM(A1:A9)', 'Commas, and "quotes"', '삼성전자', 'a_x0041_b']));
    const sectors = new Set(rows.map((row) => row[header!.indexOf('sector')]));
    expect(sectors).toEqual(new Set(['-Energy', '+Health', '@Banks', '\tTabs', 'Lines\r\nbroken']));
  });

  test('continues in further sheets with the same header', async () => {
    const wholeRows = (await readWorkbook(await encodeWorkbook('levels')))[0]!.rows;
    const sheets = await readWorkbook(await encodeWorkbook('levels', 100));
    expect(sheets.length).toBe(Math.ceil((wholeRows.length - 1) / 99));
    expect(sheets.every(({ rows }) => rows.length <= 100)).toBe(true);
    for (const { rows } of sheets) expect(rows[0]).toEqual(wholeRows[0]);
    expect(sheets.flatMap(({ rows }) => rows.slice(1))).toEqual(wholeRows.slice(1));
  });

  test('has equal bytes each time it is written', async () => {
    expect((await encodeWorkbook('trades')).equals(await encodeWorkbook('trades'))).toBe(true);
  });
});

test('a part can be stopped between its batches', () => {
  const stop = new Error('cancelled');
  const exportFirst = (): unknown =>
    exportPart({
      columns,
      table: 'weights',
      format: 'csv',
      from: { at: 0, rows: 0 },
      window: { start: null, end: null },
      market: null,
      sink: { append: () => {} },
      tick() {
        throw stop;
      },
    });
  expect(exportFirst).toThrow(stop);
});

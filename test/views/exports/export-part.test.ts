import { tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/read.js';
import { EXPORT_NAMES, exportTable, type ExportTableName } from '#domain/exports/catalogue.js';
import { FORMAT_NAMES, type ExportFormat, type ExportPosition } from '#domain/exports/formats.js';
import { csvText } from '#views/exports/csv.js';
import { exportPart } from '#views/exports/export-part.js';
import { sampleRun } from '../report/sample-run.js';

const sample = sampleRun({
  names: 30,
  start: '2021-01-01',
  end: '2022-12-30',
  cap: 0.08,
  costs: 10,
  companies: ['Plain plc', '=SUM(A1:A9)', 'Commas, and "quotes"', '삼성전자', ''],
  sectors: ['-Energy', '+Health', '@Banks', '\tTabs', 'Lines\r\nbroken'],
});
const columns = openColumns((from, to) => sample.columns.subarray(from, to));

/** An export in parts of so many bytes. */
function parts(table: ExportTableName, format: ExportFormat, bytes: number): Uint8Array[] {
  const made: Uint8Array[] = [];
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
      tick: () => {},
    });
    made.push(Buffer.concat(pieces));
  }
  return made;
}

const whole = (table: ExportTableName, format: ExportFormat): Buffer => Buffer.concat(parts(table, format, Infinity));

describe.each(EXPORT_NAMES)('%s', (table) => {
  test.each(FORMAT_NAMES)('has the same rows as %s whether it is made in one part or in many', (format) => {
    const many = parts(table, format, 1);
    const all = whole(table, format);
    // Batches of an Arrow stream are those of its parts.
    if (format === 'arrow')
      expect(tableFromIPC(Buffer.concat(many)).toArray().map(String)).toEqual(tableFromIPC(all).toArray().map(String));
    else expect(Buffer.concat(many).equals(all)).toBe(true);
    if (table === 'weights') expect(many.length).toBeGreaterThan(2);
  });

  test('names its columns as the catalogue does', () => {
    const names = Object.keys(exportTable(table).columns);
    expect(whole(table, 'csv').toString().split('\r\n')[0]).toBe(names.join(','));
    expect(tableFromIPC(whole(table, 'arrow')).schema.names).toEqual(names);
    expect((JSON.parse(whole(table, 'json').toString()) as { columns: string[] }).columns).toEqual(names);
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
  ])('%j is written %s', (text, written) => expect(csvText(text)).toBe(written));

  test('begins no cell of a whole table with what a spreadsheet computes', () => {
    const lines = whole('constituents', 'csv').toString();
    const cells = lines.split(/,|\r\n/).filter((cell) => /^"?[=+@\t\r-]/.test(cell));
    expect(cells.filter((cell) => !/^-?\d/.test(cell))).toEqual([]);
    expect(lines).toContain(`"'=SUM(A1:A9)"`);
    expect(lines).toContain(`"'-Energy"`);
  });
});

test('a part can be stopped between its batches', () => {
  const stop = new Error('cancelled');
  const made = (): unknown =>
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
  expect(made).toThrow(stop);
});

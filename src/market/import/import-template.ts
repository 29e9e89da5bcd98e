import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import type { ImportFormat } from '#domain/documents/import-request.js';
import { KNOWN_COLUMNS, type TableKind } from '../tables/table-kinds.js';
import { protectText } from '../formats/formula-text.js';
import { writeWorkbook, type Sheet } from '../formats/workbook-writer.js';
import { writeZip } from '../formats/zip-writer.js';

type Rows = readonly (readonly (string | number | null)[])[];

/**
 * Example row of each dataset, in the order of its known columns. Together the rows are a valid market of one security.
 */
const EXAMPLE_ROWS: Readonly<Record<TableKind, Rows[number]>> = {
  market: ['EXMPL', '2024-01-02', 99.5, 101.25, 98.75, 100, 125000, 5000000, 0.85],
  reference: [
    'EXMPL',
    null,
    'Example Industries',
    'USD',
    'XNYS',
    'US',
    'Industrials',
    'Machinery',
    'Example Industries',
    '1998-05-04',
    null,
  ],
  corporate_actions: [
    'EXMPL',
    'DIVIDEND',
    0.25,
    '2024-01-02',
    '2024-01-16',
    'paid',
    '2023-12-05',
    null,
    null,
    null,
    0.0025,
    '2024-01-10',
    'cash',
  ],
  universes: ['EXAMPLE', 'EXMPL', '2024-01-02', null],
  series: ['EXMPL-INDEX', '2024-01-02', 4742.83, 'USD', 'Example index'],
};

/** Returns the blank template of an import, with one example row per sheet: a workbook, or a zip of CSV files. */
export function createImportTemplate(format: ImportFormat): Uint8Array<ArrayBuffer> {
  const sheets: Sheet[] = TABLE_KINDS.map((name) => ({ name, rows: [KNOWN_COLUMNS[name], EXAMPLE_ROWS[name]] }));
  return format === 'xlsx'
    ? writeWorkbook(sheets)
    : writeZip(sheets.map(({ name, rows }) => ({ name: `${name}.csv`, text: formatCsv(rows) })));
}

function formatCsv(rows: Rows): string {
  return `${rows.map((row) => row.map((cell) => (typeof cell === 'string' ? quoteCell(protectText(cell)) : (cell ?? ''))).join(',')).join('\r\n')}\r\n`;
}

const quoteCell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

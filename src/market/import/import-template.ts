import type { ImportFormat } from '#domain/documents/import-request.js';
import type { TableKind } from '../content/table-kinds.js';
import { protectedText } from '../formats/formula-text.js';
import { writeWorkbook, type Sheet } from '../formats/workbook-writer.js';
import { writeZip } from '../formats/zip-writer.js';

type Rows = readonly (readonly (string | number | null)[])[];

/** Columns of each dataset and one example row: a market of one name that can be imported as it is. */
const EXAMPLES: Readonly<Record<TableKind, Rows>> = {
  market: [
    ['identifier', 'date', 'OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT'],
    ['EXMPL', '2024-01-02', 99.5, 101.25, 98.75, 100, 125000, 5000000, 0.85],
  ],
  reference: [
    [
      'identifier',
      'valid_from',
      'NAME',
      'CURRENCY',
      'EXCHANGE',
      'COUNTRY',
      'SECTOR',
      'INDUSTRY',
      'ISSUER',
      'LISTED',
      'DELISTED',
    ],
    [
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
  ],
  corporate_actions: [
    ['identifier', 'type', 'value', 'ex_date', 'pay_date', 'status', 'announced', 'related', 'subscription_price'],
    ['EXMPL', 'DIVIDEND', 0.25, '2024-01-02', '2024-01-16', 'paid', '2023-12-05', null, null],
  ],
  universes: [
    ['universe', 'identifier', 'start', 'end'],
    ['EXAMPLE', 'EXMPL', '2024-01-02', null],
  ],
  series: [
    ['identifier', 'date', 'CLOSE', 'CURRENCY', 'NAME'],
    ['EXMPL-INDEX', '2024-01-02', 4742.83, 'USD', 'Example index'],
  ],
};

/** The blank template of an import, with one example row a sheet: a workbook, or a zip of CSV files. */
export function importTemplate(format: ImportFormat): Uint8Array<ArrayBuffer> {
  const sheets: Sheet[] = Object.entries(EXAMPLES).map(([name, rows]) => ({ name, rows }));
  return format === 'xlsx'
    ? writeWorkbook(sheets)
    : writeZip(sheets.map(({ name, rows }) => ({ name: `${name}.csv`, text: csvText(rows) })));
}

function csvText(rows: Rows): string {
  return `${rows.map((row) => row.map((cell) => (typeof cell === 'string' ? quoted(protectedText(cell)) : (cell ?? ''))).join(',')).join('\r\n')}\r\n`;
}

const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/**
 * Characters with which a formula starts in a spreadsheet. Full-width forms are included.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set(['=', '+', '-', '@', '\uff0b', '\uff0d', '\uff1d', '\uff20']);

export type CellValue = number | string | null;

/** Cells of a table with its header. */
export interface Cells {
  readonly header: readonly string[];
  readonly rows: readonly (readonly CellValue[])[];
}

/**
 * Formats rows with a header as tab-separated text for a spreadsheet. Numbers have all their digits. A text can never
 * start a formula.
 */
export const formatTabSeparated = ({ header, rows }: Cells): string =>
  [header, ...rows].map((row) => row.map(formatCell).join('\t')).join('\n');

/** Formats rows with a header as a CSV file. Numbers have all their digits. A text can never start a formula. */
export const formatCommaSeparated = ({ header, rows }: Cells): string =>
  [header, ...rows].map((row) => `${row.map(formatQuotedCell).join(',')}\r\n`).join('');

function formatQuotedCell(value: CellValue): string {
  const text = formatCell(value);
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function formatCell(value: CellValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = value.replaceAll(/\s+/g, ' ').trim();
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Converts a CSV file of the service to tab-separated text for a spreadsheet. It reads each character only once. */
export function convertCsvToTabs(csv: string): string {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let position = 0; position < csv.length;) {
    const cell = csv[position] === '"' ? quoteCell(csv, position) : parsePlainCell(csv, position);
    row.push(cell.text.replaceAll(/\s+/g, ' '));
    position = cell.end;
    if (csv[position] === ',') {
      position += 1;
      if (position < csv.length) continue;
      row.push(''); // the last line ends with a comma
    }
    rows.push(row);
    row = [];
    position += csv.startsWith('\r\n', position) ? 2 : 1;
  }
  return rows.map((cells) => cells.join('\t')).join('\n');
}

interface Cell {
  readonly text: string;
  /** Position after the cell. It is the position of a comma, of a line break or of the end of the file. */
  readonly end: number;
}

function quoteCell(csv: string, start: number): Cell {
  let text = '';
  for (let from = start + 1; ;) {
    const quote = csv.indexOf('"', from);
    if (quote === -1) return { text: text + csv.slice(from), end: csv.length };
    text += csv.slice(from, quote);
    if (csv[quote + 1] !== '"') return { text, end: quote + 1 };
    text += '"';
    from = quote + 2;
  }
}

function parsePlainCell(csv: string, start: number): Cell {
  let end = start;
  while (end < csv.length && csv[end] !== ',' && csv[end] !== '\n' && csv[end] !== '\r') end += 1;
  return { text: csv.slice(start, end), end };
}

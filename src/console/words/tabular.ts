/**
 * Characters by which a spreadsheet takes a text for a formula, full-width forms included.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set(['=', '+', '-', '@', '\uff0b', '\uff0d', '\uff1d', '\uff20']);

export type CellValue = number | string | null;

/** Rows with their header as spreadsheets paste them: cells between tabs, numbers with every digit, texts that are no formulas. */
export const tabSeparated = (header: readonly string[], rows: readonly (readonly CellValue[])[]): string =>
  [header, ...rows].map((row) => row.map(cellText).join('\t')).join('\n');

function cellText(value: CellValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = value.replaceAll(/\s+/g, ' ').trim();
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Rows of a CSV file of the service as spreadsheets paste them. */
export function csvToTabs(csv: string): string {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    if (quoted === undefined && plain === '' && end === '' && rows.at(-1)!.length === 0) break; // Behind the last row.
    rows.at(-1)!.push((quoted?.replaceAll('""', '"') ?? plain ?? '').replaceAll(/\s+/g, ' '));
    if (end !== ',' && end !== '') rows.push([]);
    if (end === '') break;
  }
  return rows
    .filter((row) => row.length > 0)
    .map((row) => row.join('\t'))
    .join('\n');
}

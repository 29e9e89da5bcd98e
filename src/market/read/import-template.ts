import { strToU8, zipSync } from 'fflate';
import { type ImportFormat, TABLE_KINDS } from '#domain/definition/datasets.js';
import { protectText } from '../formats/csv.js';
import { KNOWN_COLUMNS, type TableKind } from '../tables/table-kinds.js';

interface ZipSource {
  readonly name: string;
  readonly text: string;
}

/** The first day of the format; a fixed date gives equal archives for equal texts. */
const FIRST_DAY = '1980-01-01T00:00:00';

/** Creates a zip archive of a few texts. */
export function writeZip(sources: readonly ZipSource[]): Uint8Array<ArrayBuffer> {
  const files = Object.fromEntries(sources.map(({ name, text }) => [name, strToU8(text)]));
  return zipSync(files, { level: 9, mtime: FIRST_DAY }) as Uint8Array<ArrayBuffer>; // its own memory
}

/** Sheet of texts and numbers. */
export interface Sheet {
  readonly name: string;
  readonly rows: readonly (readonly (string | number | null)[])[];
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006';

/** Creates an Excel workbook (.xlsx). @source ECMA-376 part 1, only the parts that every reader needs */
export function writeWorkbook(sheets: readonly Sheet[]): Uint8Array<ArrayBuffer> {
  const parts = sheets.map((_, i) => `xl/worksheets/sheet${i + 1}.xml`);
  const formatOverride = (part: string, kind: string) =>
    `<Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${kind}+xml"/>`;
  return writeZip([
    {
      name: '[Content_Types].xml',
      text: `${DECLARATION}<Types xmlns="${PACKAGE_NAMESPACE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${formatOverride('xl/workbook.xml', 'sheet.main')}${formatOverride('xl/styles.xml', 'styles')}${parts.map((part) => formatOverride(part, 'worksheet')).join('')}</Types>`,
    },
    {
      name: '_rels/.rels',
      text: `${DECLARATION}<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships"><Relationship Id="rId1" Type="${RELATIONS_NAMESPACE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    },
    {
      name: 'xl/workbook.xml',
      text: `${DECLARATION}<workbook xmlns="${MAIN_NAMESPACE}" xmlns:r="${RELATIONS_NAMESPACE}"><sheets>${sheets.map(({ name }, i) => `<sheet name="${escape(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`).join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: `${DECLARATION}<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships">${sheets.map((_, i) => `<Relationship Id="rId${i + 1}" Type="${RELATIONS_NAMESPACE}/worksheet" Target="worksheets/sheet${i + 1}.xml"/>`).join('')}<Relationship Id="rId${sheets.length + 1}" Type="${RELATIONS_NAMESPACE}/styles" Target="styles.xml"/></Relationships>`,
    },
    {
      name: 'xl/styles.xml',
      text: `${DECLARATION}<styleSheet xmlns="${MAIN_NAMESPACE}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/></cellXfs></styleSheet>`,
    },
    ...sheets.map((sheet, i) => ({ name: parts[i]!, text: formatSheet(sheet) })),
  ]);
}

function formatSheet({ rows }: Sheet): string {
  const lines = rows.map(
    (cells, row) =>
      `<row r="${row + 1}">${cells.map((cell, column) => formatCell(cell, `${formatColumnName(column)}${row + 1}`, row === 0)).join('')}</row>`,
  );
  return `${DECLARATION}<worksheet xmlns="${MAIN_NAMESPACE}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>${lines.join('')}</sheetData></worksheet>`;
}

function formatCell(cell: string | number | null, reference: string, isHeader: boolean): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  return `<c r="${reference}"${isHeader ? ' s="1"' : ''} t="inlineStr"><is><t>${escape(protectText(cell))}</t></is></c>`;
}

function formatColumnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : formatColumnName(Math.floor(column / 26) - 1) + letter;
}

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

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
  series: ['EXMPL-INDEX', '2024-01-02', 4742.83, 'USD', 'Example index', null],
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

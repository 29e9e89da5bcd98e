import { toDay } from '#domain/time/days.js';
import { formatWrittenCell, ShownValue, type Cell, type Heading } from './cells.js';
import { removeProtection } from './formula-text.js';
import { findAttribute, readXmlTokens } from './xml-tokens.js';
import { openZip, type ZipMember } from './zip-reader.js';

/** Thrown if a workbook cannot be read, with the name of the sheet if it is known. */
export class WorkbookFault extends Error {
  override readonly name = 'WorkbookFault';
  readonly sheet: string;
  constructor(sheet: string, message: string) {
    super(message);
    this.sheet = sheet;
  }
}

/** Maximum number of columns and rows that are read from a sheet. A cell outside is an attack or a mistake. */
const COLUMNS_MAX = 1024;
const ROWS_MAX = 1_048_576;
/** Maximum number of shared texts. */
const SHARED_TEXTS_MAX = 2_000_000;

/** Built-in number formats that Excel displays as dates. */
const BUILT_IN_DATES: ReadonlySet<number> = new Set([
  14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46, 47, 50, 51, 52, 53, 54, 55, 56,
  57, 58,
]);

/**
 * Days with serial number 0 in the two date systems. In the 1900 system, this is 30 December 1899, because Excel counts
 * a 29 February 1900.
 */
const EPOCH_1900 = toDay({ year: 1899, month: 12, day: 30 });
const EPOCH_1904 = toDay({ year: 1904, month: 1, day: 1 });
const MS_PER_DAY = 86_400_000;

/** Stands for a cell with a formula. Formulas are reported and never computed. */
export const FORMULA = Symbol('formula');

/** Cell of a sheet. */
export type SheetCell = Cell | typeof FORMULA | undefined;

/**
 * Receives the rows of one sheet after its header row. It is undefined to skip the sheet. Row numbers start at 1, and
 * empty rows are skipped.
 */
export type SheetSink = ((cells: readonly SheetCell[], row: number) => void) | undefined;

/** Rows of a sheet before its data. */
export interface SheetForm {
  /** Number of rows before the header, not counting empty ones. Default: 0. */
  readonly skip?: number | undefined;
  /** Names the columns of a sheet without a header. Default: the first row is the header. */
  readonly nameColumns?: ((count: number) => string[]) | undefined;
}

/**
 * Reads an Excel workbook (.xlsx) sheet by sheet, as a stream. Numbers with a date format become dates. Texts lose a
 * leading apostrophe that prevents formulas. Formulas are reported and never computed.
 * @param onSheet receives the name of a sheet, the texts of its header, and the rows above the header.
 * @throws WorkbookFault, ZipFault, XmlFault
 */
export async function readWorkbook(
  archive: Uint8Array,
  onSheet: (name: string, columns: string[], heading: Heading) => SheetSink,
  formOf: (sheet: string) => SheetForm = () => ({}),
): Promise<readonly string[]> {
  const members = new Map((await openZip(archive)).map((member) => [member.name, member]));
  const { sheets, isFrom1904 } = await readStructure(members);
  const texts = await listSharedTexts(members.get('xl/sharedStrings.xml'));
  const styles = await readStyles(members.get('xl/styles.xml'));
  for (const { name, path } of sheets) {
    const member = members.get(path);
    if (member === undefined) throw new WorkbookFault(name, 'The workbook lists the sheet but does not contain it.');
    await readSheet(
      name,
      member,
      { texts, styles, epoch: isFrom1904 ? EPOCH_1904 : EPOCH_1900, ...formOf(name) },
      onSheet,
    );
  }
  return sheets.map(({ name }) => name);
}

async function readStructure(members: ReadonlyMap<string, ZipMember>): Promise<{
  readonly sheets: readonly { readonly name: string; readonly path: string }[];
  readonly isFrom1904: boolean;
}> {
  const workbook = members.get('xl/workbook.xml');
  const relations = members.get('xl/_rels/workbook.xml.rels');
  if (workbook === undefined || relations === undefined)
    throw new WorkbookFault(
      '',
      'The file is no Excel workbook (.xlsx); a zip of CSV files is read with the format csv.',
    );
  const targets = new Map<string, string>();
  for await (const token of readXmlTokens(relations.open())) {
    if (token.kind !== 'open' || token.name !== 'Relationship') continue;
    const target = findAttribute(token.attributes, 'Target') ?? '';
    targets.set(findAttribute(token.attributes, 'Id') ?? '', target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  }
  const sheets: { name: string; path: string }[] = [];
  let isFrom1904 = false;
  for await (const token of readXmlTokens(workbook.open())) {
    if (token.kind !== 'open') continue;
    if (token.name === 'workbookPr')
      isFrom1904 = ['1', 'true'].includes(findAttribute(token.attributes, 'date1904') ?? '');
    if (token.name === 'sheet')
      sheets.push({
        name: findAttribute(token.attributes, 'name') ?? '',
        path: targets.get(findAttribute(token.attributes, 'r:id') ?? '') ?? '',
      });
  }
  return { sheets, isFrom1904 };
}

async function listSharedTexts(member: ZipMember | undefined): Promise<readonly string[]> {
  const texts: string[] = [];
  if (member === undefined) return texts;
  let text = '';
  let isText = false;
  let isPhonetic = false;
  for await (const token of readXmlTokens(member.open())) {
    if (token.kind === 'text') {
      if (isText && !isPhonetic) text += token.text;
    } else if (token.kind === 'open') {
      if (token.name === 'si') {
        text = '';
        if (token.isEmpty) texts.push('');
      }
      if (token.name === 't') isText = !token.isEmpty;
      if (token.name === 'rPh') isPhonetic = !token.isEmpty;
    } else {
      if (token.name === 't') isText = false;
      if (token.name === 'rPh') isPhonetic = false;
      if (token.name === 'si' && texts.push(text) > SHARED_TEXTS_MAX)
        throw new WorkbookFault('', `The workbook has more than ${SHARED_TEXTS_MAX} texts.`);
    }
  }
  return texts;
}

/** Display of the numbers of a cell style. */
interface CellStyle {
  readonly isDate: boolean;
  /** Returns the text that a cell shows for a number. It is undefined for formats of amounts. */
  readonly show?: ((value: number) => string | undefined) | undefined;
}

/** Returns the displays of the cell styles. */
async function readStyles(member: ZipMember | undefined): Promise<readonly CellStyle[]> {
  const styles: CellStyle[] = [];
  if (member === undefined) return styles;
  const customFormats = new Map<number, string>();
  let isCellStyles = false;
  for await (const token of readXmlTokens(member.open())) {
    if (token.kind === 'text') continue;
    if (token.name === 'cellXfs') isCellStyles = token.kind === 'open' && !token.isEmpty;
    if (token.kind === 'close') continue;
    if (token.name === 'numFmt')
      customFormats.set(
        Number(findAttribute(token.attributes, 'numFmtId')),
        findAttribute(token.attributes, 'formatCode') ?? '',
      );
    if (token.name === 'xf' && isCellStyles) {
      const format = Number(findAttribute(token.attributes, 'numFmtId') ?? 0);
      const code = customFormats.get(format);
      const isDate = BUILT_IN_DATES.has(format) || isDateFormat(code);
      styles.push({ isDate, show: isDate || code === undefined ? undefined : createCodeFormatter(code) });
    }
  }
  return styles;
}

/** Returns true if a format code has a date part outside quoted text and brackets. */
function isDateFormat(code: string | undefined): boolean {
  return (
    code !== undefined &&
    /[dmyDMY]/.test(code.replace(/"[^"]*"|\[[^[\]]*\]|\\./g, '').replace(/General|Standard/gi, ''))
  );
}

/** Matches the format of a code: digits with literals, such as 0000, 000-00 or "A"000, and no decimals or thousands. */
const CODE_FORMAT = /^(?:[0#?]|"[^"]*"|\\.|[-/ ():]|_.)+$/;

/** Parts of a code format: a placeholder of a digit, or a literal. */
const CODE_PART = /"([^"]*)"|\\(.)|_.|([0#?])|(.)/g;

/**
 * Returns a function that formats a whole number as a code with leading zeros or literals. Returns undefined for other
 * formats, whose texts are amounts.
 */
function createCodeFormatter(formatCode: string): ((value: number) => string | undefined) | undefined {
  const [code = ''] = formatCode.split(';');
  if (!CODE_FORMAT.test(code) || !/[0?]|["\\]/.test(code) || !/[0#?]/.test(code)) return undefined;
  const parts = [...code.matchAll(CODE_PART)].map(([all, quoted, escaped, digit, literal]) => ({
    digit,
    text: all.startsWith('_') ? ' ' : (quoted ?? escaped ?? literal ?? ''),
  }));
  const first = parts.findIndex(({ digit }) => digit !== undefined);
  return (value) => {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    let digits = String(value);
    let shown = '';
    for (let i = parts.length - 1; i >= 0; i--) {
      const { digit, text } = parts[i]!;
      if (digit === undefined) shown = text + shown;
      else {
        const last = digits.at(-1) ?? (digit === '0' ? '0' : digit === '?' ? ' ' : '');
        shown = (i === first ? digits.slice(0, -1) : '') + last + shown;
        digits = digits.slice(0, -1);
      }
    }
    return shown.trim();
  };
}

interface SheetContext extends SheetForm {
  readonly texts: readonly string[];
  readonly styles: readonly CellStyle[];
  readonly epoch: number;
}

async function readSheet(
  sheet: string,
  member: ZipMember,
  context: SheetContext,
  onSheet: (name: string, columns: string[], heading: Heading) => SheetSink,
): Promise<void> {
  const { skip = 0, nameColumns } = context;
  let sink: SheetSink;
  let header: string[] | undefined;
  let row = 0;
  const heading: string[][] = [];
  let read = 0;
  let cells: SheetCell[] = [];
  let cell: { column: number; type: string; style: number; text: string; isFormula: boolean } | undefined;
  let cellElement = '';

  for await (const token of readXmlTokens(member.open())) {
    if (token.kind === 'text') {
      if (cell !== undefined && (cellElement === 'v' || cellElement === 't')) cell.text += token.text;
      continue;
    }
    if (token.kind === 'open') {
      if (token.name === 'row') {
        row = Number(findAttribute(token.attributes, 'r') ?? row + 1);
        if (!(row >= 1 && row <= ROWS_MAX))
          throw new WorkbookFault(sheet, `The sheet has a row ${row}; at most ${ROWS_MAX} are read.`);
        cells = [];
      } else if (token.name === 'c') {
        const column = parseColumn(findAttribute(token.attributes, 'r'), cells.length);
        if (column >= COLUMNS_MAX)
          throw new WorkbookFault(sheet, `The sheet has a column ${column + 1}; at most ${COLUMNS_MAX} are read.`);
        cell = {
          column,
          type: findAttribute(token.attributes, 't') ?? 'n',
          style: Number(findAttribute(token.attributes, 's') ?? -1),
          text: '',
          isFormula: false,
        };
      } else if (token.name === 'f' && cell !== undefined) cell.isFormula = true;
      if (!token.isEmpty) cellElement = token.name;
      if (token.name !== 'c' || !token.isEmpty) continue;
      cell = undefined;
      continue;
    }
    cellElement = '';
    if (token.name === 'c' && cell !== undefined) {
      while (cells.length < cell.column) cells.push(undefined);
      cells[cell.column] = readValue(cell, context, sheet);
      cell = undefined;
    } else if (token.name === 'row') {
      if (cells.every((value) => value === undefined || value === null)) continue;
      if (heading.length < skip) heading.push(listTexts(cells));
      else if (header === undefined) {
        header = nameColumns?.(cells.length) ?? listTexts(cells);
        sink = onSheet(sheet, header, heading);
        if (sink === undefined) return;
        if (nameColumns !== undefined) sink(cells, (read += 1));
      } else sink!(cells, (read += 1));
    }
  }
  if (header === undefined) onSheet(sheet, [], heading);
}

/** Returns the texts of a row up to its last value. */
function listTexts(cells: readonly SheetCell[]): string[] {
  const texts = cells.map((value) =>
    value === undefined || value === null ? '' : value === FORMULA ? String(value) : formatWrittenCell(value),
  );
  while (texts.at(-1) === '') texts.pop();
  return texts;
}

/**
 * Returns the column of a reference such as `AB12`, counted from 0. Returns the next column if the cell has no
 * reference.
 */
function parseColumn(reference: string | undefined, next: number): number {
  const letters = /^([A-Z]{1,3})\d/.exec(reference ?? '')?.[1];
  if (letters === undefined) return next;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}

function readValue(
  cell: { readonly type: string; readonly style: number; readonly text: string; readonly isFormula: boolean },
  { texts, styles, epoch }: SheetContext,
  sheet: string,
): SheetCell {
  const { type, text } = cell;
  if (cell.isFormula) return FORMULA;
  switch (type) {
    case 's': {
      const sharedText = texts[Number(text)];
      if (sharedText === undefined)
        throw new WorkbookFault(sheet, `A cell refers to the shared text ${text}; the workbook has ${texts.length}.`);
      return removeFormulaMark(sharedText);
    }
    case 'str':
    case 'inlineStr':
      return removeFormulaMark(text);
    case 'b':
      return new ShownValue(text === '1', text === '1' ? 'TRUE' : 'FALSE');
    case 'd':
      return text;
    case 'e':
      return text; // an Excel error such as #N/A, which no column accepts
    default: {
      if (text.trim() === '') return null;
      const value = Number(text);
      const style = styles[cell.style];
      if (style?.isDate === true) return new Date((epoch + value) * MS_PER_DAY);
      if (!Number.isFinite(value)) return text;
      const shownText = style?.show?.(value) ?? String(value);
      return shownText === String(value) ? value : new ShownValue(value, shownText);
    }
  }
}

/** Removes the apostrophe before a text. Without the apostrophe, a spreadsheet would read the text as a formula. */
function removeFormulaMark(text: string): Cell {
  return text === '' ? null : removeProtection(text);
}

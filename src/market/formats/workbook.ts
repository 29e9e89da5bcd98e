import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';
import { toDay } from '#domain/base/time.js';
import { type Cell, formatWrittenCell, type Heading, ShownValue } from './cells.js';
import { describeForeignText, removeProtection } from './csv.js';

/** Token of an XML text: the start or the end of an element, or text in between. */
type XmlToken =
  | { readonly kind: 'open'; readonly name: string; readonly attributes: string; readonly isEmpty: boolean }
  | { readonly kind: 'close'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

export class XmlFault extends Error {
  override readonly name = 'XmlFault';
}

/** Maximum length of a tag or of a text between two tags: an Excel cell may contain 32,767 characters. */
const PIECE_MAX = 1 << 20;

/**
 * Splits XML text into tokens as its bytes arrive. Namespace prefixes are removed. Document type declarations are
 * rejected, so that only the five predefined entities exist.
 * @throws XmlFault
 */
async function* readXmlTokens(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<XmlToken> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let restText = '';
  for await (const chunk of chunks) {
    restText += decode(decoder, chunk);
    let from = 0;
    for (;;) {
      const markupStart = restText.indexOf('<', from);
      if (markupStart < 0) break;
      const end = findMarkupEnd(restText, markupStart);
      if (end < 0) break;
      if (markupStart > from) yield { kind: 'text', text: unescape(restText.slice(from, markupStart)) };
      const token = parseToken(restText.slice(markupStart, end));
      if (token !== undefined) yield token;
      from = end;
    }
    restText = restText.slice(from);
    if (restText.length > PIECE_MAX) throw new XmlFault(`A tag or text is longer than ${PIECE_MAX} characters.`);
  }
  if (restText.trim() !== '') throw new XmlFault('The text ends inside a tag.');
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch {
    throw new XmlFault('The text is not UTF-8.');
  }
}

/** Returns the position after the markup that begins at `open`; -1 if it is incomplete. */
function findMarkupEnd(text: string, open: number): number {
  const findEndAfter = (end: string) => {
    const offset = text.indexOf(end, open);
    return offset < 0 ? -1 : offset + end.length;
  };
  if (text.startsWith('<!--', open)) return findEndAfter('-->');
  if (text.startsWith('<![CDATA[', open)) return findEndAfter(']]>');
  if (text.length - open < 9) {
    // too short to distinguish a comment from a declaration
    if (text[open + 1] === '!') return -1;
  } else if (text[open + 1] === '!') throw new XmlFault('The text has a document type declaration.');
  let quote = '';
  for (let offset = open + 1; offset < text.length; offset++) {
    const character = text[offset]!;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return offset + 1;
  }
  return -1;
}

function parseToken(markup: string): XmlToken | undefined {
  if (markup.startsWith('<!--') || markup.startsWith('<?')) return undefined;
  if (markup.startsWith('<![CDATA[')) return { kind: 'text', text: markup.slice(9, -3) };
  if (markup[1] === '/') return { kind: 'close', name: getLocalName(markup.slice(2, -1).trim()) };
  const isEmpty = markup.endsWith('/>');
  const inner = markup.slice(1, isEmpty ? -2 : -1);
  const space = inner.search(/\s/);
  return {
    kind: 'open',
    name: getLocalName(space < 0 ? inner : inner.slice(0, space)),
    attributes: space < 0 ? '' : inner.slice(space),
    isEmpty,
  };
}

const getLocalName = (name: string) => name.slice(name.indexOf(':') + 1);

function findAttribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes);
  return match === null ? undefined : unescape(match[1] ?? match[2] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescape(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x[0-9a-fA-F]{1,6}|#\d{1,7}|[a-z]{2,4});/g, (_whole, name: string) => {
    if (name[0] !== '#') {
      const entity = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
      if (entity === undefined) throw new XmlFault(`The entity ${name} is not known.`);
      return entity;
    }
    const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    if (code === 0 || code > 0x10ffff) throw new XmlFault('A character reference is out of range.');
    return String.fromCodePoint(code);
  });
}

/** Maximum number of members of a workbook: a workbook with four sheets has about twenty. */
const PARTS_MAX = 64;
/**
 * Maximum number of members of an archive. With one file per security, it exceeds the number of securities of the
 * widest index.
 */
export const FILES_MAX = 5000;
/** Maximum decompressed size of all members together: about four times the decoded size of the largest upload. */
export const INFLATED_BYTES_MAX = 200 << 20;
/** Maximum compression ratio of a member that is not tiny. Tables compress by a factor of ten or twenty. */
const RATIO_MAX = 100;
const TINY_BYTES = 1 << 20;

/** Thrown for an archive that is unreadable or unsafe to read. */
export class ZipFault extends Error {
  override readonly name = 'ZipFault';
}

export interface ZipMember {
  readonly name: string;
  /** Decompressed size as stated in the archive. Reading fails if the actual size exceeds it. */
  readonly bytes: number;
  open(): AsyncIterable<Uint8Array>;
}

/**
 * Returns the members of a zip archive in memory, without folders. Sizes, ratios and names are checked before
 * decompression.
 * @throws ZipFault
 */
export async function openZip(archive: Uint8Array, membersMax = PARTS_MAX): Promise<readonly ZipMember[]> {
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const file = await new Promise<ZipFile>((resolve, reject) => {
    fromBuffer(
      buffer,
      { lazyEntries: true, validateEntrySizes: true, strictFileNames: true, autoClose: false },
      (error, zip) => (error ? reject(new ZipFault(describeForeignText(archive) ?? formatError(error))) : resolve(zip)),
    );
  });
  if (file.entryCount > membersMax)
    throw new ZipFault(`The archive has ${file.entryCount} members; at most ${membersMax} are read.`);
  const entries = await listAllEntries(file);
  const inflatedBytes = entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  if (inflatedBytes > INFLATED_BYTES_MAX)
    throw new ZipFault(
      `The archive holds ${inflatedBytes} bytes after decompression; at most ${INFLATED_BYTES_MAX} are read.`,
    );
  for (const { uncompressedSize, compressedSize, fileName } of entries) {
    if (uncompressedSize > TINY_BYTES && uncompressedSize > RATIO_MAX * compressedSize) {
      throw new ZipFault(
        `The member ${fileName.slice(0, 80)} decompresses from ${compressedSize} to ${uncompressedSize} bytes; at most ${RATIO_MAX} times its size is read.`,
      );
    }
  }
  return entries
    .filter(({ fileName }) => !fileName.endsWith('/'))
    .map((entry) => ({
      name: entry.fileName,
      bytes: entry.uncompressedSize,
      open: () => readContent(file, entry),
    }));
}

function listAllEntries(file: ZipFile): Promise<Entry[]> {
  return new Promise((resolve, reject) => {
    const entries: Entry[] = [];
    file.on('error', (error: Error) => reject(new ZipFault(formatError(error))));
    file.on('end', () => resolve(entries));
    file.on('entry', (entry: Entry) => {
      entries.push(entry);
      if (entry.isEncrypted()) reject(new ZipFault('The archive is encrypted.'));
      else file.readEntry();
    });
    file.readEntry();
  });
}

async function* readContent(file: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await new Promise<Readable>((resolve, reject) => {
    file.openReadStream(entry, (error, opened) => (error ? reject(new ZipFault(formatError(error))) : resolve(opened)));
  });
  try {
    // The stream fails if it is longer than the archive declares. The checksum is verified only here.
    let checksum = 0;
    for await (const chunk of stream) {
      const bytes = chunk as Buffer; // chunks are buffers because no encoding is set
      checksum = crc32(bytes, checksum);
      yield bytes;
    }
    if (checksum !== entry.crc32) throw new Error('its checksum is another');
  } catch (error) {
    throw new ZipFault(`The member ${entry.fileName.slice(0, 80)} is damaged: ${formatError(error)}`);
  }
}

/** Matches the message of yauzl for bytes that are not an archive, or for a truncated archive. */
const NOT_ARCHIVE_MESSAGE = /^end of central directory record signature not found/i;

/** Matches the message of yauzl for a member name outside the archive. */
const UNSAFE_PATH_MESSAGE = /^(?:invalid relative path|absolute path|invalid characters in fileName)/;

function formatError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (NOT_ARCHIVE_MESSAGE.test(message))
    return 'The file is no zip archive, as a workbook and a zip of CSV files are, or its end is missing; one CSV file has the format csv.';
  if (UNSAFE_PATH_MESSAGE.test(message)) return 'A member of the archive has a name that leads out of it.';
  return message.split('\n')[0]!.slice(0, 160);
}

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
const SHARED_TEXTS_MAX = 2_000_000;

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

export type SheetCell = Cell | typeof FORMULA | undefined;

/**
 * Receives the rows of one sheet after its header row. It is undefined to skip the sheet. Row numbers start at 1, and
 * empty rows are skipped.
 */
export type SheetSink = ((cells: readonly SheetCell[], row: number) => void) | undefined;

/** Rows of a sheet before its data. */
interface SheetForm {
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

interface CellStyle {
  readonly isDate: boolean;
  /** Returns the text that a cell shows for a number. It is undefined for formats of amounts. */
  readonly show?: ((value: number) => string | undefined) | undefined;
}

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

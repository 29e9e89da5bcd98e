import { ENCODINGS } from '#domain/definition/mapping.js';
import { type Cell, type Heading, namePositions } from './cells.js';

const COLUMNS_MAX = 4096;

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const DELIMITERS = [',', ';', '\t', '|'] as const;
const HEADING_BYTES_MAX = 1 << 16; // searched for a line with a delimiter; a title above the header has none

/** Record of a CSV file, with its cells as ranges of bytes. */
export interface CsvRecord {
  readonly bytes: Uint8Array;
  /** First byte of each cell, without quotes. */
  readonly starts: Int32Array;
  /** End of each cell, exclusive. */
  readonly ends: Int32Array;
  /** 1 for a cell with doubled quotes. */
  readonly escaped: Uint8Array;
  cells: number;
}

/** Thrown for an invalid CSV file, with its record; the header is record 0. */
export class CsvFault extends Error {
  override readonly name = 'CsvFault';
  readonly record: number;
  /** Accepted values, if there is a closed set of them. */
  readonly accepted: readonly string[] | undefined;
  constructor(record: number, message: string, accepted?: readonly string[]) {
    super(message);
    this.record = record;
    this.accepted = accepted;
  }
}

/** Splits one record into cells; returns the position after it, or -1 if the bytes end inside it. */
function readRecord(
  record: { bytes: Uint8Array; starts: Int32Array; ends: Int32Array; escaped: Uint8Array; cells: number },
  from: number,
  delimiter: number,
  last: boolean,
  records: number,
): number {
  const { bytes, starts, ends, escaped } = record;
  const length = bytes.length;
  let position = from;
  let cells = 0;
  if (position >= length) return -1;
  for (;;) {
    if (cells === COLUMNS_MAX) throw new CsvFault(records, `The row has more than ${COLUMNS_MAX} cells.`);
    escaped[cells] = 0;
    if (position < length && bytes[position] === QUOTE) {
      starts[cells] = position + 1;
      for (position += 1; ; position++) {
        if (position >= length) {
          if (!last) return -1;
          throw new CsvFault(records, 'A quote is not closed before the end of the file.');
        }
        if (bytes[position] !== QUOTE) continue;
        if (position + 1 >= length && !last) return -1;
        if (bytes[position + 1] !== QUOTE) break;
        escaped[cells] = 1;
        position += 1;
      }
      ends[cells] = position;
      position += 1;
      const byte = bytes[position];
      if (position < length && byte !== delimiter && byte !== LF && byte !== CR)
        throw new CsvFault(records, 'Text follows a closing quote.');
    } else {
      starts[cells] = position;
      let byte = -1;
      while (position < length) {
        byte = bytes[position]!;
        if (byte === delimiter || byte === LF || byte === CR) break;
        position += 1;
      }
      ends[cells] = position;
    }
    cells += 1;
    if (position >= length) {
      if (!last) return -1;
      record.cells = cells;
      return length;
    }
    const byte = bytes[position];
    position += 1;
    if (byte === delimiter) continue;
    if (byte === CR) {
      if (position >= length && !last) return -1;
      if (bytes[position] === LF) position += 1;
    }
    record.cells = cells;
    return position;
  }
}

/** Returns the position after the next non-empty line; -1 if it is incomplete. */
function findLineEnd(bytes: Uint8Array, from: number): number {
  let position = from;
  while (bytes[position] === LF || bytes[position] === CR) position += 1;
  const end = bytes.indexOf(LF, position);
  return end < 0 ? -1 : end + 1;
}

const startOfText = ([a, b, c]: Uint8Array) => (a === 0xef && b === 0xbb && c === 0xbf ? 3 : 0);

/** Returns the most frequent delimiter outside quotes in the first line with one; 0 if more bytes are needed. */
function findDelimiter(bytes: Uint8Array, from: number, last: boolean): number {
  const counts = DELIMITERS.map(() => 0);
  let isQuoted = false;
  let position = from;
  for (; position < Math.min(bytes.length, from + HEADING_BYTES_MAX); position++) {
    const byte = bytes[position]!;
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (!isQuoted && (byte === LF || byte === CR) && counts.some((count) => count > 0)) break;
    else if (!isQuoted) {
      const delimiterIndex = DELIMITERS.findIndex((text) => text.charCodeAt(0) === byte);
      if (delimiterIndex >= 0) counts[delimiterIndex]! += 1;
    }
  }
  if (position === bytes.length && !last) return 0;
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!.charCodeAt(0);
}

export function concatenateBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joinedBytes = new Uint8Array(a.length + b.length);
  joinedBytes.set(a);
  joinedBytes.set(b, a.length);
  return joinedBytes;
}

/** Maximum record size in bytes: more than a thousand columns of a hundred characters. */
const RECORD_BYTES_MAX = 1 << 20;

interface CsvTerms {
  /** Number of lines before the header, not counting empty ones. */
  readonly skip?: number | undefined;
  /** True if the file has no header; its columns are then named by position. Default: false. */
  readonly isHeaderless?: boolean | undefined;
  /** Encoding of a text without a byte order mark. Default: UTF-8. */
  readonly encoding?: TextEncoding | null | undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads records of comma-separated values (RFC 4180). The header determines the delimiter: comma, semicolon, tab or
 * bar. Quoted cells may contain delimiters, line breaks and doubled quotes. Empty lines are skipped.
 * @param onHeader receives the column names and the lines above them; returns a receiver of the records, undefined to
 * stop. A record may have more or fewer cells than the header.
 * @throws CsvFault for an invalid file.
 * @cost one pass over the bytes; a record is a view that is valid only during the call.
 */
export async function readCsv(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onHeader: (columns: string[], heading: Heading) => ((record: CsvRecord) => void) | undefined,
  { skip = 0, encoding = null, isHeaderless = false }: CsvTerms = {},
): Promise<void> {
  const record: Omit<CsvRecord, 'bytes'> & { bytes: Uint8Array } = {
    bytes: new Uint8Array(0),
    starts: new Int32Array(COLUMNS_MAX),
    ends: new Int32Array(COLUMNS_MAX),
    escaped: new Uint8Array(COLUMNS_MAX),
    cells: 0,
  };
  let restBytes = new Uint8Array(0);
  let delimiter = 0;
  let columns = 0;
  let records = 0;
  let isStarted = false;
  const heading: string[][] = [];
  let onRecord: ((record: CsvRecord) => void) | undefined;

  /** Reads the records in `bytes`; returns the start of the first incomplete record. */
  function readRecords(bytes: Uint8Array, last: boolean): number {
    let position = 0;
    record.bytes = bytes;
    if (delimiter === 0) {
      position = isStarted ? 0 : startOfText(bytes);
      isStarted = true;
      while (heading.length < skip) {
        const next = findLineEnd(bytes, position);
        if (next < 0) return position;
        heading.push(splitHeading(decodeText(bytes, position, next)));
        position = next;
      }
      delimiter = findDelimiter(bytes, position, last);
      if (delimiter === 0) return position;
    }
    for (;;) {
      const next = readRecord(record, position, delimiter, last, records);
      if (next < 0) return position;
      position = next;
      if (record.cells === 1 && record.starts[0] === record.ends[0]) continue;
      if (columns === 0) {
        columns = record.cells;
        const names = isHeaderless ? namePositions(columns) : undefined;
        onRecord = onHeader(names ?? Array.from({ length: columns }, (_, cell) => readCellText(record, cell)), heading);
        if (onRecord === undefined) return -1;
        if (isHeaderless) onRecord(record);
      } else onRecord!(record);
      records += 1;
    }
  }

  const checkedChunks = refuseForeignText(chunks, (message) => new CsvFault(0, message));
  for await (const chunk of convertToUtf8(checkedChunks, encoding)) {
    const bytes = restBytes.length === 0 ? chunk : concatenateBytes(restBytes, chunk);
    const consumedBytes = readRecords(bytes, false);
    if (consumedBytes < 0) return;
    if (bytes.length - consumedBytes > RECORD_BYTES_MAX)
      throw new CsvFault(records, `The row is longer than ${RECORD_BYTES_MAX} bytes; a quote may be missing.`);
    restBytes = bytes.slice(consumedBytes);
  }
  readRecords(restBytes, true);
  if (columns === 0) throw new CsvFault(0, 'The file is empty; a header is needed.');
}

/** Splits a line above the header at any delimiter, because only the header determines the delimiter. */
const splitHeading = (line: string) => line.split(/[,;\t|]/).map((text) => text.trim().replaceAll(/^"|"$/g, ''));

/** Returns the text of a cell without surrounding spaces. @throws CsvFault if it is not UTF-8. */
export function readCellText(record: CsvRecord, cell: number): string {
  const text = decodeText(record.bytes, record.starts[cell]!, record.ends[cell]!);
  return record.escaped[cell] === 1 ? text.replaceAll('""', '"') : text;
}

export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  try {
    return utf8.decode(bytes.subarray(start, end)).trim();
  } catch {
    throw new CsvFault(
      0,
      'The text is not UTF-8; where it is written otherwise, encoding of a mapping says how.',
      ENCODINGS,
    );
  }
}

/** Returns the cells of a record as text, null if empty. A leading apostrophe that prevents formulas is removed. */
export function readTextCells(record: CsvRecord): Cell[] {
  return Array.from({ length: record.cells }, (_, cell) =>
    record.starts[cell] === record.ends[cell] ? null : removeProtection(readCellText(record, cell)),
  );
}

export const describeRowLength = (cells: number, columns: number) =>
  `The row has ${cells} cells; the header has ${columns}.`;

/**
 * Minimum and maximum number of slots of a dictionary, powers of two. The dictionary starts small, because most files
 * are small, and grows. When three quarters of the maximum are used, further texts are not cached.
 */
const SLOTS_MIN = 1 << 8;
const SLOTS_MAX = 1 << 16;

/**
 * Returns a function that caches values by the bytes of their spelling. Each text is therefore decoded once. A spelling
 * without a value is looked up each time, because each occurrence gives a finding.
 */
export function createByteTexts(
  meaning: (bytes: Uint8Array, start: number, end: number) => number | undefined,
): (bytes: Uint8Array, start: number, end: number) => number | undefined {
  let slots = SLOTS_MIN;
  let spellings: (Uint8Array | undefined)[] = Array.from({ length: slots });
  let values = new Int32Array(slots);
  let filledSlots = 0;

  function grow(): void {
    const [before, numbers] = [spellings, values];
    slots *= 2;
    spellings = Array.from({ length: slots });
    values = new Int32Array(slots);
    before.forEach((spelling, i) => {
      if (spelling === undefined) return;
      let slot = findFirstSlot(spelling, 0, spelling.length, slots);
      while (spellings[slot] !== undefined) slot = (slot + 1) & (slots - 1);
      spellings[slot] = spelling;
      values[slot] = numbers[i]!;
    });
  }

  return (bytes, start, end) => {
    let slot = findFirstSlot(bytes, start, end, slots);
    for (;;) {
      const spelling = spellings[slot];
      if (spelling === undefined) break;
      if (spelling.length === end - start && hasBytesAt(spelling, bytes, start)) return values[slot];
      slot = (slot + 1) & (slots - 1);
    }
    const value = meaning(bytes, start, end);
    if (value !== undefined && filledSlots < slots * 0.75) {
      spellings[slot] = bytes.slice(start, end);
      values[slot] = value;
      filledSlots += 1;
      if (filledSlots >= slots * 0.75 && slots < SLOTS_MAX) grow();
    }
    return value;
  };
}

function findFirstSlot(bytes: Uint8Array, start: number, end: number, slots: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return (hash ^ (hash >>> 16)) & (slots - 1);
}

function hasBytesAt(spelling: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < spelling.length; i++) if (spelling[i] !== bytes[start + i]) return false;
  return true;
}

/** Number of bytes in which the beginning of a file is recognised, after spaces and a byte order mark. */
export const HEAD_BYTES = 1024;

/** Beginnings of files that take the place of a table, with their descriptions. */
const FOREIGN_TEXTS: readonly (readonly [beginning: RegExp, message: string])[] = [
  [
    /^version https:\/\/git-lfs\.github\.com\/spec\//,
    'The file is a pointer of Git LFS, not the data itself; git lfs pull fetches the data.',
  ],
  [
    /^(\.\.\/)*(\.git)?\/?annex\/objects\//,
    'The file is a pointer of git-annex, not the data itself; git annex get fetches the data.',
  ],
  [
    /^(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*<(!doctype\s+html|html|head|body|title|script|meta|table|div|p|h1|center)\b(?!>[,;\t|])/i,
    'The file is a web page (HTML), not a table; a download probably returned an error page or a sign-in page.',
  ],
  [
    /^<(\?xml|[A-Za-z][^<>,;|\t]*>\s*<)/,
    'The file is an XML document, not a table; CSV, JSON lines, Parquet and xlsx files are read.',
  ],
];

/** A CSV file that begins like a JSON document, such as the error of a web service. */
const JSON_TEXT = /^(\{\s*("|\})|\[\s*[[{])/;

/** Returns a message if bytes are the beginning of something that takes the place of a table. */
export function describeForeignText(bytes: Uint8Array, format: 'csv' | 'other' = 'other'): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  const message = FOREIGN_TEXTS.find(([beginning]) => beginning.test(text))?.[1];
  if (message !== undefined || format !== 'csv' || !JSON_TEXT.test(text)) return message;
  return 'The file is a JSON document, not a table; JSON is read as lines with one object each (.jsonl).';
}

/** Yields the bytes of a CSV file unchanged. @throws the error that `fault` creates for a text of another kind */
async function* refuseForeignText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  fault: (message: string) => Error,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const message = isFirst ? describeForeignText(chunk, 'csv') : undefined;
    if (message !== undefined) throw fault(message);
    isFirst = false;
    yield chunk;
  }
}

/**
 * Characters that start a formula in a spreadsheet, including full-width forms.
 * @source OWASP ASVS 1.2.10
 */
const FORMULA_STARTS: ReadonlySet<string> = new Set([
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '\0',
  '\uff0b',
  '\uff0d',
  '\uff1d',
  '\uff20',
]);

/** Returns a text for a sheet, with a leading apostrophe if a spreadsheet would read it as a formula. */
export function protectText(text: string): string {
  return FORMULA_STARTS.has(text[0] ?? '') ? `'${text}` : text;
}

/** Returns the original text of `protectText`. */
export function removeProtection(text: string): string {
  return text[0] === "'" && FORMULA_STARTS.has(text[1] ?? '') ? text.slice(1) : text;
}

export type TextEncoding = (typeof ENCODINGS)[number];

/**
 * Yields the bytes of a text as UTF-8. A byte order mark takes precedence over the given encoding. If there is neither,
 * the bytes are passed through unchanged.
 * @cost none if the bytes are UTF-8
 */
export async function* convertToUtf8(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: TextEncoding | null,
): AsyncGenerator<Uint8Array> {
  let startBytes: Uint8Array = new Uint8Array(0);
  let decode: Decode | undefined;
  for await (const chunk of chunks) {
    const bytes: Uint8Array = startBytes.length > 0 ? Buffer.concat([startBytes, chunk]) : chunk;
    if (decode === undefined && bytes.length < MARK_BYTES) {
      startBytes = new Uint8Array(bytes);
      continue;
    }
    startBytes = new Uint8Array(0);
    decode ??= chooseDecoder(bytes, encoding);
    yield decode(bytes);
  }
  decode ??= chooseDecoder(startBytes, encoding);
  yield decode(startBytes);
  yield decode(undefined);
}

/**
 * Function that decodes the next bytes to UTF-8. For `undefined`, which marks the end, it returns the remaining bytes.
 */
type Decode = (bytes: Uint8Array | undefined) => Uint8Array;

/** Length of the longest byte order mark. */
const MARK_BYTES = 3;

const NO_BYTES = new Uint8Array(0);

function chooseDecoder([a, b, c]: Uint8Array, encoding: TextEncoding | null): Decode {
  if (a === 0xff && b === 0xfe) return createDecoder('utf-16le');
  if (a === 0xfe && b === 0xff) return createDecoder('utf-16be');
  const isUtf8 = encoding === null || encoding === 'utf-8' || (a === 0xef && b === 0xbb && c === 0xbf);
  if (isUtf8) return (bytes = NO_BYTES) => bytes;
  return encoding === 'windows-1252'
    ? (bytes = NO_BYTES) => Buffer.from(decodeWindows1252(bytes))
    : createDecoder(encoding);
}

function createDecoder(encoding: TextEncoding): Decode {
  const decoder = new TextDecoder(encoding);
  return (bytes) => Buffer.from(bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }));
}

/** Characters of windows-1252 from 0x80, where Latin-1 has control characters; unassigned codes are unchanged. */
const WINDOWS_1252_CHARACTERS = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Decodes windows-1252. The decoders of some versions of Node treat it as Latin-1. */
const decodeWindows1252 = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('latin1')
    .replaceAll(/[\u0080-\u009f]/g, (letter) => WINDOWS_1252_CHARACTERS[letter.charCodeAt(0) - 0x80]!);

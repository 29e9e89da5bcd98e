import { ENCODINGS } from '#domain/definition/mapping.js';
import type { MarketFile, MarketRows } from '../content/market-rows.js';
import type { Cell, Heading } from '../formats/cells.js';
import {
  convertToUtf8,
  createByteTexts,
  refuseForeignText,
  removeProtection,
  type TextEncoding,
} from '../formats/text.js';
import { namePositions } from '../mapping/columns.js';

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

const SPACE = 0x20;

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

function decodeText(bytes: Uint8Array, start: number, end: number): string {
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

/** Begins a market file and returns a receiver of its records; undefined if the columns are not those of a market. */
type MarketRecords = (
  label: string,
  columns: readonly string[],
  table?: string,
  heading?: Heading,
) => ((record: CsvRecord) => void) | undefined;

/** Adds the records of market files, in turn. Numbers are parsed from bytes, identifiers and days once per spelling. */
export function createMarketRecords(rows: MarketRows): MarketRecords {
  let file: MarketFile;
  const readNameCode = createByteTexts((bytes, start, end) => rows.codeOf(file, decodeText(bytes, start, end) || null));
  const readDay = createByteTexts((bytes, start, end) => rows.dayOf(file, decodeText(bytes, start, end)));

  return (label, columns, table, heading) => {
    const csvFile = rows.beginFile(label, columns, table, heading);
    if (csvFile === undefined) return undefined;
    file = csvFile;
    const { identifierColumn: name, dateColumn: date, fieldOf, code, isWide = false, hasOwnNumbers = false } = csvFile;

    return (record) => {
      if (record.cells !== columns.length) {
        rows.beginRow(undefined, undefined);
        rows.refuseRow(csvFile, describeRowLength(record.cells, columns.length), readCellText(record, 0));
        return;
      }
      if (isWide || hasOwnNumbers) {
        rows.addCells(csvFile, readTextCells(record));
        return;
      }
      const { bytes, starts, ends } = record;
      rows.beginRow(
        name < 0 ? code : readNameCode(bytes, starts[name]!, ends[name]!),
        date < 0 ? undefined : readDay(bytes, starts[date]!, ends[date]!),
      );
      for (let column = 0; column < record.cells; column++) {
        if (fieldOf[column]! < 0) continue;
        const value = readNumber(record, column);
        if (value === value) rows.setNumber(csvFile, column, value);
        else if (isInvalidNumber) rows.refuseNumber(csvFile, column, readCellText(record, column));
      }
    };
  };
}

export const describeRowLength = (cells: number, columns: number) =>
  `The row has ${cells} cells; the header has ${columns}.`;

/** True if the last `readNumber` that returned NaN parsed an invalid number rather than an empty cell. */
let isInvalidNumber = false;

/** Powers of ten that are exact doubles: a mantissa below 2^53 divided by one of them is correctly rounded. */
const EXACT_POWERS = Float64Array.from({ length: 23 }, (_, k) => Number(`1e${k}`));
const MANTISSA_MAX = Number.MAX_SAFE_INTEGER / 10 - 1;

/**
 * Returns the number in a cell, NaN if it is empty, NaN with `isInvalidNumber` for any other content.
 * @source Clinger (1990), How to read floating point numbers accurately: the exact fast path.
 */
function readNumber(record: CsvRecord, cell: number): number {
  const { bytes } = record;
  let position = record.starts[cell]!;
  let end = record.ends[cell]!;
  isInvalidNumber = false;
  while (position < end && bytes[position] === SPACE) position += 1;
  while (end > position && bytes[end - 1] === SPACE) end -= 1;
  if (position === end) return Number.NaN;
  const first = bytes[position];
  if (first === 0x2d || first === 0x2b) position += 1;
  let mantissa = 0;
  let digits = 0;
  let decimals = 0;
  let seenPoint = false;
  for (; position < end; position++) {
    const byte = bytes[position]!;
    if (byte >= 0x30 && byte <= 0x39) {
      if (mantissa > MANTISSA_MAX) return readSlowNumber(record, cell);
      mantissa = mantissa * 10 + (byte - 0x30);
      digits += 1;
      if (seenPoint) decimals += 1;
    } else if (byte === 0x2e && !seenPoint) seenPoint = true;
    else return readSlowNumber(record, cell);
  }
  if (digits === 0 || decimals > 22) return readSlowNumber(record, cell);
  const value = mantissa / EXACT_POWERS[decimals]!;
  return first === 0x2d ? -value : value;
}

const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function readSlowNumber(record: CsvRecord, cell: number): number {
  const text = readCellText(record, cell);
  if (text === '' || text.toLowerCase() === 'nan') return Number.NaN;
  const value = NUMBER_TEXT.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  isInvalidNumber = true;
  return Number.NaN;
}

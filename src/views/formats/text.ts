import { Refusal } from '#domain/base/refusals.js';
import { formatDay } from '#domain/base/time.js';
import {
  CHUNK_ROWS,
  type ColumnKind,
  createNumberText,
  type NumberText,
  type RowMarks,
  TABLE_COLUMNS_MAX,
} from '#kernels/engines/number-text.js';
import type { DatedTable } from '../json/writer.js';
import {
  type ByteSink,
  MISSING_INTEGER,
  type NamedColumn,
  type PartInput,
  type PartWriter,
  type TextValues,
} from './batch.js';

export const ARROW_TYPE = 'application/vnd.apache.arrow.stream';

interface RowSyntax {
  readonly rowStart: string;
  /** Start of the first row. Default: the start of all rows. */
  readonly firstStart?: string;
  readonly separator: string;
  readonly rowEnd: string;
  readonly none: string;
  date(text: string): string;
  text(value: string): string;
}

/** Syntax of rows as JSON arrays with a leading comma. */
export const JSON_ROWS: RowSyntax = {
  rowStart: ',[',
  separator: ',',
  rowEnd: ']',
  none: 'null',
  date: (text) => `"${text}"`,
  text: JSON.stringify,
};

/** Memory of the last writer. The next writer of the thread uses it again. */
let spareText: NumberText | undefined;

/**
 * Creates a writer of rows as text.
 * @cost some 30 ns per number and 5 ns per text
 */
export function createRowWriter(syntax: RowSyntax, sink: ByteSink) {
  let drainedBytes = 0;
  const text = spareText ?? createNumberText();
  spareText = undefined;
  text.begin((part) => {
    sink.append(part);
    drainedBytes += part.length;
  });
  const tokens = createTokens(syntax);
  const chunks = createChunks(text, tokens);
  let writtenBytes = 0;
  return {
    raw: (content: string): void => writeText(text, content),
    /** Returns the approximate number of bytes written so far. */
    length: (): number => drainedBytes + text.pending(),
    rows(columns: readonly NamedColumn[], count: number): void {
      for (let from = 0; from < count;) {
        // The first row starts with other text.
        const to = writtenBytes === 0 ? 1 : Math.min(count, from + CHUNK_ROWS);
        if (writtenBytes === 0 || !chunks.write(columns, from, to))
          writeCells(text, tokens, { columns, from, to, written: writtenBytes });
        writtenBytes += to - from;
        from = to;
      }
    },
    /** Passes the remaining bytes to the sink. The writer must not be used afterwards. */
    end(): void {
      text.flush();
      spareText = text;
    },
  };
}

/** Creates a writer that writes several rows at a time. Numbers are values and texts are positions of tokens. */
function createChunks({ table }: NumberText, tokens: Tokens) {
  let rowMarks: RowMarks | undefined;
  /** Positions of tokens for the texts of a list, by code. A text without a token has 0. */
  const offsetsByTexts = new Map<readonly string[], Int32Array>();
  let knownDrops = -1;

  function begin(): void {
    table.dropTokens();
    knownDrops = table.drops;
    table.token(RESERVED_TEXT); // token 0 is reserved: no text of a table has it
    const { start, separator, end, none } = tokens.marks;
    rowMarks = {
      start: table.token(start),
      separator: table.token(separator),
      end: table.token(end),
      none: table.token(none),
    };
    offsetsByTexts.clear();
  }

  /**
   * Fills a column with positions of tokens.
   * @returns false if there is no space for another token
   */
  function fillTexts(slot: Int32Array, { codes, texts }: TextValues, { from, to }: Span): boolean {
    const offsets = offsetsByTexts.get(texts) ?? new Int32Array(texts.length);
    offsetsByTexts.set(texts, offsets);
    for (let row = from; row < to; row++) {
      const code = codes[row]!;
      let offset = code < 0 ? rowMarks!.none : offsets[code]!;
      if (offset === 0) offsets[code] = offset = table.token(tokens.text(texts, code));
      if (offset < 0) return false;
      slot[row - from] = offset;
    }
    return true;
  }

  function fillDates(slot: Int32Array, days: Int32Array, { from, to }: Span): boolean {
    let [day, place] = [MISSING_INTEGER, rowMarks!.none];
    for (let row = from; row < to; row++) {
      if (days[row] !== day) {
        day = days[row]!;
        place = day === MISSING_INTEGER ? rowMarks!.none : table.token(tokens.date(day));
        if (place < 0) return false;
      }
      slot[row - from] = place;
    }
    return true;
  }

  function fill({ type, values }: NamedColumn, slot: number, span: Span): boolean {
    // The type of a column determines the type of its values.
    if (type === 'text') return fillTexts(table.integers(slot), values as TextValues, span);
    if (type === 'date') return fillDates(table.integers(slot), values as Int32Array, span);
    const numbers = (values as Float64Array | Int32Array).subarray(span.from, span.to);
    if (numbers instanceof Int32Array) table.integers(slot).set(numbers);
    else table.numbers(slot).set(numbers);
    return true;
  }

  return {
    /**
     * Writes several rows.
     * @returns false, with the output unchanged, if the rows cannot be written together
     */
    write(columns: readonly NamedColumn[], from: number, to: number): boolean {
      if (columns.length > TABLE_COLUMNS_MAX) return false;
      const isFilled = () => columns.every((column, slot) => fill(column, slot, { from, to }));
      // Tokens of earlier rows may have used all the space. The table is then cleared once.
      const fits = (knownDrops === table.drops && isFilled()) || (begin(), isFilled());
      return fits && table.write(columns.map(getKind), rowMarks!, to - from); // `begin` has set the marks
    },
  };
}

/** Text of the reserved token. No cell contains it. */
const RESERVED_TEXT = ' ';

const getKind = ({ type, values }: NamedColumn): ColumnKind =>
  type === 'text' || type === 'date' ? 'text' : values instanceof Int32Array ? 'count' : 'number';

interface Span {
  /** Range of rows; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
}

interface Cells extends Span {
  readonly columns: readonly NamedColumn[];
  /** Number of rows written before. */
  readonly written: number;
}

/**
 * Writes rows cell by cell. Used for the first row, for rows whose texts exceed the memory of a table, and for rows
 * with infinite numbers.
 */
function writeCells(text: NumberText, tokens: Tokens, { columns, from, to, written }: Cells): void {
  const { first, start, separator, end } = tokens.marks;
  const cells = columns.map((column) => createCellWriter(column, text, tokens));
  for (let row = from; row < to; row++) {
    writeText(text, written === 0 && row === from ? first : start);
    for (const [c, cell] of cells.entries()) {
      if (c > 0) writeText(text, separator);
      cell(row);
    }
    writeText(text, end);
  }
}

/**
 * Returns a function that writes the cell of a row.
 * @throws Refusal NUMERIC_FAILURE
 */
function createCellWriter({ type, values }: NamedColumn, text: NumberText, tokens: Tokens): (row: number) => void {
  const { none } = tokens.marks;
  // The type of a column determines the type of its values.
  if (type === 'text') {
    const { codes, texts } = values as TextValues;
    return (row) => writeText(text, codes[row]! < 0 ? none : tokens.text(texts, codes[row]!));
  }
  if (type === 'date') {
    const days = values as Int32Array;
    return (row) => writeText(text, days[row] === MISSING_INTEGER ? none : tokens.date(days[row]!));
  }
  const numbers = values as Float64Array | Int32Array;
  const isMissing = (value: number) => value !== value || (numbers instanceof Int32Array && value === MISSING_INTEGER);
  return (row) => {
    const value = numbers[row]!;
    if (isMissing(value)) writeText(text, none);
    else if (!text.number(value)) throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
  };
}

const ENCODER = new TextEncoder();

function writeText(text: NumberText, content: string): void {
  if (!text.ascii(content)) text.bytes(ENCODER.encode(content));
}

/** Tokens of a format, and functions that encode its dates and texts. */
interface Tokens {
  readonly marks: Readonly<Record<'first' | 'start' | 'separator' | 'end' | 'none', string>>;
  date(day: number): string;
  text(texts: readonly string[], code: number): string;
}

function createTokens({ firstStart, rowStart: start, separator, rowEnd: end, none, ...syntax }: RowSyntax): Tokens {
  return {
    marks: { first: firstStart ?? start, start, separator, end, none },
    date: (day) => syntax.date(formatDay(day)),
    text: (texts, code) => syntax.text(texts[code]!),
  };
}

/**
 * Creates a writer of CSV (RFC 4180). It writes a header, CRLF line ends and empty cells for null. Text that a
 * spreadsheet would take for a formula gets an apostrophe in front.
 */
export function createCsvWriter({ columns, from, sink }: PartInput): PartWriter {
  const writer = createRowWriter(
    {
      rowStart: '',
      separator: ',',
      rowEnd: '\r\n',
      none: '',
      date: (text) => text,
      text: formatCsvText,
    },
    sink,
  );
  if (from.at === 0) writer.raw(`${Object.keys(columns).map(formatCsvText).join(',')}\r\n`);
  return { rows: writer.rows, length: writer.length, end: writer.end };
}

/** First characters of a formula in common spreadsheets. */
const FORMULA_START = /^[=+\-@\t\r]/;
const SPECIAL_CHARACTERS = /[",\r\n]/;

/** Formats a text cell. An empty text is quoted, because an empty cell means null. */
export function formatCsvText(text: string): string {
  if (FORMULA_START.test(text)) return quoteText(`'${text}`);
  return text === '' || SPECIAL_CHARACTERS.test(text) ? quoteText(text) : text;
}

function quoteText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Media type of CSV, without and with its encoding. */
export const CSV_TYPE = 'text/csv';
export const CSV_CONTENT_TYPE = `${CSV_TYPE}; charset=utf-8`;

type Cell = string | number | boolean | null;

/**
 * Formats a small table as CSV (RFC 4180), as in exports. A number has the shortest form that parses to the same
 * double, and null is an empty cell. Text that starts like a formula gets an apostrophe in front.
 * @param rows rows with one cell per column
 */
export function formatCsvTable(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(formatCsvText).join(',')];
  for (const row of rows) lines.push(row.map(formatCell).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * Formats a table of numbers by date as CSV. Numbers that are not finite become empty cells.
 * @cost about 100 ns per number
 */
export function writeDatedCsv({ days, columns }: DatedTable): string {
  const header = ['date', ...columns.map(({ name }) => name)];
  return formatCsvTable(
    header,
    Array.from(days, (day, t) => [
      formatDay(day),
      ...columns.map(({ values }) => (Number.isFinite(values[t]) ? values[t]! : null)),
    ]),
  );
}

function formatCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'string') return formatCsvText(value);
  return Object.is(value, -0) ? '0' : String(value);
}

/** Creates a writer of an ExportView as JSON, without the state of the run. */
export function createJsonRowsWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const writer = createRowWriter({ ...JSON_ROWS, firstStart: from.rows === 0 ? '[' : JSON_ROWS.rowStart }, sink);
  const namesJson = JSON.stringify(Object.keys(columns));
  if (from.at === 0)
    writer.raw(`{"index_id":${JSON.stringify(runId)},"table":"${table}","columns":${namesJson},"data":[`);
  return {
    rows: writer.rows,
    length: writer.length,
    end(isLast) {
      if (isLast) writer.raw(']}');
      writer.end();
    },
  };
}

/** Log entries in batches. */
type Batches = AsyncGenerator<readonly object[]>;

/** Streams a log as JSON lines. If an entry cannot be read, the stream fails, so that no reader takes a part for the whole. */
export const streamLogLines = (batches: Batches): ReadableStream<Uint8Array> => streamText(formatLines(batches));

/** Streams a log as one object. @param head members before the entries, as JSON with a trailing comma */
export const streamLogObject = (batches: Batches, head = ''): ReadableStream<Uint8Array> =>
  streamText(formatObject(batches, head));

async function* formatLines(batches: Batches): AsyncGenerator<string> {
  for await (const batch of batches) yield batch.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function* formatObject(batches: Batches, head: string): AsyncGenerator<string> {
  let separator = '';
  yield `{${head}"entries":[`;
  for await (const batch of batches) {
    for (const entry of batch) {
      yield `${separator}${JSON.stringify(entry)}`;
      separator = ',';
    }
  }
  yield ']}';
}

async function* encode(pieces: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(piece);
}

const streamText = (pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> => ReadableStream.from(encode(pieces));

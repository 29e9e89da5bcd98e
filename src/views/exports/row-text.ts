import { createNumberText, type NumberText } from '#kernels/engines/number-text.js';
import { CHUNK_ROWS, TABLE_COLUMNS_MAX, type ColumnKind, type RowMarks } from '#kernels/engines/table-text.js';
import { formatDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { NONE, type NamedColumn, type TextValues } from './batch.js';
import type { ByteSink } from './part.js';

/** Syntax of a format for cells that are not numbers. */
export interface RowSyntax {
  readonly rowStart: string;
  /** Start of the first row. Default: the start of every row. */
  readonly firstStart?: string;
  readonly separator: string;
  readonly rowEnd: string;
  readonly none: string;
  date(text: string): string;
  text(value: string): string;
}

/** Rows as arrays of JSON, with a comma before each. */
export const JSON_ROWS: RowSyntax = {
  rowStart: ',[',
  separator: ',',
  rowEnd: ']',
  none: 'null',
  date: (text) => `"${text}"`,
  text: JSON.stringify,
};

/** Writes rows as text, one after the other. */
export interface RowWriter {
  raw(text: string): void;
  rows(columns: readonly NamedColumn[], count: number): void;
  /** Returns the approximate number of bytes written so far. */
  length(): number;
  /** Passes the rest to the sink. The writer must not be used afterwards. */
  end(): void;
}

/** A writer's window of memory, for the next writer of the thread. */
let spare: NumberText | undefined;

/** @cost some 30 ns a number, 5 a text */
export function createRowWriter(syntax: RowSyntax, sink: ByteSink): RowWriter {
  let drained = 0;
  const text = spare ?? createNumberText();
  spare = undefined;
  text.begin((part) => {
    sink.append(part);
    drained += part.length;
  });
  const tokens = createTokens(syntax);
  const chunks = createChunks(text, tokens);
  let written = 0;
  return {
    raw: (words) => writeText(text, words),
    length: () => drained + text.pending(),
    rows(columns, count) {
      for (let from = 0; from < count;) {
        // The first row begins differently.
        const to = written === 0 ? 1 : Math.min(count, from + CHUNK_ROWS);
        if (written === 0 || !chunks.write(columns, from, to)) writeCells(text, tokens, { columns, from, to, written });
        written += to - from;
        from = to;
      }
    },
    end() {
      text.flush();
      spare = text;
    },
  };
}

interface Chunks {
  /** Writes several rows. @returns false, with the output unchanged, if that is not possible */
  write(columns: readonly NamedColumn[], from: number, to: number): boolean;
}

/** Rows by their columns: numbers as they are, texts by their places. */
function createChunks({ table }: NumberText, tokens: Tokens): Chunks {
  let marks: RowMarks | undefined;
  /** Positions of the texts of lists, by code; 0 for a text without a position. */
  const places = new Map<readonly string[], Int32Array>();
  let drops = -1;

  function begin(): void {
    table.dropTokens();
    drops = table.drops;
    table.token(NOTHING); // place 0 is no text of a table
    const { start, separator, end, none } = tokens.marks;
    marks = {
      start: table.token(start),
      separator: table.token(separator),
      end: table.token(end),
      none: table.token(none),
    };
    places.clear();
  }

  /** Fills a slot with positions of texts. @returns false if there is no space for one */
  function fillTexts(slot: Int32Array, { codes, texts }: TextValues, { from, to }: Span): boolean {
    const known = places.get(texts) ?? new Int32Array(texts.length);
    places.set(texts, known);
    for (let row = from; row < to; row++) {
      const code = codes[row]!;
      let place = code < 0 ? marks!.none : known[code]!;
      if (place === 0) known[code] = place = table.token(tokens.text(texts, code));
      if (place < 0) return false;
      slot[row - from] = place;
    }
    return true;
  }

  function fillDates(slot: Int32Array, days: Int32Array, { from, to }: Span): boolean {
    let [day, place] = [NONE, marks!.none];
    for (let row = from; row < to; row++) {
      if (days[row] !== day) {
        day = days[row]!;
        place = day === NONE ? marks!.none : table.token(tokens.date(day));
        if (place < 0) return false;
      }
      slot[row - from] = place;
    }
    return true;
  }

  function fill({ type, values }: NamedColumn, slot: number, span: Span): boolean {
    // The values of a column match its type.
    if (type === 'text') return fillTexts(table.integers(slot), values as TextValues, span);
    if (type === 'date') return fillDates(table.integers(slot), values as Int32Array, span);
    const numbers = (values as Float64Array | Int32Array).subarray(span.from, span.to);
    if (numbers instanceof Int32Array) table.integers(slot).set(numbers);
    else table.numbers(slot).set(numbers);
    return true;
  }

  return {
    write(columns, from, to) {
      if (columns.length > TABLE_COLUMNS_MAX) return false;
      const isFilled = () => columns.every((column, slot) => fill(column, slot, { from, to }));
      // Preparing earlier rows may leave no space for these.
      const fits = (drops === table.drops && isFilled()) || (begin(), isFilled());
      return fits && table.write(columns.map(kindOf), marks!, to - from); // It is set while the drops are current.
    },
  };
}

/** A text that occurs in no cell. */
const NOTHING = ' ';

const kindOf = ({ type, values }: NamedColumn): ColumnKind =>
  type === 'text' || type === 'date' ? 'text' : values instanceof Int32Array ? 'count' : 'number';

interface Span {
  /** Rows, `to` exclusive. */
  readonly from: number;
  readonly to: number;
}

interface Cells extends Span {
  readonly columns: readonly NamedColumn[];
  /** Rows before. */
  readonly written: number;
}

/** Writes rows cell by cell: the first row, texts that exceed the memory of a table, and infinite numbers. */
function writeCells(text: NumberText, tokens: Tokens, { columns, from, to, written }: Cells): void {
  const { first, start, separator, end } = tokens.marks;
  const cells = columns.map((column) => cellOf(column, text, tokens));
  for (let row = from; row < to; row++) {
    writeText(text, written === 0 && row === from ? first : start);
    for (const [c, cell] of cells.entries()) {
      if (c > 0) writeText(text, separator);
      cell(row);
    }
    writeText(text, end);
  }
}

/** @throws Refusal NUMERIC_FAILURE */
function cellOf({ type, values }: NamedColumn, text: NumberText, tokens: Tokens): (row: number) => void {
  const { none } = tokens.marks;
  // The values of a column match its type.
  if (type === 'text') {
    const { codes, texts } = values as TextValues;
    return (row) => writeText(text, codes[row]! < 0 ? none : tokens.text(texts, codes[row]!));
  }
  if (type === 'date') {
    const days = values as Int32Array;
    return (row) => writeText(text, days[row] === NONE ? none : tokens.date(days[row]!));
  }
  const numbers = values as Float64Array | Int32Array;
  const isNone = (value: number) => value !== value || (numbers instanceof Int32Array && value === NONE);
  return (row) => {
    const value = numbers[row]!;
    if (isNone(value)) writeText(text, none);
    else if (!text.number(value)) throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
  };
}

const ENCODER = new TextEncoder();

function writeText(text: NumberText, words: string): void {
  if (!text.ascii(words)) text.bytes(ENCODER.encode(words));
}

/** Texts as a format writes them. */
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

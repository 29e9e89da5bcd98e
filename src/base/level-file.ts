/** Files of dated levels: a CSV file with dates and levels as vendors and spreadsheets write them. */

/** Order of year, month and day in a date. */
export type DateOrder = 'YMD' | 'DMY' | 'MDY';

/** Columns and formats of a file of levels. */
export interface LevelMapping {
  /** Positions of the columns. */
  readonly date: number;
  readonly value: number;
  readonly order: DateOrder;
  readonly decimal: '.' | ',';
}

/** Member of a mapping that the file does not determine, with the question to the user. */
export interface UnsureMember {
  readonly member: keyof LevelMapping;
  readonly question: string;
}

interface Line {
  /** Number of the line in the file, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface LevelFile {
  readonly columns: readonly string[];
  readonly lines: readonly Line[];
}

export interface DatedLevel {
  readonly date: string;
  readonly value: number;
}

export interface ReadLevels {
  /** Levels by date. */
  readonly levels: readonly DatedLevel[];
  /** Most decimals that are written. */
  readonly written: number;
}

/** Names of the columns of dates and of levels. */
const DATE_NAMES = ['date'];
const LEVEL_NAMES = ['value', 'level', 'close'];

/** Returns true if the columns of a mapping have the usual names. */
export const hasUsualNames = ({ columns }: LevelFile, { date, value }: LevelMapping): boolean =>
  DATE_NAMES.includes(columns[date]?.toLowerCase() ?? '') && LEVEL_NAMES.includes(columns[value]?.toLowerCase() ?? '');

export const ORDER_WORDS = { YMD: 'year, month, day', DMY: 'day, month, year', MDY: 'month, day, year' } as const;
export const DECIMAL_WORDS = { '.': 'decimal point', ',': 'decimal comma' } as const;

/**
 * Reads the cells of a CSV file, whose header is optional. Lines before the table are left out.
 * @param skipped number of lines that are ignored
 */
export function openLevelFile(text: string, skipped = 0): LevelFile {
  const table = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .slice(skipped)
    .join('\n');
  const [first = ''] = table.split(/\r?\n/, 1);
  const separators = [';', '\t', ','];
  const separator =
    separators.find((one) => first.includes(one)) ?? separators.find((one) => table.includes(one)) ?? ',';
  const lines = parseCells(table, separator)
    .map((cells, k) => ({ line: skipped + k + 1, cells: cells.map((cell) => cell.trim()) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const start = Math.max(
    0,
    lines.findIndex(({ cells }, k) => cells.length > 1 && cells.length === lines[k + 1]?.cells.length),
  );
  const [head, ...body] = lines.slice(start);
  if (head === undefined) return { columns: [], lines: [] };
  const isHeader = !head.cells.some((cell) => ORDERS.some((order) => parseDate(cell, order) !== null));
  return isHeader
    ? { columns: head.cells, lines: body }
    : { columns: head.cells.map((_, k) => `Column ${k + 1}`), lines: [head, ...body] };
}

const ORDERS: readonly DateOrder[] = ['YMD', 'DMY', 'MDY'];

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Returns a date as 2024-06-28; null if it is none in this order. A time of day is ignored. */
export function parseDate(cell: string, order: DateOrder): string | null {
  const text = cell.replace(/[T ]\d{1,2}:.*$/, '');
  const parts = /^\d{8}$/.test(text)
    ? [text.slice(0, 4), text.slice(4, 6), text.slice(6)]
    : (/^(\d{1,4})[-/. ]+(\d{1,2}|[a-z]{3})[-/. ]+(\d{1,4})$/i.exec(text)?.slice(1) ?? []);
  const at = (letter: string): string => parts[order.indexOf(letter)] ?? '';
  const [year, month, day] = [at('Y'), at('M'), at('D')];
  if (year.length !== 4 || day.length > 2) return null;
  const number = month.length === 3 ? MONTHS.indexOf(month.toLowerCase()) + 1 : Number(month);
  const date = `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
  return new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date) === true ? date : null;
}

const NUMBER = /^[-+]?[\d.,'\s]*\d$/;

/** Matches texts that vendors write for a missing number. */
export const MISSING_NUMBER = /^\s*(null|none|n\/?a|#n\/a( n\/a)?|-+|\.)\s*$/i;

const isMissing = (cell: string): boolean => cell === '' || MISSING_NUMBER.test(cell);

/** Cells from which the format of a column is found. */
const SAMPLE = 2000;

/**
 * Proposes how a file is read.
 * @param known members that the user chose
 * @returns also the other members that the file does not determine
 */
export function proposeLevelMapping(
  { columns, lines }: LevelFile,
  known: Partial<LevelMapping> = {},
): { readonly mapping: LevelMapping; readonly unsure: readonly UnsureMember[] } {
  const unsure: UnsureMember[] = [];
  const read = (column: number): string[] =>
    lines.slice(0, SAMPLE).flatMap(({ cells }) => {
      const cell = cells[column] ?? '';
      return isMissing(cell) ? [] : [cell];
    });
  const all = columns.map((_, column) => ({ column, name: columns[column]!.toLowerCase(), cells: read(column) }));
  const choose = (member: 'date' | 'value', found: typeof all, usual: readonly string[]): number | undefined => {
    if (known[member] !== undefined) return known[member];
    const named = found.filter(({ name }) => usual.includes(name));
    const [chosen] = named.length > 0 ? named : found;
    if (named.length !== 1 && found.length > 1) {
      const names = (named.length > 1 ? named : found).map(({ column }) => columns[column]!).join(', ');
      unsure.push({
        member,
        question: `The file has ${names}. Which has the ${member === 'date' ? 'dates' : 'levels'}?`,
      });
    }
    return chosen?.column;
  };
  const isMost = (cells: readonly string[], isOne: (cell: string) => boolean): boolean =>
    2 * cells.filter(isOne).length >= cells.length && cells.length > 0;
  const dated = all.filter(({ cells }) => isMost(cells, (cell) => ORDERS.some((order) => parseDate(cell, order))));
  const date =
    choose('date', dated, DATE_NAMES) ??
    Math.max(
      0,
      all.findIndex(({ name }) => name === 'date'),
    );
  const numeric = all.filter(
    ({ column, cells }) =>
      column !== date && !dated.some((one) => one.column === column) && isMost(cells, (cell) => NUMBER.test(cell)),
  );
  const value = choose('value', numeric, LEVEL_NAMES) ?? (date === 0 ? 1 : 0);
  const order = known.order ?? findOrder(read(date));
  const decimal = known.decimal ?? findDecimal(read(value));
  if (order === null)
    unsure.push({
      member: 'order',
      question: `Is ${read(date)[0]!} written as month, day, year or as day, month, year?`,
    });
  if (decimal === null) {
    const example = read(value).find((cell) => /[.,]/.test(cell))!;
    unsure.push({ member: 'decimal', question: `Is the separator in ${example} that of decimals or of thousands?` });
  }
  return { mapping: { date, value, order: order ?? 'MDY', decimal: decimal ?? '.' }, unsure };
}

/** Returns the order of dates; null if the months and days can be exchanged. Sessions are ascending or descending, and on weekdays. */
function findOrder(cells: readonly string[]): DateOrder | null {
  if (cells.length === 0) return 'YMD';
  const fits = ORDERS.flatMap((order) => {
    const dates = cells.map((cell) => parseDate(cell, order));
    return dates.every((date) => date !== null) ? [{ order, dates }] : [];
  });
  if (fits.length < 2) return fits[0]?.order ?? (cells[0]?.includes('.') ? 'DMY' : 'YMD');
  if (cells[0]!.includes('.')) return 'DMY';
  const likely = fits.filter(
    ({ dates }) => isSorted(dates) && !dates.some((date) => new Date(date).getUTCDay() % 6 === 0),
  );
  return likely.length === 1 ? likely[0]!.order : null;
}

const isSorted = (dates: readonly string[]): boolean =>
  [1, -1].some((sign) => dates.every((date, k) => k === 0 || (date > dates[k - 1]! ? 1 : -1) === sign));

/** Matches numbers whose sign can separate thousands. */
const OF_THOUSANDS = { '.': /^[-+]?\d{1,3}(\.\d{3})+$/, ',': /^[-+]?\d{1,3}(,\d{3})+$/ } as const;

/** Returns the decimal sign of numbers; null if it can be that of thousands. */
function findDecimal(cells: readonly string[]): '.' | ',' | null {
  const both = cells.find((cell) => cell.includes('.') && cell.includes(','));
  if (both !== undefined) return both.lastIndexOf('.') > both.lastIndexOf(',') ? '.' : ',';
  const written = cells.filter((cell) => /[.,]/.test(cell));
  if (written.length === 0) return '.';
  const sign = written[0]!.includes(',') ? ',' : '.';
  const other = sign === ',' ? '.' : ',';
  const isOfThousands = written.every((cell) => OF_THOUSANDS[sign].test(cell));
  if (!isOfThousands) return sign;
  if (written.some((cell) => cell.split(sign).length > 2)) return other;
  // If each level has the sign, both readings differ only by their scale. Otherwise those below 1,000 can lack it: with
  // the wrong reading, levels jump by about 1,000.
  if (written.length === cells.length) return sign;
  const smooth = ([sign, other] as const).filter(
    (decimal) => !hasJump(cells.map((cell) => parseNumber(cell, decimal))),
  );
  return smooth.length === 1 ? smooth[0]! : null;
}

/** Ratio of two levels after each other that no session has. */
const JUMP = 30;

const hasJump = (levels: readonly number[]): boolean =>
  levels.some((level, k) => k > 0 && Math.abs(Math.log(level / levels[k - 1]!)) > Math.log(JUMP));

/** Returns the number in a cell; NaN if it is none. */
function parseNumber(cell: string, decimal: LevelMapping['decimal']): number {
  if (!NUMBER.test(cell)) return Number.NaN;
  const plain = cell.replaceAll(decimal === '.' ? ',' : '.', '').replaceAll(/['\s]/g, '');
  return Number(plain.replace(decimal, '.'));
}

export type LevelsOfFile = ReadLevels | { readonly problem: string };

/** Readers of cells in stated formats, in place of those of the mapping. */
interface StatedFormats {
  /** Returns a date as 2024-06-28; null if the cell has none. */
  readonly readDate?: ((cell: string) => string | null) | undefined;
  /** Returns the number in a cell; NaN if it has none. */
  readonly readNumber?: ((cell: string) => number) | undefined;
}

/** Reads the levels of a file by date. Lines without a level, such as those of holidays, are left out. */
export function readLevelFile(
  { lines }: LevelFile,
  { date: dateAt, value: valueAt, order, decimal }: LevelMapping,
  { readDate, readNumber }: StatedFormats = {},
): LevelsOfFile {
  const levels: DatedLevel[] = [];
  const lineByDate = new Map<string, number>();
  let written = 0;
  for (const { line, cells } of lines) {
    const [text = '', cell = ''] = [cells[dateAt], cells[valueAt]];
    if (isMissing(cell)) continue;
    const date = readDate === undefined ? parseDate(text, order) : readDate(text);
    if (date === null)
      return {
        problem:
          readDate === undefined
            ? `line ${line} has the date ${text}; dates are written as 2024-06-28, 6/28/2024 or 28.6.2024.`
            : `line ${line} has the date ${text}, which does not have the stated format.`,
      };
    const value = readNumber === undefined ? parseNumber(cell, decimal) : readNumber(cell);
    if (!(value > 0)) return { problem: `line ${line} has the level ${cell}, which is not a number above 0.` };
    const earlier = lineByDate.get(date);
    if (earlier !== undefined) return { problem: `line ${line} has the date ${text}, as line ${earlier}.` };
    lineByDate.set(date, line);
    levels.push({ date, value });
    written = Math.max(written, cell.split(decimal)[1]?.length ?? 0);
  }
  if (levels.length < 2)
    return {
      problem: `has ${levels.length === 1 ? '1 level' : `${levels.length} levels`}; a comparison needs at least 2.`,
    };
  return { levels: levels.toSorted((a, b) => (a.date < b.date ? -1 : 1)), written };
}

/** Returns the cells of each line of a file whose cells are separated by one character. A quoted cell may contain it. */
export function parseCells(csv: string, separator = ','): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let position = 0; position < csv.length;) {
    const cell = csv[position] === '"' ? quoteCell(csv, position) : parsePlainCell(csv, position, separator);
    row.push(cell.text);
    position = cell.end;
    if (csv[position] === separator) {
      position += 1;
      if (position < csv.length) continue;
      row.push(''); // the last line ends with a separator
    }
    rows.push(row);
    row = [];
    position += csv.startsWith('\r\n', position) ? 2 : 1;
  }
  return rows;
}

interface Cell {
  readonly text: string;
  /** Position after the cell. It is the position of a separator, of a line break or of the end of the file. */
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

function parsePlainCell(csv: string, start: number, separator: string): Cell {
  let end = start;
  while (end < csv.length && csv[end] !== separator && csv[end] !== '\n' && csv[end] !== '\r') end += 1;
  return { text: csv.slice(start, end), end };
}

import { isDate, formatWeekday } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { parseCells } from '../../words/tables.js';

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

/** Names of the column of levels. */
const LEVEL_NAMES = ['value', 'level', 'close'];

/** Reads the cells of a CSV file, whose header is optional. Lines before the table are left out. */
export function openLevelFile(text: string): LevelFile {
  const [first = ''] = text.split(/\r?\n/, 1);
  const separators = [';', '\t', ','];
  const separator =
    separators.find((one) => first.includes(one)) ?? separators.find((one) => text.includes(one)) ?? ',';
  const lines = parseCells(text, separator)
    .map((cells, k) => ({ line: k + 1, cells: cells.map((cell) => cell.trim()) }))
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
  return isDate(date) ? date : null;
}

const NUMBER = /^[-+]?[\d.,'\s]*\d$/;

/** Matches texts that vendors write for a missing number, as imports do. */
const MISSING_LEVEL = /^(null|none|n\/?a|#n\/a( n\/a)?|-+|\.|)$/i;

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
      return MISSING_LEVEL.test(cell) ? [] : [cell];
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
    choose('date', dated, ['date']) ??
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
    ({ dates }) => isSorted(dates) && !dates.some((date) => ['Sat', 'Sun'].includes(formatWeekday(date).slice(0, 3))),
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
  // If each level has the sign, both readings differ only by their scale. Otherwise those below 1,000 can lack it.
  return written.length === cells.length ? sign : null;
}

/** Returns the number in a cell; NaN if it is none. */
function parseNumber(cell: string, decimal: LevelMapping['decimal']): number {
  if (!NUMBER.test(cell)) return Number.NaN;
  const plain = cell.replaceAll(decimal === '.' ? ',' : '.', '').replaceAll(/['\s]/g, '');
  return Number(plain.replace(decimal, '.'));
}

export type LevelsOfFile = ReadLevels | { readonly problem: string };

/** Reads the levels of a file by date. Lines without a level, such as those of holidays, are left out. */
export function readLevelFile(
  { lines }: LevelFile,
  { date: dateAt, value: valueAt, order, decimal }: LevelMapping,
): LevelsOfFile {
  const levels: DatedLevel[] = [];
  const lineByDate = new Map<string, number>();
  let written = 0;
  for (const { line, cells } of lines) {
    const [text = '', cell = ''] = [cells[dateAt], cells[valueAt]];
    if (MISSING_LEVEL.test(cell)) continue;
    const date = parseDate(text, order);
    if (date === null)
      return { problem: `line ${line} has the date ${text}; dates are written as 2024-06-28, 6/28/2024 or 28.6.2024.` };
    const value = parseNumber(cell, decimal);
    if (!(value > 0)) return { problem: `line ${line} has the level ${cell}, which is not a number above 0.` };
    const earlier = lineByDate.get(date);
    if (earlier !== undefined) return { problem: `line ${line} has the date ${text}, as line ${earlier}.` };
    lineByDate.set(date, line);
    levels.push({ date, value });
    written = Math.max(written, cell.split(decimal)[1]?.length ?? 0);
  }
  if (levels.length < 2)
    return { problem: `has ${countValues(levels.length, 'level')}; a comparison needs at least 2.` };
  return { levels: levels.toSorted((a, b) => (a.date < b.date ? -1 : 1)), written };
}

/** Levels of a run. */
interface RunLevels {
  readonly index: readonly string[];
  readonly data: readonly (number | null)[];
}

/** Common sessions from which hints on the returns are given. */
const RETURNS_LEAST = 20;

/** Fraction of returns that agree below which nothing of the levels seems to be that of the run. */
const AGREED_LEAST = 0.05;

/** Correlation of returns from which two levels are those of one index. */
const SAME_INDEX = 0.99;

/** Most decimals of a level that a vendor stored as float32; it is written with more of them. */
const FLOAT32_DECIMALS = 4;

/** Note to the user before a comparison. */
export interface Hint {
  readonly kind: 'info' | 'warning';
  readonly text: string;
}

/** Returns what the user should know before a comparison: levels of another index, decimals without information, too few sessions. */
export function listHints({ levels, written }: ReadLevels, { index, data }: RunLevels): Hint[] {
  const hints: Hint[] = [];
  const warn = (text: string): void => void hints.push({ kind: 'warning', text });
  const own = new Map(index.map((date, t) => [date, data[t] ?? Number.NaN]));
  const common = levels.filter(({ date }) => own.get(date)! > 0);
  const values = levels.map(({ value }) => value);
  const carried = Math.max(...values.map((value) => String(value).split('.')[1]?.length ?? 0));
  const stored = Array.from({ length: FLOAT32_DECIMALS + 1 }, (_, d) => d).find((d) =>
    values.every((value) => Math.fround(Number(value.toFixed(d))) === Math.fround(value)),
  );
  const decimals = stored !== undefined && carried > FLOAT32_DECIMALS ? stored : carried;
  if (decimals < written) {
    const example = levels.find(({ value }) => String(value).length > value.toFixed(decimals).length)?.value;
    hints.push({
      kind: 'info',
      text: `The levels are written with ${countValues(written, 'decimal')}, but their values carry ${decimals}${example === undefined ? '' : ` (${example} is ${example.toFixed(decimals)} in single precision)`}. They are compared with ${decimals}.`,
    });
  }
  if (common.length < 2) {
    warn(
      `${common.length === 0 ? 'None' : 'Only one'} of the ${countValues(levels.length, 'date')} is a session of the run, ${index[0]} to ${index.at(-1)}. A comparison needs at least 2.`,
    );
    return hints;
  }
  if (common.length <= RETURNS_LEAST) return hints;
  const pairs = common.slice(1).map(({ date, value }, k) => {
    const before = common[k]!;
    const [own_, outside] = [own.get(date)! / own.get(before.date)! - 1, value / before.value - 1];
    return { own: own_, outside, tolerance: 10 ** -decimals / Math.min(value, before.value) + 1e-12 };
  });
  const agreed = pairs.filter(({ own: a, outside: b, tolerance }) => Math.abs(a - b) <= tolerance).length;
  if (agreed >= AGREED_LEAST * pairs.length) return hints;
  const correlation = correlate(
    pairs.map((pair) => pair.own),
    pairs.map((pair) => pair.outside),
  );
  const reason =
    correlation >= SAME_INDEX
      ? 'another return variant or currency, or levels with a fee or moved by a rate on every session'
      : 'another index, another currency or moved dates';
  warn(
    `Hardly any return agrees (${agreed} of ${pairs.length}), from the first session on. The correlation of the returns is ${correlation.toFixed(4)}: most likely ${reason}.`,
  );
  return hints;
}

/** Returns the correlation of two samples. */
function correlate(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  const sum = (of: (k: number) => number): number => a.reduce((total, _, k) => total + of(k), 0);
  const covariance = sum((k) => (a[k]! - meanA) * (b[k]! - meanB));
  return covariance / Math.sqrt(sum((k) => (a[k]! - meanA) ** 2) * sum((k) => (b[k]! - meanB) ** 2));
}

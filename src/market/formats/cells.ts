import { type Day, isTimeZone, parseDay, toDay } from '#domain/base/time.js';

/** Texts of the rows above the header of a table. */
export type Heading = readonly (readonly string[])[];

/** Time of a column with a time zone. Its day depends on a time zone; other dates have the day that they show. */
export class Instant extends Date {}

/** Cell of a table as read from its file format. An empty cell is null. */
export type Cell = string | number | bigint | boolean | Date | ShownValue | null;

/** Number or logical value of a workbook whose cell shows another text than the value, such as 0007 or TRUE. */
export class ShownValue {
  readonly value: number | boolean;
  readonly text: string;
  constructor(value: number | boolean, text: string) {
    this.value = value;
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** Maximum size of a text of a source in bytes. A workbook cell has at most 32,767 characters. */
export const TEXT_BYTES_MAX = 32_768;

const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;
const UTC_OFFSET = /^(Z|[+-]00(:?00)?)$/;
const MISSING_TEXTS = new Set(['', 'nan', 'NaN', 'NAN']);
const MS_PER_DAY = 86_400_000;
/** Maximum length of a text with an instant: more than nanoseconds, an offset and spaces around them. */
const INSTANT_LENGTH_MAX = 60;

/** First and last day of the API: 0001-01-01 and 9999-12-31. */
const DAY_MIN: Day = toDay({ year: 1, month: 1, day: 1 });
const DAY_MAX: Day = toDay({ year: 9999, month: 12, day: 31 });

/**
 * Returns the number in a cell. Returns NaN if it is missing, undefined for any other content. Only a decimal point is
 * accepted; infinities are rejected.
 */
export function readNumber(cell: Cell | undefined): number | undefined {
  if (cell === null || cell === undefined) return Number.NaN;
  if (typeof cell === 'number') return Number.isNaN(cell) || Number.isFinite(cell) ? cell : undefined;
  if (typeof cell === 'bigint') return Number(cell);
  if (cell instanceof ShownValue) return typeof cell.value === 'number' ? cell.value : undefined;
  if (typeof cell !== 'string') return undefined;
  const text = cell.trim();
  if (MISSING_TEXTS.has(text)) return Number.NaN;
  if (!NUMBER_TEXT.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Returns the day in a cell. Returns null if the cell is empty, undefined for an invalid day. The time of day is
 * ignored.
 */
export function readDay(cell: Cell | undefined): Day | null | undefined {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) return toWireDay(Math.floor(cell.getTime() / MS_PER_DAY));
  if (cell instanceof ShownValue) return readDay(cell.text);
  if (typeof cell !== 'string') return undefined;
  const text = cell.trim();
  if (text === '' || text === 'NaT') return null;
  const match = DATE_TIME.exec(text);
  return match === null ? undefined : toWireDay(parseDay(match[1]!) ?? Number.NaN);
}

/**
 * Returns the milliseconds since 1970 of a cell with an instant in UTC. Returns undefined for other cells, including
 * texts with another offset, which are in the local time of the file.
 */
export function findInstant(cell: Cell | undefined): number | undefined {
  if (cell instanceof Instant) return cell.getTime();
  if (typeof cell !== 'string' || cell.length > INSTANT_LENGTH_MAX) return undefined;
  const [, day, time, , , offset] = DATE_TIME.exec(cell.trim()) ?? [];
  if (day === undefined || time === undefined || offset === undefined || !UTC_OFFSET.test(offset)) return undefined;
  const ms = Date.parse(`${day}T${time.slice(1, time.length - offset.length)}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns true for an instant that is not the beginning of a day in UTC. Its day is unknown without a time zone. */
export const isTimeOfDay = (ms: number): boolean => ms % MS_PER_DAY !== 0;

const toWireDay = (day: Day): Day | undefined => (day >= DAY_MIN && day <= DAY_MAX ? day : undefined);

/** Returns the text in a cell, null if the cell is empty. A number is returned as written, a date as its day. */
export function readText(cell: Cell | undefined): string | null {
  if (cell === null || cell === undefined) return null;
  if (cell instanceof Date) {
    const [day, time] = cell.toISOString().split('T');
    return time === '00:00:00.000Z' ? day! : cell.toISOString();
  }
  const text = String(cell).trim();
  return text === '' ? null : text;
}

/** Formats a cell for a message. A date has the form of its day; other values are formatted as written. */
export const formatWrittenCell = (cell: Cell | undefined): string =>
  cell instanceof Date && !Number.isNaN(cell.getTime()) ? readText(cell)! : String(cell);

/** Explains why a text is not a number, in a clause for an error message. */
export function explainNotANumber(text: string): string {
  const numberText = text.trim();
  if (/^[+-]?\d{1,3},\d{3}$/.test(numberText))
    return 'has a comma that may be a decimal mark or a thousands separator; write a decimal point, or set decimal or thousands of the mapping';
  if (/^[+-]?\d{1,3}(,\d{3})+\.\d*$|^[+-]?\d{1,3}(,\d{3}){2,}$/.test(numberText))
    return 'has commas as thousands separators; remove them, or set thousands of the mapping';
  if (/^[+-]?(?:[$€£¥₹] ?\d[\d.,]*|\d[\d.,]* ?(?:[KMBT]|[$€£¥₹]))$/i.test(numberText))
    return 'has a currency sign or a unit; remove it, or set units of the mapping';
  return /^[+-]?\d+(\.\d{3})*,\d+$/.test(numberText)
    ? 'has a decimal comma; write a decimal point, or set decimal of the mapping'
    : 'is not a finite number';
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Maximum number of timestamps per time zone with a cached day. A history has few distinct timestamps. */
const CACHED_TIMES_MAX = 100_000;

const OFFSET_TEXT = /^([+-])(\d\d):?(\d\d)$/;

/** Returns the minutes by which a zone written as `+01:00` is ahead of UTC; undefined for a named zone. */
export function parseOffsetMinutes(zone: string): number | undefined {
  const [, sign, hours, minutes] = OFFSET_TEXT.exec(zone) ?? [];
  return sign === undefined ? undefined : (sign === '-' ? -1 : 1) * (60 * Number(hours) + Number(minutes));
}

/** Returns true if a zone is UTC. Files state it for instants of every exchange, so it states no local day. */
export const isUtc = (zone: string): boolean => /^(utc|gmt|etc\/(utc|gmt)|z|[+-]00:?00)$/i.test(zone);

/** Checks that a time zone exists. @throws Error for an unknown time zone */
export function assertTimeZone(zone: string, column: string): void {
  if (parseOffsetMinutes(zone) !== undefined || isTimeZone(zone)) return;
  throw new Error(`The time zone ${zone.slice(0, 40)} of the column ${column.slice(0, 80)} is not known`);
}

/**
 * Returns a function that converts timestamps in milliseconds since 1970 to local days of a time zone.
 * @throws Error for an unknown time zone
 */
export function createZoneReader(zone: string): (ms: number) => Day {
  const minutes = zone === 'UTC' ? 0 : parseOffsetMinutes(zone);
  if (minutes !== undefined) return (ms) => Math.floor((ms + minutes * MINUTE_MS) / DAY_MS);
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric', month: 'numeric', day: 'numeric' });
  const daysByMs = new Map<number, Day>();
  return (ms) => {
    let day = daysByMs.get(ms);
    if (day === undefined) {
      const parts = Object.fromEntries(clock.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
      day = toDay({ year: parts['year']!, month: parts['month']!, day: parts['day']! });
      if (daysByMs.size >= CACHED_TIMES_MAX) daysByMs.clear();
      daysByMs.set(ms, day);
    }
    return day;
  };
}

/**
 * Returns the SQL of SQLite columns. Texts are cut just above the maximum length, so that `boundCell` detects texts
 * that are too long.
 */
export const shortenColumns = (columns: readonly string[]): string =>
  columns
    .map((column) => {
      const name = `"${column.replaceAll('"', '""')}"`;
      return `CASE WHEN typeof(${name}) IN ('text', 'blob') THEN substr(${name}, 1, ${TEXT_BYTES_MAX + 1}) ELSE ${name} END AS ${name}`;
    })
    .join(', ');

/** Checks and returns a cell of a database. @throws Error if its text is too long */
export function boundCell(cell: Cell, column: string): Cell {
  if (typeof cell === 'string' && cell.length > TEXT_BYTES_MAX)
    throw new Error(`The column ${column.slice(0, 80)} has a text of more than ${TEXT_BYTES_MAX} bytes`);
  return cell;
}

/** Returns the names of columns of a table without a header: #1, #2 and so on. */
export const namePositions = (count: number): string[] => Array.from({ length: count }, (_, i) => `#${i + 1}`);

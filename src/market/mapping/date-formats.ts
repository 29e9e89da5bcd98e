import { dayOf, formatDay, parseDay, type Day } from '#domain/days.js';
import type { EPOCH_FORMATS } from '#domain/documents/mapping.js';
import { dayIn, type Cell } from '../formats/cells.js';

/** Reads the day in a cell: null where it is empty, undefined where it is not a day that exists. */
export type DayReader = (cell: Cell | undefined) => Day | null | undefined;

const SECONDS_PER_DAY = 86_400;
const UNITS_PER_DAY: Readonly<Record<(typeof EPOCH_FORMATS)[number], number>> = {
  epoch_s: SECONDS_PER_DAY,
  epoch_ms: SECONDS_PER_DAY * 1e3,
  epoch_us: SECONDS_PER_DAY * 1e6,
  epoch_ns: SECONDS_PER_DAY * 1e9,
};

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Two-digit years from here on are of the last century, as POSIX has it. */
const CENTURY_FROM = 69;

const PARTS: Readonly<Record<string, { readonly part: 'year' | 'month' | 'day'; readonly pattern: string }>> = {
  YYYY: { part: 'year', pattern: '(\\d{4})' },
  YY: { part: 'year', pattern: '(\\d{2})' },
  MMM: { part: 'month', pattern: '([A-Za-z]{3,9})\\.?' },
  MM: { part: 'month', pattern: '(\\d{2})' },
  M: { part: 'month', pattern: '(\\d{1,2})' },
  DD: { part: 'day', pattern: '(\\d{2})' },
  D: { part: 'day', pattern: '(\\d{1,2})' },
};

/** Formats that may be proposed, the most usual first; where two fit, only the data can say which it is. */
export const USUAL_FORMATS = [
  'YYYY-MM-DD',
  'YYYYMMDD',
  'M/D/YYYY',
  'D/M/YYYY',
  'D.M.YYYY',
  'D-MMM-YYYY',
  'D MMM YYYY',
  'MMM D, YYYY',
  'D-MMM-YY',
  'M/D/YY',
  'D/M/YY',
  'YYYY/M/D',
  'D-M-YYYY',
] as const;

/** The reader of days written in a format; null is YYYY-MM-DD. Cells that are dates already are taken as they are. */
export function dayReader(format: string | null): DayReader {
  if (format === null) return dayIn;
  const read = Object.hasOwn(UNITS_PER_DAY, format)
    ? epochReader(UNITS_PER_DAY[format as (typeof EPOCH_FORMATS)[number]]) // one of its keys
    : patternReader(format);
  return (cell) => {
    if (cell === null || cell === undefined) return null;
    if (cell instanceof Date) return dayIn(cell);
    const text = String(cell).trim();
    if (text === '' || text === 'NaT') return null;
    return read(text);
  };
}

function epochReader(units: number): (text: string) => Day | undefined {
  return (text) => {
    if (!/^-?\d{1,20}$/.test(text)) return undefined;
    const day = Math.floor(Number(text) / units);
    return dayIn(new Date(day * SECONDS_PER_DAY * 1000)) ?? undefined;
  };
}

function patternReader(format: string): (text: string) => Day | undefined {
  const parts: ('year' | 'month' | 'day')[] = [];
  const pattern = format.replace(/YYYY|YY|MMM|MM|M|DD|D|[^A-Za-z0-9\s]|\s/g, (token) => {
    const known = PARTS[token];
    if (known === undefined) return /\s/.test(token) ? '\\s+' : `\\${token}`;
    parts.push(known.part);
    return known.pattern;
  });
  const whole = new RegExp(`^${pattern}(?:[T\\s]+\\d{1,2}:\\d{2}.*)?$`);
  return (text) => {
    const match = whole.exec(text);
    if (match === null) return undefined;
    const at = (part: 'year' | 'month' | 'day') => match[parts.indexOf(part) + 1]!;
    const year = yearOf(at('year'));
    const month = monthOf(at('month'));
    const day = Number(at('day'));
    if (month < 1 || month > 12) return undefined;
    const found = dayOf({ year, month, day });
    return parseDay(formatDay(found)) === found && isOn(found, { year, month, day }) ? found : undefined;
  };
}

/** Whether a day is the date it was made of: a 30 February is another one. */
function isOn(found: Day, { year, month, day }: { year: number; month: number; day: number }): boolean {
  return formatDay(found) === `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
}

const two = (number: number) => String(number).padStart(2, '0');

function yearOf(text: string): number {
  const year = Number(text);
  return text.length > 2 ? year : year + (year >= CENTURY_FROM ? 1900 : 2000);
}

function monthOf(text: string): number {
  return /^\d/.test(text) ? Number(text) : MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;
}

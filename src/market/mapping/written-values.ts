import { type Day, formatDay, parseDay, toDay } from '#domain/base/time.js';
import type { EPOCH_FORMATS, Mapping } from '#domain/definition/mapping.js';
import type { MarketFile } from '../content/market-rows.js';
import { type Cell, findInstant, readDay, readNumber } from '../formats/cells.js';
import { formatCellPath, type DataProblem, type Problems, quoteValue } from '../tables/problems.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import { ADJUSTED_CLOSE } from './columns.js';

/** Thousands marks by kind. The kinds apostrophe and space each include several characters. */
const THOUSANDS = { ',': ',', '.': '.', "'": "'\u2019", ' ': ' \u00a0\u2009\u202f' } as const;

type Thousands = keyof typeof THOUSANDS;

const THOUSANDS_MARKS = `.${THOUSANDS["'"]}${THOUSANDS[' ']}`;
const COMMA_NUMBER = new RegExp(
  `^[+-]?(?=[\\d,])(?:\\d+|\\d{1,3}(?:[${THOUSANDS_MARKS}]\\d{3})+)?(?:,\\d+)?(?:[eE][+-]?\\d+)?$`,
);
const THOUSANDS_MARK = new RegExp(`[${THOUSANDS_MARKS}]`, 'g');

/** Patterns of numbers with separated thousands and a decimal point, by thousands mark. */
const GROUPED_NUMBERS = Object.fromEntries(
  Object.entries(THOUSANDS).map(([mark, set]) => [
    mark,
    {
      number: new RegExp(`^[+-]?\\d{1,3}(?:[${set}]\\d{3})+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?$`),
      marks: new RegExp(`[${set}]`, 'g'),
    },
  ]),
) as Readonly<Record<Thousands, { readonly number: RegExp; readonly marks: RegExp }>>; // the keys are those of THOUSANDS

/** Patterns of whole numbers with separated thousands. */
const GROUPED_INTEGERS = { ',': /^[+-]?\d{1,3}(?:,\d{3})+$/, '.': /^[+-]?\d{1,3}(?:\.\d{3})+$/ } as const;

/** Matches a number with a currency sign before or after it, and a unit after it. */
const NUMBER_WITH_UNITS = /^([+-]?)\s*([$€£¥₹]?)\s*([+-]?[\d.,'\u2019\s]*\d[.]?)\s*([KMBT]?)\s*([$€£¥₹]?)$/i;
/** Maximum length of a number with marks and units, in characters. */
const LENGTH_MAX = 60;

const EXPONENTS: Readonly<Record<string, string>> = { K: 'e3', M: 'e6', B: 'e9', T: 'e12' };

/** Fields that contain share counts, which have no fraction. */
export const COUNT_FIELDS: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING']);

type NumberReader = (cell: Cell | undefined) => number | undefined;

/** Returns the number in a cell with a decimal comma. Returns NaN or undefined in the cases of `readNumber`. */
export function readCommaNumber(cell: Cell | undefined): number | undefined {
  if (typeof cell !== 'string') return readNumber(cell);
  const text = cell.trim();
  if (!COMMA_NUMBER.test(text)) return text === '' || text.toLowerCase() === 'nan' ? Number.NaN : undefined;
  return readNumber(text.replaceAll(THOUSANDS_MARK, '').replace(',', '.'));
}

/**
 * Returns the thousands mark of a number with a decimal point, such as 1,234 or 1'234.5. Returns undefined if it has
 * none.
 */
export function findThousandsMark(cell: unknown): Exclude<Thousands, '.'> | undefined {
  if (typeof cell !== 'string') return undefined;
  const text = cell.trim();
  return ([',', "'", ' '] as const).find((mark) => GROUPED_NUMBERS[mark].number.test(text));
}

/** Returns a reader of numbers with the given thousands mark and a decimal point. It is otherwise like `readNumber`. */
const createThousandsReader =
  (mark: Thousands): NumberReader =>
  (cell) => {
    const { number, marks } = GROUPED_NUMBERS[mark];
    return readNumber(typeof cell === 'string' && number.test(cell.trim()) ? cell.trim().replaceAll(marks, '') : cell);
  };

/**
 * Returns the number in a cell with any thousands mark and a decimal point. Returns NaN or undefined in the cases of
 * `readNumber`.
 */
export const parseAnyThousands = (cell: Cell | undefined): number | undefined =>
  createThousandsReader(findThousandsMark(cell) ?? ',')(cell);

/** Returns a reader of whole numbers in which the decimal mark separates thousands. Fractions are rejected. */
const createCountReader =
  (mark: ',' | '.'): NumberReader =>
  (cell) => {
    if (typeof cell !== 'string') return readNumber(cell);
    const text = cell.trim();
    if (text.includes(mark) && !GROUPED_INTEGERS[mark].test(text)) return undefined;
    return readNumber(text.replaceAll(mark, ''));
  };

/** Returns true if a text is a whole number with a thousands mark that could also be a decimal mark: 58,490. */
export const isGroupedCount = (cell: Cell | undefined, mark: ',' | '.'): cell is string =>
  typeof cell === 'string' && GROUPED_INTEGERS[mark].test(cell.trim());

/** Splits a number into digits, exponent and currency sign. Returns undefined if a text has neither sign nor unit. */
export function splitUnits(
  cell: unknown,
): { readonly number: string; readonly exponent: string; money: string } | undefined {
  const match = typeof cell === 'string' && cell.length <= LENGTH_MAX ? NUMBER_WITH_UNITS.exec(cell.trim()) : null;
  if (match === null) return undefined;
  const [, sign = '', before = '', digits = '', unit = '', behind = ''] = match;
  if (before + behind + unit === '') return undefined;
  return { number: sign + digits.trim(), exponent: EXPONENTS[unit.toUpperCase()] ?? '', money: before || behind };
}

/** Returns a reader that also accepts a currency sign and a unit: 59.83M is 59,830,000, rounded once. */
function addUnits(numberReader: NumberReader): NumberReader {
  return (cell) => {
    const units = splitUnits(cell);
    return numberReader(units === undefined ? cell : units.number + units.exponent);
  };
}

/**
 * Returns the number reader of a field. Units are read only in bar fields and in fields that the mapping names.
 * Elsewhere, 3M may be a company.
 */
export function createNumberReader({ decimal, thousands, units, columns }: Mapping, field: string): NumberReader {
  const numberReader = createPlainReader(decimal, thousands, COUNT_FIELDS.has(field));
  const isNamed = isKnownColumn('market', field) || field === ADJUSTED_CLOSE || Object.hasOwn(columns, field);
  return units === 'read' && isNamed ? addUnits(numberReader) : numberReader;
}

function createPlainReader(
  decimal: Mapping['decimal'],
  thousands: Mapping['thousands'],
  isCount: boolean,
): NumberReader {
  if (thousands === decimal && isCount) return createCountReader(decimal);
  if (decimal === ',') return readCommaNumber;
  return thousands === null || thousands === '.' ? readNumber : createThousandsReader(thousands);
}

interface CellLocation {
  readonly file: MarketFile;
  readonly row: number;
}

/** Observer of the share counts of a market with a decimal comma. */
interface CountMarks {
  see(field: string, cell: Cell | undefined, place: CellLocation): void;
  report(): void;
}

/**
 * Creates warnings about share counts with exactly three decimals, such as 58,490 next to 14,82. The comma may separate
 * thousands there. Returns undefined if the mapping states the thousands mark or has a decimal point.
 */
export function createCountMarks({ decimal, thousands }: Mapping, problems: Problems): CountMarks | undefined {
  if (decimal !== ',' || thousands === ',') return undefined;
  /** First suspect count by field. It is null if another count of the field has a comma that is a decimal mark. */
  const suspects = new Map<string, DataProblem | null>();

  function recordCell(field: string, cell: Cell | undefined, { file, row }: CellLocation): void {
    if (typeof cell !== 'string' || !COUNT_FIELDS.has(field) || suspects.get(field) === null || !cell.includes(','))
      return;
    if (!isGroupedCount(cell, ',')) suspects.set(field, null);
    else if (!suspects.has(field) && readCommaNumber(cell) !== undefined)
      suspects.set(field, {
        code: 'NOT_A_NUMBER',
        path: formatCellPath(file.label, row, field),
        message: `${field} is ${quoteValue(cell)}, read as ${readCommaNumber(cell)}: shares have no fractions. If its comma separates thousands, set thousands "," in the mapping.`,
        value: cell,
      });
  }

  return {
    see: recordCell,
    report() {
      for (const problem of suspects.values()) if (problem !== null) problems.warning(problem);
    },
  };
}

/**
 * Function that returns the day in a cell. It returns null if the cell is empty, undefined if it is not a valid day.
 */
type DayReader = (cell: Cell | undefined) => Day | null | undefined;

const MS_PER_DAY = 86_400_000;
/** Units per second of numbers since 1970. */
const EPOCH_UNITS: Readonly<Record<(typeof EPOCH_FORMATS)[number], bigint>> = {
  epoch_s: 1n,
  epoch_ms: 1_000n,
  epoch_us: 1_000_000n,
  epoch_ns: 1_000_000_000n,
};

/** Names of months without accents: English, German, French, Spanish, Italian, Dutch, Portuguese, and abbreviations. */
const MONTHS: readonly (readonly string[])[] = [
  'january januar jaenner janner janvier enero gennaio januari janeiro',
  'february februar fevrier febrero febbraio februari fevereiro',
  'march maerz marz mrz mars marzo maart mrt marco',
  'april avril abril aprile',
  'may mai mayo maggio mei maio',
  'june juni juin junio giugno junho',
  'july juli juillet julio luglio julho',
  'august aout agosto augustus',
  'september septembre septiembre settembre setembro',
  'october oktober octobre octubre ottobre outubro',
  'november novembre noviembre novembro',
  'december dezember decembre diciembre dicembre dezembro',
].map((names) => names.split(' '));

const MONTH_LENGTH_MAX = 12;

/** Two-digit years from this one on belong to the 20th century, lower ones to the 21st, as in POSIX. */
const CENTURY_PIVOT = 69;

type Part = 'year' | 'month' | 'day';

/** Minimum and maximum number of digits of each token; a month in letters has none. */
const DIGITS_BY_TOKEN: Readonly<
  Record<string, { readonly part: Part; readonly digits: readonly [number, number] | null }>
> = {
  YYYY: { part: 'year', digits: [4, 4] },
  YY: { part: 'year', digits: [2, 2] },
  MMM: { part: 'month', digits: null },
  MM: { part: 'month', digits: [2, 2] },
  M: { part: 'month', digits: [1, 2] },
  DD: { part: 'day', digits: [2, 2] },
  D: { part: 'day', digits: [1, 2] },
};

/** Maximum length of a text with a day and its time. */
const TEXT_MAX = 80;

/** Formats that may be proposed, the most common first. If several fit, only the data can decide. */
export const COMMON_FORMATS = [
  'YYYY-MM-DD',
  'YYYYMMDD',
  'M/D/YYYY',
  'D/M/YYYY',
  'D.M.YYYY',
  'D-MMM-YYYY',
  'D MMM YYYY',
  'D. MMM YYYY',
  'D.MMM.YYYY',
  'MMM D, YYYY',
  'D-MMM-YY',
  'D MMM YY',
  'M/D/YY',
  'D/M/YY',
  'YYYY/M/D',
  'D-M-YYYY',
] as const;

/** Returns a reader of days in a format. Null means YYYY-MM-DD. A date cell has its day in any format. */
export function createDayReader(format: string | null): DayReader {
  if (format === null) return readDay;
  const parseInstant = createEpochReader(format);
  const parseText =
    format === 'excel'
      ? parseSerial
      : parseInstant === undefined
        ? createPatternReader(format)
        : (text: string) => {
            const ms = parseInstant(text);
            return ms === undefined
              ? undefined
              : (readDay(new Date(Math.floor(ms / MS_PER_DAY) * MS_PER_DAY)) ?? undefined);
          };
  return (cell) => {
    if (cell === null || cell === undefined) return null;
    if (cell instanceof Date) return readDay(cell);
    const text = String(cell).trim();
    if (text === '' || text === 'NaT') return null;
    return parseText(text);
  };
}

/** Serial number 0 of Excel's dates, which count a 29 February 1900. */
const SERIAL_EPOCH = toDay({ year: 1899, month: 12, day: 30 });

/** First serial number after the 29 February 1900 that does not exist. */
const SERIAL_MIN = 61;

/** Returns the day of a serial number of Excel, of which a fraction is the time of day. */
function parseSerial(text: string): Day | undefined {
  if (!/^\d{1,7}(\.\d*)?$/.test(text) || Number(text) < SERIAL_MIN) return undefined;
  return readDay(new Date((SERIAL_EPOCH + Math.floor(Number(text))) * MS_PER_DAY)) ?? undefined;
}

/**
 * Returns a reader of instants in a format, in milliseconds since 1970. Its result is undefined for cells whose day does
 * not depend on a time zone, or which are not valid.
 */
export function createInstantReader(format: string | null): (cell: Cell | undefined) => number | undefined {
  const parseInstant = format === null ? undefined : createEpochReader(format);
  if (parseInstant === undefined)
    return format === null ? findInstant : (cell) => (cell instanceof Date ? findInstant(cell) : undefined);
  const readUtcDay = createDayReader(format);
  return (cell) =>
    cell instanceof Date
      ? findInstant(cell)
      : typeof readUtcDay(cell) === 'number'
        ? parseInstant(String(cell).trim())
        : undefined;
}

/** Returns a parser of numbers since 1970, in milliseconds. Returns undefined for a pattern of dates. */
function createEpochReader(format: string): ((text: string) => number | undefined) | undefined {
  if (!Object.hasOwn(EPOCH_UNITS, format)) return undefined;
  const unitsPerSecond = EPOCH_UNITS[format as keyof typeof EPOCH_UNITS]; // the key was just tested
  return (text) => {
    const digits = /^(-?\d{1,20})(?:\.0*)?$/.exec(text)?.[1];
    if (digits === undefined) return undefined;
    // A double does not hold the nanoseconds of today, and the last one before midnight must not become the next day.
    const thousandths = BigInt(digits) * 1_000n;
    const rest = thousandths % unitsPerSecond;
    return Number(thousandths / unitsPerSecond - (rest < 0n ? 1n : 0n));
  };
}

function createPatternReader(format: string): (text: string) => Day | undefined {
  const tokens = format.match(/YYYY|YY|MMM|MM|M|DD|D|\s+|[^\s]/g) ?? [];
  return (text) => {
    if (text.length > TEXT_MAX) return undefined;
    const parts: Partial<Record<Part, string>> = {};
    let position = 0;
    for (const [i, token] of tokens.entries()) {
      const length = matchToken(token, text, position, tokens[i + 1]);
      if (length === 0) return undefined;
      const digitsPart = DIGITS_BY_TOKEN[token];
      if (digitsPart !== undefined) parts[digitsPart.part] = text.slice(position, position + length);
      position += length;
    }
    if (position < text.length && !/^[T\s]\s*\d{1,2}:\d{2}/.test(text.slice(position))) return undefined;
    return combineDayParts(parts);
  };
}

/**
 * Returns the number of characters at a position that match a token of a format. Matches as many as possible; returns 0
 * if none match.
 */
function matchToken(token: string, text: string, position: number, next?: string): number {
  const digitsPart = DIGITS_BY_TOKEN[token];
  if (digitsPart === undefined) {
    if (/\s/.test(token)) return run(text, position, TEXT_MAX, isSpace);
    return text[position] === token ? 1 : 0;
  }
  if (digitsPart.digits === null) {
    const letters = run(text, position, MONTH_LENGTH_MAX, isLetter);
    if (letters < 3) return 0;
    return text[position + letters] === '.' && next !== '.' ? letters + 1 : letters;
  }
  const [least, most] = digitsPart.digits;
  const digits = run(text, position, most, isDigit);
  if (digits < least) return 0;
  // French writes the first day of a month as 1er.
  return digitsPart.part === 'day' && /^er\b/i.test(text.slice(position + digits, position + digits + 3))
    ? digits + 2
    : digits;
}

const isSpace = (character: string): boolean => /\s/.test(character);
const isLetter = (character: string): boolean => /\p{L}/u.test(character);
const isDigit = (character: string): boolean => character >= '0' && character <= '9';

function run(text: string, from: number, most: number, is: (character: string) => boolean): number {
  let length = 0;
  while (length < most && from + length < text.length && is(text[from + length]!)) length++;
  return length;
}

function combineDayParts({
  year: years = '',
  month: months = '',
  day: days = '',
}: Partial<Record<Part, string>>): Day | undefined {
  const year = parseYear(years);
  const month = parseMonth(months);
  const day = Number.parseInt(days, 10);
  if (month < 1 || month > 12) return undefined;
  const result = toDay({ year, month, day });
  return parseDay(formatDay(result)) === result && isSameDate(result, { year, month, day }) ? result : undefined;
}

/**
 * Returns true if a day has the year, month and day from which it was computed. It is false, for example, for 30
 * February, which becomes another date.
 */
function isSameDate(parsedDay: Day, { year, month, day }: { year: number; month: number; day: number }): boolean {
  return formatDay(parsedDay) === `${String(year).padStart(4, '0')}-${padTwo(month)}-${padTwo(day)}`;
}

const padTwo = (number: number) => String(number).padStart(2, '0');

function parseYear(text: string): number {
  const year = Number(text);
  return text.length > 2 ? year : year + (year >= CENTURY_PIVOT ? 1900 : 2000);
}

/** Returns the month of a number or of a name. A name may be cut, if only one month begins with its letters. */
function parseMonth(text: string): number {
  if (/^\d/.test(text)) return Number(text);
  const letters = text
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  const months = MONTHS.flatMap((names, i) => (names.some((name) => name.startsWith(letters)) ? [i + 1] : []));
  return months.length === 1 ? months[0]! : 0;
}

import type { Mapping } from '#domain/documents/mapping.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import { readNumber, type Cell } from '../formats/cells.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';

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

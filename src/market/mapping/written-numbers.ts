import type { Mapping } from '#domain/documents/mapping.js';
import { isKnownColumn } from '../tables/table-kinds.js';
import { numberIn, type Cell } from '../formats/cells.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';

/** Marks between thousands; an apostrophe and a space each have several characters. */
const THOUSANDS = { ',': ',', '.': '.', "'": "'\u2019", ' ': ' \u00a0\u2009\u202f' } as const;

type Thousands = keyof typeof THOUSANDS;

const EITHER_SIDE = `.${THOUSANDS["'"]}${THOUSANDS[' ']}`;
const WITH_COMMA = new RegExp(
  `^[+-]?(?=[\\d,])(?:\\d+|\\d{1,3}(?:[${EITHER_SIDE}]\\d{3})+)?(?:,\\d+)?(?:[eE][+-]?\\d+)?$`,
);
const BETWEEN_THOUSANDS = new RegExp(`[${EITHER_SIDE}]`, 'g');

/** Numbers with separated thousands and decimals after a point, by their mark. */
const GROUPED = Object.fromEntries(
  Object.entries(THOUSANDS).map(([mark, set]) => [
    mark,
    {
      number: new RegExp(`^[+-]?\\d{1,3}(?:[${set}]\\d{3})+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?$`),
      marks: new RegExp(`[${set}]`, 'g'),
    },
  ]),
) as Readonly<Record<Thousands, { readonly number: RegExp; readonly marks: RegExp }>>; // its own keys

/** Whole number with separated thousands. */
const WHOLE = { ',': /^[+-]?\d{1,3}(?:,\d{3})+$/, '.': /^[+-]?\d{1,3}(?:\.\d{3})+$/ } as const;

/** Currency sign before or after a number, and a unit after it. The text between them is the number. */
const WITH_UNITS = /^([+-]?)\s*([$€£¥₹]?)\s*([+-]?[\d.,'\u2019\s]*\d[.]?)\s*([KMBT]?)\s*([$€£¥₹]?)$/i;
/** Characters of a number with its marks and units. */
const LENGTH_MAX = 60;

const EXPONENTS: Readonly<Record<string, string>> = { K: 'e3', M: 'e6', B: 'e9', T: 'e12' };

/** Fields that count shares and have no fraction. */
export const COUNTS: ReadonlySet<string> = new Set(['VOLUME', 'SHARES_OUTSTANDING']);

type ReadNumber = (cell: Cell | undefined) => number | undefined;

/** Returns the number in a cell that is written with a decimal comma: as `numberIn`. */
export function commaNumberIn(cell: Cell | undefined): number | undefined {
  if (typeof cell !== 'string') return numberIn(cell);
  const text = cell.trim();
  if (!WITH_COMMA.test(text)) return text === '' || text.toLowerCase() === 'nan' ? Number.NaN : undefined;
  return numberIn(text.replaceAll(BETWEEN_THOUSANDS, '').replace(',', '.'));
}

/**
 * Returns the mark between the thousands of a number with a decimal point, as in 1,234 and 1'234.5; undefined if it has
 * none.
 */
export function thousandsIn(cell: unknown): Exclude<Thousands, '.'> | undefined {
  if (typeof cell !== 'string') return undefined;
  const text = cell.trim();
  return ([',', "'", ' '] as const).find((mark) => GROUPED[mark].number.test(text));
}

/** The number in a cell that may have the given thousands mark and a decimal point: as `numberIn`. */
const thousandsNumberIn =
  (mark: Thousands): ReadNumber =>
  (cell) => {
    const { number, marks } = GROUPED[mark];
    return numberIn(typeof cell === 'string' && number.test(cell.trim()) ? cell.trim().replaceAll(marks, '') : cell);
  };

/** Returns the number in a cell that may have any thousands mark and a decimal point: as `numberIn`. */
export const parseAnyThousands = (cell: Cell | undefined): number | undefined =>
  thousandsNumberIn(thousandsIn(cell) ?? ',')(cell);

/** Returns a reader of whole numbers whose thousands may be separated by the decimal mark. Fractions are refused. */
const countIn =
  (mark: ',' | '.'): ReadNumber =>
  (cell) => {
    if (typeof cell !== 'string') return numberIn(cell);
    const text = cell.trim();
    if (text.includes(mark) && !WHOLE[mark].test(text)) return undefined;
    return numberIn(text.replaceAll(mark, ''));
  };

/** Returns true if a text is a whole number whose thousands mark may separate decimals in other files: 58,490. */
export const isGroupedCount = (cell: Cell | undefined, mark: ',' | '.'): cell is string =>
  typeof cell === 'string' && WHOLE[mark].test(cell.trim());

/** Splits a number from its currency sign or unit; undefined if a text has neither. */
export function unitsIn(
  cell: unknown,
): { readonly number: string; readonly exponent: string; money: string } | undefined {
  const match = typeof cell === 'string' && cell.length <= LENGTH_MAX ? WITH_UNITS.exec(cell.trim()) : null;
  if (match === null) return undefined;
  const [, sign = '', before = '', digits = '', unit = '', behind = ''] = match;
  if (before + behind + unit === '') return undefined;
  return { number: sign + digits.trim(), exponent: EXPONENTS[unit.toUpperCase()] ?? '', money: before || behind };
}

/** Returns the number in a cell that may have a sign of money and a unit: 59.83M is 59,830,000, rounded once. */
function addUnits(read: ReadNumber): ReadNumber {
  return (cell) => {
    const units = unitsIn(cell);
    return read(units === undefined ? cell : units.number + units.exponent);
  };
}

/**
 * Returns the number format of a field: units are read in the fields of a bar and those that the mapping names, because
 * 3M may be a company elsewhere.
 */
export function numberReader({ decimal, thousands, units, columns }: Mapping, field: string): ReadNumber {
  const read = plainReader(decimal, thousands, COUNTS.has(field));
  const isNamed = isKnownColumn('market', field) || field === ADJUSTED_CLOSE || Object.hasOwn(columns, field);
  return units === 'read' && isNamed ? addUnits(read) : read;
}

function plainReader(decimal: Mapping['decimal'], thousands: Mapping['thousands'], isCount: boolean): ReadNumber {
  if (thousands === decimal && isCount) return countIn(decimal);
  if (decimal === ',') return commaNumberIn;
  return thousands === null || thousands === '.' ? numberIn : thousandsNumberIn(thousands);
}

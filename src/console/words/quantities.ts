import { formatAtMost, formatCount, formatDecimal, formatFigure, formatPercent, MISSING_TEXT } from './numbers.js';

const UNITS = ['', 'K', 'M', 'B', 'T'] as const;

/**
 * Formats an amount with three digits and a suffix, for example `12.3B`. Intl has a compact notation, but its suffixes
 * differ between browsers.
 */
export function formatCompact(value: number | null): string {
  if (value === null) return MISSING_TEXT;
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  if (size >= 1e15) return formatFigure(rounded);
  const step = size < 1 ? 0 : Math.floor(Math.log10(size) / 3);
  const scaled = rounded / 1000 ** step;
  const digits = Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${step === 0 ? formatAtMost(scaled, digits) : formatDecimal(scaled, digits)}${UNITS[step]!}`;
}

/** Formats a value of a constraint or limit in its unit: fractions as percentages. */
export const formatInUnit = (value: number, unit: 'fraction' | 'count' | 'value'): string =>
  unit === 'fraction' ? formatPercent(value) : formatFigure(value);

/** Lists the first names, for example `AAA, BBB and 2 more`. Returns an empty text if there are no names. */
export function formatFirstNames(names: readonly string[], namedMax: number): string {
  const restCount = names.length - namedMax;
  return names.slice(0, namedMax).join(', ') + (restCount > 0 ? ` and ${formatCount(restCount)} more` : '');
}

/** Numbers as users type them: `5%` for a fraction, `5m` for money, `5k` for counts. */

const SUFFIX_EXPONENTS: Readonly<Record<string, number>> = { k: 3, m: 6, bn: 9 };

/** Returns true if a unit is a fraction. Users can then type a percentage. */
export const isFractionUnit = (unit: string | null | undefined): boolean => unit?.startsWith('fraction') === true;

/** Returns true if users can type a percentage: for fractions, and if the unit is unknown. */
const takesPercent = (unit: string | null | undefined): boolean =>
  unit === null || unit === undefined || isFractionUnit(unit);

/**
 * Parses a number that may have a suffix. The suffix only moves the decimal point, so `0.7%` is exactly 0.007.
 * @returns undefined for an invalid number or a suffix that the unit does not allow
 */
export function parseQuantity(typed: string, unit: string | null | undefined): number | undefined {
  const text = typed.trim();
  const number = Number(text);
  if (text !== '' && Number.isFinite(number)) return number;
  const [, digits, suffix = ''] = /^([+-]?[\d.,]+)\s*(%|k|m|bn)?$/i.exec(text.replace('\u2212', '-')) ?? [];
  if (digits === undefined) return undefined;
  // A comma is accepted only between thousands. For example, 0,05 is invalid.
  if (digits.includes(',') && !/^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits)) return undefined;
  if (suffix === '%' ? !takesPercent(unit) : suffix !== '' && isFractionUnit(unit)) return undefined;
  const power = suffix === '%' ? -2 : (SUFFIX_EXPONENTS[suffix.toLowerCase()] ?? 0);
  const value = Number(`${digits.replaceAll(',', '')}e${power}`);
  return Number.isFinite(value) ? value : undefined;
}

/** Maximum number of decimals of a percentage. */
const PERCENT_DIGITS = 4;
/** Maximum number of decimals of other numbers. */
const DIGITS = 6;

/**
 * Formats a number with its unit. For a fraction, 0.05 becomes `5%` and 0.01234 becomes `1.234%`. Other units are
 * appended (`10 bp`).
 */
export function formatQuantity(value: number, unit: string | null | undefined): string {
  if (isFractionUnit(unit)) return `${formatAtMost(value * 100, PERCENT_DIGITS)}%`;
  const isTiny = value !== 0 && Math.abs(value) < 10 ** -DIGITS;
  return [isTiny ? formatFigure(value) : formatAtMost(value, DIGITS), unit].filter(Boolean).join(' ');
}

/**
 * Returns the text of a number in an input of a form. For a fraction, it is a percentage, which users can edit: 0.05
 * becomes `5%`. A number that the percentage would round is not converted.
 */
export function formatTypedQuantity(value: number, unit: string | null | undefined): string {
  const text = isFractionUnit(unit) ? formatQuantity(value, unit).replace('\u2212', '-') : String(value);
  return parseQuantity(text, unit) === value ? text : String(value);
}

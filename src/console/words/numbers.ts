/** Number formats of the console: digits grouped by commas, a true minus sign, and a dash for missing values. */

export const MISSING_TEXT = '–';

const MINUS_SIGN = '\u2212';

type OptionalNumber = number | null | undefined;

const formatsByDigits = new Map<string, Intl.NumberFormat>();

function formatFixed(value: number, digits: number, isSigned = false, least = digits): string {
  const name = `${least} ${digits}${isSigned ? '+' : ''}`;
  let format = formatsByDigits.get(name);
  if (format === undefined) {
    format = new Intl.NumberFormat('en-GB', {
      minimumFractionDigits: least,
      maximumFractionDigits: digits,
      signDisplay: isSigned ? 'exceptZero' : 'negative',
    });
    formatsByDigits.set(name, format);
  }
  return format.format(value).replace('-', MINUS_SIGN);
}

/** Replaces hyphens in front of numbers by minus signs: `a return of -1.09%`. Dates and ids keep their hyphens. */
export const writeMinusSigns = (text: string): string => text.replaceAll(/(?<=^|[\s(])-(?=\d)/g, MINUS_SIGN);

/** Formats a number with at most the given number of decimals, for example `1.25`, and at least `least`. */
export const formatAtMost = (value: number, digits: number, least = 0): string =>
  formatFixed(value, digits, false, least);

/** Formats a fraction as a percentage: 0.0523 becomes `5.23%`. */
export const formatPercent = (value: OptionalNumber, digits = 2): string =>
  value === null || value === undefined ? MISSING_TEXT : `${formatFixed(value * 100, digits)}%`;

/** Formats a fraction as a percentage with its sign, for example `+5.23%`. */
export const formatChange = (value: OptionalNumber, digits = 2): string =>
  value === null || value === undefined ? MISSING_TEXT : `${formatFixed(value * 100, digits, true)}%`;

/** Formats a difference of two percentages in percentage points: `+5.23 pp`. */
export const formatPoints = (value: OptionalNumber, digits = 2): string =>
  formatChange(value, digits).replace('%', ' pp');

/** Maximum absolute value of a residual that can come from the rounding of doubles. */
const ROUNDING = 1e-9;

/** Formats a residual. A rounding error is shown as 0. */
export const formatResidual = (value: number): string => (Math.abs(value) < ROUNDING ? '0' : formatFigure(value));

/** Formats a fraction in basis points: 0.000523 becomes `5.23 bp`. */
export const formatBps = (value: OptionalNumber): string =>
  value === null || value === undefined ? MISSING_TEXT : `${formatFixed(value * 1e4, 2)} bp`;

/**
 * Formats trading costs, which are a fraction, in basis points. Zero is shown as `none`, because runs without costs are
 * common.
 */
export const formatCost = (value: OptionalNumber): string => (value === 0 ? 'none' : formatBps(value));

/** Formats a ratio, level or price, for example `1,234.50`. */
export const formatDecimal = (value: OptionalNumber, digits = 2): string =>
  value === null || value === undefined ? MISSING_TEXT : formatFixed(value, digits);

/** Adds the currency to a formatted amount. Does nothing if the amount or the currency is unknown. */
export const formatMoney = (written: string, currency: string | null): string =>
  currency === null || written === MISSING_TEXT ? written : `${written} ${currency}`;

/** Formats a count, for example `1,234`. */
export const formatCount = (value: OptionalNumber): string =>
  value === null || value === undefined ? MISSING_TEXT : formatFixed(value, 0);

/** Formats a number whose size is not known in advance. It has a fixed number of significant digits. */
export function formatFigure(value: OptionalNumber): string {
  if (value === null || value === undefined) return MISSING_TEXT;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return formatFixed(value, 0);
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toExponential(3).replaceAll('-', MINUS_SIGN);
  return formatFixed(value, size >= 1000 ? 2 : size >= 1 ? 4 : 6);
}

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

export function formatBytes(value: OptionalNumber): string {
  if (value === null || value === undefined) return MISSING_TEXT;
  const step = Math.min(BYTE_UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${formatFixed(value / 1000 ** step, step === 0 ? 0 : 1)} ${BYTE_UNITS[step]!}`;
}

/** Converts mebibytes in a text to the largest unit that fits: `70121 MiB` becomes `68.5 GiB`. */
export const formatLargeUnits = (text: string): string =>
  text.replaceAll(/(?<!\d)(\d{1,15}) MiB/g, (own, size: string) =>
    Number(size) < 1024 ? own : `${formatFixed(Number(size) / 1024, 1)} GiB`,
  );

/** Formats a limit. The suffix of its name determines the unit. */
export function formatLimit(name: string, value: number): string {
  if (name.endsWith('_BYTES')) return formatBytes(value);
  if (name.endsWith('_SECONDS')) return `${formatCount(value)} s`;
  return name.endsWith('_DAYS') ? `${formatCount(value)} days` : formatCount(value);
}

/**
 * Returns the CSS class for the colour of a number. The colour only repeats the sign in the text. A value that is shown
 * as 0 has no colour.
 * @param digits displayed decimals of the percentage
 */
export const getSignClass = (value: OptionalNumber, digits = 2): string =>
  value === null || value === undefined || Math.abs(value) < 0.005 / 10 ** digits ? '' : value > 0 ? 'up' : 'down';

/** Formats a count with its noun, for example `1 name` or `3 names`. */
export const countValues = (value: number, one: string, several = `${one}s`): string =>
  `${formatCount(value)} ${value === 1 ? one : several}`;

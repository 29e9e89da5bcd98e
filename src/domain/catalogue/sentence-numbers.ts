/** Formatting of numbers in sentences, with all decimals except the rounding errors of a double. */

/** Significant digits of a number in a sentence. Sums and products of doubles are exact to more digits. */
const DIGITS = 12;

const toText = (value: number): string => String(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));

/** Formats a number with grouped thousands: `1,000,000`, `0.05`. */
export function formatNumber(value: number): string {
  const text = toText(value);
  if (text.includes('e')) return text;
  const [whole = '', decimals] = text.split('.');
  const groupedDigits = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? groupedDigits : `${groupedDigits}.${decimals}`;
}

/** Formats a count with its noun: `1 finding`, `1,000 indices`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`;

/** Formats a fraction as percent by shifting decimals: 0.07 is `7%`. */
export const formatShare = (fraction: number): string => {
  const [digits = '', exponent = '0'] = toText(fraction).split('e');
  return `${formatNumber(Number(`${digits}e${Number(exponent) + 2}`))}%`;
};

/** Formatting of numbers in sentences, with all decimals except the noise of arithmetic. */
import { removeNumberNoise } from '#base/text/number-noise.js';

/** Formats a number with grouped thousands: `1,000,000`, `0.05`. */
export function formatNumber(value: number): string {
  const [whole = '', decimals] = removeNumberNoise(String(value)).split('.');
  if (whole.includes('e')) return String(value);
  const groupedDigits = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? groupedDigits : `${groupedDigits}.${decimals}`;
}

/** Formats a count with its noun: `1 finding`, `1,000 indices`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(count)} ${count === 1 ? noun : plural}`;

/** Formats a fraction as percent by shifting decimals: 0.07 is `7%`. */
export const formatShare = (fraction: number): string => {
  const [digits = '', exponent = '0'] = removeNumberNoise(String(fraction)).split('e');
  return `${formatNumber(Number(`${digits}e${Number(exponent) + 2}`))}%`;
};

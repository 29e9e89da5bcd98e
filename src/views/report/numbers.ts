import { roundHalfAwayFromZero } from '#domain/numbers/round-half-away.js';
import { raiseToPower } from '#kernels/power.js';

/**
 * Number formats of reports. Numbers have commas between thousands and an ASCII hyphen as minus sign. Percentages and
 * ratios have two decimals. Zero has no minus sign.
 */

/** Text of a missing value. */
export const NOT_MEASURED = 'n/a';

/** Formats a fraction as a percentage: 0.0523 becomes `5.23%`. */
export function formatPercent(fraction: number | null): string {
  return fraction === null ? NOT_MEASURED : `${formatFixed(fraction * 100, 2)}%`;
}

/** Formats a weight as a percentage, with two decimals fewer than the fraction has. */
export function formatWeight(weight: number, decimals: number | null): string {
  if (decimals === null) return formatPercent(weight);
  const percentDecimals = Math.max(0, decimals - 2);
  return `${formatFixed(roundHalfAwayFromZero(roundHalfAwayFromZero(weight, decimals) * 100, percentDecimals), percentDecimals)}%`;
}

/** Formats a ratio or a level, for example `1,234.50`. */
export function formatRatio(value: number | null): string {
  return value === null ? NOT_MEASURED : formatFixed(value, 2);
}

/** Formats a level, rounding halves away from zero. */
export function formatLevel(value: number, decimals: number): string {
  return formatFixed(roundHalfAwayFromZero(value, decimals), decimals);
}

/** Formats basis points, for example `5.00 bps`. */
export function formatBasisPoints(bps: number | null): string {
  return bps === null ? NOT_MEASURED : `${formatFixed(bps, 2)} bps`;
}

/** Formats a count, for example `1,234`. */
export function formatCount(count: number | null): string {
  return count === null ? NOT_MEASURED : formatFixed(count, 0);
}

/**
 * Formats numbers of a template whose meaning is unknown. If all are integers, they are formatted as counts; otherwise
 * as ratios.
 */
export function formatPlainTexts(values: readonly number[]): string[] {
  return values.map(values.every(Number.isInteger) ? formatCount : formatRatio);
}

/** Formats the label of an axis tick, with no more decimals than the step needs. */
export function formatTick(
  value: number,
  { step, unit }: { readonly step: number; readonly unit: 'percent' | 'points' },
): string {
  const scale = unit === 'percent' ? 100 : 1;
  return `${formatFixed(value * scale, countDecimals(step * scale))}${unit === 'percent' ? '%' : ''}`;
}

function countDecimals(step: number): number {
  for (let decimals = 0; decimals < 6; decimals++) {
    const scaledStep = step * raiseToPower(10, decimals);
    if (Math.abs(scaledStep - Math.round(scaledStep)) < 1e-6 * Math.max(1, Math.abs(scaledStep))) return decimals;
  }
  return 6;
}

function formatFixed(value: number, decimals: number): string {
  const digits = Math.abs(value).toFixed(decimals);
  const isNothing = !/[1-9]/.test(digits);
  const [whole, rest] = digits.split('.');
  const groupedDigits = /e/.test(digits) ? whole! : whole!.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${value < 0 && !isNothing ? '-' : ''}${groupedDigits}${rest === undefined ? '' : `.${rest}`}`;
}

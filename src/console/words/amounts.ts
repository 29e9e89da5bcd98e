import { formatAtMost, formatDecimal, formatFigure, formatPercent, MISSING_TEXT } from './numbers.js';

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

import { formatAtMost, decimal, figure, NONE } from './numbers.js';

const UNITS = ['', 'K', 'M', 'B', 'T'] as const;

/**
 * Formats an amount with three digits and a suffix, for example `12.3B`. The compact notation of Intl is not used,
 * because its suffixes differ between browsers.
 */
export function compact(value: number | null): string {
  if (value === null) return NONE;
  const rounded = Number(value.toPrecision(3));
  const size = Math.abs(rounded);
  if (size >= 1e15) return figure(rounded);
  const step = size < 1 ? 0 : Math.floor(Math.log10(size) / 3);
  const scaled = rounded / 1000 ** step;
  const digits = Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
  return `${step === 0 ? formatAtMost(scaled, digits) : decimal(scaled, digits)}${UNITS[step]!}`;
}

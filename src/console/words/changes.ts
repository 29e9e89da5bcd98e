import { formatBps, MISSING_TEXT } from './numbers.js';

type Value = number | null;

/**
 * Formats a value before and after an event, for example `1.25 → 1.5`. If both are formatted alike, the relative change
 * is added in basis points, or `unchanged` if it rounds to zero.
 */
export function describeChange(before: Value, after: Value, write: (value: Value) => string): string {
  const [from, to] = [write(before), write(after)];
  if (from !== to) return `${from} → ${to}`;
  if (before === null || after === null) return MISSING_TEXT;
  return `${from}, ${describeSmall(before === 0 ? 0 : after / before - 1)}`;
}

/** Returns true if two values differ by more than rounding, or if only one of them is known. */
export const isChanged = (before: Value, after: Value): boolean =>
  before === null || after === null || before === 0 ? before !== after : Math.abs(after / before - 1) >= SMALLEST;

/** Smallest fraction that is not zero with two decimals of a basis point. */
const SMALLEST = 0.005e-4;

const describeSmall = (change: number): string => {
  if (Math.abs(change) < SMALLEST) return 'unchanged';
  return `${change > 0 ? '+' : ''}${formatBps(change)}`;
};

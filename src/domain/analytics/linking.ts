import { formatDay, type Day } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';

/** Returns k(x) = ln(1 + x) / x, the coefficient that converts a return x to ln(1 + x); 1 at 0. */
export function computeLinkingCoefficient(x: number): number {
  return x === 0 ? 1 : Math.log1p(x) / x;
}

/**
 * Returns (ln(1 + a) - ln(1 + b)) / (a - b). This coefficient converts the difference of two returns to the difference
 * of ln(1 + a) and ln(1 + b).
 */
export function computeActiveLinkingCoefficient(a: number, b: number): number {
  const gap = (a - b) / (1 + b);
  return gap === 0 ? 1 / (1 + b) : Math.log1p(gap) / (a - b);
}

/**
 * Returns the compounded return of consecutive periods, [n].
 * @param days days on which the periods end, [n].
 * @throws Refusal TOTAL_LOSS if a period lost everything: later periods have no return
 */
export function computeCompoundReturn(returns: Float64Array, days: ArrayLike<Day>): number {
  let growth = 1;
  for (let period = 0; period < returns.length; period++) {
    const value = returns[period]!;
    if (!(value > -1))
      throw new Refusal(
        'TOTAL_LOSS',
        `The return of ${formatDay(days[period]!)} is ${value}; linking needs returns above -1.`,
        { date: formatDay(days[period]!) },
      );
    growth *= 1 + value;
  }
  return growth - 1;
}

const RECONCILIATION_TOLERANCE = 1e-10;

/**
 * Returns true if the parts sum to the returns within rounding. The tolerance is relative to the largest return, and to
 * 1 if all returns are smaller.
 */
export function isReconciled(residual: number, ...returns: readonly number[]): boolean {
  return (
    Math.abs(residual) <=
    RECONCILIATION_TOLERANCE * returns.reduce((scale, value) => Math.max(scale, Math.abs(value)), 1)
  );
}

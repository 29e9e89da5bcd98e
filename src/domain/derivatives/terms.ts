import type { Day } from '../time/days.js';
import { formatDay } from '../time/days.js';
import { RATE_MAX } from '../market/interest-rates.js';
import { Refusal } from '../refusals/refusal.js';

/** Continuously compounded annual rates, as fractions. */
export interface Rates {
  readonly riskFree: number;
  readonly dividend: number;
  readonly borrow: number;
}

/** Days of a year under ACT/365F, for time to expiry. */
export const DAYS_PER_YEAR = 365;
/** Days of a year under ACT/360, for the financing of swaps. */
export const MONEY_MARKET_DAYS = 360;

/**
 * Checks that no rate exceeds 1 in magnitude.
 * @throws Refusal RATE_OUT_OF_RANGE for the first rate that does
 */
export function assertRates(rates: Readonly<Record<string, number>>): void {
  for (const [name, rate] of Object.entries(rates)) {
    if (Math.abs(rate) > RATE_MAX) {
      throw new Refusal(
        'RATE_OUT_OF_RANGE',
        `${name} is ${rate}; its absolute value must be at most ${RATE_MAX}. Rates are fractions: 0.05 is 5%.`,
        { field: name, value: rate, limit: RATE_MAX },
      );
    }
  }
}

/**
 * Returns the calendar days from valuation to expiry.
 * @throws Refusal EXPIRY_NOT_AFTER_AS_OF if the number is not positive
 */
export function countDaysTo(expiry: Day, asOf: Day, field = 'expiry'): number {
  if (expiry > asOf) return expiry - asOf;
  throw new Refusal(
    'EXPIRY_NOT_AFTER_AS_OF',
    `${field} ${formatDay(expiry)} is not after the valuation date ${formatDay(asOf)}.`,
    { field, expiry: formatDay(expiry), as_of: formatDay(asOf) },
  );
}

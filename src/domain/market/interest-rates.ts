import { formatDay } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import { findLastAtMost } from '../numbers/search.js';
import type { PriceSeries } from './series.js';

/**
 * Maximum magnitude of a rate, as a fraction per year. A series with a larger value probably contains prices, not
 * percent per year.
 */
export const RATE_MAX = 1;

/** Divisor that converts percent, the unit of rate series, into fractions. */
const PERCENT = 100;

const isBeyond = (value: number): boolean => Math.abs(value) > RATE_MAX * PERCENT;

/** Value of a series that is too large for a rate. */
interface RateBeyond {
  readonly series: string;
  readonly date: string;
  readonly value: number;
}

/**
 * Returns the first value of a series that cannot be a rate in percent per year. Returns undefined if all values can.
 */
export function findInvalidRate({ identifier, days, closes }: PriceSeries): RateBeyond | undefined {
  const position = closes.findIndex(isBeyond);
  return position < 0 ? undefined : { series: identifier, date: formatDay(days[position]!), value: closes[position]! };
}

export function describeRateBeyond({ series, date, value }: RateBeyond): string {
  return `The series ${series} is ${value} on ${date}; a rate must be in percent per year, at most ${RATE_MAX * PERCENT} in magnitude: 5 is 5%.`;
}

/**
 * Returns the values of a series as fractions per year.
 * @param carried values on the days, [days]
 * @throws Refusal RATE_OUT_OF_RANGE for a value that cannot be a rate
 */
export function readSeriesRates(series: PriceSeries, carried: Float64Array, days: Int32Array): Float64Array {
  const position = carried.findIndex(isBeyond);
  if (position < 0) return carried.map((value) => value / PERCENT);
  const day = series.days[findLastAtMost(series.days, days[position]!)]!;
  const invalidRate = { series: series.identifier, date: formatDay(day), value: carried[position]! };
  throw new Refusal('RATE_OUT_OF_RANGE', describeRateBeyond(invalidRate), {
    ...invalidRate,
    limit: RATE_MAX * PERCENT,
  });
}

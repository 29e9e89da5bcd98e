import { formatDay } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import { lastAtMost } from '../numbers/search.js';
import type { PriceSeries } from './series.js';

/** A rate beyond 100 % a year is refused, given or of a series: it was probably meant in percent, or is a price. */
export const RATE_MAX = 1;

/** Series of rates are in percent a year. */
const PERCENT = 100;

const isBeyond = (value: number): boolean => Math.abs(value) > RATE_MAX * PERCENT;

/** A value of a series that cannot be a rate. */
interface RateBeyond {
  readonly series: string;
  readonly date: string;
  readonly value: number;
}

/** The first value of a series that cannot be a rate in percent a year; undefined where all can. */
export function rateBeyond({ identifier, days, closes }: PriceSeries): RateBeyond | undefined {
  const at = closes.findIndex(isBeyond);
  return at < 0 ? undefined : { series: identifier, date: formatDay(days[at]!), value: closes[at]! };
}

export function beyondRates({ series, date, value }: RateBeyond): string {
  return `The series ${series} is ${value} on ${date}; a rate is in percent a year, at most ${RATE_MAX * PERCENT} in magnitude: 5 is 5 %.`;
}

/**
 * Values of a series as fractions a year.
 * @param carried those of the days, [days]
 * @throws Refusal RATE_OUT_OF_RANGE for one that cannot be a rate
 */
export function ratesOfSeries(series: PriceSeries, carried: Float64Array, days: Int32Array): Float64Array {
  const at = carried.findIndex(isBeyond);
  if (at < 0) return carried.map((value) => value / PERCENT);
  const day = series.days[lastAtMost(series.days, days[at]!)]!;
  const beyond = { series: series.identifier, date: formatDay(day), value: carried[at]! };
  throw new Refusal('RATE_OUT_OF_RANGE', beyondRates(beyond), { ...beyond, limit: RATE_MAX * PERCENT });
}

import type { Day } from '../time/days.js';
import { findLastAtMost } from '../numbers/search.js';

/** Prices of an instrument that is never a constituent: an index, an exchange rate or an interest rate. */
export interface PriceSeries {
  readonly identifier: string;
  readonly name: string | null;
  /** Currency of the prices; null if not stated. */
  readonly currency: string | null;
  /** Days with a value, ascending, [P]. */
  readonly days: Int32Array;
  /** CLOSE on those days, [P]. */
  readonly closes: Float64Array;
}

/** Series of a store by identifier, in code-point order. */
export type SeriesTable = ReadonlyMap<string, PriceSeries>;

/** Returns the CLOSE of a day. Returns NaN if the series has no value on that day. */
export function closeOn({ days, closes }: PriceSeries, day: Day): number {
  const position = findLastAtMost(days, day);
  return position >= 0 && days[position] === day ? closes[position]! : Number.NaN;
}

/** Returns the latest CLOSE on or before each of some ascending days, [days]; NaN before the first value. */
export function carryCloses({ days, closes }: PriceSeries, on: Int32Array): Float64Array {
  const carriedCloses = new Float64Array(on.length);
  let position = -1;
  for (let s = 0; s < on.length; s++) {
    while (position + 1 < days.length && days[position + 1]! <= on[s]!) position++;
    carriedCloses[s] = position < 0 ? Number.NaN : closes[position]!;
  }
  return carriedCloses;
}

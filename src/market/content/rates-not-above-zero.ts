import { formatDay } from '#domain/time/days.js';
import { isCurrency, parsePair } from '#domain/market/currency-codes.js';
import type { SeriesTable } from '#domain/market/series.js';

/** Series of an exchange rate with invalid values. */
export interface NonPositiveRate {
  readonly identifier: string;
  /** First value of 0 or less. */
  readonly first: { readonly date: string; readonly value: number };
  /** Number of days with such a value. */
  readonly count: number;
}

/** Returns the series that are named by a currency pair and have values of 0 or less. @cost O(values) */
export function findRatesNotAboveZero(series: SeriesTable): NonPositiveRate[] {
  return [...series.values()].flatMap(({ identifier, days, closes }) => {
    const isPair = parsePair(identifier)?.every(isCurrency) === true;
    const position = isPair ? closes.findIndex((close) => close <= 0) : -1;
    if (position < 0) return [];
    const first = { date: formatDay(days[position]!), value: closes[position]! };
    return [{ identifier, first, count: closes.filter((close) => close <= 0).length }];
  });
}

import type { Calendar } from '../calendars/calendar.js';
import { formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { isRateAvailable } from '../market/currency-pairs.js';
import { createPair } from '../market/currency-codes.js';
import type { MarketData } from '../market/market-data.js';
import type { PriceSeries } from '../market/series.js';
import { Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';

type CurrencyDocument = Pick<IndexDocument, 'currency'>;

/**
 * Returns the currency of a series. A series without a currency has that of the store, or otherwise that of the index.
 */
export const findSeriesCurrency = (series: PriceSeries, market: MarketData, document: CurrencyDocument): string =>
  series.currency ?? market.currency ?? document.currency;

/**
 * Checks that a series can be a benchmark, without running it.
 * @param range first and last requested day
 * @throws Refusal FX_MISSING if the store has no rate at all; NUMERIC_FAILURE for a value of 0 or less on a session
 */
export function assertSeriesBenchmark(
  series: PriceSeries,
  document: CurrencyDocument,
  { market, calendar, range }: SeriesCheckInput,
): void {
  const currency = findSeriesCurrency(series, market, document);
  const hasPair = (pair: string) => market.identifiers.includes(pair) || market.series?.has(pair) === true;
  if (currency !== document.currency && !isRateAvailable(hasPair, currency, document.currency))
    throw refuseMissingRate(series.identifier, createPair(currency, document.currency));
  const { dates } = market;
  const start = Math.max(range.start, dates[0] ?? range.start);
  assertAboveZero(series, calendar, { start, end: Math.min(range.end, dates.at(-1) ?? range.end) });
}

/**
 * Checks that values in a range are positive, because no growth can be computed from 0 or less.
 * @throws Refusal NUMERIC_FAILURE for a value of 0 or less on a session
 */
export function assertAboveZero(
  { identifier, days, closes }: PriceSeries,
  { isSession }: Pick<Calendar, 'isSession'>,
  { start, end }: SeriesCheckInput['range'],
): void {
  const last = findLastAtMost(days, end);
  for (let position = findFirstAtLeast(days, start); position <= last; position++)
    if (closes[position]! <= 0 && isSession(days[position]!))
      throw refuseNonPositiveValue(identifier, closes[position]!, days[position]!);
}

interface SeriesCheckInput {
  readonly market: MarketData;
  readonly calendar: Pick<Calendar, 'isSession'>;
  readonly range: { readonly start: Day; readonly end: Day };
}

/** Returns the refusal of a value of 0 or less, from which no growth can be computed. */
export const refuseNonPositiveValue = (identifier: string, close: number, day: Day): Refusal =>
  new Refusal(
    'NUMERIC_FAILURE',
    `The benchmark ${identifier} is ${close} on ${formatDay(day)}; a benchmark level must be greater than 0.`,
  );

/** Returns the refusal of a series that cannot be converted on a given day, or on any day. */
export const refuseMissingRate = (identifier: string, pair: string, day?: Day): Refusal =>
  new Refusal(
    'FX_MISSING',
    `The benchmark ${identifier} needs the exchange rate ${pair}, which the data does not contain${day === undefined ? '' : ` on ${formatDay(day)}`}.`,
    { identifier, pair },
  );

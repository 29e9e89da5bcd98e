import { findLastAtMost } from '../numbers/search.js';
import type { Day } from '../time/days.js';
import { findMajorUnit, findUnit } from './currency-codes.js';
import type { MarketData } from './market-data.js';

/** Currencies that are tried, in this order, to derive a rate that the store lacks from two other rates. */
export const CROSS_CURRENCIES = ['USD', 'EUR', 'GBP', 'JPY', 'CHF'] as const;

/**
 * Returns the first day on which a market has a rate between two currencies. The rate is the one that `readRateSeries`
 * uses. Returns undefined if there is no such day or if no rate is needed.
 * @cost O(T) for a pair that is a security of the market
 */
export function findFirstRateDay(market: MarketData, from: string, to: string): Day | undefined {
  const [source, target] = [findMajorUnit(from), findMajorUnit(to)];
  if (source === target) return undefined;
  const findDirectDay = (a: string, b: string): Day | undefined =>
    findFirstDay(market, a + b) ?? findFirstDay(market, b + a);
  const directDay = findDirectDay(source, target);
  if (directDay !== undefined) return directDay;
  for (const cross of CROSS_CURRENCIES) {
    const legs = [findDirectDay(source, cross), findDirectDay(cross, target)];
    if (legs.every((day) => day !== undefined)) return Math.max(...(legs as Day[])); // the pairs were checked above
  }
  return undefined;
}

function findFirstDay({ identifiers, fields, dates, series }: MarketData, pair: string): Day | undefined {
  const column = identifiers.indexOf(pair);
  if (column < 0) return series?.get(pair)?.days[0];
  const close = fields.get('CLOSE')!;
  return dates.find((_, row) => !Number.isNaN(close[row * identifiers.length + column]!));
}

/**
 * Returns the pairs of a store that determine the rate between two currencies. There are none within one currency, and
 * two if the rate is derived from two others. Returns undefined if there is no rate.
 */
export function listUsedPairs(
  holds: (pair: string) => boolean,
  from: string,
  to: string,
): readonly [] | readonly [string] | readonly [string, string] | undefined {
  const [source, target] = [findMajorUnit(from), findMajorUnit(to)];
  if (source === target) return [];
  const findAvailablePair = (a: string, b: string) => (a === b ? undefined : [`${a}${b}`, `${b}${a}`].find(holds));
  const directPair = findAvailablePair(source, target);
  if (directPair !== undefined) return [directPair];
  for (const cross of CROSS_CURRENCIES) {
    const [first, second] = [findAvailablePair(source, cross), findAvailablePair(cross, target)];
    if (first !== undefined && second !== undefined) return [first, second];
  }
  return undefined;
}

/**
 * Returns the price of one unit of `from` in `to` on a day, from the latest rates on or before it; NaN if there is none.
 * @cost O(T) at most for each pair
 */
export function readRateOn(
  market: MarketData,
  { from, to, day }: { readonly from: string; readonly to: string; readonly day: Day },
): number {
  const { identifiers, series } = market;
  const pairs = listUsedPairs((pair) => identifiers.includes(pair) || series?.has(pair) === true, from, to);
  if (pairs === undefined) return Number.NaN;
  let currency = findMajorUnit(from);
  let rate = findUnit(from).scale / findUnit(to).scale;
  for (const pair of pairs) {
    const close = readLatestClose(market, pair, day);
    const isDirect = pair.startsWith(currency);
    rate *= isDirect ? close : 1 / close;
    currency = isDirect ? pair.slice(currency.length) : pair.slice(0, -currency.length);
  }
  return rate > 0 ? rate : Number.NaN;
}

function readLatestClose({ identifiers, dates, fields, series }: MarketData, pair: string, day: Day): number {
  const column = identifiers.indexOf(pair);
  if (column < 0) {
    const { days, closes } = series!.get(pair)!;
    return closes[findLastAtMost(days, day)] ?? Number.NaN;
  }
  const close = fields.get('CLOSE')!;
  for (let row = findLastAtMost(dates, day); row >= 0; row--) {
    const price = close[row * identifiers.length + column]!;
    if (price === price) return price;
  }
  return Number.NaN;
}

/** Returns true if a store with these pairs has a rate between two currencies. */
export function isRateAvailable(holds: (pair: string) => boolean, from: string, to: string): boolean {
  return listUsedPairs(holds, from, to) !== undefined;
}

/**
 * Returns the identifiers that would be exchange rates between some currencies. For example, `EURUSD` is an exchange
 * rate if securities trade in EUR or USD and `EURUSD` has no reference row.
 */
export function listPairs({ reference }: Pick<MarketData, 'reference'>, currencies: Iterable<string>): Set<string> {
  const majors = [...new Set(Array.from(currencies, findMajorUnit))];
  const pairs = majors.flatMap((from) => majors.filter((to) => to !== from).map((to) => `${from}${to}`));
  return new Set(pairs.filter((pair) => !reference.rows.has(pair)));
}

import { findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import type { MarketData } from './market-data.js';

/** Unit of a currency: its main unit, and the number of main units per unit. */
interface CurrencyUnit {
  readonly major: string;
  readonly scale: number;
}

/** Codes of minor units in which exchanges and vendors quote prices, in addition to those such as GBp. */
const MINOR_UNITS: Readonly<Record<string, CurrencyUnit>> = {
  GBX: { major: 'GBP', scale: 0.01 },
  ZAC: { major: 'ZAR', scale: 0.01 },
  ILA: { major: 'ILS', scale: 0.01 },
  USX: { major: 'USD', scale: 0.01 },
  EUX: { major: 'EUR', scale: 0.01 },
  KWF: { major: 'KWD', scale: 0.001 },
  BHF: { major: 'BHD', scale: 0.001 },
};

/** Former codes of ISO 4217 with prices of exchanges, and codes that are newer than some engines. */
const OTHER_CODES =
  'ATS BEF BGL BYR CSK CYP DEM EEK ESP FIM FRF GRD HRK IEP ITL LTL LUF LVL MTL MXP NLG PLZ PTE ROL RUR SIT SKK SLE TRL VEB VED VEF XCG XEU ZWG';

const CURRENCIES: ReadonlySet<string> = new Set([...Intl.supportedValuesOf('currency'), ...OTHER_CODES.split(' ')]);

/** Currencies with three decimals by ISO 4217: fils, baisas, dirhams and millimes are thousandths. */
const THOUSANDTHS: ReadonlySet<string> = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);

/** Currencies without a minor unit by ISO 4217. */
const WITHOUT_MINOR_UNIT: ReadonlySet<string> = new Set(
  'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'.split(' '),
);

/** Code of a minor unit by its vendors: the last letter of the code is lower case, as in GBp, ZAc, ILs and KWd. */
const LOWER_CASE_UNIT = /^[A-Z]{2}[a-z]$/;

/** Returns true for a current or former ISO 4217 code, or for a minor unit in which prices are quoted. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code) || findMinorUnit(code) !== undefined;
}

function findMinorUnit(code: string): CurrencyUnit | undefined {
  const upperCase = LOWER_CASE_UNIT.test(code) ? code.toUpperCase() : code;
  if (Object.hasOwn(MINOR_UNITS, upperCase)) return MINOR_UNITS[upperCase];
  if (upperCase === code || !CURRENCIES.has(upperCase) || WITHOUT_MINOR_UNIT.has(upperCase)) return undefined;
  return { major: upperCase, scale: THOUSANDTHS.has(upperCase) ? 0.001 : 0.01 };
}

/**
 * Splits a text such as EURUSD into two currency codes. The currencies need not exist. Returns undefined if the length
 * differs.
 */
export function parsePair(name: string): readonly [from: string, to: string] | undefined {
  return name.length === 6 ? [name.slice(0, 3), name.slice(3)] : undefined;
}

/** Returns the currency to which a code belongs: GBP for GBX. */
export function findMajorUnit(code: string): string {
  return findUnit(code).major;
}

export function findUnit(code: string): CurrencyUnit {
  return findMinorUnit(code) ?? { major: code, scale: 1 };
}

/** Returns the identifier of the security or series that contains the price of one currency in another. */
export function createPair(from: string, to: string): string {
  return `${findUnit(from).major}${findUnit(to).major}`;
}

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

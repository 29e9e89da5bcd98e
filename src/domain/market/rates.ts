import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import {
  carryCloses,
  createReferenceSpells,
  findSpell,
  isBlank,
  type MarketData,
  type PriceSeries,
} from './market-data.js';
import type { SessionMarket } from './session-market.js';

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
const CROSS_CURRENCIES = ['USD', 'EUR', 'GBP', 'JPY', 'CHF'] as const;

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

/** Exchange rates into one currency for every security of a market, by the currency of its prices on the day. */
export interface ExchangeRates {
  readonly currency: string;
  /**
   * Returns the price in the target currency of one unit of the currency of a security. Returns NaN if the store has no
   * rate.
   */
  rateAt(session: number, column: number): number;
  /**
   * Returns the currency of a security on a session. A security without a currency has that of the store, or otherwise
   * that of the index.
   */
  currencyAt(session: number, column: number): string;
  /**
   * Returns the rates of a security on every session, [S]. @cost O(S) if its currency changes over time, otherwise none
   */
  seriesOf(column: number): Float64Array;
  /** True if any security is quoted in a currency other than the target. */
  readonly isForeign: boolean;
  /** Returns true if every price of the security is in the target currency, so that its rate is always 1. */
  isNative(column: number): boolean;
  /**
   * Returns an amount of a security in another of its currencies, at the rates of a session. The result is NaN without a
   * rate.
   */
  convert(amount: number, conversion: CurrencyConversion): number;
  /** Changes of the currency of securities, by session. A change applies from its session on. */
  readonly redenominations: ReadonlyMap<number, readonly Redenomination[]>;
  /** Returns the market identifier of the missing rate of a security. Returns undefined if the rate is known. */
  missingPair(session: number, column: number): string | undefined;
  /**
   * Columns that contain exchange rates of the currencies in which securities of this store trade. They are not
   * constituents of a universe.
   */
  readonly pairColumns: ReadonlySet<number>;
}

interface CurrencyConversion {
  readonly column: number;
  /** Day on whose currency the amount is stated. */
  readonly stated: Day;
  /** Day of the currency of the result. */
  readonly wanted: Day;
  readonly session: number;
}

/** Change of the currency in which a security is quoted. */
interface Redenomination {
  readonly column: number;
  /** Factor on a price, at the rates of the previous session. */
  readonly factor: number;
}

const ratesByMarket = new WeakMap<SessionMarket, Map<string, ExchangeRates>>();

/**
 * Returns the rates of a market into a currency. A rate is the CLOSE of `{CCY}{currency}`, a security or a series. If
 * there is none, it is the inverse of the opposite pair, otherwise a rate derived from two others. Rates are carried
 * forward. A security without CURRENCY has the currency declared by the store, or otherwise the target currency.
 * Exchange rates have no currency.
 * @cost O(S) per foreign currency, once per market and currency
 */
export function createExchangeRates(sm: SessionMarket, currency: string): ExchangeRates {
  let entry = ratesByMarket.get(sm);
  if (!entry) ratesByMarket.set(sm, (entry = new Map()));
  let rates = entry.get(currency);
  if (!rates) entry.set(currency, (rates = readRates(sm, currency)));
  return rates;
}

/** Lets a view of some sessions of a market use the rates of that market. */
export function shareRates(sm: SessionMarket, view: SessionMarket): void {
  const entry = ratesByMarket.get(sm);
  if (entry !== undefined) ratesByMarket.set(view, entry);
}

/**
 * Asserts that the rate of a security on a session is usable. @throws Refusal FX_MISSING if the store lacks a required
 * rate, NUMERIC_FAILURE if the rate is 0 or less
 */
export function requireRate(rates: ExchangeRates, sm: SessionMarket, session: number, column: number): void {
  if (rates.isNative(column)) return;
  const pair = rates.missingPair(session, column);
  if (pair === undefined) return;
  const refusal = refuseRateNotAboveZero(sm, { from: rates.currencyAt(session, column), to: rates.currency, session });
  if (refusal !== undefined) throw refusal;
  throw new Refusal(
    'FX_MISSING',
    `${sm.identifiers[column]} needs the exchange rate ${pair}, which the data does not contain on ${formatDay(sm.sessions[session]!)}.`,
    {
      identifier: sm.identifiers[column],
      pair,
    },
  );
}

/**
 * Asserts that no rate is 0 or less on the sessions of a run, because values would be meaningless.
 * @throws Refusal NUMERIC_FAILURE
 * @cost O(S) per currency
 */
export function requireRatesAboveZero(
  sm: SessionMarket,
  columns: Iterable<number>,
  { currency, from, to }: { readonly currency: string; readonly from: number; readonly to: number },
): void {
  const rates = createExchangeRates(sm, currency);
  if (!rates.isForeign) return;
  const visitedSeries = new Set<Float64Array>();
  for (const column of columns) {
    if (rates.isNative(column)) continue;
    const series = rates.seriesOf(column);
    if (visitedSeries.has(series)) continue;
    visitedSeries.add(series);
    for (let session = from; session <= to; session++) {
      if (series[session] === series[session]) continue;
      const refusal = refuseRateNotAboveZero(sm, { from: rates.currencyAt(session, column), to: currency, session });
      if (refusal !== undefined) throw refusal;
    }
  }
}

/** Asserts that holdings of securities have a value in a currency on a session. @throws Refusal FX_MISSING */
export function requireRates(
  sm: SessionMarket,
  columns: Int32Array,
  { currency, session }: { readonly currency: string; readonly session: number },
): void {
  const rates = createExchangeRates(sm, currency);
  for (const column of columns) requireRate(rates, sm, session, column);
}

function readRates(sm: SessionMarket, currency: string): ExchangeRates {
  const spells = createReferenceSpells(sm.market, 'CURRENCY');
  const target = findUnit(currency);
  const currencies = new Set(
    spells
      .flat()
      .map(({ value }) => value)
      .filter((value) => typeof value === 'string'),
  );
  const series = new Map<string, Float64Array | undefined>();
  const findSeries = (code: string): Float64Array | undefined => {
    if (!series.has(code)) series.set(code, readRateSeries(sm, code, currency));
    return series.get(code);
  };
  const getCurrencyAt = (session: number, column: number): string => {
    const value = findSpell(spells[column]!, sm.sessions[session]!);
    return typeof value === 'string' && !isBlank(value) ? value : currency;
  };
  const pairColumns = listPairColumns(sm, [...currencies, currency]);
  const native = spells.map(
    (list, column) => pairColumns.has(column) || list.every(({ value }) => value === currency || isBlank(value)),
  );
  const getRateAt = (session: number, column: number): number => {
    if (native[column]) return 1;
    const code = getCurrencyAt(session, column);
    return code === currency ? 1 : (findSeries(code)?.[session] ?? Number.NaN);
  };
  const getRateOf = (code: string, session: number): number =>
    code === currency ? 1 : (findSeries(code)?.[session] ?? Number.NaN);
  const getCurrencyOn = (day: Day, column: number): string => {
    const value = findSpell(spells[column]!, day);
    return typeof value === 'string' && !isBlank(value) ? value : currency;
  };
  const convert = (amount: number, { column, stated, wanted, session }: CurrencyConversion): number => {
    if (spells[column]!.length < 2 || native[column]) return amount;
    const [from, to] = [getCurrencyOn(stated, column), getCurrencyOn(wanted, column)];
    return from === to ? amount : (amount * getRateOf(from, session)) / getRateOf(to, session);
  };
  let redenominations: ReadonlyMap<number, readonly Redenomination[]> | undefined;
  return {
    currency,
    convert,
    get redenominations() {
      return (redenominations ??= listRedenominations(sm, spells, convert));
    },
    isForeign: native.includes(false),
    rateAt: getRateAt,
    currencyAt: getCurrencyAt,
    isNative: (column) => native[column]!,
    seriesOf: (column) => {
      const list = spells[column]!;
      const constantSeries =
        list.length === 1 && list[0]!.from === -Infinity ? findSeries(getCurrencyAt(0, column)) : undefined;
      return constantSeries ?? Float64Array.from(sm.sessions, (_, session) => getRateAt(session, column));
    },
    missingPair: (session, column) => {
      const rate = getRateAt(session, column);
      return rate === rate ? undefined : `${findUnit(getCurrencyAt(session, column)).major}${target.major}`;
    },
    pairColumns,
  };
}

/** Returns the factor on the price of a security whose currency changes on a session; otherwise 1. */
export function findRedenomination(
  redenominations: ExchangeRates['redenominations'],
  session: number,
  column: number,
): number {
  return redenominations.get(session)?.find((change) => change.column === column)?.factor ?? 1;
}

/** Returns the changes of currency by session. @cost O(N) */
function listRedenominations(
  { sessions }: SessionMarket,
  spells: ReturnType<typeof createReferenceSpells>,
  convert: ExchangeRates['convert'],
): Map<number, Redenomination[]> {
  const bySession = new Map<number, Redenomination[]>();
  for (const [column, list] of spells.entries()) {
    for (const { from } of list.length < 2 ? [] : list) {
      const session = findFirstAtLeast(sessions, from);
      if (session < 1 || session >= sessions.length || bySession.get(session)?.at(-1)?.column === column) continue;
      const [stated, wanted] = [sessions[session - 1]!, sessions[session]!];
      const factor = convert(1, { column, stated, wanted, session: session - 1 });
      if (factor !== 1) bySession.set(session, [...(bySession.get(session) ?? []), { column, factor }]);
    }
  }
  return bySession;
}

type RateMarket = Pick<SessionMarket, 'sessions' | 'market' | 'columnOf' | 'securityCount'>;

/**
 * Returns the price of one unit of `from` in `to` on every session, [S]. If the store lacks the pair, the price is
 * derived from two other rates. Returns undefined if it cannot be computed. @cost O(S)
 */
export function readRateSeries(sm: RateMarket, from: string, to: string): Float64Array | undefined {
  const source = findUnit(from);
  const target = findUnit(to);
  const scale = source.scale / target.scale;
  if (source.major === target.major) return new Float64Array(sm.sessions.length).fill(scale);
  const directSeries = readDirectSeries(sm, [source.major, target.major], scale);
  if (directSeries !== undefined) return directSeries;
  for (const cross of CROSS_CURRENCIES) {
    const first = readDirectSeries(sm, [source.major, cross], scale);
    const second = first && readDirectSeries(sm, [cross, target.major], 1);
    if (second !== undefined) return second.map((rate, session) => first![session]! * rate);
  }
  return undefined;
}

/** Returns a pair as stored, or the inverse of the opposite pair. Returns undefined if the store has neither. */
function readDirectSeries(
  sm: RateMarket,
  [from, to]: readonly [string, string],
  scale: number,
): Float64Array | undefined {
  return (
    readPairSeries(sm, `${from}${to}`, (rate) => rate * scale) ??
    readPairSeries(sm, `${to}${from}`, (rate) => scale / rate)
  );
}

/**
 * Returns a refusal if a stored rate is 0 or less on a session. The rate may be used directly or to derive another
 * rate. Otherwise returns undefined.
 */
export function refuseRateNotAboveZero(
  sm: SessionMarket,
  { from, to, session }: { readonly from: string; readonly to: string; readonly session: number },
): Refusal | undefined {
  const [source, target] = [findMajorUnit(from), findMajorUnit(to)];
  const pairs = [
    `${source}${target}`,
    `${target}${source}`,
    ...CROSS_CURRENCIES.flatMap((cross) => [
      `${source}${cross}`,
      `${cross}${source}`,
      `${cross}${target}`,
      `${target}${cross}`,
    ]),
  ];
  for (const pair of pairs) {
    const series = sm.market.series?.get(pair);
    const position = series === undefined ? -1 : findLastAtMost(series.days, sm.sessions[session]!);
    if (series === undefined || position < 0 || series.closes[position]! > 0) continue;
    const [value, date] = [series.closes[position]!, formatDay(series.days[position]!)];
    return new Refusal(
      'NUMERIC_FAILURE',
      `The exchange rate ${pair} is ${value} on ${date}; a rate must be greater than 0.`,
      { pair, date, value },
    );
  }
  return undefined;
}

/**
 * Returns the rates of a pair on every session, [S], from a security of the market or a series. A rate of 0 or less is
 * NaN. Returns undefined if the store has neither security nor series.
 */
function readPairSeries(sm: RateMarket, pair: string, convert: (rate: number) => number): Float64Array | undefined {
  const column = sm.columnOf(pair);
  if (column >= 0) return carrySeries(sm, column, convert);
  const series = sm.market.series?.get(pair);
  return series && carryCloses(series, sm.sessions).map((rate) => (rate > 0 ? convert(rate) : Number.NaN));
}

/**
 * Returns the latest bar on or before each session. The bar may be on any day of the store. NaN before the first bar.
 */
function carrySeries(sm: RateMarket, column: number, convert: (rate: number) => number): Float64Array {
  const { market, sessions, securityCount } = sm;
  const close = market.fields.get('CLOSE')!;
  const series = new Float64Array(sessions.length);
  let rate = Number.NaN;
  let row = 0;
  for (let s = 0; s < sessions.length; s++) {
    const last = findLastAtMost(market.dates, sessions[s]!);
    for (; row <= last; row++) {
      const bar = close[row * securityCount + column]!;
      if (bar === bar) rate = convert(bar);
    }
    series[s] = rate;
  }
  return series;
}

function listPairColumns(sm: SessionMarket, currencies: readonly string[]): Set<number> {
  return new Set(
    [...listPairs(sm.market, currencies)].map((pair) => sm.columnOf(pair)).filter((column) => column >= 0),
  );
}

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

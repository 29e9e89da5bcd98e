import { findLastAtMost } from '../base/numbers.js';
import { addMonths, type Day, formatDay, toCivilDate, toDay } from '../base/time.js';
import {
  carryClose,
  computeShareFactor,
  createEffectTable,
  findEffect,
  findEffectAfter,
  type GrowthTerms,
  NO_EFFECT,
} from '../market/action-effects.js';
import { findCarriedUnder, readGrowthRow } from '../market/growth.js';
import {
  ACTION_KINDS,
  createReferenceSpells,
  findSpell,
  isBlank,
  type MarketData,
  type ReferenceSpell,
  type ReferenceValue,
} from '../market/market-data.js';
import { createExchangeRates, readRateOn } from '../market/rates.js';
import { BeforeMarketError, type ReturnGaps, type SessionMarket } from '../market/session-market.js';
import { type ExpressionNode, readGroup } from './expression-tree.js';
import { type DerivedName, hasSharesField, resolveName, type SessionReturn } from './fields.js';

/** Ordinary dividends of every security, without cancelled dividends. */
export interface DividendHistory {
  /**
   * Returns ordinary dividends per share with an ex-date in the twelve months that end on `day`, on the share basis and
   * in the currency of `day`. Returns 0 without dividends.
   * @throws BeforeMarketError
   */
  trailing(column: number, day: Day): number;
  /**
   * Returns the trailing sums of a security as a step function, with a few steps per year. @cost O(dividends of the
   * security) on the first call
   */
  steps(column: number): DividendSteps;
  /**
   * Asserts that the dividends of the twelve months up to a day are complete. @throws BeforeMarketError if some were
   * removed
   */
  assertCovers(day: Day): void;
  /**
   * Returns ordinary dividends per share by year of their ex-date, up to `day` and on the share basis of `day`. The
   * result covers at least the last `YEARS_OF_GROWTH_MAX` years.
   * @throws BeforeMarketError
   * @cost O(dividends of the security)
   */
  byYear(column: number, day: Day): ReadonlyMap<number, number>;
  /** Returns true if an ordinary dividend went ex between `start` and `end`, inclusive. @throws BeforeMarketError */
  paidBetween(column: number, start: Day, end: Day): boolean;
}

/** Step function. It is 0 before the first of the days, then the sum of each day until the next day. */
interface DividendSteps {
  readonly days: Int32Array;
  readonly sums: Float64Array;
}

interface DividendEvents {
  readonly exDays: Int32Array;
  readonly amounts: Float64Array;
  readonly splitDays: Int32Array;
  readonly ratios: Float64Array;
}

/** Histories by market; they depend on nothing else. */
const histories = new WeakMap<MarketData, DividendHistory>();

/**
 * Returns the dividend history of a market. @cost O(actions) once; a look-up is O(log actions of the security + actions
 * in the window)
 */
export function createDividendHistory(market: MarketData): DividendHistory {
  const dividendHistory = histories.get(market) ?? computeHistory(market);
  histories.set(market, dividendHistory);
  return dividendHistory;
}

function computeHistory(market: MarketData): DividendHistory {
  const events = listEventsByColumn(market);
  const { settledTo = -Infinity } = market;
  const assertCovered = (after: Day): void => {
    if (after < settledTo)
      throw new BeforeMarketError(
        `dividends after ${formatDay(after)} were requested, but those up to ${formatDay(settledTo)} have been removed`,
      );
  };
  let today = NaN;
  let yearBefore = NaN;
  /**
   * Returns the day twelve months earlier. The last result is cached, because callers read all securities of one day
   * before the next day.
   */
  const findYearBefore = (day: Day): Day => {
    if (day !== today) yearBefore = addMonths(day, -12);
    today = day;
    return yearBefore;
  };
  /**
   * First day on which an ex-date is no longer in the trailing twelve months, by ex-date. Cached, because securities
   * share many ex-dates.
   */
  const leavingDayByExDay = new Map<Day, Day>();
  const findLeavingDay = (exDay: Day): Day => {
    const day = leavingDayByExDay.get(exDay) ?? computeDayLeft(exDay);
    leavingDayByExDay.set(exDay, day);
    return day;
  };
  const stepsByColumn: DividendSteps[] = [];
  return {
    trailing(column, day) {
      const { exDays } = events[column]!;
      if (exDays.length === 0 && settledTo === -Infinity) return 0;
      const after = findYearBefore(day);
      assertCovered(after);
      return sumDividends(events[column]!, day, findLastAtMost(exDays, after) + 1);
    },
    steps: (column) => (stepsByColumn[column] ??= computeSteps(events[column]!, findLeavingDay)),
    assertCovers: (day) => assertCovered(findYearBefore(day)),
    byYear(column, day) {
      assertCovered(toDay({ year: toCivilDate(day).year - YEARS_OF_GROWTH_MAX, month: 1, day: 1 }) - 1);
      return computeTotalsByYear(events[column]!, day);
    },
    paidBetween(column, start, end) {
      assertCovered(start - 1);
      const { exDays } = events[column]!;
      const last = findLastAtMost(exDays, end);
      return last >= 0 && exDays[last]! >= start;
    },
  };
}

/**
 * Returns the trailing sums on each day on which they change: a dividend enters or leaves the twelve months, or the
 * share basis changes.
 */
function computeSteps(events: DividendEvents, leavingOn: (exDay: Day) => Day): DividendSteps {
  const left = events.exDays.map(leavingOn);
  const days = Int32Array.from(new Set([...events.exDays, ...left, ...events.splitDays])).sort();
  return { days, sums: Float64Array.from(days, (day) => sumDividends(events, day, findLastAtMost(left, day) + 1)) };
}

/** Returns the sum of the dividends from index `first` up to a day, on the share basis of the day. */
function sumDividends({ exDays, amounts, splitDays, ratios }: DividendEvents, day: Day, first: number): number {
  let total = 0;
  let basis = 1; // shares of `day` per share on the ex-date of the dividend
  let split = findLastAtMost(splitDays, day);
  for (let i = findLastAtMost(exDays, day); i >= first; i--) {
    while (split >= 0 && splitDays[split]! > exDays[i]!) basis *= ratios[split--]!;
    total += amounts[i]! / basis;
  }
  return total;
}

function computeTotalsByYear({ exDays, amounts, splitDays, ratios }: DividendEvents, day: Day): Map<number, number> {
  const totals = new Map<number, number>();
  let basis = 1; // shares of `day` per share on the ex-date of the dividend
  let split = findLastAtMost(splitDays, day);
  for (let i = findLastAtMost(exDays, day); i >= 0; i--) {
    while (split >= 0 && splitDays[split]! > exDays[i]!) basis *= ratios[split--]!;
    const { year } = toCivilDate(exDays[i]!);
    totals.set(year, (totals.get(year) ?? 0) + amounts[i]! / basis);
  }
  return totals;
}

/** Maximum number of years of rising dividends that are counted. */
export const YEARS_OF_GROWTH_MAX = 100;

/** Maximum relative increase that counts as a rounding error. Sums on different share bases may differ by this much. */
const ROUNDING_ERROR = 1e-12;

/**
 * Counts the complete calendar years before a day, backwards from the last one, in which a security paid more than in
 * the year before. Stops at the first year without an increase.
 */
export function countYearsOfGrowth(history: Pick<DividendHistory, 'byYear'>, column: number, day: Day): number {
  const totals = history.byYear(column, day);
  const last = toCivilDate(day).year - 1;
  let years = 0;
  for (; years < YEARS_OF_GROWTH_MAX; years++) {
    const before = totals.get(last - years - 1) ?? 0;
    if (!(before > 0 && (totals.get(last - years) ?? 0) > before * (1 + ROUNDING_ERROR))) break;
  }
  return years;
}

/**
 * Returns the first day whose trailing twelve months exclude an ex-date. This is not always the same date a year later,
 * for example for 29 February.
 */
function computeDayLeft(exDay: Day): Day {
  let day = addMonths(exDay, 12);
  while (addMonths(day, -12) < exDay) day++;
  return day;
}

/**
 * Returns the changes of the currency of each security, in the form of splits: amounts before a change are converted at
 * the rate of the day before it. NaN without a rate.
 */
function listRedenominations(market: MarketData): { day: Day; value: number }[][] {
  return createReferenceSpells(market, 'CURRENCY').map((spells) =>
    spells.slice(1).flatMap(({ from, value }, position) => {
      const before = spells[position]!.value;
      if (typeof before !== 'string' || typeof value !== 'string' || isBlank(before) || isBlank(value)) return [];
      return [{ day: from, value: 1 / readRateOn(market, { from: before, to: value, day: from - 1 }) }];
    }),
  );
}

/**
 * Returns dividends, and splits with changes of currency, by column. In a store with adjusted prices the splits are
 * omitted, because dividend amounts are already adjusted.
 */
function listEventsByColumn(market: MarketData): DividendEvents[] {
  const positions = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  const cash = market.identifiers.map((): { day: Day; value: number }[] => []);
  const splits = listRedenominations(market);
  for (const action of market.actions) {
    const column = positions.get(action.identifier);
    if (column === undefined || action.status === 'cancelled') continue;
    if (action.type === 'DIVIDEND') cash[column]!.push({ day: action.exDay, value: action.value });
    if (ACTION_KINDS[action.type] === 'ratio' && market.adjustment === 'none')
      splits[column]!.push({ day: action.exDay, value: action.value });
  }
  return market.identifiers.map((_, column) => {
    const columnDividends = cash[column]!.sort((a, b) => a.day - b.day);
    const columnSplits = splits[column]!.sort((a, b) => a.day - b.day);
    return {
      exDays: Int32Array.from(columnDividends, ({ day }) => day),
      amounts: Float64Array.from(columnDividends, ({ value }) => value),
      splitDays: Int32Array.from(columnSplits, ({ day }) => day),
      ratios: Float64Array.from(columnSplits, ({ value }) => value),
    };
  });
}

/** Value for a security whose first price bar has not been searched yet. */
const NOT_SEARCHED = -1;

/**
 * Creates the series of a security's age: the number of sessions since its first price bar. The age is 0 on the session
 * of that bar and missing before it.
 */
function createAgeSeries({ market, sessions, rows }: SessionMarket) {
  const close = market.fields.get('CLOSE')!;
  const first = new Int32Array(market.identifiers.length).fill(NOT_SEARCHED);
  /**
   * Searches the bars before the first session too, because securities may be older than the first session of this
   * market.
   * @cost number of sessions before the axis
   */
  const findFirstBar = (column: number): number => {
    for (let session = 0; session < sessions.length; session++)
      if (!Number.isNaN(rows.valueAt(close, session, column))) return session;
    return sessions.length;
  };
  return {
    fill(session: number, columns: Int32Array, out: Float64Array): void {
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (first[column] === NOT_SEARCHED) first[column] = findFirstBar(column);
        const firstBar = first[column]!;
        out[i] = firstBar > session ? NaN : session - firstBar;
      }
    },
  };
}

/** Assignment of securities to groups. */
export interface Grouping {
  /** Group of each security, [n]. */
  readonly of: Int32Array;
  /** Groups in the order of their first members; null for securities without a value. */
  readonly names: readonly (string | null)[];
}

/**
 * Function that returns the groups of securities on a day. A security whose value never changes is looked up only once.
 */
export type DatedGroups = (day: Day, columns: Int32Array) => Grouping;

/** Creates the groups of a reference column. @param spells spells of each column of the market */
export function createDatedGroups(spells: readonly (readonly ReferenceSpell[])[]): DatedGroups {
  const numbers = createNumbering();
  const changingCode = -1;
  const constantGroups = Int32Array.from(spells, (ownReferenceSpells) => {
    if (ownReferenceSpells.length === 0) return numbers.of(null);
    return ownReferenceSpells.length === 1 && ownReferenceSpells[0]!.from === -Infinity
      ? numbers.of(ownReferenceSpells[0]!.value)
      : changingCode;
  });
  return (day, columns) => {
    const codes = new Int32Array(columns.length);
    for (let i = 0; i < columns.length; i++) {
      const code = constantGroups[columns[i]!]!;
      codes[i] = code === changingCode ? numbers.of(findSpell(spells[columns[i]!]!, day)) : code;
    }
    return renumberByOccurrence(codes, numbers.texts);
  };
}

/** Returns the groups of values: one group per different value, and one for missing values. */
export function groupByValue(values: readonly ReferenceValue[]): Grouping {
  const numbers = createNumbering();
  return { of: Int32Array.from(values, numbers.of), names: numbers.texts };
}

interface Numbering {
  readonly texts: (string | null)[];
  of(value: ReferenceValue): number;
}

/** Creates a numbering of texts in order of first occurrence. */
function createNumbering(): Numbering {
  const numberByText = new Map<string | null, number>();
  const texts: (string | null)[] = [];
  return {
    texts,
    of(value) {
      const text = readGroup(value);
      const number = numberByText.get(text) ?? texts.push(text) - 1;
      numberByText.set(text, number);
      return number;
    },
  };
}

/** Renumbers codes in order of first occurrence, in place. */
function renumberByOccurrence(codes: Int32Array, texts: readonly (string | null)[]): Grouping {
  const numberByCode = new Int32Array(texts.length).fill(-1);
  const names: (string | null)[] = [];
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (numberByCode[code]! < 0) numberByCode[code] = names.push(texts[code]!) - 1;
    codes[i] = numberByCode[code]!;
  }
  return { of: codes, names };
}

/** Creates a series of values known on the day of each session (point in time). */
function createReferenceSeries({ market, sessions }: SessionMarket, name: string) {
  const spells = createReferenceSpells(market, name);
  /** Last value read for each security, and the range of days for which it applies. */
  const values = new Float64Array(spells.length);
  const from = new Float64Array(spells.length).fill(Infinity);
  const spellEnds = new Float64Array(spells.length).fill(-Infinity);
  const seekSpell = (column: number, day: Day): void => {
    const columnSpells = spells[column]!;
    const position = columnSpells.findLastIndex((spell) => spell.from <= day);
    const value = columnSpells[position]?.value;
    values[column] = typeof value === 'number' ? value : NaN;
    from[column] = columnSpells[position]?.from ?? -Infinity;
    spellEnds[column] = columnSpells[position + 1]?.from ?? Infinity;
  };
  return {
    fill(session: number, columns: Int32Array, out: Float64Array): void {
      const day = sessions[session]!;
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (day >= spellEnds[column]! || day < from[column]!) seekSpell(column, day);
        out[i] = values[column]!;
      }
    },
  };
}

/** Kinds of values that corporate actions change: prices, numbers of shares, market values, and dividends by price. */
export type ValuedKind = 'price' | 'shares' | 'money' | 'yield';

interface ValuedSpan {
  readonly kind: Exclude<ValuedKind, 'yield'>;
  readonly column: number;
  /** Session of the stated value. */
  readonly from: number;
  /** Later session, up to which the security has no bar. */
  readonly to: number;
  /** True if the value is in index currency. */
  readonly isConverted: boolean;
}

/** Value of a bar between two sessions, which belongs to the later one. */
interface MergedValue {
  readonly kind: ValuedKind;
  readonly column: number;
  readonly session: number;
  readonly day: Day;
  readonly value: number;
}

/** Returns the kind of a datapoint whose values corporate actions change; null for other datapoints. */
export function findValuedKind(name: string): ValuedKind | null {
  if (name === 'CLOSE') return 'price';
  if (name === 'SHARES_OUTSTANDING') return 'shares';
  if (name === 'DIVIDEND_YIELD') return 'yield';
  return name === 'MARKET_CAP' || name === 'FREE_FLOAT_MARKET_CAP' ? 'money' : null;
}

/** Values of a suspended security as an index values its holdings. */
export interface Valuation {
  /** Returns the price of a security on a session. Returns NaN before its first bar. */
  priceAt(session: number, column: number): number;
  /** Returns the ordinary dividends of the twelve months up to a session, divided by the price on it. */
  yieldAt(session: number, column: number): number;
  /** Returns the ratio of a value on a session to the value that was stated earlier. */
  ratio(span: ValuedSpan): number;
  /** Returns a value of an earlier day of a session after the events since. */
  onSession(merged: MergedValue): number;
}

/** @param growth terms by which the index adjusts prices and shares */
export function createValuation(sm: SessionMarket, growth: GrowthTerms): Valuation {
  const table = createEffectTable(sm, growth);
  const rates = createExchangeRates(sm, growth.currency);
  const countSpells = sm.market.fields.has('SHARES_OUTSTANDING')
    ? undefined
    : createReferenceSpells(sm.market, 'SHARES_OUTSTANDING');
  const priceAt = (session: number, column: number): number => findCarriedUnder(sm, table, session, column);
  const computeShares = ({ column, from, to }: ValuedSpan): number => {
    const readCount = (session: number) => findSpell(countSpells?.[column] ?? [], sm.sessions[session]!);
    const [before, after] = [readCount(from), readCount(to)];
    if (typeof before === 'number' && typeof after === 'number' && before !== after) return after / before;
    let factor = 1;
    for (let s = from + 1; s <= to; s++) {
      const effect = findEffect(table, s, column);
      if (effect !== undefined) factor *= computeShareFactor(effect, priceAt(s - 1, column), table.getTerms(s));
    }
    return factor;
  };
  const yieldAt = (session: number, column: number): number =>
    createDividendHistory(sm.market).trailing(column, sm.sessions[session]!) / priceAt(session, column);
  return {
    priceAt,
    yieldAt,
    onSession({ kind, column, session, day, value }) {
      const stated = { column, stated: day, wanted: sm.sessions[session]!, session };
      const effect = findEffectAfter(sm, table.getTerms(session), { session, column, day }) ?? NO_EFFECT;
      const isChanged = effect !== NO_EFFECT || rates.convert(1, stated) !== 1;
      if (!isChanged) return value;
      if (kind === 'yield') return yieldAt(session, column);
      if (kind === 'price') return rates.convert(carryClose(effect, value), stated);
      const close = sm.closeAt(session, column);
      const shares = value * computeShareFactor(effect, close, table.getTerms(session));
      return kind === 'shares' ? shares : rates.convert(shares * (carryClose(effect, close) / close), stated);
    },
    ratio(span) {
      const { kind, column, from, to, isConverted } = span;
      const shares = kind === 'price' ? 1 : computeShares(span);
      if (kind === 'shares') return shares;
      const currency = isConverted ? rates.rateAt(to, column) / rates.rateAt(from, column) : 1;
      return (priceAt(to, column) / priceAt(from, column)) * currency * shares;
    },
  };
}

/** Numeric datapoint as dated values. Each value is as stated on its session and is not carried forward. */
export interface Series {
  /**
   * Writes the values of one session for some columns; NaN is a missing value.
   * @param columns Columns, ascending, [n].
   * @param out [n], overwritten.
   */
  fill(session: number, columns: Int32Array, out: Float64Array): void;
  /**
   * Panel whose cells contain the values. Windows read the panel directly, without a copy. Absent if the values are not
   * in a panel.
   */
  readonly panel?: SeriesPanel;
}

interface SeriesPanel {
  readonly cells: Float64Array;
  /** Returns the position of the first cell of a session; negative if the panel lacks the session. */
  rowAt(session: number): number;
  /** Constant to subtract from a cell to obtain its value. */
  readonly less: number;
  /** Cells that do not count as values, in addition to NaN; null if there are none. */
  readonly gaps: Pick<ReturnGaps, 'of' | 'clear'> | null;
}

export interface SeriesTerms {
  /** Asserts that the store has the exchange rates of some securities. @throws Refusal FX_MISSING */
  requireRates(session: number, columns: Int32Array): void;
  /**
   * Units of index currency per unit of the currency of a security, NaN for a missing rate. Null if every security is
   * in index currency.
   */
  readonly exchange: Series | null;
  /** Growth factors of the total return variant, [S - first x N]; computed at the first use. */
  readonly growth: () => Float64Array;
  /** Marks of cells that are not returns between two bars; computed at the first use. */
  readonly gaps: () => ReturnGaps;
  readonly price: Pick<SeriesTerms, 'growth' | 'gaps'>;
  /**
   * Securities whose VOLATILITY, MOMENTUM and BETA are computed over rolling windows, ascending. Null if there are
   * none.
   */
  readonly followed: Int32Array | null;
  /** Maximum age of a FREE_FLOAT in sessions. */
  readonly maxStaleSessions: number;
  /**
   * Maximum number of sessions for which the latest bar prices a suspended constituent. Default: same as for other
   * securities.
   */
  readonly suspendedSessions?: number | undefined;
  /** Values of suspended securities; created at the first use. */
  readonly valuation: () => Valuation;
  /** Expressions that a document defines. They take precedence over datapoints of the market with the same name. */
  readonly datapoints: ReadonlyMap<string, ExpressionNode>;
}

/** Series of one market by name, each created once. */
export interface NamedSeries {
  market(name: string): Series;
  reference(name: string): Series;
  derived(name: Exclude<DerivedName, 'VOLATILITY' | 'MOMENTUM' | 'BETA'>): Series;
  shares(hasFloat: boolean): Series;
  /** Returns for windows: only returns between bars on two consecutive sessions. */
  returns(name: SessionReturn): Series;
  /** Growth factors, 1 plus each of `returns`. Their product is the return of several sessions. */
  growth(): Series;
  /**
   * Returns a series of amounts in index currency: the amounts in the currency of each security, times the exchange
   * rate.
   */
  inIndexCurrency(series: Series): Series;
}

export function createSeriesTable(sm: SessionMarket, terms: SeriesTerms): NamedSeries {
  const results = new Map<string, Series>();
  const convertedBySeries = new Map<Series, Series>();
  const computeOnce = (key: string, make: () => Series): Series => {
    const cachedSeries = results.get(key);
    if (cachedSeries !== undefined) return cachedSeries;
    const series = make();
    results.set(key, series);
    return series;
  };
  const table: NamedSeries = {
    market: (name) => computeOnce(`market ${name}`, () => createPanelSeries(sm, name, terms.valuation)),
    reference: (name) => computeOnce(`reference ${name}`, () => createReferenceSeries(sm, name)),
    derived: (name) => computeOnce(`derived ${name}`, () => deriveSeries(name)),
    shares(hasFloat) {
      const counts = sm.market.fields.has('SHARES_OUTSTANDING')
        ? createPanelSeries(sm, 'SHARES_OUTSTANDING')
        : table.reference('SHARES_OUTSTANDING');
      return hasFloat ? multiplySeries(counts, createFreeFloat()) : counts;
    },
    returns: (name) => computeOnce(`returns ${name}`, () => createGrowthBetweenBars(sm, findGrowth(name), 1)),
    growth: () => computeOnce('growth', () => createGrowthBetweenBars(sm, terms, 0)),
    inIndexCurrency(series) {
      if (terms.exchange === null) return series;
      const convertedSeries = convertedBySeries.get(series) ?? multiplySeries(series, terms.exchange);
      convertedBySeries.set(series, convertedSeries);
      return convertedSeries;
    },
  };
  const findGrowth = (name: SessionReturn) => (name === 'RETURN' ? terms : terms.price);
  const readSeries = (name: string): Series =>
    sm.market.fields.has(name) ? table.market(name) : table.reference(name);

  function deriveSeries(name: Exclude<DerivedName, 'VOLATILITY' | 'MOMENTUM' | 'BETA'>): Series {
    switch (name) {
      case 'MARKET_CAP':
        return table.inIndexCurrency(multiplySeries(table.market('CLOSE'), readSeries('SHARES_OUTSTANDING')));
      case 'FREE_FLOAT_MARKET_CAP':
        return multiplySeries(createMarketCap(), createFreeFloat());
      case 'VALUE_TRADED':
        return table.inIndexCurrency(multiplySeries(createPanelSeries(sm, 'CLOSE'), readSeries('VOLUME')));
      case 'RETURN':
      case 'PRICE_RETURN':
        return createReturnSeries(sm, findGrowth(name).growth());
      case 'DIVIDEND_YIELD':
        return createYieldSeries(sm, createDividendHistory(sm.market), table.market('CLOSE'));
      case 'AGE':
        return createAgeSeries(sm);
    }
  }

  function createMarketCap(): Series {
    const marketCapColumn = resolveName(sm.market, { name: 'MARKET_CAP', dataset: null });
    return 'dataset' in marketCapColumn && marketCapColumn.dataset !== 'derived'
      ? table.inIndexCurrency(readSeries('MARKET_CAP'))
      : table.derived('MARKET_CAP');
  }

  function createFreeFloat(): Series {
    const capSeries: Series[] = [];
    if (sm.market.fields.has('FREE_FLOAT'))
      capSeries.push(createCarriedSeries(table.market('FREE_FLOAT'), terms.maxStaleSessions));
    if (sm.market.reference.columns.includes('FREE_FLOAT')) capSeries.push(table.reference('FREE_FLOAT'));
    return createFallbackSeries([...capSeries, createConstantSeries(1)]);
  }

  return table;
}

/** @param valuation values of bars between two sessions. Default: such a bar has its stated value. */
function createPanelSeries(sm: SessionMarket, name: string, valuation?: SeriesTerms['valuation']): Series {
  const { market, rows } = sm;
  const panel = market.fields.get(name)!;
  const kind = valuation === undefined ? null : findValuedKind(name);
  const readMerged = (session: number, column: number): number => {
    const value = rows.valueAt(panel, session, column);
    const day = rows.dayOf(panel, session, column);
    const isOld = kind !== null && day < sm.sessions[session]!;
    return isOld ? valuation!().onSession({ kind, column, session, day, value }) : value;
  };
  return {
    // Values of several rows are not in one row of the panel.
    ...(rows.isAnyMerged ? {} : { panel: { cells: panel, rowAt: rows.startOf, less: 0, gaps: null } }),
    fill(session, columns, out) {
      if (rows.isMerged(session)) {
        for (let i = 0; i < columns.length; i++) out[i] = readMerged(session, columns[i]!);
        return;
      }
      const offset = rows.startOf(session);
      if (offset < 0) out.fill(NaN);
      else for (let i = 0; i < columns.length; i++) out[i] = panel[offset + columns[i]!]!;
    },
  };
}

export function multiplySeries(leftSeries: Series, right: Series): Series {
  if (isWholePanel(leftSeries) && isWholePanel(right)) return multiplyPanels(leftSeries.panel, right.panel);
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const factor = scratch.subarray(0, columns.length);
      leftSeries.fill(session, columns, out);
      right.fill(session, columns, factor);
      for (let i = 0; i < columns.length; i++) out[i]! *= factor[i]!;
    },
  };
}

interface PanelBacked {
  readonly panel: SeriesPanel;
}

/** Returns true if the values of a series are exactly the cells of a panel. */
function isWholePanel(series: Series): series is Series & PanelBacked {
  return series.panel?.less === 0 && series.panel.gaps === null;
}

function multiplyPanels(leftSeriesPanel: SeriesPanel, right: SeriesPanel): Series {
  const [lefts, rights] = [leftSeriesPanel.cells, right.cells];
  return {
    fill(session, columns, out) {
      const [a, b] = [leftSeriesPanel.rowAt(session), right.rowAt(session)];
      if (a < 0 || b < 0) out.fill(NaN);
      else multiplyCells({ lefts, a, rights, b }, columns, out);
    },
  };
}

interface TwoRows {
  readonly lefts: Float64Array;
  /** Start of the row in the left panel. */
  readonly a: number;
  readonly rights: Float64Array;
  readonly b: number;
}

function multiplyCells({ lefts, a, rights, b }: TwoRows, columns: Int32Array, out: Float64Array): void {
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!;
    out[i] = lefts[a + column]! * rights[b + column]!;
  }
}

export function createConstantSeries(value: number): Series {
  return { fill: (_session, _columns, out) => void out.fill(value) };
}

function hasGap(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) return true;
  return false;
}

/** Replaces missing values by the values of another row. */
function fillGaps(values: Float64Array, others: Float64Array): void {
  for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) values[i] = others[i]!;
}

/** Returns a series with the value of the first series that has one. */
function createFallbackSeries(series: readonly Series[]): Series {
  if (series.length === 1) return series[0]!;
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const next = scratch.subarray(0, columns.length);
      series[0]!.fill(session, columns, out);
      for (let k = 1; k < series.length; k++) {
        if (!hasGap(out)) return;
        series[k]!.fill(session, columns, next);
        fillGaps(out, next);
      }
    },
  };
}

/** Returns a series of latest values that are at most `sessionsMax` sessions old. */
function createCarriedSeries(series: Series, sessionsMax: number): Series {
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const earlier = scratch.subarray(0, columns.length);
      series.fill(session, columns, out);
      for (let back = 1; back <= sessionsMax && session - back >= 0 && hasGap(out); back++) {
        series.fill(session - back, columns, earlier);
        fillGaps(out, earlier);
      }
    },
  };
}

/**
 * Returns the series of returns on every session (growth - 1). Without a price bar, the return consists of the cash of
 * corporate actions and the change of the exchange rate.
 */
function createReturnSeries(sm: SessionMarket, growth: Float64Array): Series {
  return {
    fill(session, columns, out) {
      const offset = readGrowthRow(sm, session);
      for (let i = 0; i < columns.length; i++) out[i] = growth[offset + columns[i]!]! - 1;
    },
  };
}

/**
 * Returns the series of growth between price bars on consecutive sessions, minus a number. The number is 1 for returns
 * and 0 for growth factors.
 */
function createGrowthBetweenBars(sm: SessionMarket, terms: Pick<SeriesTerms, 'growth' | 'gaps'>, less: number): Series {
  const growth = terms.growth();
  const { lastBar, securityCount } = sm;
  return {
    panel: { cells: growth, rowAt: (session) => readGrowthRow(sm, session), less, gaps: terms.gaps() },
    fill(session, columns, out) {
      const offset = readGrowthRow(sm, session);
      for (let i = 0; i < columns.length; i++) {
        const position = offset + columns[i]!;
        const isReturn = lastBar[position] === session && lastBar[position - securityCount] === session - 1;
        out[i] = isReturn ? growth[position]! - less : NaN;
      }
    },
  };
}

/**
 * Returns the series of dividend yields: ordinary dividends in the twelve months before the session, divided by its
 * close. 0 for a security that never paid.
 */
function createYieldSeries(
  { sessions, securityCount }: SessionMarket,
  dividends: DividendHistory,
  close: Series,
): Series {
  /** Sum for each security, and the day before which it applies. Sessions are read in order, so one sum suffices. */
  const sums = new Float64Array(securityCount);
  const endDays = new Float64Array(securityCount).fill(-Infinity);
  let [first, latest] = [Infinity, -Infinity];
  const computeSum = (column: number, day: Day): void => {
    if (day === first) {
      // Most callers need a single day.
      sums[column] = dividends.trailing(column, day);
      endDays[column] = day + 1;
      return;
    }
    const steps = dividends.steps(column);
    const position = findLastAtMost(steps.days, day);
    sums[column] = steps.sums[position] ?? 0;
    endDays[column] = steps.days[position + 1] ?? Infinity;
  };
  return {
    fill(session, columns, out) {
      const day = sessions[session]!;
      dividends.assertCovers(day);
      if (latest === -Infinity) first = day;
      if (day < latest) endDays.fill(-Infinity);
      latest = day;
      close.fill(session, columns, out);
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (day >= endDays[column]!) computeSum(column, day);
        out[i] = sums[column]! / out[i]!;
      }
    },
  };
}

interface ShareCountTerms {
  readonly counted: 'all' | 'float';
  /** Maximum age of a FREE_FLOAT in sessions. */
  readonly maxStaleSessions: number;
  /** Free float, if it is not FREE_FLOAT itself. */
  readonly float?: Series | null;
}

/**
 * Returns the share counts from which the market values of a market are computed. Returns null without
 * SHARES_OUTSTANDING.
 */
export function createShareCounts(
  sm: SessionMarket,
  { counted, maxStaleSessions, float = null }: ShareCountTerms,
): Series | null {
  if (!hasSharesField(sm.market)) return null;
  const table = createSeriesTable(sm, createCountTerms(maxStaleSessions));
  if (float !== null) return multiplySeries(table.shares(false), float);
  const { fields, reference } = sm.market;
  return table.shares(counted === 'float' && (fields.has('FREE_FLOAT') || reference.columns.includes('FREE_FLOAT')));
}

/** Returns the terms of series that need neither growth nor exchange rates. */
export function createCountTerms(
  maxStaleSessions: number,
  datapoints: SeriesTerms['datapoints'] = new Map(),
): SeriesTerms {
  return {
    requireRates: () => {},
    exchange: null,
    growth: refuseGrowth,
    gaps: refuseGrowth,
    price: { growth: refuseGrowth, gaps: refuseGrowth },
    valuation: refuseGrowth,
    followed: null,
    maxStaleSessions,
    datapoints,
  };
}

function refuseGrowth(): never {
  throw new Error('share counts need no growth');
}

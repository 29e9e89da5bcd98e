import { addMonths, type Day, formatDay, toCivilDate, toDay } from '../base/time.js';
import { ACTION_KINDS, createReferenceSpells, isBlank, type MarketData } from '../market/market-data.js';
import { readRateOn } from '../market/rates.js';
import { BeforeMarketError } from '../market/session-market.js';
import { findLastAtMost } from '../base/numbers.js';

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
export interface DividendSteps {
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

import { type Day, addMonths, formatDay, civilOf, dayOf } from '../time/days.js';
import { ACTION_KINDS, type MarketData } from '../market/market-data.js';
import { BeforeMarket } from '../market/session-market.js';
import { lastAtMost } from '../numbers/search.js';

/** Ordinary dividends of every name, cancelled ones left out. */
export interface DividendHistory {
  /**
   * Ordinary dividends per share with an ex day in the twelve months that end on `day`, on the share basis of `day`.
   * 0 for a name that paid none.
   * @throws BeforeMarket
   */
  trailing(column: number, day: Day): number;
  /** That sum of a name as it changes, a few times a year. @cost O(dividends of the name) the first time */
  steps(column: number): DividendSteps;
  /** @throws BeforeMarket where dividends of the twelve months that end on a day have been left out */
  assertCovers(day: Day): void;
  /**
   * Ordinary dividends per share by the year of their ex day, up to `day` and on its share basis; those of the last
   * `YEARS_OF_GROWTH_MAX` years at least.
   * @throws BeforeMarket
   * @cost O(dividends of the name)
   */
  byYear(column: number, day: Day): ReadonlyMap<number, number>;
  /** Whether an ordinary dividend went ex in the days from `start` to `end`, both included. @throws BeforeMarket */
  paidBetween(column: number, start: Day, end: Day): boolean;
}

/** 0 before the first of the days, then the sum from each of them on until the next. */
export interface DividendSteps {
  readonly days: Int32Array;
  readonly sums: Float64Array;
}

interface Events {
  readonly exDays: Int32Array;
  readonly amounts: Float64Array;
  readonly splitDays: Int32Array;
  readonly ratios: Float64Array;
}

/** Of markets: it depends on nothing else. */
const histories = new WeakMap<MarketData, DividendHistory>();

/** @cost O(actions) once; a look-up is O(log actions of the name + actions in the window). */
export function dividendHistory(market: MarketData): DividendHistory {
  const known = histories.get(market) ?? historyOf(market);
  histories.set(market, known);
  return known;
}

function historyOf(market: MarketData): DividendHistory {
  const events = eventsByColumn(market);
  const { settledTo = -Infinity } = market;
  const assertCovered = (after: Day): void => {
    if (after < settledTo)
      throw new BeforeMarket(
        `dividends after ${formatDay(after)} are asked for; those up to ${formatDay(settledTo)} have been left out`,
      );
  };
  let today = NaN;
  let yearBefore = NaN;
  /** Twelve months before a day: names are asked for day by day. */
  const monthsBefore = (day: Day): Day => {
    if (day !== today) yearBefore = addMonths(day, -12);
    today = day;
    return yearBefore;
  };
  /** First day whose twelve months leave an ex day out, by ex day: names have many of them in common. */
  const leftOn = new Map<Day, Day>();
  const leavingOn = (exDay: Day): Day => {
    const day = leftOn.get(exDay) ?? dayLeft(exDay);
    leftOn.set(exDay, day);
    return day;
  };
  const stepsByColumn: DividendSteps[] = [];
  return {
    trailing(column, day) {
      const { exDays } = events[column]!;
      if (exDays.length === 0 && settledTo === -Infinity) return 0;
      const after = monthsBefore(day);
      assertCovered(after);
      return sumOn(events[column]!, day, lastAtMost(exDays, after) + 1);
    },
    steps: (column) => (stepsByColumn[column] ??= stepsOf(events[column]!, leavingOn)),
    assertCovers: (day) => assertCovered(monthsBefore(day)),
    byYear(column, day) {
      assertCovered(dayOf({ year: civilOf(day).year - YEARS_OF_GROWTH_MAX, month: 1, day: 1 }) - 1);
      return totalsByYear(events[column]!, day);
    },
    paidBetween(column, start, end) {
      assertCovered(start - 1);
      const { exDays } = events[column]!;
      const last = lastAtMost(exDays, end);
      return last >= 0 && exDays[last]! >= start;
    },
  };
}

/** Sums of the twelve months before each day on which a dividend comes or leaves, or the share basis changes. */
function stepsOf(events: Events, leavingOn: (exDay: Day) => Day): DividendSteps {
  const left = events.exDays.map(leavingOn);
  const days = Int32Array.from(new Set([...events.exDays, ...left, ...events.splitDays])).sort();
  return { days, sums: Float64Array.from(days, (day) => sumOn(events, day, lastAtMost(left, day) + 1)) };
}

/** The dividends from one on up to a day, on the share basis of the day. */
function sumOn({ exDays, amounts, splitDays, ratios }: Events, day: Day, first: number): number {
  let total = 0;
  let basis = 1; // shares of `day` per share of the dividend's ex day
  let split = lastAtMost(splitDays, day);
  for (let i = lastAtMost(exDays, day); i >= first; i--) {
    while (split >= 0 && splitDays[split]! > exDays[i]!) basis *= ratios[split--]!;
    total += amounts[i]! / basis;
  }
  return total;
}

function totalsByYear({ exDays, amounts, splitDays, ratios }: Events, day: Day): Map<number, number> {
  const totals = new Map<number, number>();
  let basis = 1; // shares of `day` per share of the dividend's ex day
  let split = lastAtMost(splitDays, day);
  for (let i = lastAtMost(exDays, day); i >= 0; i--) {
    while (split >= 0 && splitDays[split]! > exDays[i]!) basis *= ratios[split--]!;
    const { year } = civilOf(exDays[i]!);
    totals.set(year, (totals.get(year) ?? 0) + amounts[i]! / basis);
  }
  return totals;
}

/** Years of rising dividends that are counted at most. */
export const YEARS_OF_GROWTH_MAX = 100;

/** Rounding of sums of amounts on different share bases, which is no rise. */
const ROUNDING = 1e-12;

/** Complete calendar years before a day in which a name paid more than in the year before, counted back from the last. */
export function yearsOfGrowth(history: Pick<DividendHistory, 'byYear'>, column: number, day: Day): number {
  const totals = history.byYear(column, day);
  const last = civilOf(day).year - 1;
  let years = 0;
  for (; years < YEARS_OF_GROWTH_MAX; years++) {
    const before = totals.get(last - years - 1) ?? 0;
    if (!(before > 0 && (totals.get(last - years) ?? 0) > before * (1 + ROUNDING))) break;
  }
  return years;
}

/** First day whose twelve months leave an ex day out: not always the same date, as of 29 February. */
function dayLeft(exDay: Day): Day {
  let day = addMonths(exDay, 12);
  while (addMonths(day, -12) < exDay) day++;
  return day;
}

/** In a store whose prices are split adjusted the amounts are read as given: they are on that basis already. */
function eventsByColumn(market: MarketData): Events[] {
  const positions = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  const cash = market.identifiers.map((): { day: Day; value: number }[] => []);
  const splits = market.identifiers.map((): { day: Day; value: number }[] => []);
  for (const action of market.actions) {
    const column = positions.get(action.identifier);
    if (column === undefined || action.status === 'cancelled') continue;
    if (action.type === 'DIVIDEND') cash[column]!.push({ day: action.exDay, value: action.value });
    if (ACTION_KINDS[action.type] === 'ratio' && market.adjustment === 'none')
      splits[column]!.push({ day: action.exDay, value: action.value });
  }
  return market.identifiers.map((_, column) => {
    const paid = cash[column]!.sort((a, b) => a.day - b.day);
    const split = splits[column]!.sort((a, b) => a.day - b.day);
    return {
      exDays: Int32Array.from(paid, ({ day }) => day),
      amounts: Float64Array.from(paid, ({ value }) => value),
      splitDays: Int32Array.from(split, ({ day }) => day),
      ratios: Float64Array.from(split, ({ value }) => value),
    };
  });
}

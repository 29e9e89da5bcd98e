import { addMonths, parseValidDay, toCivilDate } from '#domain/base/time.js';
import { ACTION_KINDS, type MarketData } from '#domain/market/market-data.js';

/**
 * Computes the datapoints of a market from their definitions, one value at a time, without the code that is tested.
 * Every date of the market is a session, and every security trades on these sessions. All prices are in the index
 * currency.
 */
export function slowMarket(market: MarketData, staleMax = 5) {
  const { identifiers, dates } = market;
  const findColumn = (name: string) => identifiers.indexOf(name);
  const findCell = (field: string, name: string, t: number): number | null => {
    const value = t < 0 ? NaN : market.fields.get(field)![t * identifiers.length + findColumn(name)]!;
    return Number.isNaN(value) ? null : value;
  };
  const findBarBefore = (name: string, t: number): number => {
    for (let s = t; s >= 0; s--) if (findCell('CLOSE', name, s) !== null) return s;
    return -1;
  };
  const listActions = (name: string) =>
    market.actions.filter((action) => action.identifier === name && action.status !== 'cancelled');
  const splitBetween = (name: string, after: number, upTo: number): number =>
    listActions(name)
      .filter(({ type, exDay }) => ACTION_KINDS[type] === 'ratio' && exDay > dates[after]! && exDay <= dates[upTo]!)
      .reduce((product, { value }) => product * value, 1);
  const isPriceable = (name: string, t: number): boolean => {
    const bar = findBarBefore(name, t);
    return bar >= 0 && t - bar <= staleMax;
  };
  const findCarriedClose = (name: string, t: number): number | null => {
    const bar = findBarBefore(name, t);
    return bar < 0 ? null : findCell('CLOSE', name, bar)! / splitBetween(name, bar, t);
  };
  const findReference = (name: string, columnName: string) =>
    market.reference.rows.get(name)?.[0]?.values[market.reference.columns.indexOf(columnName)] ?? null;

  /** Returns the value of a datapoint on one session. */
  const readOwn = (field: string, name: string, t: number): number | null => {
    const multiply = (a: number | null, b: number | null) => (a === null || b === null ? null : a * b);
    switch (field) {
      case 'MARKET_CAP':
        return multiply(findCell('CLOSE', name, t), findCell('SHARES_OUTSTANDING', name, t));
      case 'FREE_FLOAT_MARKET_CAP': {
        let float: number | null = null;
        for (let s = t; s >= Math.max(0, t - staleMax) && float === null; s--) float = findCell('FREE_FLOAT', name, s);
        return multiply(readOwn('MARKET_CAP', name, t), float ?? 1);
      }
      case 'VALUE_TRADED':
        return multiply(findCell('CLOSE', name, t), findCell('VOLUME', name, t));
      case 'RETURN':
        return findGrowth(name, t) === null ? null : findGrowth(name, t)! - 1;
      case 'PRICE_RETURN':
        return findGrowth(name, t, false) === null ? null : findGrowth(name, t, false)! - 1;
      case 'AGE': {
        const first = dates.findIndex((_, s) => findCell('CLOSE', name, s) !== null);
        return first < 0 || first > t ? null : t - first;
      }
      case 'DIVIDEND_YIELD': {
        const close = findCell('CLOSE', name, t);
        const day = dates[t]!;
        const dividends = listActions(name)
          .filter(({ type, exDay }) => type === 'DIVIDEND' && exDay > addMonths(day, -12) && exDay <= day)
          .reduce(
            (total, { value, exDay }) =>
              total +
              value /
                splitBetween(
                  name,
                  dates.findIndex((date) => date >= exDay),
                  t,
                ),
            0,
          );
        return close === null ? null : dividends / close;
      }
      default:
        return market.fields.has(field) ? findCell(field, name, t) : null;
    }
  };

  /**
   * Returns the growth since the previous session. Splits count first, then cash on the new share basis. If
   * `hasDividends` is false, only other cash payments count.
   */
  const findGrowth = (name: string, t: number, hasDividends = true): number | null => {
    if (t < 1) return null;
    const before = findCarriedClose(name, t - 1);
    if (before === null) return null;
    const today = listActions(name).filter(({ exDay }) => exDay > dates[t - 1]! && exDay <= dates[t]!);
    const ratio = today
      .filter(({ type }) => ACTION_KINDS[type] === 'ratio')
      .reduce((product, { value }) => product * value, 1);
    const cash = today
      .filter(({ type }) => ACTION_KINDS[type] === 'cash' && (hasDividends || type !== 'DIVIDEND'))
      .reduce((total, { value }) => total + value, 0);
    const price = findCell('CLOSE', name, t) ?? before / ratio;
    return (ratio * (price + cash)) / before;
  };

  const findLatest = (field: string, name: string, t: number): number | null => {
    for (let s = t; s >= Math.max(0, t - staleMax); s--) {
      const value =
        field === 'CLOSE'
          ? findCell('CLOSE', name, s) === null
            ? null
            : findCarriedClose(name, t)
          : readOwn(field, name, s);
      if (value !== null) return value;
    }
    return null;
  };

  /** Returns the return of a session as windows use it. Both consecutive sessions must have prices. */
  const findBetweenBars = (name: string, t: number, hasDividends = true): number | null =>
    findCell('CLOSE', name, t) === null || findCell('CLOSE', name, t - 1) === null
      ? null
      : findGrowth(name, t, hasDividends)! - 1;

  const listWindowValues = (field: string, name: string, t: number, window: number): number[] => {
    const values: number[] = [];
    for (let s = Math.max(0, t - window + 1); s <= t; s++) {
      const isReturn = field === 'RETURN' || field === 'PRICE_RETURN';
      const value = isReturn ? findBetweenBars(name, s, field === 'RETURN') : readOwn(field, name, s);
      if (value !== null) values.push(value);
    }
    return values;
  };

  /** Computes a statistic of a window if at least half of its sessions have values. */
  const computeOver = (
    field: string,
    name: string,
    t: number,
    window: number,
    statistic: (values: number[]) => number | null,
  ): number | null => {
    const values = listWindowValues(field, name, t, window);
    return values.length === 0 || values.length < window / 2 ? null : statistic(values);
  };

  const computeVolatility = (name: string, t: number, window = 252) =>
    computeOver('RETURN', name, t, window, (values) =>
      values.length < 2 ? null : computeDeviation(values) * Math.sqrt(252),
    );
  /** Returns the growth of one unit held over the sessions, including sessions without prices. */
  const findMomentum = (name: string, t: number, window: number, lag: number) =>
    t - lag < 0
      ? null
      : computeOver('RETURN', name, t - lag, window, () => {
          let value = 1;
          for (let s = Math.max(0, t - lag - window + 1); s <= t - lag; s++) value *= findGrowth(name, s) ?? 1;
          return value - 1;
        });
  const hasPaidInYears = (name: string, t: number, years: number): boolean => {
    const { year } = toCivilDate(dates[t]!);
    return Array.from({ length: years }, (_, i) => year - 1 - i).every((y) =>
      listActions(name).some(
        ({ type, exDay }) =>
          type === 'DIVIDEND' && exDay >= parseValidDay(`${y}-01-01`) && exDay <= parseValidDay(`${y}-12-31`),
      ),
    );
  };

  return {
    identifiers,
    dates,
    cell: findCell,
    isPriceable,
    latest: findLatest,
    windowValues: listWindowValues,
    betweenBars: findBetweenBars,
    over: computeOver,
    volatility: computeVolatility,
    momentum: findMomentum,
    growth: findGrowth,
    reference: findReference,
    paidInYears: hasPaidInYears,
    carriedClose: findCarriedClose,
  };
}

export type SlowMarket = ReturnType<typeof slowMarket>;

export const computeMean = (values: readonly number[]) =>
  values.reduce((total, value) => total + value, 0) / values.length;

export function computeMedian(values: readonly number[]): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  const middle = sortedValues.length / 2;
  return sortedValues.length % 2 === 1
    ? sortedValues[Math.floor(middle)]!
    : (sortedValues[middle - 1]! + sortedValues[middle]!) / 2;
}

export function computeDeviation(values: readonly number[]): number {
  const centre = computeMean(values);
  return Math.sqrt(values.reduce((total, value) => total + (value - centre) ** 2, 0) / (values.length - 1));
}

export function toZScores(values: ReadonlyMap<string, number | null>): Map<string, number | null> {
  const presentValues = [...values.values()].filter((value) => value !== null);
  const centre = computeMean(presentValues);
  const spread = Math.sqrt(computeMean(presentValues.map((value) => (value - centre) ** 2)));
  return new Map(
    [...values].map(([name, value]) => [name, value === null ? null : spread === 0 ? 0 : (value - centre) / spread]),
  );
}

/**
 * Returns securities sorted by value, best first. Equal values are sorted by identifier. Securities without a value
 * come last if they are included.
 */
export function rankNames(
  values: ReadonlyMap<string, number | null>,
  options: { readonly ascending?: boolean; readonly include?: boolean } = {},
): string[] {
  const names = [...values.keys()].toSorted();
  const presentNames = names.filter((name) => values.get(name) !== null);
  const sign = options.ascending ? 1 : -1;
  const sortedNames = presentNames.toSorted((a, b) => sign * (values.get(a)! - values.get(b)!) || (a < b ? -1 : 1));
  return options.include ? [...sortedNames, ...names.filter((name) => values.get(name) === null)] : sortedNames;
}

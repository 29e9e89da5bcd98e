import type { RawStore } from './store.js';

/** Functions that return values at the close of a session. They read the store without further processing. */
export interface Market {
  readonly store: RawStore;
  /**
   * Returns the listed securities that have a price on one of the last five sessions, in the order of their
   * identifiers.
   */
  listed(t: number): number[];
  /** Returns the latest close. In the stores, no session without a price has a split. */
  price(i: number, t: number): number;
  cap(i: number, t: number): number;
  floatCap(i: number, t: number): number;
  /** Returns the growth over the session, by default without dividends. Returns NaN if there is no previous price. */
  growth(i: number, t: number, withDividends?: boolean): number;
  /** Returns the daily returns of a number of sessions up to `t`, by default without dividends. */
  returns(i: number, t: number, sessions: number, withDividends?: boolean): number[];
  traded(i: number, t: number, sessions: number): number[];
  fact(i: number, t: number, name: string): number;
  text(i: number, t: number, name: string): string;
  /** Returns the dividend whose ex-date is the session, or 0 if there is none. */
  dividend(i: number, t: number): number;
  /** Returns the ordinary dividends of twelve months divided by the close. */
  yield(i: number, t: number): number;
  /**
   * Returns the number of consecutive calendar years in which dividends rose. The last of them is the year before the
   * session.
   */
  countYearsOfGrowth(i: number, t: number): number;
  members(universe: string, t: number): number[];
}

/** Maximum age in sessions of the latest price. An older price prevents a security from entering. */
const LISTED_SESSIONS = 5;

export function createMarket(store: RawStore): Market {
  const { dates, close, split } = store;
  const dividends = store.dividends.map((rows) => new Map(rows.map(({ date, value }) => [date, value])));

  const splits = split.map((ratios) =>
    ratios.reduce<number[]>((sessions, ratio, t) => (ratio === 1 ? sessions : [...sessions, t]), []),
  );
  /** Returns how many shares one share of a date has become by a session because of splits. */
  const computeSharesSince = (i: number, date: string, t: number): number =>
    splits[i]!.reduce((product, s) => (s <= t && dates[s]! > date ? product * split[i]![s]! : product), 1);

  const createDividend = (i: number, t: number): number => dividends[i]!.get(dates[t]!) ?? 0;
  const computeGrowth = (i: number, t: number, withDividends = false): number =>
    (split[i]![t]! * (close[i]![t]! + (withDividends ? createDividend(i, t) : 0))) /
    (close[i]![t - 1]! - store.special[i]![t]!);
  const findFact = (i: number, t: number, name: string) =>
    store.facts[i]!.findLast(({ from }) => from <= dates[t]!)?.facts[name];
  const listSessionsTo = (t: number, count: number) => Array.from({ length: count }, (_, k) => t - count + 1 + k);
  /** Session of the latest bar by security and session, or -1 before the first bar. */
  const bar = close.map((row) => {
    let latest = -1;
    return Int32Array.from(row, (value, t) => (latest = Number.isNaN(value) ? latest : t));
  });
  const computePrice = (i: number, t: number): number => close[i]![bar[i]![t]!] ?? NaN;
  const cap = (i: number, t: number): number => computePrice(i, t) * (store.shares[i]![bar[i]![t]!] ?? NaN);
  const isListed = (i: number, t: number): boolean =>
    bar[i]![t]! >= 0 && t - bar[i]![t]! < LISTED_SESSIONS && (store.delisted[i]! < 0 || t < store.delisted[i]!);

  return {
    store,
    listed: (t) => store.ids.flatMap((_, i) => (isListed(i, t) ? [i] : [])),
    price: computePrice,
    cap,
    floatCap: (i, t) => cap(i, t) * (store.float[i]![bar[i]![t]!] ?? NaN),
    growth: computeGrowth,
    returns: (i, t, sessions, withDividends = false) =>
      listSessionsTo(t, sessions).map((s) => computeGrowth(i, s, withDividends) - 1),
    traded: (i, t, sessions) => listSessionsTo(t, sessions).map((s) => close[i]![s]! * store.volume[i]![s]!),
    fact: (i, t, name) => (findFact(i, t, name) as number | undefined) ?? NaN,
    text: (i, t, name) => String(findFact(i, t, name)),
    dividend: createDividend,
    yield(i, t) {
      const dateBefore = `${Number(dates[t]!.slice(0, 4)) - 1}${dates[t]!.slice(4)}`;
      const year = store.dividends[i]!.filter(({ date }) => date > dateBefore && date <= dates[t]!);
      return (
        year.reduce((total, { date, value }) => total + value / computeSharesSince(i, date, t), 0) / computePrice(i, t)
      );
    },
    countYearsOfGrowth(i, t) {
      const total = new Map<number, number>();
      for (const { date, value } of store.dividends[i]!)
        if (date <= dates[t]!) {
          const year = Number(date.slice(0, 4));
          total.set(year, (total.get(year) ?? 0) + value / computeSharesSince(i, date, t));
        }
      let year = Number(dates[t]!.slice(0, 4)) - 1;
      let years = 0;
      while (total.has(year) && total.has(year - 1) && total.get(year)! > total.get(year - 1)!) {
        years++;
        year--;
      }
      return years;
    },
    members: (universe, t) =>
      store.universes[universe]!.filter(({ start, end }) => start <= dates[t]! && (end === null || dates[t]! < end))
        .map(({ security }) => security)
        .filter((security) => isListed(security, t))
        .toSorted((a, b) => a - b),
  };
}

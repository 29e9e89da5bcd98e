import type { Composition, PlainRun } from './index-run.js';
import type { Market } from './market.js';
import { findExpiry } from './other-stores.js';
import type { Rulebook } from './parents.js';
import { computeProportional, sum, type Weights } from './plain-functions.js';

const BASE_VALUE = 1000;
const DAY = 86_400_000;

/** Units of a contract or nominal amounts of a bond, by security. */
type Units = ReadonlyMap<number, number>;

const countDays = ({ store: { dates } }: Market, t: number): number =>
  (Date.parse(dates[t]!) - Date.parse(dates[t - 1]!)) / DAY;

const computeValue = (market: Market, units: Units, t: number): number =>
  sum([...units].map(([i, count]) => count * market.price(i, t)));

const computeWeights = (market: Market, units: Units, t: number): Weights =>
  computeProportional([...units.keys()], (i) => units.get(i)! * market.price(i, t));

/** Returns the excess return of futures whose units after each close are given; null where they do not change. */
function runUnits(market: Market, baseDate: string, decide: (t: number, held: Units | null) => Units | null): PlainRun {
  const { dates } = market.store;
  const base = dates.findIndex((date) => date >= baseDate);
  const compositions: Composition[] = [];
  const levels: number[] = [];
  let units: Units = new Map();
  for (let t = base; t < dates.length; t++) {
    const level =
      t === base ? BASE_VALUE : levels.at(-1)! * (computeValue(market, units, t) / computeValue(market, units, t - 1));
    levels.push(level);
    const next = decide(t, t === base ? null : units);
    if (next === null) continue;
    units = next;
    compositions.push({ date: dates[t]!, weights: computeWeights(market, units, t) });
  }
  return { base, levels, compositions };
}

/** Moves the units of the designated contracts in five equal parts at the closes of the sixth to the tenth session. */
export const runCommodityUnits: Rulebook = (market, baseDate) => {
  const { dates, series } = market.store;
  const listDesignated = (t: number): Units =>
    new Map(market.members('ROLL', t).map((i) => [i, market.fact(i, t, 'PRODUCTION_WEIGHT')]));
  let roll = { from: new Map() as Units, to: new Map() as Units };
  const excess = runUnits(market, baseDate, (t, held) => {
    if (held === null) return listDesignated(t);
    const position = dates.slice(0, t + 1).filter((date) => date.startsWith(dates[t]!.slice(0, 7))).length;
    if (position < 6 || position > 10) return null;
    if (position === 6) roll = { from: held, to: listDesignated(t) };
    const done = (position - 5) / 5;
    const mixed = [...new Set([...roll.from.keys(), ...roll.to.keys()])].map((i): [number, number] => [
      i,
      (1 - done) * (roll.from.get(i) ?? 0) + done * (roll.to.get(i) ?? 0),
    ]);
    return new Map(mixed.filter(([, count]) => count !== 0));
  });
  const levels = [BASE_VALUE];
  for (let k = 1; k < excess.levels.length; k++) {
    const t = excess.base + k;
    const bill = (1 / (1 - ((series['CASH']![t - 1]! / 100) * 91) / 360)) ** (countDays(market, t) / 91) - 1;
    levels.push(levels[k - 1]! * (excess.levels[k]! / excess.levels[k - 1]! + bill));
  }
  return { '-EXCESS': excess, '': { base: excess.base, levels, compositions: [] } };
};

/** Holidays on weekdays after the last session of the store, up to the expiry of its last contract. */
const LATER_HOLIDAYS = new Set(['2018-07-04']);

/** Holds the first contract with its sessions to the expiry over all sessions of its month, and the second with the rest. */
export const runDailyRoll: Rulebook = (market, baseDate) => {
  const { dates, ids } = market.store;
  const sessions = [...dates];
  for (let day = Date.parse(dates.at(-1)!) + DAY; day < Date.parse('2018-09-01'); day += DAY) {
    const date = new Date(day).toISOString().slice(0, 10);
    if (new Date(day).getUTCDay() % 6 !== 0 && !LATER_HOLIDAYS.has(date)) sessions.push(date);
  }
  const contracts = ids.flatMap((id, i) => (id.startsWith('CL-') ? [{ i, expiry: findExpiry(id.slice(3)) }] : []));
  return {
    '': runUnits(market, baseDate, (t) => {
      const next = contracts.findIndex(({ expiry }) => expiry > dates[t]!);
      const [before, first, second] = [contracts[next - 1]!, contracts[next]!, contracts[next + 1]];
      const countTo = (date: string) => sessions.filter((day) => day > dates[t]! && day <= date).length;
      const length = sessions.filter((day) => day > before.expiry && day <= first.expiry).length;
      const share = countTo(first.expiry) / length;
      const isListed = second !== undefined && market.listed(t).includes(second.i);
      if (!isListed || share === 1) return new Map([[first.i, 1]]);
      return new Map([
        [first.i, share],
        [second.i, 1 - share],
      ]);
    }),
  };
};

/** Holds bonds by market value for a month, and coupons and called bonds as cash until its last session. */
export const runBondsOneYear: Rulebook = (market, baseDate) => {
  const { dates, series, delisted } = market.store;
  const base = dates.findIndex((date) => date >= baseDate);
  const compositions: Composition[] = [];
  const isMonthEnd = (t: number): boolean => dates[t]!.slice(0, 7) !== dates[t + 1]?.slice(0, 7);
  const decide = (t: number): Weights =>
    computeProportional(
      market.listed(t).filter((i) => Date.parse(market.text(i, t, 'MATURITY')) - Date.parse(dates[t]!) >= 365 * DAY),
      (i) => market.cap(i, t),
    );
  /** Returns the levels with the cash at a rate, or reinvested at each close. */
  const run = (rate: 'none' | 'overnight' | 'reinvested'): PlainRun => {
    let level = BASE_VALUE;
    let cash = 0;
    let amounts = new Map<number, number>();
    const levels: number[] = [];
    const invest = (t: number, weights: Weights) => {
      amounts = new Map([...weights].map(([i, weight]) => [i, (level * weight) / market.price(i, t)]));
      cash = 0;
    };
    for (let t = base; t < dates.length; t++) {
      if (t > base) {
        if (rate === 'overnight') cash *= 1 + ((series['CASH']![t - 1]! / 100) * countDays(market, t)) / 360;
        for (const [i, amount] of amounts) cash += amount * market.dividend(i, t);
        level = cash + computeValue(market, amounts, t);
        for (const [i, amount] of amounts) {
          if (delisted[i] !== t) continue;
          cash += amount * market.price(i, t);
          amounts.delete(i);
        }
        if (rate === 'reinvested') invest(t, computeWeights(market, amounts, t));
      }
      levels.push(level);
      if (t !== base && !isMonthEnd(t)) continue;
      const weights = decide(t);
      if (rate === 'reinvested') compositions.push({ date: dates[t]!, weights });
      invest(t, weights);
    }
    return { base, levels, compositions: [] };
  };
  return {
    '-PARENT': { ...run('reinvested'), compositions },
    '': run('none'),
    '-INVESTED': run('overnight'),
  };
};

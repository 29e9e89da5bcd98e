import { findNthWeekday } from './index-run.js';
import { createGenerator, type RawStore } from './store.js';

const COINS = 16;
/** Security with at least a fifth of the whole market value. */
const LARGEST = 16;
const DAY = 86_400_000;

interface Sketch {
  readonly dates: readonly string[];
  readonly ids: readonly string[];
}

/** Returns a store without prices and corporate actions. It has a series of cash rates. */
function createEmptyStore({ dates, ids }: Sketch, random: () => number): RawStore {
  const listPanel = (value: number) => ids.map(() => new Float64Array(dates.length).fill(value));
  let cash = 0.5;
  const CASH = Float64Array.from(dates, () => (cash = Math.round((cash + 0.002 * random()) * 1e4) / 1e4));
  return {
    dates,
    ids,
    close: listPanel(NaN),
    volume: listPanel(NaN),
    shares: listPanel(NaN),
    float: listPanel(1),
    split: listPanel(1),
    dividends: ids.map(() => []),
    special: listPanel(0),
    delisted: ids.map(() => -1),
    facts: ids.map(() => []),
    universes: {},
    series: { CASH },
  };
}

/**
 * Returns the store with about forty securities that are much larger than the rest; one is larger by far. Some
 * dividends are high. So weights reach their caps.
 */
export function addGiants(store: RawStore): RawStore {
  const caps = store.close.map((row, i) => {
    const first = row.findIndex((value) => !Number.isNaN(value));
    return row[first]! * store.shares[i]![first]!;
  });
  const largest = Math.max(...caps);
  const createVolume = (i: number) => (i % 6 === 4 ? ((i === LARGEST ? 1500 : 30) * largest) / caps[i]! : 1);
  return {
    ...store,
    shares: store.shares.map((row, i) => row.map((count) => Math.round(count * createVolume(i)))),
    dividends: store.dividends.map((rows, i) =>
      i % 12 === 0 ? rows.map(({ date, value }) => ({ date, value: Math.round(value * 12e4) / 1e4 })) : rows,
    ),
  };
}

const listDaysBetween = (first: string, last: string): string[] =>
  Array.from({ length: (Date.parse(last) - Date.parse(first)) / DAY + 1 }, (_, k) =>
    new Date(Date.parse(first) + k * DAY).toISOString().slice(0, 10),
  );

const createNormal = (random: () => number) => () =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Draws crypto assets, which trade on every day of the year. Some are listed late. The smallest have little volume. */
export function drawCoins(): RawStore {
  const random = createGenerator(39);
  const drawNormal = createNormal(random);
  const dates = listDaysBetween('2014-12-01', '2018-06-29');
  const ids = Array.from({ length: COINS }, (_, i) => `COIN${String(i).padStart(2, '0')}`);
  const store = createEmptyStore({ dates, ids }, random);
  const commonReturns = dates.map(() => 0.02 * drawNormal());
  ids.forEach((_, i) => {
    const from = i % 5 === 4 ? 40 * i : 0;
    let price = 0.5 + 200 * random();
    let supply = Math.round((4e7 * (1 + random())) / (1 + i));
    const turnover = 3e-4 * random() + 1e-5;
    for (let t = from; t < dates.length; t++) {
      price *= Math.exp(commonReturns[t]! + 0.035 * drawNormal());
      supply = Math.round(supply * 1.0001);
      store.close[i]![t] = Number(price.toPrecision(7));
      store.shares[i]![t] = supply;
      store.volume[i]![t] = Math.round(supply * turnover * (0.5 + random()));
    }
  });
  return store;
}

/** Returns the expiry of the contract of a month: its third Wednesday. */
export const findExpiry = (month: string): string => findNthWeekday(month, { weekday: 3, nth: 3 });

const COMMODITIES = ['CL', 'GC', 'NG', 'ZC'];

/** Months after the store, whose contracts trade in its last months. */
const LATER_MONTHS = ['2018-07', '2018-08'];

/**
 * Draws monthly futures contracts of four commodities on the sessions of a store. The universe ROLL lists the contracts
 * that are designated in each month. They trade from two months before to the end of the following
 * month.
 */
export function drawContracts(dates: readonly string[]): RawStore {
  const random = createGenerator(38);
  const drawNormal = createNormal(random);
  const months = [...new Set(dates.map((date) => date.slice(0, 7)))];
  const contractMonths = [...months, ...LATER_MONTHS];
  const contracts = COMMODITIES.flatMap((name) => contractMonths.map((month, k) => ({ name, month, k })));
  const store = createEmptyStore({ dates, ids: contracts.map(({ name, month }) => `${name}-${month}`) }, random);
  const spot = new Map(COMMODITIES.map((name) => [name, 20 + 80 * random()]));
  const slope = new Map(COMMODITIES.map((name) => [name, 0.01 * drawNormal()]));
  const facts = store.facts as { from: string; facts: Record<string, string | number> }[][];
  dates.forEach((date, t) => {
    const now = months.indexOf(date.slice(0, 7));
    for (const name of COMMODITIES) spot.set(name, spot.get(name)! * Math.exp(0.015 * drawNormal()));
    contracts.forEach(({ name, month, k }, i) => {
      if (now < k - 2 || now > k + 1) return;
      const price = spot.get(name)! * Math.exp(slope.get(name)! * (k - now) + 0.002 * drawNormal());
      store.close[i]![t] = Math.round(price * 100) / 100;
      if (t === 0 || date.slice(0, 4) !== dates[t - 1]!.slice(0, 4) || facts[i]!.length === 0) {
        const weight = Math.round(1000 * (1 + COMMODITIES.indexOf(name)) * (1 + 0.1 * Number(date.slice(3, 4))));
        const dated = {
          ROOT: name,
          EXPIRY: findExpiry(month),
          PREVIOUS_EXPIRY: findExpiry(contractMonths[k - 1] ?? '2013-12'),
        };
        facts[i]!.push({ from: date, facts: { PRODUCTION_WEIGHT: weight, ...dated } });
      }
    });
  });
  const ROLL = contracts.map(({ month, k }, security) => ({
    security,
    start: `${month}-01`,
    end: contractMonths[k + 1] === undefined ? null : `${contractMonths[k + 1]!}-01`,
  }));
  return { ...store, universes: { ROLL } };
}

const BONDS = 40;

/**
 * Draws bonds on the sessions of a store, with prices that include accrued interest. Each pays coupons twice a year, some
 * are called, and prices approach the face value at the maturity.
 */
export function drawBonds(dates: readonly string[]): RawStore {
  const random = createGenerator(37);
  const drawNormal = createNormal(random);
  const ids = Array.from({ length: BONDS }, (_, i) => `BOND${String(i).padStart(2, '0')}`);
  const store = createEmptyStore({ dates, ids }, random);
  const delisted = store.delisted as number[];
  const dividends = store.dividends as { date: string; value: number }[][];
  const facts = store.facts as { from: string; facts: Record<string, string | number> }[][];
  const rates = dates.map(() => 0);
  dates.forEach((_, t) => (rates[t] = t === 0 ? 0.03 : Math.max(0.002, rates[t - 1]! + 0.0004 * drawNormal())));
  ids.forEach((_, i) => {
    const maturity = `${2016 + (i % 12)}-${String(1 + (i % 12)).padStart(2, '0')}-15`;
    const coupon = 1 + (i % 5);
    const amount = Math.round((3 + 7 * random()) * 1e6);
    facts[i]!.push({ from: dates[0]!, facts: { MATURITY: maturity } });
    if (i % 4 === 1) delisted[i] = 250 + 13 * i;
    let accrued = coupon * random();
    for (let t = 0; t < dates.length && dates[t]! <= maturity; t++) {
      accrued += coupon / 252;
      const years = Math.max(0, (Date.parse(maturity) - Date.parse(dates[t]!)) / DAY / 365.25);
      if (accrued > coupon / 2) {
        accrued -= coupon / 2;
        dividends[i]!.push({ date: dates[t]!, value: coupon / 2 });
      }
      const clean = 100 * Math.exp(-(rates[t]! - coupon / 100) * years) + 0.05 * drawNormal();
      store.close[i]![t] = Math.round((clean + accrued) * 1000) / 1000;
      store.shares[i]![t] = amount;
      store.volume[i]![t] = 1000;
      if (delisted[i] === t) break;
    }
  });
  return store;
}

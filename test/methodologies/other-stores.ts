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

const COMMODITIES = ['CL', 'GC', 'NG', 'ZC'];

/**
 * Draws monthly futures contracts of four commodities on the sessions of a store. The universe ROLL lists the contracts
 * that are designated in each month. They trade from the previous month to the end of the following month.
 */
export function drawContracts(dates: readonly string[]): RawStore {
  const random = createGenerator(38);
  const drawNormal = createNormal(random);
  const months = [...new Set(dates.map((date) => date.slice(0, 7)))];
  const contracts = COMMODITIES.flatMap((name) => months.map((month, k) => ({ name, month, k })));
  const store = createEmptyStore({ dates, ids: contracts.map(({ name, month }) => `${name}-${month}`) }, random);
  const spot = new Map(COMMODITIES.map((name) => [name, 20 + 80 * random()]));
  const slope = new Map(COMMODITIES.map((name) => [name, 0.01 * drawNormal()]));
  const facts = store.facts as { from: string; facts: Record<string, string | number> }[][];
  dates.forEach((date, t) => {
    const now = months.indexOf(date.slice(0, 7));
    for (const name of COMMODITIES) spot.set(name, spot.get(name)! * Math.exp(0.015 * drawNormal()));
    contracts.forEach(({ name, k }, i) => {
      if (now < k - 1 || now > k + 1) return;
      const price = spot.get(name)! * Math.exp(slope.get(name)! * (k - now) + 0.002 * drawNormal());
      store.close[i]![t] = Math.round(price * 100) / 100;
      if (t === 0 || date.slice(0, 4) !== dates[t - 1]!.slice(0, 4) || facts[i]!.length === 0) {
        const weight = Math.round(1000 * (1 + COMMODITIES.indexOf(name)) * (1 + 0.1 * Number(date.slice(3, 4))));
        facts[i]!.push({ from: date, facts: { PRODUCTION_WEIGHT: weight } });
      }
    });
  });
  const ROLL = contracts.map(({ month, k }, security) => ({
    security,
    start: `${month}-01`,
    end: k + 1 < months.length ? `${months[k + 1]!}-01` : null,
  }));
  return { ...store, universes: { ROLL } };
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const SECURITIES = 250;
const SEED = 44;
/** A large security that is delisted, and the session of its delisting. */
const LARGE_LEAVER = { security: 65, session: 720 };

/** Days on which the New York Stock Exchange was closed, in addition to weekends. */
const CLOSED = new Set(
  `2014-01-01 2014-01-20 2014-02-17 2014-04-18 2014-05-26 2014-07-04 2014-09-01 2014-11-27 2014-12-25
  2015-01-01 2015-01-19 2015-02-16 2015-04-03 2015-05-25 2015-07-03 2015-09-07 2015-11-26 2015-12-25
  2016-01-01 2016-01-18 2016-02-15 2016-03-25 2016-05-30 2016-07-04 2016-09-05 2016-11-24 2016-12-26
  2017-01-02 2017-01-16 2017-02-20 2017-04-14 2017-05-29 2017-07-04 2017-09-04 2017-11-23 2017-12-25
  2018-01-01 2018-01-15 2018-02-19 2018-03-30 2018-05-28 2018-07-04`.split(/\s+/),
);

const SECTORS = [
  'Financials',
  'Technology',
  'Health Care',
  'Industrials',
  'Consumer',
  'Energy',
  'Utilities',
  'Real Estate',
];
const COUNTRIES = ['DE', 'FR', 'GB', 'IT', 'US'];

/** Numeric columns of the reference data with the range of each column. */
const FUNDAMENTALS: Readonly<Record<string, readonly [number, number]>> = {
  RETURN_ON_EQUITY: [-0.1, 0.4],
  ACCRUALS_RATIO: [-0.2, 0.3],
  FINANCIAL_LEVERAGE: [0, 3],
  EARNINGS_VARIABILITY: [0.02, 0.8],
  BOOK_TO_PRICE: [0.05, 1.8],
  EARNINGS_TO_PRICE: [-0.05, 0.15],
  SALES_TO_PRICE: [0.1, 4],
  FORECAST_GROWTH: [-0.2, 0.4],
  SALES_GROWTH: [-0.1, 0.3],
  PAYOUT_RATIO: [-0.1, 1.1],
  SALES_5Y: [1e8, 5e10],
  CASH_FLOW_5Y: [-5e8, 8e9],
  DIVIDENDS_5Y: [0, 2e9],
  BOOK_VALUE: [-1e9, 4e10],
  ESG_RATING: [0, 6],
  CONTROVERSY_SCORE: [0, 10],
  THEME_REVENUE: [0, 1],
  THEME_SCORE: [0.1, 1],
  CARBON_INTENSITY: [1, 900],
};
/** Sectors with a high climate impact. */
const HIGH_IMPACT = new Set(['Industrials', 'Energy', 'Utilities', 'Real Estate']);
const WHOLE_NUMBER_FIELDS = new Set(['ESG_RATING', 'CONTROVERSY_SCORE']);
/** Columns in which every security has values. */
const COMPLETE_FIELDS = new Set([
  'PAYOUT_RATIO',
  'ESG_RATING',
  'CONTROVERSY_SCORE',
  'THEME_REVENUE',
  'THEME_SCORE',
  'CARBON_INTENSITY',
]);

export interface Membership {
  readonly security: number;
  readonly start: string;
  /** First day after the membership; null while the membership lasts. */
  readonly end: string | null;
}

export type Facts = Readonly<Record<string, string | number>>;

/** Content of the drawn store. Panels are indexed by security and then by session, with NaN where there is no price. */
export interface RawStore {
  readonly dates: readonly string[];
  readonly ids: readonly string[];
  readonly close: readonly Float64Array[];
  readonly volume: readonly Float64Array[];
  readonly shares: readonly Float64Array[];
  readonly float: readonly Float64Array[];
  /** Number of new shares per old share, on the ex-date of a split. It is 1 on other sessions. */
  readonly split: readonly Float64Array[];
  /** Ordinary dividends by security. Each has its ex-date and is on the share basis of that date. */
  readonly dividends: readonly (readonly { readonly date: string; readonly value: number }[])[];
  /** Special dividend by security and then by session; 0 if there is none. */
  readonly special: readonly Float64Array[];
  /** Session at the close of which a security is delisted, or -1 if it is never delisted. */
  readonly delisted: readonly number[];
  /** Rows of reference data by security, each valid from a date on. */
  readonly facts: readonly (readonly { readonly from: string; readonly facts: Facts }[])[];
  readonly universes: Readonly<Record<string, readonly Membership[]>>;
  /** Series values by session. */
  readonly series: Readonly<Record<string, Float64Array>>;
}

/** Returns a generator of random numbers from 0 to 1 (mulberry32). */
export function createGenerator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function listSessionsBetween(first: string, last: string): string[] {
  const dates: string[] = [];
  for (let day = Date.parse(first); day <= Date.parse(last); day += 86_400_000) {
    const date = new Date(day).toISOString().slice(0, 10);
    const weekday = new Date(day).getUTCDay();
    if (weekday !== 0 && weekday !== 6 && !CLOSED.has(date)) dates.push(date);
  }
  return dates;
}

/** Draws the store. Every call returns the same store. */
export function drawStore(): RawStore {
  const random = createGenerator(SEED);
  const drawNormal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const dates = listSessionsBetween('2014-01-02', '2018-06-29');
  const market = dates.map(() => 0.0003 + 0.007 * drawNormal());
  const sectors = SECTORS.map(() => dates.map(() => 0.004 * drawNormal()));
  const ids = Array.from({ length: SECURITIES }, (_, i) => `S${String(i).padStart(3, '0')}`);
  const listPanel = () => ids.map(() => new Float64Array(dates.length).fill(NaN));
  const store = {
    dates,
    ids,
    close: listPanel(),
    volume: listPanel(),
    shares: listPanel(),
    float: listPanel(),
    split: ids.map(() => new Float64Array(dates.length).fill(1)),
    special: ids.map(() => new Float64Array(dates.length)),
    delisted: ids.map((_, i) => (i % 41 === 17 ? 400 + 90 * Math.floor(i / 41) : -1)),
  };
  ids.forEach((_, i) =>
    drawBars(store, i, { random, normal: drawNormal, market, sector: sectors[i % SECTORS.length]! }),
  );
  delist(store, LARGE_LEAVER);
  return {
    ...store,
    dividends: ids.map((_, i) => drawDividends(store, i, random)),
    facts: ids.map((_, i) => drawFacts(store, i, random)),
    universes: drawUniverses(store, random),
    series: drawSeries(dates, drawNormal),
  };
}

/** Delists a drawn security without changing the random numbers of other securities. */
function delist(store: Bars, { security, session }: { readonly security: number; readonly session: number }): void {
  store.delisted[security] = session;
  for (const panel of [store.close, store.volume, store.shares, store.float]) panel[security]!.fill(NaN, session + 1);
}

type Bars = Pick<RawStore, 'dates' | 'ids' | 'close' | 'volume' | 'shares' | 'float' | 'split' | 'special'> & {
  readonly delisted: number[];
};

interface Draw {
  readonly random: () => number;
  readonly normal: () => number;
  readonly market: readonly number[];
  readonly sector: readonly number[];
}

function drawBars(store: Bars, i: number, { random, normal, market, sector }: Draw): void {
  const { dates } = store;
  const list = i % 12 === 7 ? 60 + Math.floor(random() * 500) : 0;
  const splits = i % 20 === 3 ? 250 + Math.floor(random() * 700) : -1;
  const [beta, ownVolatility] = [0.5 + random(), 0.006 + 0.018 * random()];
  let price = 15 + 120 * random();
  let shares = Math.round(2e7 * Math.exp(1.6 * normal()) * 10);
  let float = Math.round(100 * (0.08 + 0.92 * random())) / 100;
  const turnover = 0.0002 + 0.006 * random();
  const specials = i % 25 === 6 ? 150 + Math.floor(random() * 900) : -1;
  const gap = { from: i % 15 === 11 ? 200 + Math.floor(random() * 800) : -1, length: 1 + (i % 3) };
  const end = store.delisted[i]! < 0 ? dates.length - 1 : store.delisted[i]!;
  for (let t = list; t <= end; t++) {
    price *= Math.exp(beta * market[t]! + sector[t]! + ownVolatility * normal());
    if (t === splits && t > list) {
      store.split[i]![t] = 2;
      price /= 2;
      shares *= 2;
    }
    if (t === specials && t > list) {
      store.special[i]![t] = Math.round(0.2 * price * 100) / 100;
      price -= store.special[i]![t]!;
    }
    if (t % 63 === i % 63) shares = Math.round(shares * (1 + 0.01 * normal()));
    if (t % 251 === i % 251) float = Math.min(1, Math.max(0.05, Math.round(100 * (float + 0.05 * normal())) / 100));
    price = Math.max(2, price);
    if (t >= gap.from && t < gap.from + gap.length) continue;
    store.close[i]![t] = Math.round(price * 100) / 100;
    store.volume[i]![t] = Math.round(shares * turnover * (0.5 + random()));
    store.shares[i]![t] = shares;
    store.float[i]![t] = float;
  }
}

/** Draws quarterly dividends. They rise in some years. Some of them begin long before the first price. */
function drawDividends(store: Bars, i: number, random: () => number) {
  const { dates, close, split, delisted } = store;
  if (i % 4 === 3) return [];
  const firstBar = close[i]!.findIndex((value) => !Number.isNaN(value));
  const dividends: { date: string; value: number }[] = [];
  const isOld = i % 3 === 0 && firstBar === 0;
  const firstYear = isOld ? 1986 + Math.floor(random() * 12) : 2014;
  let amount = 0.1 + 0.4 * random();
  for (let year = firstYear; year <= 2018; year++) {
    amount *= isOld && random() > 0.004 ? 1.01 + 0.05 * random() : 0.96 + 0.1 * random();
    for (const month of year < 2014 ? ['06'] : ['02', '05', '08', '11']) {
      const from = `${year}-${month}-${String(10 + (i % 12)).padStart(2, '0')}`;
      const t = year < 2014 ? -1 : dates.findIndex((date) => date >= from);
      if (year >= 2014 && (t <= firstBar || t < 0 || (delisted[i]! >= 0 && t >= delisted[i]!))) continue;
      const basis = t < 0 ? 1 : split[i]!.slice(0, t + 1).reduce((product, ratio) => product * ratio, 1);
      const yearly = year < 2014 ? 4 : 1;
      const value = Math.round((amount * yearly * 1e4) / basis) / 1e4;
      dividends.push({ date: t < 0 ? from : dates[t]!, value });
    }
  }
  return dividends;
}

function drawFacts({ dates, split }: Bars, i: number, random: () => number) {
  const levels = Object.fromEntries(Object.keys(FUNDAMENTALS).map((name) => [name, random()]));
  const fixedFacts = {
    SECTOR: SECTORS[i % SECTORS.length]!,
    COUNTRY: i % 50 === 8 ? 'CH' : COUNTRIES[(i * 7) % COUNTRIES.length]!,
    ASSET_CLASS: i % 10 === 0 ? 'Bond' : 'Equity',
    ISSUER: `I${i % 25 === 15 ? i - 5 : i}`,
    EXCLUDED_BUSINESS: i % 14 === 9 ? 'Yes' : 'No',
    CLIMATE_IMPACT: HIGH_IMPACT.has(SECTORS[i % SECTORS.length]!) ? 'High' : 'Low',
  };
  const absentFields = new Set(
    Object.keys(FUNDAMENTALS).filter((name) => !COMPLETE_FIELDS.has(name) && random() < 0.04),
  );
  const rows: { from: string; facts: Facts }[] = [];
  const firstFactor = i % 9 === 0 ? 0.5 : 1;
  const days = dates.filter((_, t) => t % 61 === i % 5 || t === 0 || split[i]![t] !== 1);
  for (const from of days) {
    const t = dates.indexOf(from);
    const factor = firstFactor * split[i]!.slice(0, t + 1).reduce((product, ratio) => product * ratio, 1);
    const facts: Record<string, string | number> = { ...fixedFacts, PRICE_FACTOR: factor };
    for (const [name, [least, most]] of Object.entries(FUNDAMENTALS)) {
      levels[name] = Math.min(1, Math.max(0, levels[name]! + 0.08 * (random() - 0.5)));
      if (absentFields.has(name)) continue;
      const value = least + (most - least) * levels[name];
      facts[name] = WHOLE_NUMBER_FIELDS.has(name) ? Math.round(value) : Number(value.toPrecision(6));
    }
    rows.push({ from, facts });
  }
  return rows;
}

function drawUniverses({ dates, close }: Bars, random: () => number): Record<string, Membership[]> {
  const list = close.flatMap((values, i) => (Number.isNaN(values[0]!) ? [] : [i]));
  const createChangingMembership = (
    members: readonly number[],
    reserve: readonly number[],
    every: number,
  ): Membership[] => {
    const rows = new Map(
      members.map((security) => [security, { security, start: dates[0]!, end: null as string | null }]),
    );
    const memberships: Membership[] = [];
    reserve.forEach((security, k) => {
      const date = dates[Math.min(dates.length - 1, 200 + k * every)]!;
      const leavingSecurity = [...rows.keys()][Math.floor(random() * rows.size)]!;
      memberships.push({ ...rows.get(leavingSecurity)!, end: date });
      rows.delete(leavingSecurity);
      rows.set(security, { security, start: date, end: null });
    });
    return [...memberships, ...rows.values()];
  };
  return {
    COMMITTEE: createChangingMembership(list.slice(0, 120), list.slice(120, 150), 29),
    AVERAGE: createChangingMembership(list.slice(30, 60), list.slice(100, 106), 150),
  };
}

function drawSeries(dates: readonly string[], normal: () => number): Record<string, Float64Array> {
  let [cash, euro, rate] = [0.5, 0.1, 1.3];
  const series = {
    CASH: new Float64Array(dates.length),
    CASH_EUR: new Float64Array(dates.length),
    EURUSD: new Float64Array(dates.length),
  };
  dates.forEach((_, t) => {
    cash = Math.round((cash + 0.002 + 0.01 * normal()) * 1e4) / 1e4;
    euro = Math.round((euro + 0.005 * normal()) * 1e4) / 1e4;
    rate = Math.round(rate * Math.exp(0.005 * normal()) * 1e5) / 1e5;
    series.CASH[t] = cash;
    series.CASH_EUR[t] = euro;
    series.EURUSD[t] = rate;
  });
  return series;
}

export async function writeStore(store: RawStore, folder: string): Promise<void> {
  const { dates, ids } = store;
  await mkdir(folder, { recursive: true });
  const write = (file: string, header: string, lines: readonly string[]) =>
    writeFile(join(folder, `${file}.csv`), `${[header, ...lines].join('\n')}\n`);
  const bars = ids.flatMap((id, i) =>
    dates.flatMap((date, t) =>
      Number.isNaN(store.close[i]![t]!)
        ? []
        : [`${date},${id},${store.close[i]![t]},${store.volume[i]![t]},${store.shares[i]![t]},${store.float[i]![t]}`],
    ),
  );
  await write('market', 'date,identifier,CLOSE,VOLUME,SHARES_OUTSTANDING,FREE_FLOAT', bars);
  const factRows = store.facts.flat();
  const columns = [...new Set(factRows.flatMap(({ facts: row }) => Object.keys(row)))];
  const facts = ids.flatMap((id, i) =>
    store.facts[i]!.map((row) => [id, row.from, ...columns.map((name) => row.facts[name] ?? '')].join(',')),
  );
  await write('reference', ['identifier', 'valid_from', ...columns].join(','), facts);
  const actions = ids.flatMap((id, i) => [
    ...store.dividends[i]!.map(({ date, value }) => `${id},DIVIDEND,${value},${date}`),
    ...dates.flatMap((date, t) => (store.split[i]![t] === 1 ? [] : [`${id},SPLIT,${store.split[i]![t]},${date}`])),
    ...dates.flatMap((date, t) =>
      store.special[i]![t] === 0 ? [] : [`${id},SPECIAL_DIVIDEND,${store.special[i]![t]},${date}`],
    ),
    ...(store.delisted[i]! < 0 ? [] : [`${id},DELISTING,,${dates[store.delisted[i]!]}`]),
  ]);
  await write('corporate_actions', 'identifier,type,value,ex_date', actions);
  const members = Object.entries(store.universes).flatMap(([name, rows]) =>
    rows.map(({ security, start, end }) => `${name},${ids[security]},${start},${end ?? ''}`),
  );
  await write('universes', 'universe,identifier,start,end', members);
  const values = Object.entries(store.series).flatMap(([name, row]) =>
    dates.map((date, t) => `${name},${date},${row[t]}`),
  );
  await write('series', 'identifier,date,CLOSE', values);
}

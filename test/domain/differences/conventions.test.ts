import { expect, test } from 'vitest';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { type CandidateTerms, evaluateTerms } from '#domain/studies/difference-terms.js';
import { seeded } from '../../seeded.js';
import { type ActionSketch, buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, explainCase, round } from './planted-differences.js';

const DATES: string[] = [];
for (let day = parseValidDay('2020-01-02'); DATES.length < 150; day++)
  if (toWeekday(day) < 5) DATES.push(formatDay(day));

const CURRENCIES = { N0: 'USD', N1: 'EUR', N2: 'GBP', N3: 'USD', N4: 'EUR', N5: 'GBP' };
const NAMES = Object.keys(CURRENCIES);

/** Prices near a first one, with moves of at most a part of them. */
function walk(seed: number, first: number, part: number): number[] {
  const next = seeded(seed);
  let price = first;
  return DATES.map(() => (price = Math.round(price * (1 + part * (2 * next() - 1)) * 1e4) / 1e4));
}

const CLOSE = Object.fromEntries(NAMES.map((name, k) => [name, walk(k + 1, 100, 0.02)]));
const RATES = { EURUSD: walk(21, 1.1, 0.005), GBPUSD: walk(22, 1.3, 0.005) };

const delay = (rates: readonly number[]): number[] => rates.map((_, t) => rates[Math.max(0, t - 1)]!);

interface Sketch {
  readonly close?: Readonly<Record<string, readonly (number | null)[]>>;
  readonly rates?: Readonly<Record<string, readonly number[]>>;
  readonly currencies?: Readonly<Record<string, string>>;
  readonly actions?: readonly ActionSketch[];
  readonly treatment?: Readonly<Record<string, unknown>>;
  readonly weighting?: Readonly<Record<string, unknown>>;
  readonly overlay?: Readonly<Record<string, unknown>>;
}

/** Returns an index with monthly reviews of securities in three currencies and two countries, or an overlay of it. */
function createIndex({
  close = {},
  rates = RATES,
  currencies = CURRENCIES,
  actions = [],
  treatment = { dividends: 'total' },
  weighting = { type: 'EqualWeight' },
  overlay,
}: Sketch = {}): CandidateTerms {
  const shared = { name: 'X', calendar: 'MAIN', base_date: DATES[1], base_value: 1000, currency: 'USD' };
  const index = IndexDocument.parse({
    ...shared,
    id: 'X',
    universe: { kind: 'list', identifiers: NAMES },
    rebalance: { frequency: 'monthly', anchor: 'third_friday' },
    pipeline: { treatment, weighting },
  });
  const above = overlay && {
    O: IndexDocument.parse({ ...shared, id: 'O', kind: 'overlay', source_index_id: 'X', overlay }),
  };
  return {
    market: buildMarket({
      dates: DATES,
      close: { ...CLOSE, ...close, ...rates },
      actions,
      reference: Object.fromEntries(
        Object.entries(currencies).map(([name, CURRENCY], k) => [name, { CURRENCY, COUNTRY: k < 3 ? 'US' : 'CH' }]),
      ),
    }),
    documents: { X: index, ...above },
    indexId: overlay ? 'O' : 'X',
    variant: treatment['dividends'] === 'net' ? 'net' : 'total',
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: parseValidDay(DATES.at(-1)!),
    reading: [],
  };
}

/** Explains the levels of another index with four decimals. */
function explain(terms: CandidateTerms, other: CandidateTerms) {
  const { days, levels } = evaluateTerms(other);
  const outside = { days, values: round(levels, 4) };
  const { causes, reproduced } = explainCase({ terms, outside, decimals: 4, plants: [] });
  return {
    causes: causes.map(({ subject, manner, identifier, value }) => [subject, manner, identifier, value]),
    rounding: causes.map(({ change }) => change.rounding),
    reproduced,
  };
}

/** Returns the index with its exchange rates as series. */
function withSeries(terms: CandidateTerms): CandidateTerms {
  const days = Int32Array.from(DATES, parseValidDay);
  const series = Object.entries(RATES).map(
    ([identifier, closes]) =>
      [identifier, { identifier, name: null, currency: null, days, closes: Float64Array.from(closes) }] as const,
  );
  return { ...terms, market: { ...terms.market, series: new Map(series) } };
}

test('rates of the day before in all currencies are one cause', () => {
  const late = { EURUSD: delay(RATES.EURUSD), GBPUSD: delay(RATES.GBPUSD) };
  const { causes, reproduced } = explain(createIndex(), createIndex({ rates: late }));
  expect(causes).toEqual([['currency', 'late', null, null]]);
  expect(reproduced).toBe(true);
});

test('prices that are read as if in the currency of the index are rates that are ignored, also those of series', () => {
  const dollars = Object.fromEntries(NAMES.map((name) => [name, 'USD']));
  const { causes, reproduced } = explain(
    withSeries(createIndex({ rates: {} })),
    createIndex({ rates: {}, currencies: dollars }),
  );
  expect(causes).toEqual([['currency', 'ignored', null, null]]);
  expect(reproduced).toBe(true);
});

test('a decrement in points that is left out is a fee that is ignored', () => {
  const { causes, reproduced } = explain(
    createIndex({ overlay: { type: 'decrement', points: 50, basis: 365 } }),
    createIndex(),
  );
  expect(causes).toEqual([['fee', 'ignored', null, null]]);
  expect(reproduced).toBe(true);
});

const DIVIDENDS: readonly ActionSketch[] = [
  { name: 'N0', type: 'DIVIDEND', value: 0.8, ex: DATES[2]! },
  { name: 'N3', type: 'DIVIDEND', value: 0.5, ex: DATES[2]! },
  { name: 'N4', type: 'DIVIDEND', value: 1.1, ex: DATES[2]! },
  { name: 'N1', type: 'DIVIDEND', value: 0.7, ex: DATES[60]! },
];

test('a decrement that is left out is found behind two dividends that are left out on the first session', () => {
  const { causes, reproduced } = explain(
    createIndex({ actions: DIVIDENDS, overlay: { type: 'decrement', percent: 5, basis: 365 } }),
    createIndex({ actions: DIVIDENDS.slice(2) }),
  );
  expect(causes[0]).toEqual(['fee', 'ignored', null, null]);
  expect(causes.slice(1).map(([subject, manner, name]) => `${subject} ${manner} ${name}`)).toEqual([
    'dividend ignored N0',
    'dividend ignored N3',
  ]);
  expect(reproduced).toBe(true);
});

test('untaxed dividends of one country are its rate of tax and not other values of the dividends', () => {
  const createNet = (rates: Readonly<Record<string, number>>): CandidateTerms =>
    createIndex({ actions: DIVIDENDS, treatment: { dividends: 'net', withholding_tax: { field: 'COUNTRY', rates } } });
  const { causes, reproduced } = explain(createNet({ US: 0.3, CH: 0.35 }), createNet({ US: 0, CH: 0.35 }));
  expect(causes).toEqual([['tax', 'value', 'US', 0]]);
  expect(reproduced).toBe(true);
});

test('weights that are rounded at each review are found, also with another cause', () => {
  const weigh = (...weights: readonly number[]) => ({
    type: 'FixedWeight',
    params: { weights: Object.fromEntries(NAMES.map((name, k) => [name, weights[k]!])) },
  });
  const exact = weigh(0.2345, 0.1174, 0.0481, 0.3126, 0.1533, 0.1341);
  const rounded = weigh(0.235, 0.117, 0.048, 0.313, 0.153, 0.134);
  const { causes, rounding, reproduced } = explain(
    createIndex({ actions: DIVIDENDS, weighting: exact }),
    createIndex({ actions: DIVIDENDS.slice(0, 3), weighting: rounded }),
  );
  expect(causes).toEqual([
    ['rounding', 'value', null, 3],
    ['dividend', 'ignored', 'N1', null],
  ]);
  expect(rounding[0]).toEqual({ rounded_weights: 3 });
  expect(reproduced).toBe(true);
});

/** Returns prices of which one is that of the session before. */
const carry = <T>(prices: readonly T[], at: number): T[] => prices.with(at, prices[at - 1]!);

test('the prices of all securities of a country that are carried on a session are found together', () => {
  const changed = createIndex({
    close: Object.fromEntries(['N3', 'N4', 'N5'].map((name) => [name, carry(CLOSE[name]!, 60)])),
  });
  const { days, levels } = evaluateTerms(changed);
  const { causes, reproduced } = explainCase({
    terms: createIndex(),
    outside: { days, values: round(levels, 4) },
    decimals: 4,
    plants: [],
  });
  expect(causes.map(({ manner, identifier, date }) => `${manner} ${identifier} ${date}`)).toEqual(
    ['N3', 'N4', 'N5'].map((name) => `carried ${name} ${DATES[60]}`),
  );
  expect(reproduced).toBe(true);
});

test('the carried price of a security that a constituent has spun off is found', () => {
  const spun = walk(31, 40, 0.03).map((price, t) => (t < 40 ? null : price));
  const actions: ActionSketch[] = [{ name: 'N0', type: 'SPIN_OFF', value: 0.5, ex: DATES[40]!, related: 'S' }];
  const { days, levels } = evaluateTerms(createIndex({ close: { S: carry(spun, 43) }, actions }));
  const { causes } = explainCase({
    terms: createIndex({ close: { S: spun }, actions }),
    outside: { days, values: round(levels, 4) },
    decimals: 4,
    plants: [],
  });
  expect(causes.map(({ manner, identifier, date }) => `${manner} ${identifier} ${date}`)).toEqual([
    `carried S ${DATES[43]}`,
  ]);
});

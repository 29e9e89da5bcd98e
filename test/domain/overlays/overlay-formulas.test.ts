import { beforeAll, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { carryCloses, type CorporateAction, type MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run } from '../backtest/random-run.js';
import { EVERY_OVERLAY, createOverlayIndex, addRates } from './overlay-case.js';
import { createDocument } from '../index-document.js';

const source = createDocument({
  base_date: '2023-12-27',
  rebalance: { frequency: 'monthly' },
  universe: { kind: 'list', identifiers: ['A', 'B'] },
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'EqualWeight' } },
});

/** Returns weekdays within the range of the test calendar. */
function listWeekdays(from: string, count: number): string[] {
  const closedDates = ['2024-01-15', '2024-02-05', '2024-02-06'];
  const dates: string[] = [];
  for (let day = parseValidDay(from); dates.length < count; day++) {
    const date = formatDay(day);
    if (![6, 0].includes(new Date(`${date}T00:00Z`).getUTCDay()) && !closedDates.includes(date)) dates.push(date);
  }
  return dates;
}

const dates = listWeekdays('2023-12-27', 60);
let market: MarketData;
let levels: Float64Array;
let days: number[];
beforeAll(() => {
  market = addRates(
    buildMarket({
      dates,
      close: {
        A: dates.map((_, t) => 50 + 4 * Math.sin(t / 3) + t / 20),
        B: dates.map((_, t) => 20 + 3 * Math.cos(t / 5)),
      },
    }),
  );
  levels = run(market, source).index.book.value;
  days = dates.map(parseValidDay);
});

const computeLevel = (overlay: Readonly<Record<string, unknown>>, rest = {}): Float64Array =>
  run(market, createOverlayIndex(overlay, rest), { documents: { X: source } }).index.book.value;
const readRates = (id: string): Float64Array =>
  carryCloses(market.series!.get(id)!, Int32Array.from(days)).map((percent) => percent / 100);

const createDividend = (identifier: string, t: number, value: number): CorporateAction => ({
  identifier,
  type: 'DIVIDEND',
  value,
  exDay: days[t]!,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
});

function expectClose(actual: Float64Array, expected: ArrayLike<number>): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((value, t) => expect(Math.abs(value / expected[t]! - 1)).toBeLessThan(1e-12));
}

/** Returns levels that start at 100, given the growth of each session. */
function chainLevels(growthAt: (t: number, before: number) => number): number[] {
  const chain = [100];
  for (let t = 1; t < days.length; t++) chain.push(growthAt(t, chain[t - 1]!));
  return chain;
}
const returnAt = (t: number): number => levels[t]! / levels[t - 1]! - 1;
const countDays = (t: number): number => days[t]! - days[t - 1]!;

test('a geometric decrement and a fee are the index times a power of the days since the base date', () => {
  const computeFees = (p: number, basis: number) =>
    levels.map((level, t) => level * (1 - p) ** ((days[t]! - days[0]!) / basis));
  expectClose(computeLevel({ type: 'decrement', percent: 5 }), computeFees(0.05, 365));
  expectClose(computeLevel({ type: 'fee', percent: 0.75, basis: 360 }), computeFees(0.0075, 360));
});

test('an arithmetic decrement takes its days of each session, one in points the points', () => {
  expectClose(
    computeLevel({ type: 'decrement', percent: 5, method: 'arithmetic', basis: 360 }),
    chainLevels((t, before) => before * (1 + returnAt(t)) * (1 - (0.05 * countDays(t)) / 360)),
  );
  expectClose(
    computeLevel({ type: 'decrement', points: 12 }),
    chainLevels((t, before) => before * (1 + returnAt(t)) - (12 * countDays(t)) / 365),
  );
});

test('twice the return pays interest on borrowed money, an inverse earns interest on twice its value', () => {
  const rate = readRates('DOMESTIC');
  expectClose(
    computeLevel({ type: 'leverage', factor: 2, financing: 'DOMESTIC', spread_bps: 50 }),
    chainLevels((t, before) => before * (1 + 2 * returnAt(t) - ((rate[t - 1]! + 0.005) * countDays(t)) / 360)),
  );
  expectClose(
    computeLevel({ type: 'leverage', factor: -1, financing: 'DOMESTIC', spread_bps: 20 }),
    chainLevels((t, before) => before * (1 - returnAt(t) + (2 * (rate[t - 1]! - 0.002) * countDays(t)) / 360)),
  );
});

test('an excess return divides by what cash grew to', () => {
  const rate = readRates('DOMESTIC');
  expectClose(
    computeLevel({ type: 'excess_return', cash: 'DOMESTIC' }),
    chainLevels((t, before) => (before * (1 + returnAt(t))) / (1 + (rate[t - 1]! * countDays(t)) / 360)),
  );
});

test('risk control holds the target over the larger of two volatilities, each written out as a weighted mean', () => {
  const rate = readRates('DOMESTIC');
  const computeVolatility = (last: number, half: number): number => {
    let [sum, weights] = [0, 0];
    for (let t = 1; t <= last; t++) {
      const weight = 0.5 ** ((last - t) / half);
      sum += weight * Math.log(levels[t]! / levels[t - 1]!) ** 2;
      weights += weight;
    }
    return Math.sqrt((252 * sum) / weights);
  };
  const computeExposure = (t: number): number =>
    t < 3 ? 1 : Math.min(1.5, 0.1 / Math.max(computeVolatility(t - 2, 4), computeVolatility(t - 2, 10)));
  expectClose(
    computeLevel({ type: 'risk_control', target: 0.1, half_lives: [4, 10], cash: 'DOMESTIC' }),
    chainLevels((t, before) => {
      const heldExposure = computeExposure(t - 1);
      return before * (1 + heldExposure * returnAt(t) + ((1 - heldExposure) * rate[t - 1]! * countDays(t)) / 360);
    }),
  );
});

/** Returns the annual deviation of `count` log returns up to a session, by a two-pass formula. */
function computeDeviation(last: number, count: number, kind: 'zero_mean' | 'sample' | 'population'): number {
  const returns = Array.from({ length: Math.min(count, last) }, (_, k) => Math.log(1 + returnAt(last - k)));
  const mean = kind === 'zero_mean' ? 0 : returns.reduce((sum, own) => sum + own, 0) / returns.length;
  const squares = returns.reduce((sum, own) => sum + (own - mean) ** 2, 0);
  return Math.sqrt((252 * squares) / (kind === 'sample' ? returns.length - 1 : returns.length));
}

test.each(['zero_mean', 'sample', 'population'] as const)(
  'risk control holds the target over the largest of the volatilities over several windows: %s',
  (deviation) => {
    const largest = new Set<number>();
    const computeExposure = (t: number): number => {
      const last = t - 1;
      if (last < (deviation === 'sample' ? 2 : 1)) return 1;
      const volatilities = [3, 10, 20].map((count) => computeDeviation(last, count, deviation));
      largest.add(volatilities.indexOf(Math.max(...volatilities)));
      return Math.min(1.3, 0.15 / Math.max(...volatilities));
    };
    expectClose(
      computeLevel({ type: 'risk_control', target: 0.15, windows: [3, 10, 20], deviation, lag: 1, max_leverage: 1.3 }),
      chainLevels((t, before) => before * (1 + computeExposure(t - 1) * returnAt(t))),
    );
    expect(largest.size).toBe(3);
  },
);

test('by hand: returns of 10 % and -10 % have a sample deviation of 14.2 % a session, and the exposure follows', () => {
  // log 1.1 = 0.0953102 and log 0.9 = -0.1053605: mean -0.0050252, squares 2 x 0.1003353^2, divisor 1: 0.1418956.
  const closes = [100, 110, 99, 108.9];
  const four = buildMarket({ dates: dates.slice(0, 4), close: { A: closes, B: closes } });
  const spec = { type: 'risk_control', target: 0.1418956, sessions: 2, annualisation: 1, lag: 0, max_leverage: 3 };
  const runWith = (deviation: string): number => {
    const overlay = createOverlayIndex({ ...spec, deviation });
    const { value } = run(four, overlay, { documents: { X: source } }).index.book;
    return value[3]! / value[2]! - 1;
  };
  expect(runWith('sample')).toBeCloseTo(0.1, 6);
  expect(runWith('population')).toBeCloseTo(0.1 * Math.sqrt(2), 6);
});

test('income held as cash is the value of the index and of the income since the last review, over that at the review', () => {
  const paying = { ...market, actions: [3, 20, 21, 40].map((t, k) => createDividend(k % 2 === 0 ? 'A' : 'B', t, 0.9)) };
  const documents = { X: source };
  const { variants } = run(paying, source, { documents });
  const [price, total] = [variants.price!.level, variants.total!.level];
  const rate = readRates('DOMESTIC');
  const ends = ['2023-12-29', '2024-01-31', '2024-02-29', '2024-03-29'].map(parseValidDay);
  for (const cash of [null, 'DOMESTIC']) {
    const expected = [100];
    let [begin, held] = [0, 0];
    for (let t = 1; t < days.length; t++) {
      // Income in points of the price return, as the total return of the session less its price return.
      const points = price[t - 1]! * (total[t]! / total[t - 1]!) - price[t]!;
      held = held * (1 + (cash === null ? 0 : (rate[t - 1]! * countDays(t)) / 360)) + points;
      expected.push((expected[begin]! * (price[t]! + held)) / price[begin]!);
      if (ends.includes(days[t]!)) [begin, held] = [t, 0];
    }
    const overlay = createOverlayIndex({ type: 'held_income', cash });
    const result = run(paying, overlay, { documents });
    expectClose(result.index.book.value, expected);
    expectClose(
      result.variants.price!.level,
      price.map((level) => (100 * level) / price[0]!),
    );
    expect(Math.abs(expected.at(-1)! / total.at(-1)! - 1)).toBeGreaterThan(1e-5);
  }
});

test('by hand: a coupon of 5 stays in cash until the month ends, and the total return reinvests it at once', () => {
  // 100, 95 + 5, then the price rises by 10 % to 104.5. With cash the level is 109.5, reinvested it is 110.
  const three = {
    ...buildMarket({ dates: dates.slice(4, 7), close: { A: [100, 95, 104.5] } }),
    actions: [{ ...createDividend('A', 5, 5) }],
  };
  const documents = {
    X: IndexDocument.parse({ ...source, base_date: dates[4], universe: { kind: 'list', identifiers: ['A'] } }),
  };
  const compute = (overlay: object) =>
    run(three, createOverlayIndex({ ...overlay }, { base_date: dates[4] }), { documents }).index.book.value.at(-1)!;
  expect(compute({ type: 'held_income' })).toBeCloseTo(109.5, 10);
  expect(compute({ type: 'fee', percent: 0 })).toBeCloseTo(110, 10);
  expect(compute({ type: 'held_income', rebalance: { frequency: 'daily' } })).toBeCloseTo(110, 10);
});

test('by hand: the proceeds of a redeemed bond stay in cash until the month ends, and the index spreads them at once', () => {
  // A and B are half of the index each. A is redeemed at 100 on the second session, when B is at 100; B then rises by
  // 10 % and, after the month end of 31 January, by another 10 %.
  const january = ['2024-01-29', '2024-01-30', '2024-01-31', '2024-02-01'];
  const redemption = { ...createDividend('A', 0, 100), type: 'DELISTING' as const, exDay: parseValidDay(january[1]!) };
  const bonds = {
    ...buildMarket({ dates: january, close: { A: [100, 100, NaN, NaN], B: [100, 100, 110, 121] } }),
    actions: [redemption],
  };
  const documents = {
    X: IndexDocument.parse({ ...source, base_date: january[0], rebalance: { frequency: 'none' } }),
  };
  const compute = (terms: object) => {
    const overlay = createOverlayIndex({ type: 'held_income', ...terms }, { base_date: january[0] });
    return run(bonds, overlay, { documents }).index.book;
  };
  const held = compute({ proceeds: 'held' });
  expectClose(held.value, [100, 100, 105, 115.5]);
  expectClose(
    held.cash.map((cash) => 1 + cash),
    [1, 1.5, 1, 1],
  );
  expectClose(compute({}).value, [100, 100, 110, 121]);
});

test('collateral adds the interest of a bill by the published formulas for commodity indices', () => {
  const rate = readRates('DOMESTIC');
  const bill = (t: number): number => 1 / (1 - (91 / 360) * rate[t - 1]!);
  expectClose(
    computeLevel({ type: 'collateral', rate: 'DOMESTIC' }),
    chainLevels((t, before) => before * (1 + returnAt(t) + bill(t) ** (countDays(t) / 91) - 1)),
  );
  expectClose(
    computeLevel({ type: 'collateral', rate: 'DOMESTIC', idle_days: 'compounded' }),
    chainLevels((t, before) => {
      const daily = bill(t) ** (1 / 91) - 1;
      return before * (1 + returnAt(t) + daily) * (1 + daily) ** (countDays(t) - 1);
    }),
  );
  expectClose(
    computeLevel({ type: 'collateral', rate: 'DOMESTIC', quotation: 'yield', basis: 365 }),
    chainLevels((t, before) => before * (1 + returnAt(t) + (rate[t - 1]! * countDays(t)) / 365)),
  );
});

test('by hand: a discount of 4 % for 91 days is 4.04 % over 360 days, and 3 days of it are 0.0337 %', () => {
  // 1 / (1 - 0.04 x 91 / 360) = 1.0102144, its 91st root 1.00011167; cubed 1.00033506.
  const friday = ['2024-01-05', '2024-01-08'];
  const flat = buildMarket({ dates: friday, close: { A: [100, 100], B: [100, 100] } });
  const series = { identifier: 'BILL', name: null, currency: null };
  const billMarket = {
    ...flat,
    series: new Map([
      ['BILL', { ...series, days: Int32Array.from(friday, parseValidDay), closes: Float64Array.of(4, 4) }],
    ]),
  };
  const documents = { X: IndexDocument.parse({ ...source, base_date: friday[0] }) };
  const overlay = createOverlayIndex({ type: 'collateral', rate: 'BILL' }, { base_date: friday[0] });
  expect(run(billMarket, overlay, { documents }).index.book.value[1]).toBeCloseTo(100.033506, 5);
});

test('risk control annualises by the sessions of a year that the overlay names', () => {
  const computeExposure = (year: number, t: number): number => {
    const squares = Array.from({ length: 5 }, (_, k) => Math.log(levels[t - k]! / levels[t - k - 1]!) ** 2);
    return 0.1 / Math.sqrt((year * squares.reduce((sum, square) => sum + square, 0)) / 5);
  };
  const [ownLevels, usualLevels] = [261, undefined].map((annualisation) =>
    computeLevel({ type: 'risk_control', target: 0.1, sessions: 5, lag: 0, max_leverage: 10, annualisation }),
  );
  for (let t = 7; t < days.length; t++) {
    expect(ownLevels![t]! / ownLevels![t - 1]! - 1).toBeCloseTo(computeExposure(261, t - 1) * returnAt(t), 12);
    expect(usualLevels![t]! / usualLevels![t - 1]! - 1).toBeCloseTo(computeExposure(252, t - 1) * returnAt(t), 12);
  }
});

test('a hedged index is that of the published formula, month by month', () => {
  const [domestic, foreign] = [readRates('DOMESTIC'), readRates('FOREIGN')];
  const spot = carryCloses(market.series!.get('GBPUSD')!, Int32Array.from(days)).map((rate) => 1 / rate);
  const ends = ['2023-12-29', '2024-01-31', '2024-02-29', '2024-03-29'].map(parseValidDay);
  const forward = (t: number, tenor: number): number =>
    (spot[t]! * (1 + (domestic[t]! * tenor) / 360)) / (1 + (foreign[t]! * tenor) / 360);
  let m = 0;
  const expected = [100];
  for (let t = 1; t < days.length; t++) {
    const end = ends.find((day) => day > days[m]!)!;
    const tenor = end - days[m]!;
    const remainingShare = (end - days[t]!) / tenor;
    const mark = spot[t]! + (forward(t, tenor) - spot[t]!) * remainingShare;
    const unhedgedGrowth = (levels[t]! * spot[t]!) / (levels[m]! * spot[m]!);
    expected.push(expected[m]! * (unhedgedGrowth + (0.8 * (forward(m, tenor) - mark)) / spot[m]!));
    if (days[t] === end) m = t;
  }
  const rates = { domestic: 'DOMESTIC', foreign: 'FOREIGN' };
  expectClose(computeLevel({ type: 'currency_hedged', to: 'GBP', ratio: 0.8, rates }, { currency: 'GBP' }), expected);
});

/**
 * S&P Dow Jones Indices, "Equity 101: Mechanics of Currency Hedged Indices", exhibit 1: 100,000 dollars in Japanese
 * shares at 100 yen per dollar. Share prices are constant, the yen ends at 95 or at 105, and forwards are sold at 100.
 */
test.each([
  { end: 95, unhedged: 105_263.16 },
  { end: 105, unhedged: 95_238.1 },
])('a published example: 100,000 dollars hedged at 100 yen are that at $end yen, too', ({ end, unhedged }) => {
  const period = dates.slice(dates.indexOf('2023-12-29'), dates.indexOf('2024-01-31') + 1);
  const days = Int32Array.from(period, parseValidDay);
  const flatMarket = buildMarket({ dates: period, close: { A: period.map(() => 50), B: period.map(() => 20) } });
  const closes = Float64Array.from(period, (_, t) => 1 / (100 + ((end - 100) * t) / (period.length - 1)));
  const createSeries = (identifier: string, values: Float64Array) =>
    [identifier, { identifier, name: null, currency: null, days, closes: values }] as const;
  const noReturns = new Float64Array(period.length);
  const yenMarket = {
    ...flatMarket,
    series: new Map([createSeries('JPYUSD', closes), createSeries('US', noReturns), createSeries('JP', noReturns)]),
  };
  const underlying = IndexDocument.parse({ ...source, currency: 'JPY', base_date: period[0] });
  const fields = { base_date: period[0], base_value: 100_000, currency: 'USD' };
  const computeLastLevel = (overlay: object) =>
    run(yenMarket, createOverlayIndex({ to: 'USD', ...overlay }, fields), {
      documents: { X: underlying },
    }).index.book.value.at(-1)!;
  const rates = { domestic: 'US', foreign: 'JP' };
  expect(computeLastLevel({ type: 'currency_hedged', rates })).toBeCloseTo(100_000, 6);
  expect(computeLastLevel({ type: 'currency' })).toBeCloseTo(unhedged, 2);
});

test('a blend holds units of its parts from one of its rebalances to the next', () => {
  const fee = createOverlayIndex({ type: 'fee', percent: 50 }, { id: 'Y', name: 'Y' });
  const documents = { X: source, Y: fee };
  const other = run(market, fee, { documents }).index.book.value;
  const parts = [
    { index_id: 'X', weight: 0.6 },
    { index_id: 'Y', weight: 0.4 },
  ];
  const blend = createOverlayIndex({ type: 'blend', parts, rebalance: { frequency: 'monthly' } });
  const ends = ['2023-12-29', '2024-01-31', '2024-02-29', '2024-03-29'].map(parseValidDay);
  let m = 0;
  const expected = [100];
  for (let t = 1; t < days.length; t++) {
    expected.push(expected[m]! * ((0.6 * levels[t]!) / levels[m]! + (0.4 * other[t]!) / other[m]!));
    if (ends.includes(days[t]!)) m = t;
  }
  expectClose(run(market, blend, { documents }).index.book.value, expected);
});

test('a blend holds every part in one return: that of the first, or the one that it names', () => {
  const paying = { ...market, actions: [createDividend('A', 20, 1.5), createDividend('B', 35, 0.4)] };
  const price = {
    ...source,
    id: 'Y',
    pipeline: { ...source.pipeline!, treatment: { ...source.pipeline!.treatment, dividends: 'price' as const } },
  };
  const documents = { X: source, Y: price };
  const weights = [0.6, 0.4];
  const parts = weights.map((weight, k) => ({ index_id: ['X', 'Y'][k]!, weight }));
  const [x, y] = [source, price].map((document) => run(paying, document, { documents }).variants);
  const computeBlendedLevels = (variant: 'price' | 'total') =>
    x![variant]!.level.map(
      (level, t) => 60 * (level / x![variant]!.level[0]!) + 40 * (y![variant]!.level[t]! / y![variant]!.level[0]!),
    );
  expect(computeBlendedLevels('total').at(-1)! / computeBlendedLevels('price').at(-1)!).toBeGreaterThan(1.01);
  for (const [variant, indexLevels] of [
    [undefined, 'total'],
    ['price', 'price'],
  ] as const) {
    const blend = createOverlayIndex({
      type: 'blend',
      parts,
      rebalance: { frequency: 'none' },
      ...(variant ? { variant } : {}),
    });
    const result = run(paying, blend, { documents });
    expectClose(result.index.book.value, computeBlendedLevels(indexLevels));
    expect(result.index.compositions.treatment.dividends).toBe(indexLevels);
    expectClose(result.variants.total!.level, computeBlendedLevels('total'));
    expectClose(result.variants.price!.level, computeBlendedLevels('price'));
  }
});

test('by hand: 100, 110, 99 doubled is 120 and 96, inverse 90 and 99', () => {
  const threeMarket = buildMarket({ dates: dates.slice(0, 3), close: { A: [100, 110, 99], B: [100, 110, 99] } });
  const runLeveraged = (factor: number) =>
    run(threeMarket, createOverlayIndex({ type: 'leverage', factor }), { documents: { X: source } }).index.book.value;
  [100, 120, 96].forEach((level, t) => expect(runLeveraged(2)[t]).toBeCloseTo(level, 10));
  [100, 90, 99].forEach((level, t) => expect(runLeveraged(-1)[t]).toBeCloseTo(level, 10));
  const crash = buildMarket({ dates: dates.slice(0, 3), close: { A: [100, 40, 40], B: [100, 40, 40] } });
  expect(() => run(crash, createOverlayIndex({ type: 'leverage', factor: 2 }), { documents: { X: source } })).toThrow(
    new Refusal(
      'NUMERIC_FAILURE',
      `The overlay O loses its whole value on ${dates[1]}, with a change of -120%. It has no level afterwards.`,
      { index_id: 'O', date: dates[1] },
    ),
  );
});

/**
 * Nasdaq Listing Center, frequently asked questions, 1539: leveraged and inverse products, an example over four days.
 */
test('a published example: an index of 100, 90, 108, 86.4 and 103.68 is 110, 88, 105.6 and 84.48 inverse', () => {
  const index = [100, 90, 108, 86.4, 103.68];
  const five = buildMarket({ dates: dates.slice(0, 5), close: { A: index, B: index } });
  const inverse = createOverlayIndex({ type: 'leverage', factor: -1 });
  const { value } = run(five, inverse, { documents: { X: source } }).index.book;
  [100, 110, 88, 105.6, 84.48].forEach((level, t) => expect(value[t]).toBeCloseTo(level, 10));
});

/** Euronext, notice of September 2023: points a year of indices on single securities, over 365 days, later 360. */
test('points are subtracted by the published formula over 360 days as well', () => {
  expectClose(
    computeLevel({ type: 'decrement', points: 1.04, basis: 360 }),
    chainLevels((t, before) => (before * levels[t]!) / levels[t - 1]! - (1.04 * countDays(t)) / 360),
  );
});

test('an overlay begins on its own base date with its own base value, knowing the returns before', () => {
  const laterBase = { base_date: '2024-02-01', base_value: 1000 };
  const laterLevels = computeLevel({ type: 'risk_control', target: 0.1, sessions: 10 }, laterBase);
  const control = computeLevel({ type: 'risk_control', target: 0.1, sessions: 10 });
  expect(laterLevels[0]).toBe(1000);
  const first = dates.indexOf('2024-02-01');
  laterLevels.forEach((level, k) => expect(level / 1000).toBeCloseTo(control[first + k]! / control[first]!, 12));
});

test('every overlay describes itself, with every number of its definition', () => {
  for (const [overlay, rest] of EVERY_OVERLAY) {
    const text = createMethodology(createOverlayIndex(overlay, rest)).join(' ');
    const numbers = Object.values(overlay).filter((value) => typeof value === 'number');
    for (const value of numbers) {
      const size = Math.abs(value) === 1 ? Math.abs(value) : value;
      const percentText = `${Number((100 * size).toPrecision(12))} ?%`;
      expect(text).toMatch(new RegExp([size, percentText].map((one) => String(one).replaceAll('.', '\\.')).join('|')));
    }
    for (const pair of JSON.stringify(overlay).match(/DOMESTIC|FOREIGN/g) ?? []) expect(text).toContain(pair);
    expect(text).not.toMatch(/undefined|NaN|null/);
  }
});

const RISK = { type: 'risk_control', target: 0.1 };
const HEDGE = { type: 'currency_hedged', to: 'GBP', rates: { domestic: 'DOMESTIC' } };
const euro = { currency: 'EUR', rate: 'FOREIGN' };
test.each([
  [RISK, 'overlay.half_lives or sessions or windows is required by a risk control, but not both: neither is present.'],
  [
    { ...RISK, half_lives: [11], sessions: 20 },
    'overlay.half_lives or sessions or windows is required by a risk control, but not both: both are present, [11] and 20.',
  ],
  [
    { ...RISK, windows: [20, 60], sessions: 20 },
    'overlay.half_lives or sessions or windows is required by a risk control, but not both: both are present, 20 and [20,60].',
  ],
  [{ type: 'decrement' }, 'overlay.percent or points is required by a decrement, but not both: neither is present.'],
  [
    { type: 'decrement', percent: 5, points: 20 },
    'overlay.percent or points is required by a decrement, but not both: both are present, 5 and 20.',
  ],
  [HEDGE, 'overlay.rates.foreign or currencies is required by a currency hedge, but not both: neither is present.'],
  [
    { ...HEDGE, rates: { domestic: 'DOMESTIC', foreign: 'FOREIGN' }, currencies: [euro] },
    `overlay.rates.foreign or currencies is required by a currency hedge, but not both: both are present, "FOREIGN" and [${JSON.stringify(euro)}].`,
  ],
  [{ type: 'fee', percent: 100 }, 'overlay.percent is 100; less than 100 is accepted.'],
  [{ type: 'fee', percent: -0.5 }, 'overlay.percent is -0.5; at least 0 is needed.'],
  [{ type: 'decrement', percent: 100 }, 'overlay.percent is 100; less than 100 is accepted.'],
  [
    { type: 'leverage', factor: 0 },
    'overlay.factor must be from -10 to 10 and not 0, which holds nothing of the index; it is 0.',
  ],
  [
    { type: 'currency', to: 'eur' },
    'overlay.to must be an upper-case ISO 4217 code, such as EUR, or a minor unit, such as GBX; it is "eur".',
  ],
])('%o is refused with its fields, its numbers and what is accepted', (overlay, message) => {
  const document = createOverlayIndex({ type: 'fee', percent: 1 });
  const { findings } = checkShape(IndexDocument, { ...document, overlay });
  expect(findings.map((finding) => finding.message)).toEqual([message]);
});

import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import type { MarketData, PriceSeries } from '#domain/market/market-data.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { buildMarket } from '../backtest/market-builder.js';
import { run, createColumns } from '../backtest/random-run.js';
import { createOverlayIndex, addRates } from './overlay-case.js';
import { createDocument } from '../index-document.js';

const source = createDocument({
  base_date: '2023-12-27',
  universe: { kind: 'list', identifiers: ['A'] },
  pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'EqualWeight' } },
});

const runOverlay = (market: MarketData, overlay: object, rest = {}) =>
  run(market, createOverlayIndex(overlay as Readonly<Record<string, unknown>>, rest), { documents: { X: source } });

/** Returns the weight of A after each close. The index consists only of A, so this weight is the exposure. */
const listExposures = (market: MarketData, overlay: object): number[] => [
  ...runOverlay(market, overlay).index.book.weights,
];

/**
 * Daily returns of 1, 2, 1, 4 and 1 %. With one return, no lag and 252 days a year, the target exposure is 0.01 /
 * return.
 */
const RETURNS = [0.01, 0.02, 0.01, 0.04, 0.01];
const DATES = ['2023-12-27', '2023-12-28', '2023-12-29', '2024-01-01', '2024-01-02', '2024-01-03'];
/** Closes with the logarithmic returns of RETURNS. */
const closes = RETURNS.reduce((all, value) => [...all, all.at(-1)! * Math.exp(value)], [100]);
const market = addRates(buildMarket({ dates: DATES, close: { A: closes } }));
/** Half-life that is so short that every return except the last has a weight of at most 2^-1000. */
const LAST_RETURN = { half_lives: [0.001], lag: 0 };
const RISK = { type: 'risk_control', target: 0.01 * Math.sqrt(252), max_leverage: 1.5, ...LAST_RETURN };

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  actual.forEach((value, t) => expect(value).toBeCloseTo(expected[t]!, 12));
}

test('by hand: without a tolerance the exposure is the target of every close', () => {
  expectClose(listExposures(market, RISK), [1, 1, 0.5, 1, 0.25, 1]);
});

test('by hand: within the tolerance the exposure stays, beyond it the exposure is the target', () => {
  // The distances of the targets from the previous exposure are 0, 0.5, 0, 0.75 and 0.
  expectClose(listExposures(market, { ...RISK, tolerance: 0.5 + 1e-9 }), [1, 1, 1, 1, 0.25, 1]);
  expectClose(listExposures(market, { ...RISK, tolerance: 0.5 - 1e-9 }), [1, 1, 0.5, 1, 0.25, 1]);
});

test('by hand: an exposure moves by the largest change towards its target', () => {
  // The targets are 1, 1, 0.5, 1, 0.25 and 1.
  expectClose(listExposures(market, { ...RISK, max_change: 0.2 }), [1, 1, 0.8, 1, 0.8, 1]);
  expectClose(listExposures(market, { ...RISK, max_change: 0.1 }), [1, 1, 0.9, 1, 0.9, 1]);
  expectClose(listExposures(market, { ...RISK, max_change: 0.4, tolerance: 0.3 }), [1, 1, 0.6, 1, 0.6, 1]);
});

test('by hand: a monthly review changes the exposure after the last close of a month alone', () => {
  // The closes run from 27 December to 3 January. The third is the last close of December, and its target is 0.5.
  expectClose(listExposures(market, { ...RISK, review: 'monthly' }), [1, 1, 0.5, 0.5, 0.5, 0.5]);
  expectClose(listExposures(market, { ...RISK, review: 'monthly', max_change: 0.3 }), [1, 1, 0.7, 0.7, 0.7, 0.7]);
  expectClose(listExposures(market, { ...RISK, review: 'monthly', tolerance: 0.6 }), [1, 1, 1, 1, 1, 1]);
});

test('levels, interest and costs are those of the exposures by hand', () => {
  const spec = { ...RISK, tolerance: 0.3, max_change: 0.4, cash: 'DOMESTIC', cost_bps: 20 };
  const exposures = [1, 1, 0.6, 1, 0.6, 1];
  const days = [0, 1, 1, 3, 1, 1];
  const { days: rateDays, closes: rates } = market.series!.get('DOMESTIC')!;
  const { value, sm } = runOverlay(market, spec).index.book;
  const readRateOn = (t: number): number => rates[rateDays.findLastIndex((day) => day <= sm.sessions[t]!)]! / 100;
  let level = 100;
  for (let t = 1; t < closes.length; t++) {
    const growth = closes[t]! / closes[t - 1]!;
    const heldExposure = exposures[t - 1]!;
    const before = 1 + heldExposure * (growth - 1) + ((1 - heldExposure) * readRateOn(t - 1) * days[t]!) / 360;
    level *= before * (1 - 0.002 * Math.abs(exposures[t]! - (heldExposure * growth) / before));
    expect(value[t]! / level).toBeCloseTo(1, 12);
  }
});

test('the explanation of an exposure has target, volatility and the reason', () => {
  const listSteps = (overlay: object) => {
    const { overlay: book } = runOverlay(market, overlay).index.book;
    return RETURNS.map((_, k) => book!.explain!(k + 1));
  };
  const limitedSteps = listSteps({ ...RISK, tolerance: 0.45, max_change: 0.4 });
  const toleranceReason = 'within_tolerance';
  expect(limitedSteps.map(({ reason }) => reason)).toEqual([
    toleranceReason,
    'max_change',
    toleranceReason,
    toleranceReason,
    toleranceReason,
  ]);
  limitedSteps.forEach(({ volatility, target, before }, k) => {
    expect(volatility).toBeCloseTo(RETURNS[k]! * Math.sqrt(252), 12);
    expect(target).toBeCloseTo(0.01 / RETURNS[k]!, 12);
    expect(before).toBeCloseTo([1, 1, 0.6, 0.6, 0.6][k]!, 12);
  });
  const monthly = listSteps({ ...RISK, review: 'monthly' }).map(({ reason }) => reason);
  expect(monthly).toEqual(['no_review', 'target', 'no_review', 'no_review', 'no_review']);
  const first = runOverlay(market, RISK).index.book.overlay!.explain!(0);
  expect(first).toEqual({ exposure: 1, target: 1, before: null, volatility: null, reason: 'target' });
  expect(runOverlay(market, { type: 'fee', percent: 1 }).index.book.overlay!.explain).toBeUndefined();
});

test('a month end beyond the data is no review, and the run up to it keeps its bits', () => {
  const spec = { ...RISK, review: 'monthly' };
  const cut = addRates(buildMarket({ dates: DATES.slice(0, 5), close: { A: closes.slice(0, 5) } }));
  const [wholeBook, partBook] = [market, cut].map((on) => runOverlay(on, spec).index.book);
  expect([...partBook!.value]).toEqual([...wholeBook!.value.subarray(0, 5)]);
  expect([...partBook!.weights]).toEqual([...wholeBook!.weights.subarray(0, 5)]);
});

test('the methodology names tolerance, largest change and review', () => {
  const text = createMethodology(
    createOverlayIndex({ ...RISK, tolerance: 0.05, max_change: 0.1, review: 'monthly' }),
  ).join(' ');
  expect(text).toContain(
    'The exposure is set to that leverage after the last close of each month if that differs by more than 0.05 (5 percentage points) from the previous exposure, by at most 0.1 (10 percentage points) at once',
  );
});

/** Returns the market with an exchange rate from pounds to dollars. The rate moves by several percent a day. */
function addPounds(rates: readonly number[]): MarketData {
  const days = Int32Array.from({ length: rates.length }, (_, k) => market.dates[k]!);
  const series: PriceSeries = {
    identifier: 'GBPUSD',
    name: null,
    currency: null,
    days,
    closes: Float64Array.from(rates),
  };
  return { ...market, series: new Map([...market.series!, ['GBPUSD', series]]) };
}

test('by hand: a quanto in pounds has the return in dollars, whatever the pound does; a conversion does not', () => {
  const rates = [1.2, 1.3, 1.1, 1.4, 1.25, 1.5];
  const marketWithRates = addPounds(rates);
  const pounds = { currency: 'GBP', base_value: 1000 };
  const quanto = runOverlay(marketWithRates, { type: 'quanto', to: 'GBP' }, pounds);
  const convertedLevels = runOverlay(marketWithRates, { type: 'currency', to: 'GBP' }, pounds).index.book.value;
  quanto.index.book.value.forEach((level, t) => {
    expect(level).toBeCloseTo((1000 * closes[t]!) / 100, 9);
    expect(convertedLevels[t]).toBeCloseTo((1000 * closes[t]! * rates[0]!) / (100 * rates[t]!), 9);
  });
  expect([...quanto.index.book.weights]).toEqual(DATES.map(() => 1));
  expect(createColumns(quanto).header.currency).toBe('GBP');
  expect(formatDay(quanto.index.days.at(-1)!)).toBe('2024-01-03');
});

test('a quanto needs no exchange rate', () => {
  const series = new Map([...market.series!].filter(([id]) => id !== 'GBPUSD'));
  const level = runOverlay({ ...market, series }, { type: 'quanto', to: 'GBP' }, { currency: 'GBP' }).index.book.value;
  closes.forEach((close, t) => expect(level[t]).toBeCloseTo(close, 10));
});

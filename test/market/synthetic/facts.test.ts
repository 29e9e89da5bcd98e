import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { computeSymmetricEigenvalues } from '#kernels/algebra/symmetric-eigen.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import { SECTORS } from '#market/synthetic/names.js';
import type { SyntheticSpec } from '#market/synthetic/factors.js';
import { createSpec } from '../../synthetic-market.js';

/**
 * Calendar of the tests. They check on generated returns that known properties of daily returns are present. Bounds
 * follow from the parameters of the model or from the standard error of a statistic, never from the output.
 * @source Cont (2001), Quantitative Finance 1, 223-236: the stylised facts.
 */
const { sessions: all } = openCalendars().get('XNYS')!;
const SESSIONS = all.slice(
  findFirstAtLeast(all, parseValidDay('2005-01-01')),
  findLastAtMost(all, parseValidDay('2014-12-31')) + 1,
);
const T = SESSIONS.length - 1;
const SPEC: SyntheticSpec = createSpec({
  seed: 42,
  assets: 200,
  sessions: SESSIONS,
  sectors: 8,
  dividend_yield: 0.02,
  splits_per_year: 0.03,
  delistings_per_year: 0.01,
  listings_per_year: 0.01,
});

/** Market with prices only. Every security exists throughout and has no corporate actions. */
const stillMarket = generateMarket(
  { ...SPEC, dividend_yield: 0, splits_per_year: 0, delistings_per_year: 0, listings_per_year: 0 },
  () => {},
);
const livelyMarket = generateMarket(SPEC, () => {});
const actionSecurities = new Set(stillMarket.actions.map(({ identifier }) => identifier)); // expensive shares are split nevertheless
const columns = stillMarket.identifiers.flatMap((identifier, n) => (actionSecurities.has(identifier) ? [] : [n]));

const createPanel = (name: string) => stillMarket.fields.get(name)!;
const createColumn = (name: string, n: number) =>
  Float64Array.from(SESSIONS, (_, t) => createPanel(name)[t * stillMarket.identifiers.length + n]!);
const returns = columns.map((n) => {
  const close = createColumn('CLOSE', n);
  return Float64Array.from({ length: T }, (_, t) => close[t + 1]! / close[t]! - 1);
});
const sectors = columns.map((n) =>
  String(
    stillMarket.reference.rows.get(stillMarket.identifiers[n]!)![0]!.values[
      stillMarket.reference.columns.indexOf('SECTOR')
    ],
  ),
);
/** Return of the market: the mean of all securities. */
const market = Float64Array.from(
  { length: T },
  (_, t) => returns.reduce((sum, series) => sum + series[t]!, 0) / returns.length,
);

const computeMean = (values: ArrayLike<number>) => {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
};
const findMiddle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const centreValues = (values: Float64Array) => {
  const middling = computeMean(values);
  return values.map((value) => value - middling);
};
const computeVariance = (values: Float64Array) => computeMean(centreValues(values).map((value) => value * value));
/** Standardises values to mean 0 and variance 1. */
const standardise = (values: Float64Array) => {
  const deviation = Math.sqrt(computeVariance(values));
  return centreValues(values).map((value) => value / deviation);
};
const computeProduct = (a: Float64Array, b: Float64Array) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum / a.length;
};
const computeCorrelation = (x: Float64Array, y: Float64Array) => computeProduct(standardise(x), standardise(y));
const standard = returns.map(standardise);
const computeAutocorrelation = (values: Float64Array, lag: number) => {
  const deviations = centreValues(values);
  let sum = 0;
  for (let t = lag; t < deviations.length; t++) sum += deviations[t]! * deviations[t - lag]!;
  return sum / deviations.length / computeVariance(values);
};
const computeKurtosis = (values: Float64Array) =>
  computeMean(centreValues(values).map((value) => value ** 4)) / computeVariance(values) ** 2;
const createSquares = (values: Float64Array) => values.map((value) => value * value);
const annualise = (values: Float64Array) => Math.sqrt(252 * computeVariance(values));

/** Standard error of the correlation of independent values. */
const NOISE = 1 / Math.sqrt(T);

describe('the returns of a synthetic market', () => {
  test('have the requested volatility, of the market and of the securities', () => {
    // Betas are around 1. Sectors contribute 0.5 / sqrt(8) of the volatility of the market. With clustered volatility
    // over ten years, the error is a tenth.
    const expected = 0.16 * Math.sqrt(1 + 0.25 / 8);
    expect(annualise(market) / expected).toBeGreaterThan(0.8);
    expect(annualise(market) / expected).toBeLessThan(1.25);
    const nameVolatility = Math.sqrt(0.16 ** 2 * (1 + 0.25) + 0.25 ** 2);
    expect(findMiddle(returns.map(annualise)) / nameVolatility).toBeGreaterThan(0.8);
    expect(findMiddle(returns.map(annualise)) / nameVolatility).toBeLessThan(1.25);
  });

  test('have fat tails, daily ones fatter than monthly ones', () => {
    // Shocks have a kurtosis of 6.4 before their volatility clusters. A sum of three parts has a kurtosis closer to 3.
    // Real stocks have 4 to 15.
    const daily = returns.map(computeKurtosis);
    expect(findMiddle(daily)).toBeGreaterThan(4);
    expect(findMiddle(daily)).toBeLessThan(15);
    expect(computeKurtosis(market)).toBeGreaterThan(4);
    const monthly = returns.map((series) =>
      computeKurtosis(
        Float64Array.from({ length: Math.floor(T / 21) }, (_, m) =>
          series.subarray(m * 21, m * 21 + 21).reduce((sum, value) => sum + Math.log1p(value), 0),
        ),
      ),
    );
    expect(findMiddle(monthly)).toBeLessThan(findMiddle(daily));
    expect(findMiddle(monthly)).toBeGreaterThan(2);
  });

  test('are not predicted by those of the day before', () => {
    // The bound is 1.5 times as wide as for pure noise, because volatile days have more weight. The error of the mean
    // over securities is the error of the common factor.
    expect(Math.abs(computeAutocorrelation(market, 1))).toBeLessThan(4.5 * NOISE);
    expect(Math.abs(computeMean(returns.map((series) => computeAutocorrelation(series, 1))))).toBeLessThan(3 * NOISE);
  });

  test('have sizes that are, for weeks', () => {
    // Squared returns of a GARCH process are correlated while its variance persists. The half-life is 35 days at 0.98.
    for (const lag of [1, 5, 10, 20])
      expect(computeAutocorrelation(createSquares(market), lag), `lag ${lag}`).toBeGreaterThan(2 * NOISE);
    expect(findMiddle(returns.map((series) => computeAutocorrelation(createSquares(series), 1)))).toBeGreaterThan(
      2 * NOISE,
    );
    const decay = [1, 60, 250].map((lag) =>
      computeMean(returns.map((series) => computeAutocorrelation(series.map(Math.abs), lag))),
    );
    expect(decay[0]).toBeGreaterThan(decay[1]!);
    expect(decay[1]).toBeGreaterThan(decay[2]!);
  });

  test('have the common variation of one market and its sectors', () => {
    const withinCorrelations: number[] = [];
    const acrossCorrelations: number[] = [];
    for (let i = 0; i < returns.length; i++)
      for (let j = 0; j < i; j++)
        (sectors[i] === sectors[j] ? withinCorrelations : acrossCorrelations).push(
          computeProduct(standard[i]!, standard[j]!),
        );
    // The contributions to the variance are 0.0256 of the market, 0.0064 of the sector and 0.0625 specific. For ten
    // years of clustered volatility, the tolerance is a tenth.
    const total = 0.0256 + 0.0064 + 0.0625;
    expect(Math.abs(computeMean(acrossCorrelations) - 0.0256 / total)).toBeLessThan(0.1);
    expect(Math.abs(computeMean(withinCorrelations) - 0.032 / total)).toBeLessThan(0.1);
    expect(computeMean(withinCorrelations) - computeMean(acrossCorrelations)).toBeGreaterThan(0.5 * (0.0064 / total));
  });

  test('have as many common factors as there are sectors, the largest of them the market', () => {
    const n = returns.length;
    const matrix = new Float64Array(n * n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++)
        matrix[i * n + j] = matrix[j * n + i] = i === j ? 1 : computeProduct(standard[i]!, standard[j]!);
    const values = new Float64Array(n);
    expect(computeSymmetricEigenvalues(matrix, n, values)).toBe(true);
    // Upper edge of the eigenvalues of the specific returns, which are 0.66 of the variance. Source: Marchenko & Pastur
    // (1967). The factor 0.75 leaves a margin. All sectors together move every security as the market does. So the
    // market is one of their directions and not an additional one.
    const edge = 0.75 * (1 + Math.sqrt(n / T)) ** 2;
    const commonValues = [...values].filter((value) => value > edge);
    expect(commonValues).toHaveLength(SPEC.sectors);
    expect(values[n - 1]! / n).toBeGreaterThan(0.15);
    expect(values[n - 1]! / n).toBeLessThan(0.5);
  });

  test('come with more trading and wider bars on days on which more happens', () => {
    const liveliness = columns.map((n, i) => {
      const volume = createColumn('VOLUME', n).subarray(1).map(Math.log);
      const low = createColumn('LOW', n);
      const width = createColumn('HIGH', n)
        .map((high, t) => high / low[t]! - 1)
        .subarray(1);
      const size = returns[i]!.map(Math.abs);
      return { volume: computeCorrelation(volume, size), width: computeCorrelation(width, size) };
    });
    expect(findMiddle(liveliness.map(({ volume }) => volume))).toBeGreaterThan(0.2);
    expect(findMiddle(liveliness.map(({ width }) => width))).toBeGreaterThan(0.2);
  });
});

describe('the names of a synthetic market', () => {
  const years = T / 252;
  const countActions = (type: string) => livelyMarket.actions.filter((action) => action.type === type).length;
  const expectRate = (count: number, rate: number) => {
    // A Poisson variable deviates from its mean by more than four standard deviations with probability 1 in 16,000.
    const expected = rate * SPEC.assets * years;
    expect(Math.abs(count - expected), `${count} of ${expected}`).toBeLessThan(4 * Math.sqrt(expected) + 1);
  };

  test('come and go as often as requested', () => {
    expectRate(livelyMarket.universes.filter(({ end }) => end !== null).length, SPEC.delistings_per_year);
    expectRate(livelyMarket.universes.filter(({ start }) => start !== SESSIONS[0]).length, SPEC.listings_per_year);
  });

  test('are split as often as requested, and where shares have become expensive', () => {
    const splits = ['SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE'].reduce((sum, type) => sum + countActions(type), 0);
    const rate = SPEC.splits_per_year * SPEC.assets * years;
    expect(splits).toBeGreaterThan(rate - 4 * Math.sqrt(rate));
    expect(splits).toBeLessThan(3 * rate);
  });

  test('pay the requested yield', () => {
    const close = livelyMarket.fields.get('CLOSE')!;
    const shares = livelyMarket.fields.get('SHARES_OUTSTANDING')!;
    const names = livelyMarket.identifiers.length;
    let [paidDividends, heldValue] = [0, 0];
    for (let cell = 0; cell < close.length; cell++) if (close[cell]! > 0) heldValue += close[cell]! * shares[cell]!;
    for (const { identifier, type, value, exDay } of livelyMarket.actions) {
      const cell = findLastAtMost(SESSIONS, exDay) * names + livelyMarket.identifiers.indexOf(identifier);
      if (type === 'DIVIDEND' && close[cell]! > 0) paidDividends += value * shares[cell]!;
    }
    // A few large securities dominate, because sizes are very uneven. So the tolerance is half of the mean yield.
    const yieldAnnual = paidDividends / (heldValue / livelyMarket.dates.length) / years;
    expect(yieldAnnual).toBeGreaterThan(0.01);
    expect(yieldAnnual).toBeLessThan(0.03);
  });

  test('are few large ones and many small ones, in every sector', () => {
    const names = livelyMarket.identifiers.length;
    const caps = livelyMarket.identifiers
      .map((_, n) => livelyMarket.fields.get('CLOSE')![n]! * livelyMarket.fields.get('SHARES_OUTSTANDING')![n]!)
      .filter((cap) => cap > 0)
      .toSorted((a, b) => b - a);
    // By Zipf's law the k-th largest of n has 1 / k of the largest size. So the first tenth has ln(n / 10) / ln(n) =
    // 0.57 of the total.
    const share =
      caps.slice(0, caps.length / 10).reduce((sum, cap) => sum + cap, 0) / caps.reduce((sum, cap) => sum + cap, 0);
    expect(share).toBeGreaterThan(0.4);
    const position = livelyMarket.reference.columns.indexOf('SECTOR');
    const values = new Set([...livelyMarket.reference.rows.values()].map((rows) => rows[0]!.values[position]));
    expect([...values].toSorted()).toEqual(
      SECTORS.slice(0, SPEC.sectors)
        .map(({ sector }) => sector)
        .toSorted(),
    );
    const float = livelyMarket.fields.get('FREE_FLOAT')!;
    for (let cell = 0; cell < names; cell++)
      if (float[cell] === float[cell]) expect(float[cell]! > 0 && float[cell]! <= 1).toBe(true);
  });
});

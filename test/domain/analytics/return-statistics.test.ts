import { expect, test } from 'vitest';
import {
  computeBacktestMetrics,
  computeBenchmarkStatistics,
  computeReturnStatistics,
  computeRollingRisk,
  listDrawdowns,
} from '#domain/analytics/returns.js';

const computeLevel = (returns: readonly number[]): Float64Array => {
  const level = [100];
  for (const value of returns) level.push(level.at(-1)! * (1 + value));
  return Float64Array.from(level);
};

test('statistics of ten returns by hand', () => {
  const returns = [0.02, -0.01, 0.03, -0.04, 0, 0.01, 0.01, -0.02, 0.02, 0.01];
  const statistics = computeReturnStatistics(computeLevel(returns));
  // The squares of the negative returns, 0.01^2 + 0.04^2 + 0.02^2, sum to 0.0021 over ten sessions. The mean return is
  // 0.003.
  const downside = Math.sqrt((0.0021 / 10) * 252);
  expect(statistics.downside_volatility).toBeCloseTo(downside, 12);
  expect(statistics.sortino_ratio).toBeCloseTo((0.003 * 252) / downside, 10);
  // 5 % of ten sessions, rounded up, is one session: the worst return.
  expect(statistics.cvar_95).toBeCloseTo(0.04, 12);
  expect(statistics.hit_rate).toBe(0.6);
  expect([statistics.best_return, statistics.worst_return]).toEqual([
    expect.closeTo(0.03, 12),
    expect.closeTo(-0.04, 12),
  ]);
  // Deviations from the mean of 0.3, in hundredths. Their cubes are 4.913 -2.197 19.683 -79.507 -0.027 3 x 0.343
  // -12.167 4.913. Their squares sum to 40.1.
  const cubes = 4.913 - 2.197 + 19.683 - 79.507 - 0.027 + 3 * 0.343 - 12.167 + 4.913;
  expect(statistics.skewness).toBeCloseTo(cubes / 10 / (40.1 / 10) ** 1.5, 9);
});

test('the worst twentieth of forty sessions is two of them; a level that only rises has no Sortino ratio', () => {
  const returns = Array.from({ length: 40 }, (_, t) => (t === 3 ? -0.05 : t === 20 ? -0.03 : 0.01));
  expect(computeReturnStatistics(computeLevel(returns)).cvar_95).toBeCloseTo(0.04, 12);
  const rising = computeReturnStatistics(computeLevel([0.5, 0.5]));
  expect(rising).toMatchObject({ sortino_ratio: null, skewness: null, hit_rate: 1, downside_volatility: 0 });
  expect(rising.cvar_95).toBeCloseTo(-0.5, 12);
});

test('captures are ratios of geometric means; twice a benchmark captures its returns twice, nearly', () => {
  const benchmark = [0.1, -0.1, 0.2, -0.05];
  const returns = [0.05, -0.2, 0.1, 0.05];
  const statistics = computeBenchmarkStatistics(computeLevel(returns), computeLevel(benchmark));
  expect(statistics.up_capture).toBeCloseTo((Math.sqrt(1.05 * 1.1) - 1) / (Math.sqrt(1.1 * 1.2) - 1), 10);
  expect(statistics.down_capture).toBeCloseTo((Math.sqrt(0.8 * 1.05) - 1) / (Math.sqrt(0.9 * 0.95) - 1), 10);
  const activeReturns = returns.map((value, t) => value - benchmark[t]!);
  const middle = activeReturns.reduce((sum, value) => sum + value, 0) / 4;
  const spread = Math.sqrt(activeReturns.reduce((sum, value) => sum + (value - middle) ** 2, 0) / 3);
  expect(statistics.information_ratio).toBeCloseTo((middle * 252) / (spread * Math.sqrt(252)), 10);
  expect(statistics.tracking_error).toBeCloseTo(spread * Math.sqrt(252), 10);
  expect(statistics.benchmark_return).toBeCloseTo(1.1 * 0.9 * 1.2 * 0.95 - 1, 12);
  expect(statistics.excess_return).toBeCloseTo(1.05 * 0.8 * 1.1 * 1.05 - 1.1 * 0.9 * 1.2 * 0.95, 12);
  expect(computeBenchmarkStatistics(computeLevel(benchmark), computeLevel(benchmark))).toMatchObject({
    information_ratio: null,
  });
  expect(computeBenchmarkStatistics(computeLevel([0.1, 0.1]), computeLevel([0.1, 0.2]))).toMatchObject({
    down_capture: null,
  });
});

test('drawdowns: from the last date at the high to the lowest level and back, the deepest first', () => {
  const level = Float64Array.from([100, 110, 105, 99, 110, 120, 90, 100, 120, 119]);
  expect(listDrawdowns(level, 10)).toEqual([
    { peak: 5, trough: 6, recovery: 8, depth: expect.closeTo(-0.25, 12) as number },
    { peak: 1, trough: 3, recovery: 4, depth: expect.closeTo(-0.1, 12) as number },
    { peak: 8, trough: 9, recovery: null, depth: expect.closeTo(-1 / 120, 12) as number },
  ]);
  expect(listDrawdowns(level, 1)).toHaveLength(1);
  expect(listDrawdowns(Float64Array.of(1, 2, 3), 5)).toEqual([]);
});

test.each([0, 0.0007, -0.0007])('a growth of %d in every session has a risk of exactly 0', (growth) => {
  const level = computeLevel(Array<number>(80).fill(growth));
  const other = level.map((value) => 0.013 * value);
  expect(computeBacktestMetrics(level, other)).toMatchObject({ volatility: 0, tracking_error: 0, sharpe_ratio: 0 });
  expect(computeBenchmarkStatistics(level, other)).toMatchObject({ tracking_error: 0, information_ratio: null });
  const risk = computeRollingRisk(level, other, { window: 30 });
  for (const values of [risk.volatility, risk.indexVolatility, risk.trackingError])
    expect(values.every((value) => value === 0)).toBe(true);
  if (growth >= 0)
    expect(computeReturnStatistics(level)).toMatchObject({ downside_volatility: 0, sortino_ratio: null });
});

test('a tracking error far below a basis point is not rounded to 0', () => {
  const level = computeLevel([0.01, -0.01, 0.01, -0.01]);
  const other = computeLevel([0.01 + 1e-8, -0.01, 0.01 + 1e-8, -0.01]);
  // Active returns alternate between 0 and -1e-8: a sample deviation of 1e-8 / root of 3.
  expect(computeBacktestMetrics(level, other).tracking_error! / ((1e-8 / Math.sqrt(3)) * Math.sqrt(252))).toBeCloseTo(
    1,
    6,
  );
});

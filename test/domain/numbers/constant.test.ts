import { describe, expect, test } from 'vitest';
import { computeRelativeMetrics } from '#domain/analytics/relative-returns.js';
import {
  computeBacktestMetrics,
  computeBenchmarkStatistics,
  computeReturnStatistics,
} from '#domain/analytics/returns.js';
import { transformValues } from '#domain/datapoints/statistics.js';
import { findRiskless, isConstant } from '#domain/base/numbers.js';
import { createSharpeSample } from '#domain/studies/overfitting.js';

/** Level that grows by 0.02 % a session, rounded to doubles. */
const GROWING = Float64Array.from({ length: 70 });
GROWING[0] = 100;
for (let t = 1; t < GROWING.length; t++) GROWING[t] = GROWING[t - 1]! * 1.0002;
const DAYS = Int32Array.from(GROWING.keys());
const MOVING = GROWING.map((level, t) => level * (1 + 1e-3 * Math.sin(t)));

describe('values that vary only by rounding', () => {
  test('have no Sharpe ratio, Sortino ratio, skewness or information ratio', () => {
    const metrics = computeBacktestMetrics(GROWING, null);
    expect(metrics.sharpe_ratio).toBe(0);
    expect(metrics.total_return).toBeCloseTo(1.0002 ** 69 - 1, 12);
    const falling = GROWING.map((level) => 1 / level);
    expect(computeReturnStatistics(GROWING)).toMatchObject({ skewness: null, sortino_ratio: null });
    expect(computeReturnStatistics(falling).sortino_ratio).toBeCloseTo(-Math.sqrt(252), 6);
    expect(
      computeBenchmarkStatistics(
        GROWING,
        GROWING.map((level) => 3 * level),
      ).information_ratio,
    ).toBeNull();
    expect(createSharpeSample(GROWING.subarray(1).map((level, t) => level / GROWING[t]! - 1)).sharpe).toBe(0);
  });

  test('give neither beta nor correlation', () => {
    const [growing, moving] = [GROWING, MOVING].map((values) => ({ days: DAYS, values }));
    expect(computeRelativeMetrics(moving!, growing!)).toMatchObject({ beta: 0, correlation: 0 });
    expect(computeRelativeMetrics(growing!, moving!).correlation).toBe(0);
    expect(computeRelativeMetrics(moving!, moving!).beta).toBe(1);
  });

  test('have the z-score 0', () => {
    expect(transformValues(Float64Array.of(0.1 + 0.2, 0.3, 0.3), 'zscore')).toEqual(Float64Array.of(0, 0, 0));
    expect(transformValues(Float64Array.of(1e9, 1e9 + 1), 'zscore')).toEqual(Float64Array.of(-1, 1));
  });

  test('are measured relative to their size', () => {
    expect(isConstant(1e-13)).toBe(true);
    expect(isConstant(1e-11)).toBe(false);
    expect(isConstant(1e-11, 100)).toBe(true);
    expect([...findRiskless(Float64Array.of(0.04, 0, 1e-30, 1e-14))]).toEqual([0, 1, 1, 0]);
    expect([...findRiskless(Float64Array.of(400, 1e-22))]).toEqual([0, 1]);
  });
});

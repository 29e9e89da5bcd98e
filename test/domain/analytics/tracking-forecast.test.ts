import { expect, test } from 'vitest';
import { computeTrackingForecast } from '#domain/analytics/relative-returns.js';

const days = Int32Array.of(10, 11, 12, 13, 14);
const flatLevels = { days, values: Float64Array.of(100, 100, 100, 100, 100) };
/** Levels with returns of 1 %, -1 %, 2 % and 0. The parent is constant, so these are also the active returns. */
const level = { days, values: Float64Array.of(100, 101, 101 * 0.99, 101 * 0.99 * 1.02, 101 * 0.99 * 1.02) };
const year = Math.sqrt(252);

test('a return belongs to the rebalance in force at the close before it', () => {
  const forecast = computeTrackingForecast(level, flatLevels, [
    { day: 10, trackingError: 0.01 * year },
    { day: 12, trackingError: 0.02 * year },
  ])!;
  expect(forecast.periods.map(({ day, observations }) => [day, observations])).toEqual([
    [10, 2],
    [12, 2],
  ]);
  // The deviations of each period are (1 %, -1 %) and (2 %, 0). With ddof 1, both equal sqrt(2) %.
  for (const { realised } of forecast.periods) expect(realised).toBeCloseTo(0.01 * Math.SQRT2 * year, 14);
  expect(forecast.forecast).toBeCloseTo(0.01 * Math.sqrt((1 + 1 + 4 + 4) / 4) * year, 14);
  // The standardised returns are 1, -1, 1, 0. Their mean is 1/4, and the sum of their squares is 3.
  expect(forecast.bias).toBeCloseTo(Math.sqrt((3 - 4 / 16) / 3), 13);
  expect(forecast.biasBand).toEqual([1 - Math.sqrt(1 / 2), 1 + Math.sqrt(1 / 2)]);
});

test('returns of a rebalance without a risk model are left out of both', () => {
  const forecast = computeTrackingForecast(level, flatLevels, [
    { day: 10, trackingError: undefined },
    { day: 12, trackingError: 0.02 * year },
  ])!;
  expect(forecast.observations).toBe(2);
  expect(forecast.forecast).toBeCloseTo(0.02 * year, 14);
  expect(forecast.realised).toBeCloseTo(0.01 * Math.SQRT2 * year, 14);
  expect(computeTrackingForecast(level, flatLevels, [{ day: 10, trackingError: undefined }])).toBeNull();
});

test('a forecast of 0 has no bias', () => {
  expect(computeTrackingForecast(flatLevels, flatLevels, [{ day: 10, trackingError: 0 }])).toMatchObject({
    realised: 0,
    bias: null,
  });
});

import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeAnnualReturns, computeMonthlyReturns, computeRollingVolatility } from '#domain/analytics/returns.js';
import { parseValidDay, toCivilDate } from '#domain/base/time.js';

const returns = fc
  .array(fc.double({ min: -0.2, max: 0.2, noNaN: true }), { minLength: 2, maxLength: 60 })
  .map((values) => Float64Array.from(values));

describe('trailing volatility', () => {
  test('is the sample deviation of the trailing returns times the root of 252', () => {
    fc.assert(
      fc.property(returns, fc.integer({ min: 2, max: 30 }), (values, window) => {
        const volatility = computeRollingVolatility(values, window);
        expect(volatility.length).toBe(Math.max(0, values.length - window + 1));
        volatility.forEach((value, i) => {
          const windowValues = values.slice(i, i + window);
          const mean = windowValues.reduce((sum, x) => sum + x, 0) / window;
          const variance = windowValues.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (window - 1);
          expect(value).toBeCloseTo(Math.sqrt(variance * 252), 10);
        });
      }),
    );
  });

  test('of returns that do not differ is nothing', () => {
    expect([...computeRollingVolatility(Float64Array.of(0, 0, 0, 0), 3)]).toEqual([0, 0]);
  });
});

describe('returns by month', () => {
  const levels = fc
    .array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: 2, maxLength: 800 })
    .map((values) => Float64Array.from(values));
  const listDays = (count: number, step: number) =>
    Int32Array.from({ length: count }, (_, i) => parseValidDay('2019-11-25') + i * step);

  test('compound to the return of their year, whatever the sessions', () => {
    fc.assert(
      fc.property(levels, fc.integer({ min: 1, max: 45 }), (level, step) => {
        const days = listDays(level.length, step);
        const months = computeMonthlyReturns(days, level);
        for (const [year, value] of computeAnnualReturns(days, level)) {
          const product = months
            .filter((month) => month.year === year)
            .reduce((growth, month) => growth * (1 + month.value), 1);
          expect(product - 1).toBeCloseTo(value, 10);
        }
      }),
    );
  });

  test('are dated at the month of their last session', () => {
    const days = Int32Array.from(['2023-11-29', '2023-11-30', '2023-12-01', '2023-12-29', '2024-12-02'], parseValidDay);
    const months = computeMonthlyReturns(days, Float64Array.of(100, 110, 99, 121, 242));
    expect(months.map(({ year, month }) => `${year}-${month}`)).toEqual(['2023-11', '2023-12', '2024-12']);
    expect(months.map(({ value }) => Math.round(value * 1e9) / 1e9)).toEqual([0.1, 0.1, 1]);
    expect(toCivilDate(days.at(-1)!).month).toBe(12);
  });
});

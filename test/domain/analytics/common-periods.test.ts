import { describe, expect, test } from 'vitest';
import { computeRelativeMetrics } from '#domain/analytics/relative-returns.js';
import { estimateCommonPeriods } from '#domain/calendars/calendar.js';
import { parseValidDay, toCivilDate, toWeekday } from '#domain/base/time.js';

const FIRST = parseValidDay('2022-12-30');
const ALL_DAYS = Int32Array.from({ length: 365 }, (_, t) => FIRST + t);
const WEEKDAYS = ALL_DAYS.filter((day) => toWeekday(day) < 5);
const MONTH_ENDS = WEEKDAYS.filter(
  (day, t) => t === WEEKDAYS.length - 1 || toCivilDate(WEEKDAYS[t + 1]!).month !== toCivilDate(day).month,
);
const FRIDAYS = ALL_DAYS.filter((day) => toWeekday(day) === 4);

const createLevels = (days: Int32Array, seed: number) => ({
  days,
  values: Float64Array.from(days, (day) => 100 + Math.sin(day * seed)),
});

describe('the number of common returns per year', () => {
  test('is that of the sessions if every session is common', () => {
    expect(estimateCommonPeriods(WEEKDAYS, WEEKDAYS, WEEKDAYS)).toBe(252);
    expect(estimateCommonPeriods(ALL_DAYS, ALL_DAYS)).toBe(365);
    expect(estimateCommonPeriods(WEEKDAYS, WEEKDAYS, ALL_DAYS)).toBeCloseTo(252, -1);
  });

  test('is 12 for month ends and 52 for Fridays, up to the difference of weekdays and sessions', () => {
    expect(MONTH_ENDS).toHaveLength(13);
    expect(estimateCommonPeriods(MONTH_ENDS, WEEKDAYS, MONTH_ENDS)).toBe((252 * 12) / (WEEKDAYS.length - 1));
    expect(estimateCommonPeriods(FRIDAYS, WEEKDAYS, FRIDAYS)).toBeCloseTo(52 * (252 / 260), 1);
  });

  test('does not depend on which series has fewer dates', () => {
    const [daily, monthly] = [createLevels(WEEKDAYS, 1), createLevels(MONTH_ENDS, 2)];
    expect(computeRelativeMetrics(daily, monthly).trackingError).toBe(
      computeRelativeMetrics(monthly, daily).trackingError,
    );
  });
});

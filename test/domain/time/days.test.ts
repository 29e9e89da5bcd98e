import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { addMonths, countDaysInMonth, formatDay, parseDay, toCivilDate, toDay } from '#domain/base/time.js';

/** Formats a date with JavaScript's Date, for comparison. */
const formatIsoText = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);

/** Any day of the years 0001 to 9999. */
const anyDay = fc.integer({ min: -719_162, max: 2_932_896 });

test('dates equal those of JavaScript, from the year 1 to 9999', () => {
  fc.assert(
    fc.property(anyDay, (day) => {
      const date = new Date(day * 86_400_000);
      const civil = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
      expect(toCivilDate(day)).toEqual(civil);
      expect(toDay(civil)).toBe(day);
      expect(formatDay(day)).toBe(formatIsoText(day));
      expect(parseDay(formatDay(day))).toBe(day);
    }),
    { numRuns: 2000 },
  );
});

test('the ends of years, months and leap days are distinguished', () => {
  for (const text of [
    '1600-02-29',
    '1900-02-28',
    '1900-03-01',
    '1969-12-31',
    '1970-01-01',
    '2000-02-29',
    '2023-12-31',
    '2024-01-01',
    '2024-02-29',
    '2100-02-28',
    '2100-03-01',
  ]) {
    expect(formatDay(parseDay(text)!)).toBe(text);
  }
  for (const text of ['1900-02-29', '2023-02-29', '2024-13-01', '2024-00-10', '2024-04-31', '2024-01-00', '2024-1-01'])
    expect(parseDay(text)).toBeUndefined();
  expect(toDay({ year: 2024, month: 2, day: 30 })).toBe(parseDay('2024-03-01'));
});

test('a month later ends with its month', () => {
  const addMonthsTo = (text: string, months: number): string => formatDay(addMonths(parseDay(text)!, months));
  expect(addMonthsTo('2024-01-31', 1)).toBe('2024-02-29');
  expect(addMonthsTo('2024-02-29', -12)).toBe('2023-02-28');
  expect(addMonthsTo('2023-11-30', 15)).toBe('2025-02-28');
  expect([
    countDaysInMonth(2024, 2),
    countDaysInMonth(2100, 2),
    countDaysInMonth(2000, 2),
    countDaysInMonth(2024, 12),
  ]).toEqual([29, 28, 29, 31]);
});

test('an invalid day has no text', () => {
  expect(() => formatDay(Number.NaN)).toThrow(RangeError);
});

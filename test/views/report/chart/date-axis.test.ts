import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import { parseValidDay, toCivilDate, toWeekday } from '#domain/base/time.js';
import { createDateTicks, type DateTick } from '#views/report/charts.js';

const createSpan = (first: string, last: string) => ({ first: parseValidDay(first), last: parseValidDay(last) });
const limitTickCount = (count: number) => (ticks: readonly DateTick[]) => ticks.length <= count;
const listLabels = (ticks: readonly DateTick[]) => ticks.map(({ label }) => label);

test('twenty years tick in years', () => {
  expect(listLabels(createDateTicks(createSpan('2004-01-02', '2023-12-29'), limitTickCount(10)))).toEqual([
    '2004',
    '2006',
    '2008',
    '2010',
    '2012',
    '2014',
    '2016',
    '2018',
    '2020',
    '2022',
  ]);
});

test('two years tick in quarters, the year at the first and at each January', () => {
  expect(listLabels(createDateTicks(createSpan('2022-02-15', '2023-12-29'), limitTickCount(8)))).toEqual([
    'Apr 2022',
    'Jul',
    'Oct',
    'Jan 2023',
    'Apr',
    'Jul',
    'Oct',
  ]);
});

test('some months tick in months', () => {
  expect(listLabels(createDateTicks(createSpan('2023-10-12', '2024-02-20'), limitTickCount(6)))).toEqual([
    'Nov 2023',
    'Dec',
    'Jan 2024',
    'Feb',
  ]);
});

test('a month ticks in weeks, on Mondays', () => {
  const ticks = createDateTicks(createSpan('2023-11-29', '2024-01-03'), limitTickCount(6));
  expect(listLabels(ticks)).toEqual(['4 Dec 2023', '11 Dec', '18 Dec', '25 Dec', '1 Jan 2024']);
  expect(ticks.every(({ day }) => toWeekday(day) === 0)).toBe(true);
});

test('two days are labelled with their dates', () => {
  expect(listLabels(createDateTicks(createSpan('2024-03-05', '2024-03-06'), limitTickCount(6)))).toEqual([
    '2024-03-05',
    '2024-03-06',
  ]);
});

test('a line that begins with the first session of a year begins with the year', () => {
  const [first] = createDateTicks(createSpan('2019-01-02', '2023-12-29'), limitTickCount(6));
  expect(first).toEqual({ day: parseValidDay('2019-01-02'), label: '2019' });
});

test('ticks are within the span, ascend, and fit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 20_000 }),
      fc.integer({ min: 1, max: 40_000 }),
      fc.integer({ min: 2, max: 20 }),
      (first, length, count) => {
        const ticks = createDateTicks({ first, last: first + length }, limitTickCount(count));
        expect(ticks.length).toBeGreaterThan(0);
        expect(ticks.length).toBeLessThanOrEqual(count);
        ticks.forEach(({ day }, i) => {
          expect(day).toBeGreaterThanOrEqual(first);
          expect(day).toBeLessThanOrEqual(first + length);
          if (i > 0) expect(day).toBeGreaterThan(ticks[i - 1]!.day);
        });
        for (const { day, label } of ticks)
          if (/^\d{4}$/.test(label)) expect(toCivilDate(day).year).toBe(Number(label));
      },
    ),
  );
});

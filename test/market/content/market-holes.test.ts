import { expect, test } from 'vitest';
import { parseDay } from '#domain/base/time.js';
import { warnOfMissingDays } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';

/** Returns the weekdays of 2015, except the omitted days. */
const listWeekdays = (isLeft: (day: string) => boolean): string[] =>
  Array.from({ length: 365 }, (_, i) => new Date(Date.UTC(2015, 0, 1 + i)))
    .filter((date) => date.getUTCDay() % 6 !== 0)
    .map((date) => date.toISOString().slice(0, 10))
    .filter((day) => !isLeft(day));

function findHoles(days: readonly string[]) {
  const problems = createProblems();
  warnOfMissingDays(
    Int32Array.from(days, (day) => parseDay(day)!),
    problems,
  );
  return problems.findings().map(({ severity, code, path, message }) => [severity, `${code} ${path}`, message]);
}

test.each([
  ['none', listWeekdays(() => false), []],
  ['two weeks', listWeekdays((day) => day >= '2015-03-02' && day <= '2015-03-13'), []],
  [
    'a day more than two weeks',
    listWeekdays((day) => day >= '2015-03-02' && day <= '2015-03-16'),
    [
      [
        'warning',
        'GAP_LONG market[2015-03-17]',
        'The market has no bar on 11 weekdays between 2015-02-27 and 2015-03-17; gaps of more than 10 are unusual.',
      ],
    ],
  ],
  ['closes of months', listWeekdays((day) => !['01', '02'].includes(day.slice(8))), []],
  ['a single day', ['2015-01-02'], []],
])('holes of a market: %s', (_what, days, expected) => {
  expect(findHoles(days)).toEqual(expected);
});

test('a hole of a market with a weekend at its ends counts weekdays alone', () => {
  // From Saturday 3 January to Sunday 18 January there are the weekdays of two weeks. To Monday 26 January there are
  // those of three weeks.
  const restDates = listWeekdays((day) => day < '2015-01-26');
  expect(findHoles(['2015-01-03', '2015-01-18', ...restDates]).map(([, place]) => place)).toEqual([]);
  expect(findHoles(['2015-01-03', ...restDates]).map(([, , message]) => message)).toEqual([
    expect.stringContaining(' 15 weekdays between 2015-01-03 and 2015-01-26'),
  ]);
});

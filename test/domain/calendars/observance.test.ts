import { describe, expect, test } from 'vitest';
import { listObservedDays, parseObservance } from '#domain/calendars/exchange-calendars.js';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';

const isWeekday = (day: number) => toWeekday(day) < 5;
const listObserved = (...holidays: [string, string?][]) =>
  [
    ...listObservedDays(
      holidays.map(([name, observance]) => ({
        day: parseValidDay(name),
        name,
        observance: parseObservance(observance),
      })),
      isWeekday,
    ).keys(),
  ]
    .filter(isWeekday)
    .sort((a, b) => a - b)
    .map(formatDay);

describe('an observance', () => {
  test('defines by how many days a holiday moves from each weekday', () => {
    expect(parseObservance('sat-1 sun+1').shifts).toEqual([0, 0, 0, 0, 0, -1, 1]);
    expect(parseObservance(undefined).shifts).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  test('moves a Sunday holiday past the holidays that follow it', () => {
    expect(listObserved(['2022-12-25', 'sun>'], ['2022-12-26', 'sun>'])).toEqual(['2022-12-26', '2022-12-27']);
    expect(listObserved(['2019-05-05', 'sun>'], ['2019-05-06'])).toEqual(['2019-05-06', '2019-05-07']);
  });

  test('moves a holiday that shares its day with another, at any position in the list', () => {
    expect(listObserved(['2020-10-01', 'same>'], ['2020-10-01'])).toEqual(['2020-10-01', '2020-10-02']);
    expect(listObserved(['2020-10-01'], ['2020-10-01', 'same>'])).toEqual(['2020-10-01', '2020-10-02']);
  });

  test('does not let two moved holidays share a day', () => {
    expect(listObserved(['2023-01-21', 'sat> sun>'], ['2023-01-22', 'sat> sun>'])).toEqual([
      '2023-01-23',
      '2023-01-24',
    ]);
  });

  test('skips the weekend when it looks for a free day', () => {
    expect(listObserved(['2021-04-04', 'sun>'], ['2021-04-02'], ['2021-04-05'])).toEqual([
      '2021-04-02',
      '2021-04-05',
      '2021-04-06',
    ]);
    expect(listObserved(['2022-09-09', 'same>'], ['2022-09-09'])).toEqual(['2022-09-09', '2022-09-12']);
  });
});

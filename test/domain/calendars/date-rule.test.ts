import { describe, expect, test } from 'vitest';
import {
  computeEasterSunday,
  computeOrthodoxEasterSunday,
  parseDateRule,
} from '#domain/calendars/exchange-calendars.js';
import { formatDay } from '#domain/base/time.js';

const listDays = (text: string, year: number, feasts = {}) => parseDateRule(text, feasts)(year).map(formatDay);

describe('a date rule', () => {
  test('names a day of the year, and 29 February in leap years alone', () => {
    expect(listDays('12-25', 2024)).toEqual(['2024-12-25']);
    expect(listDays('02-29', 2024)).toEqual(['2024-02-29']);
    expect(listDays('02-29', 2023)).toEqual([]);
  });

  test('names the nth and the last weekday of a month', () => {
    expect(listDays('thu#4/11', 2023)).toEqual(['2023-11-23']);
    expect(listDays('mon#last/05', 2022)).toEqual(['2022-05-30']);
    expect(listDays('mon#5/02', 2024)).toEqual([]);
  });

  test('names the weekday on or after and on or before a day', () => {
    expect(listDays('fri>=06-19', 2024)).toEqual(['2024-06-21']);
    expect(listDays('fri>=06-19', 2020)).toEqual(['2020-06-19']);
    expect(listDays('mon<=05-24', 2023)).toEqual(['2023-05-22']);
    expect(listDays('mon<=05-24', 2027)).toEqual(['2027-05-24']);
  });

  test('counts days from Easter and from any other rule', () => {
    expect(listDays('easter-2', 2024)).toEqual(['2024-03-29']);
    expect(listDays('orthodox-easter+1', 2024)).toEqual(['2024-05-06']);
    expect(listDays('thu#4/11+1', 2023)).toEqual(['2023-11-24']);
    expect(listDays('12-31+1', 2023)).toEqual(['2024-01-01']);
  });

  test('names every day of a table in the year, none in a year without an entry', () => {
    const feasts = { 'eid-al-adha': { '2006': '01-10 12-31' } };
    expect(listDays('eid-al-adha+1', 2006, feasts)).toEqual(['2006-01-11', '2007-01-01']);
    expect(listDays('eid-al-adha', 2007, feasts)).toEqual([]);
  });

  test('refuses a text that is no rule', () => {
    for (const text of ['', 'easterly', '13', 'mon#1', 'xyz#1/05', '+3'])
      expect(() => parseDateRule(text, {}), text).toThrow();
  });
});

describe('Easter', () => {
  test('is on its published Sundays', () => {
    expect(
      [1954, 1961, 1990, 2000, 2008, 2011, 2019, 2024, 2025, 2038].map((year) => formatDay(computeEasterSunday(year))),
    ).toEqual([
      '1954-04-18',
      '1961-04-02',
      '1990-04-15',
      '2000-04-23',
      '2008-03-23',
      '2011-04-24',
      '2019-04-21',
      '2024-03-31',
      '2025-04-20',
      '2038-04-25',
    ]);
  });

  test('is on its published Orthodox Sundays', () => {
    expect(
      [1990, 2000, 2008, 2013, 2016, 2021, 2024, 2025].map((year) => formatDay(computeOrthodoxEasterSunday(year))),
    ).toEqual([
      '1990-04-15',
      '2000-04-30',
      '2008-04-27',
      '2013-05-05',
      '2016-05-01',
      '2021-05-02',
      '2024-05-05',
      '2025-04-20',
    ]);
  });
});

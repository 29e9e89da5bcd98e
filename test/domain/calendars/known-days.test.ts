import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';

const calendars = openCalendars();

/** Returns the sessions of an exchange from one day to another, both inclusive. */
function listSessions(code: string, from: string, to: string): string[] {
  const { sessions } = calendars.get(code)!;
  return [...sessions].filter((day) => day >= parseValidDay(from) && day <= parseValidDay(to)).map(formatDay);
}
const isSession = (code: string, text: string) => calendars.get(code)!.isSession(parseValidDay(text));

describe('the shipped calendars know', () => {
  test('that New York was shut after 11 September, in the hurricane and for mourning', () => {
    expect(listSessions('XNYS', '2001-09-10', '2001-09-17')).toEqual(['2001-09-10', '2001-09-17']);
    expect(listSessions('XNYS', '2012-10-26', '2012-10-31')).toEqual(['2012-10-26', '2012-10-31']);
    for (const day of ['1994-04-27', '2004-06-11', '2007-01-02', '2018-12-05', '2025-01-09'])
      expect(isSession('XNYS', day), day).toBe(false);
  });

  test('that New York keeps no Saturday New Year but keeps every Good Friday', () => {
    expect(isSession('XNYS', '2021-12-31')).toBe(true);
    expect(isSession('XNYS', '2022-01-03')).toBe(true);
    for (const day of ['1991-03-29', '2000-04-21', '2015-04-03', '2024-03-29', '2026-04-03'])
      expect(isSession('XNYS', day), day).toBe(false);
    expect(listSessions('XNYS', '2022-06-17', '2022-06-21')).toEqual(['2022-06-17', '2022-06-21']);
    expect(isSession('XNYS', '2021-06-18')).toBe(true);
  });

  test('how many days New York traded in a year', () => {
    expect(
      [1990, 1996, 2001, 2012, 2019, 2020, 2023, 2024, 2025].map(
        (year) => listSessions('XNYS', `${year}-01-01`, `${year}-12-31`).length,
      ),
    ).toEqual([253, 254, 248, 250, 252, 253, 250, 252, 250]);
  });

  test('when New York closes at one', () => {
    const { earlyCloses } = calendars.get('XNYS')!;
    expect(
      [...earlyCloses]
        .filter(([day]) => formatDay(day).startsWith('2024'))
        .map(([day, closeTime]) => `${formatDay(day)} ${closeTime}`)
        .sort(),
    ).toEqual(['2024-07-03 13:00', '2024-11-29 13:00', '2024-12-24 13:00']);
  });

  test('the jubilees, the funeral and the coronation of London', () => {
    for (const day of [
      '1999-12-31',
      '2002-06-03',
      '2002-06-04',
      '2011-04-29',
      '2012-06-04',
      '2012-06-05',
      '2020-05-08',
      '2022-06-02',
      '2022-06-03',
      '2022-09-19',
      '2023-05-08',
    ]) {
      expect(isSession('XLON', day), day).toBe(false);
    }
    for (const day of ['1995-05-01', '2002-05-27', '2012-05-28', '2020-05-04', '2022-05-30'])
      expect(isSession('XLON', day), day).toBe(true);
    expect(listSessions('XLON', '2010-12-24', '2010-12-29')).toEqual(['2010-12-24', '2010-12-29']);
  });

  test("Tokyo's ten days of 2019 and the holidays moved for the Games", () => {
    expect(listSessions('XTKS', '2019-04-26', '2019-05-07')).toEqual(['2019-04-26', '2019-05-07']);
    expect(listSessions('XTKS', '2021-07-21', '2021-07-26')).toEqual(['2021-07-21', '2021-07-26']);
    expect(isSession('XTKS', '2021-07-19')).toBe(true);
    expect(isSession('XTKS', '2009-09-22')).toBe(false);
    expect(isSession('XTKS', '2020-10-01')).toBe(false);
  });

  test("Hong Kong's typhoons and holidays that are moved by each other", () => {
    for (const day of [
      '2016-08-02',
      '2016-10-21',
      '2017-08-23',
      '2020-10-13',
      '2021-10-13',
      '2023-07-17',
      '2023-09-01',
      '2023-09-08',
      '2024-09-06',
    ]) {
      expect(isSession('XHKG', day), day).toBe(false);
    }
    expect(listSessions('XHKG', '2010-04-01', '2010-04-07')).toEqual(['2010-04-01', '2010-04-07']);
    expect(listSessions('XHKG', '2015-04-02', '2015-04-08')).toEqual(['2015-04-02', '2015-04-08']);
    expect(isSession('XHKG', '2020-10-02')).toBe(false);
    expect(isSession('XHKG', '2024-02-09')).toBe(true);
  });

  test('that Moscow traded no shares from 28 February to 23 March 2022', () => {
    expect(listSessions('XMOS', '2022-02-25', '2022-03-24')).toEqual(['2022-02-25', '2022-03-24']);
    expect(isSession('MISX', '2022-03-10')).toBe(false);
  });

  test("Tel Aviv's week before and after 5 January 2026", () => {
    expect(listSessions('XTAE', '2025-12-28', '2026-01-10')).toEqual([
      '2025-12-28',
      '2025-12-29',
      '2025-12-30',
      '2025-12-31',
      '2026-01-01',
      '2026-01-04',
      '2026-01-05',
      '2026-01-06',
      '2026-01-07',
      '2026-01-08',
      '2026-01-09',
    ]);
  });

  test('the weekend sessions of India', () => {
    for (const day of [
      '2015-02-28',
      '2020-02-01',
      '2024-01-20',
      '2024-03-02',
      '2024-05-18',
      '2025-02-01',
      '2026-02-01',
    ])
      expect(isSession('XBOM', day), day).toBe(true);
    expect(isSession('XNSE', '2024-05-18')).toBe(true);
    expect(isSession('XBOM', '2024-05-19')).toBe(false);
  });

  test('the evening sessions of Diwali, and the holiday of Muharram that moved to 15 November 2013', () => {
    const evenings =
      '2006-10-21 2009-10-17 2012-11-13 2013-11-03 2014-10-23 2015-11-11 2016-10-30 2017-10-19 2018-11-07';
    const laterEvenings = '2019-10-27 2020-11-14 2021-11-04 2022-10-24 2023-11-12 2024-11-01 2025-10-21 2026-11-08';
    for (const code of ['XBOM', 'XNSE']) {
      for (const day of [evenings, laterEvenings].join(' ').split(' ')) expect(isSession(code, day), day).toBe(true);
      expect(listSessions(code, '2013-11-13', '2013-11-18')).toEqual(['2013-11-13', '2013-11-14', '2013-11-18']);
    }
  });

  test('the local elections of South Africa', () => {
    for (const day of ['2006-03-01', '2011-05-18', '2016-08-03', '2021-11-01', '2026-11-04'])
      expect(isSession('XJSE', day), day).toBe(false);
    expect(isSession('XJSE', '2026-11-05')).toBe(true);
  });

  test('the long closures of Athens, Istanbul and Shanghai', () => {
    expect(listSessions('ASEX', '2015-06-26', '2015-08-03')).toEqual(['2015-06-26', '2015-08-03']);
    expect(listSessions('XIST', '2023-02-07', '2023-02-15')).toEqual(['2023-02-07', '2023-02-15']);
    expect(listSessions('XSHG', '2020-01-23', '2020-02-03')).toEqual(['2020-01-23', '2020-02-03']);
  });

  test('that the Baltic exchanges keep Christmas and Frankfurt kept the Reformation Day of 2017', () => {
    for (const code of ['XTAL', 'XRIS', 'XLIT']) expect(isSession(code, '2024-12-25'), code).toBe(false);
    expect(isSession('XETR', '2017-10-31')).toBe(false);
    expect(isSession('XEUR', '2017-10-31')).toBe(true);
    expect(isSession('XETR', '2014-10-03')).toBe(false);
    expect(isSession('XETR', '2022-10-03')).toBe(true);
  });
});

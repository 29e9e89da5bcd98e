import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { type Spec, schedule, listDates } from './schedule-case.js';

describe('a schedule', () => {
  test('begins on the first session on or after the base date', () => {
    expect(schedule({ frequency: 'none' }, '2024-01-01', '2024-12-31').map(({ date }) => formatDay(date))).toEqual([
      '2024-01-02',
    ]);
    expect(schedule({ frequency: 'none' }, '2024-01-02', '2024-12-31').map(({ date }) => formatDay(date))).toEqual([
      '2024-01-02',
    ]);
  });

  test('is quarterly on last sessions by default', () => {
    expect(listDates({}, '2024-01-02', '2024-12-31')).toEqual(['2024-03-28', '2024-06-28', '2024-09-30', '2024-12-31']);
  });

  test('names the last month of each half and of the year', () => {
    expect(listDates({ frequency: 'semi_annual' }, '2023-01-03', '2024-06-30')).toEqual([
      '2023-06-30',
      '2023-12-29',
      '2024-06-28',
    ]);
    expect(listDates({ frequency: 'annual', anchor: 'first_session' }, '2022-01-03', '2024-12-31')).toEqual([
      '2022-12-01',
      '2023-12-01',
      '2024-12-02',
    ]);
  });

  test('uses only the months of the document', () => {
    expect(listDates({ frequency: 'quarterly', months: [2, 5, 8, 11] }, '2024-01-02', '2024-12-31')).toEqual([
      '2024-02-29',
      '2024-05-31',
      '2024-08-30',
      '2024-11-29',
    ]);
    expect(
      listDates({ frequency: 'monthly', months: [1], anchor: 'first_session' }, '2023-01-03', '2025-12-31'),
    ).toEqual(['2024-01-02', '2025-01-02']);
  });

  test('falls on third Fridays, and on the next session where that Friday is a holiday', () => {
    expect(listDates({ anchor: 'third_friday' }, '2024-01-02', '2024-12-31')).toEqual([
      '2024-03-15',
      '2024-06-21',
      '2024-09-20',
      '2024-12-20',
    ]);
    expect(
      listDates({ frequency: 'monthly', months: [4], anchor: 'third_friday' }, '2014-01-02', '2014-12-31'),
    ).toEqual(['2014-04-21']);
    expect(
      listDates(
        { frequency: 'monthly', months: [4], anchor: 'third_friday', roll: 'preceding' },
        '2014-01-02',
        '2014-12-31',
      ),
    ).toEqual(['2014-04-17']);
  });

  test('takes the fifth weekday of a month as its last', () => {
    const last: Spec = { frequency: 'monthly', anchor: 'nth_weekday', weekday: 2, nth: 5, months: [2, 5] };
    expect(listDates(last, '2024-01-02', '2024-12-31')).toEqual(['2024-02-28', '2024-05-29']);
    expect(listDates({ ...last, nth: 2 }, '2024-01-02', '2024-12-31')).toEqual(['2024-02-14', '2024-05-08']);
  });

  test('clips a day to the end of its month', () => {
    const day31: Spec = { frequency: 'monthly', anchor: 'day_of_month', day: 31, months: [2, 4] };
    expect(listDates(day31, '2024-01-02', '2024-12-31')).toEqual(['2024-02-29', '2024-04-30']);
    expect(listDates(day31, '2023-01-03', '2023-12-31')).toEqual(['2023-02-28', '2023-05-01']);
  });

  test('rolls over the holidays of its exchange', () => {
    const may: Spec = { frequency: 'monthly', anchor: 'day_of_month', day: 4, months: [5] };
    expect(listDates(may, '2020-01-02', '2020-12-31', { code: 'XNYS' })).toEqual(['2020-05-04']);
    expect(listDates({ ...may, day: 8 }, '2020-01-02', '2020-12-31', { code: 'XLON' })).toEqual(['2020-05-11']);
    expect(listDates({ ...may, day: 8, roll: 'preceding' }, '2020-01-02', '2020-12-31', { code: 'XLON' })).toEqual([
      '2020-05-07',
    ]);
    expect(listDates({ ...may, day: 8 }, '2020-01-02', '2020-12-31', { code: 'XNYS' })).toEqual(['2020-05-08']);
    const thanksgiving: Spec = { frequency: 'monthly', anchor: 'nth_weekday', weekday: 3, nth: 4, months: [11] };
    expect(listDates(thanksgiving, '2023-01-03', '2023-12-31', { code: 'XNYS' })).toEqual(['2023-11-24']);
    expect(listDates(thanksgiving, '2023-01-03', '2023-12-31', { code: 'XLON' })).toEqual(['2023-11-23']);
  });

  test('is weekly on the last session of the ISO week, or on a weekday that rolls', () => {
    expect(listDates({ frequency: 'weekly' }, '2024-03-18', '2024-04-07')).toEqual([
      '2024-03-22',
      '2024-03-28',
      '2024-04-05',
    ]);
    expect(listDates({ frequency: 'weekly', weekday: 4 }, '2024-03-18', '2024-04-07')).toEqual([
      '2024-03-22',
      '2024-04-01',
      '2024-04-05',
    ]);
    expect(listDates({ frequency: 'weekly', weekday: 4, roll: 'preceding' }, '2024-03-18', '2024-04-07')).toEqual([
      '2024-03-22',
      '2024-03-28',
      '2024-04-05',
    ]);
  });

  test('omits a week without a session, and contains the session once if two weeks roll to it', () => {
    expect(listDates({ frequency: 'weekly' }, '2024-01-29', '2024-02-25', { code: 'XSHG' })).toEqual([
      '2024-02-02',
      '2024-02-08',
      '2024-02-23',
    ]);
    expect(listDates({ frequency: 'weekly', weekday: 4 }, '2024-01-29', '2024-02-25', { code: 'XSHG' })).toEqual([
      '2024-02-02',
      '2024-02-19',
      '2024-02-23',
    ]);
  });

  test('omits a month without a session', () => {
    expect(listDates({ frequency: 'monthly' }, '2015-06-01', '2015-08-31', { code: 'ASEX' })).toEqual([
      '2015-06-26',
      '2015-08-31',
    ]);
  });

  test('is daily on every session', () => {
    expect(schedule({ frequency: 'daily' }, '2024-03-27', '2024-04-03').map(({ date }) => formatDay(date))).toEqual([
      '2024-03-27',
      '2024-03-28',
      '2024-04-01',
      '2024-04-02',
      '2024-04-03',
    ]);
  });

  test('takes the dates of the document in their order of time, rolled and once a session', () => {
    const custom: Spec = {
      frequency: 'custom',
      dates: ['2024-07-04', '2024-03-30', '2024-03-31', '2023-12-01', '2024-04-01'],
    };
    expect(listDates(custom, '2024-01-02', '2024-12-31')).toEqual(['2024-04-01', '2024-07-05']);
    expect(listDates({ ...custom, roll: 'preceding' }, '2024-01-02', '2024-12-31')).toEqual([
      '2024-03-28',
      '2024-04-01',
      '2024-07-03',
    ]);
  });

  test('keeps an unadjusted date and takes effect on the session before it', () => {
    const result = schedule(
      { frequency: 'monthly', anchor: 'day_of_month', day: 31, months: [3], roll: 'unadjusted' },
      '2024-01-02',
      '2024-12-31',
    );
    expect(result[1]).toEqual({
      date: parseValidDay('2024-03-31'),
      session: parseValidDay('2024-03-28'),
      decision: parseValidDay('2024-03-28'),
    });
  });

  test('keeps every unadjusted date of days on which the exchange is closed, for one rebalance', () => {
    // Tokyo is closed from 27 April to 6 May 2019, so two Mondays use the prices of Friday 26 April.
    const mondays: Spec = { frequency: 'weekly', weekday: 0, roll: 'unadjusted' };
    const result = schedule(mondays, '2019-04-17', '2019-05-20', { code: 'XTKS' });
    const friday = parseValidDay('2019-04-26');
    expect(result.map(({ date }) => formatDay(date))).toEqual([
      '2019-04-17',
      '2019-04-22',
      '2019-04-29',
      '2019-05-13',
      '2019-05-20',
    ]);
    expect(result[2]).toEqual({
      date: parseValidDay('2019-04-29'),
      session: friday,
      decision: friday,
      also: [parseValidDay('2019-05-06')],
    });
  });

  test('drops an unadjusted date that would take effect on the base session or before it', () => {
    const spec: Spec = { frequency: 'custom', dates: ['2024-03-31', '2024-04-06'], roll: 'unadjusted' };
    expect(listDates(spec, '2024-03-28', '2024-12-31')).toEqual(['2024-04-06']);
    expect(listDates(spec, '2024-03-30', '2024-12-31')).toEqual(['2024-04-06']);
  });

  test('decides a lag of sessions before the effect', () => {
    const result = schedule({ anchor: 'third_friday', effective_lag: 5 }, '2024-01-02', '2024-03-31');
    expect(result.map(({ session, decision }) => [formatDay(session), formatDay(decision)])).toEqual([
      ['2024-01-02', '2023-12-22'],
      ['2024-03-15', '2024-03-08'],
    ]);
  });

  test('decides on the effective date where the calendar does not reach back', () => {
    const [base] = schedule({ frequency: 'none', effective_lag: 3 }, '2019-01-01', '2019-12-31', { code: 'XTAE' });
    expect(base).toEqual({
      date: parseValidDay('2019-01-01'),
      session: parseValidDay('2019-01-01'),
      decision: parseValidDay('2019-01-01'),
    });
  });

  test('begins where the calendar begins when the base date is before it, and is empty after its end', () => {
    expect(formatDay(schedule({ frequency: 'none' }, '2015-01-01', '2025-12-31', { code: 'XTAE' })[0]!.date)).toBe(
      '2019-01-01',
    );
    expect(schedule({}, '2027-06-01', '2028-12-31', { code: 'XTAE' })).toEqual([]);
  });

  test('ends with the last period that the calendar covers wholly', () => {
    const end = { code: 'XTAE', base: '2026-09-01' };
    expect(listDates({ frequency: 'monthly' }, '2026-09-01', '2027-12-31', end)).toEqual([
      '2026-09-30',
      '2026-10-30',
      '2026-11-30',
      '2026-12-31',
    ]);
    expect(listDates({ frequency: 'weekly' }, '2026-12-01', '2027-12-31', { ...end, base: '2026-12-01' }).at(-1)).toBe(
      '2026-12-25',
    );
    expect(
      listDates({ frequency: 'custom', dates: ['2026-12-30', '2027-01-04'] }, '2026-12-01', '2027-12-31', {
        ...end,
        base: '2026-12-01',
      }),
    ).toEqual(['2026-12-30']);
  });
});

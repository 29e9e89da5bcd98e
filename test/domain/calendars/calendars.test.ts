import { describe, expect, test } from 'vitest';
import { CalendarIndex, createCalendars, type RuleFile } from '#domain/calendars/exchange-calendars.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';

const coverage = { from: '2020-01-01', publishedTo: '2021-12-31', to: '2022-12-31' };
const plainFile = {
  country: 'Nowhere',
  tz: 'Europe/London',
  week: [{ days: 'mon tue wed thu fri' }],
  hours: [{ open: '09:00', close: '17:00' }],
  coverage,
};
const createEntry = (code: string, rules = code) => ({ code, name: code, tz: 'Europe/London', rules, coverage });

function open(file: Partial<RuleFile> | Record<string, unknown>, otherFiles: Record<string, unknown> = {}) {
  const files: Record<string, unknown> = {
    XAAA: { code: 'XAAA', name: 'A', ...plainFile, ...file },
    dates: { about: '', tables: {} },
    ...otherFiles,
  };
  const reads: string[] = [];
  const calendars = createCalendars({
    index: CalendarIndex.parse([createEntry('XBBB', 'XAAA'), createEntry('XAAA')]),
    read(name) {
      reads.push(name);
      return files[name];
    },
  });
  return { calendars, reads };
}
const listClosures = (file: Record<string, unknown>, from: string, to: string, otherFiles = {}) => {
  const calendar = open(file, otherFiles).calendars.get('XAAA')!;
  const days: string[] = [];
  for (let day = parseValidDay(from); day <= parseValidDay(to); day++)
    if (!calendar.isSession(day)) days.push(formatDay(day));
  return days;
};

describe('the calendars', () => {
  test('are listed in code order without reading a rule file', () => {
    const { calendars, reads } = open({});
    expect(calendars.list().map(({ code }) => code)).toEqual(['XAAA', 'XBBB']);
    expect(calendars.list()[0]).toMatchObject({
      region: 'Europe',
      tz: 'Europe/London',
      coverage: { from: parseValidDay('2020-01-01') },
    });
    expect(reads).toEqual([]);
  });

  test('are read once, also by the codes that share them', () => {
    const { calendars, reads } = open({});
    expect(calendars.get('XAAA')).toBe(calendars.get('XAAA'));
    expect(calendars.get('XBBB')!.sessions).toBe(calendars.get('XAAA')!.sessions);
    expect(calendars.get('XBBB')!.code).toBe('XBBB');
    expect(reads).toEqual(['dates', 'XAAA']);
  });

  test('know no code that the index lacks', () => {
    expect(open({}).calendars.get('XCCC')).toBeUndefined();
    expect(open({}).calendars.get('constructor')).toBeUndefined();
  });
});

describe('a calendar', () => {
  test('has exactly the business days of its coverage as sessions when nothing is closed', () => {
    const { sessions, isSession } = open({}).calendars.get('XAAA')!;
    expect([formatDay(sessions[0]!), formatDay(sessions.at(-1)!), sessions.length]).toEqual([
      '2020-01-01',
      '2022-12-30',
      262 + 261 + 260,
    ]);
    expect(isSession(parseValidDay('2019-12-31'))).toBe(false);
    expect(isSession(parseValidDay('2023-01-02'))).toBe(false);
    expect([...sessions].every(isSession)).toBe(true);
  });

  test('closes by rule within its years, but not in the excepted ones', () => {
    const closures = [
      { name: 'May Day', on: '05-01', years: '2020-2021', except: '2020' },
      { name: 'Friday bridge', on: '08-21', only: 'fri' },
    ];
    expect(listClosures({ closed: closures }, '2020-04-30', '2020-05-01')).toEqual([]);
    expect(listClosures({ closed: closures }, '2020-08-20', '2020-08-21')).toEqual(['2020-08-21']);
    expect(listClosures({ closed: closures }, '2022-05-02', '2022-05-03')).toEqual([]);
  });

  test('closes on the first days of its coverage for a holiday of the year before', () => {
    const closures = [{ name: 'Last day of the year', on: '12-31', observed: 'tue+2' }];
    expect(listClosures({ closed: closures }, '2020-01-01', '2020-01-03')).toEqual(['2020-01-02']);
  });

  test('closes on dates and spans of dates, and trades on named days off', () => {
    const closures = [{ name: 'Storm', dates: { '2020': '03-02..03-04 03-09' } }];
    const openDays = [{ name: 'Budget', dates: { '2020': '03-07' } }];
    expect(listClosures({ closed: closures, open: openDays }, '2020-03-02', '2020-03-09')).toEqual([
      '2020-03-02',
      '2020-03-03',
      '2020-03-04',
      '2020-03-08',
      '2020-03-09',
    ]);
  });

  test('changes its week on a date', () => {
    const week = [{ days: 'mon tue wed thu sun' }, { from: '2020-06-01', days: 'mon tue wed thu fri' }];
    expect(listClosures({ week }, '2020-05-28', '2020-06-07')).toEqual([
      '2020-05-29',
      '2020-05-30',
      '2020-06-06',
      '2020-06-07',
    ]);
  });

  test('takes the rules of its families before its own', () => {
    const family = { name: 'Family', closed: [{ name: 'Labour Day', on: '05-01' }] };
    expect(listClosures({ extends: ['north'] }, '2020-04-30', '2020-05-01', { 'families/north': family })).toEqual([
      '2020-05-01',
    ]);
  });

  test('returns the hours of a session, the early close of a short one, and none on a holiday', () => {
    const hours = [
      { open: '09:00', close: '16:00', breaks: [['12:00', '13:00']] },
      { days: 'fri', open: '09:00', close: '15:00' },
      { from: '2021-01-01', season: '03-01..10-31', open: '08:00', close: '16:00' },
    ];
    const earlyCloses = [
      { at: '12:30', name: 'Last session before Christmas', on: '12-24', observed: 'previous-session' },
      { at: '13:00', name: 'Moved eve', on: '07-05', observed: 'sun+1', years: '2020' },
      { at: '17:00', name: 'Day of the exam', dates: { '2020': '11-12' } },
    ];
    const closures = [{ name: 'Christmas Eve', on: '12-24' }];
    const calendar = open({ hours, early: earlyCloses, closed: closures }).calendars.get('XAAA')!;
    const readHoursOn = (text: string) => calendar.hoursOn(parseValidDay(text));
    expect(readHoursOn('2020-01-06')).toEqual({
      open: '09:00',
      close: '16:00',
      breaks: [['12:00', '13:00']],
      openDay: 0,
    });
    expect(readHoursOn('2020-01-10')).toMatchObject({ close: '15:00', breaks: [] });
    expect(readHoursOn('2021-03-01')).toMatchObject({ open: '08:00' });
    expect(readHoursOn('2021-11-01')).toMatchObject({ open: '09:00' });
    expect(readHoursOn('2020-12-23')).toMatchObject({ close: '12:30', breaks: [] });
    expect(readHoursOn('2020-07-06')).toMatchObject({ close: '13:00' });
    expect(readHoursOn('2020-12-24')).toBeUndefined();
    expect(readHoursOn('2020-11-12')).toMatchObject({ close: '17:00' });
    const readEarlyCloseOn = (text: string) => calendar.earlyCloseOn?.(parseValidDay(text));
    expect(readEarlyCloseOn('2020-12-23')).toEqual({ closes: '12:30', name: 'Last session before Christmas' });
    expect(readEarlyCloseOn('2020-11-12')).toBeUndefined();
    expect(readEarlyCloseOn('2020-12-22')).toBeUndefined();
    expect([...calendar.earlyCloses.keys()].map(formatDay).sort()).toEqual([
      '2020-07-06',
      '2020-11-12',
      '2020-12-23',
      '2021-12-23',
      '2022-12-23',
    ]);
  });

  test('is refused when its file is not written by the rules', () => {
    expect(() => open({ closed: [{ name: 'X', on: 'someday' }] }).calendars.get('XAAA')).toThrow('someday');
    expect(() => open({ closed: [{ name: 'X', on: '01-01', observed: 'sat1' }] }).calendars.get('XAAA')).toThrow();
    expect(() => open({ closed: [{ name: 'X', dates: { '2020': '02-30' } }] }).calendars.get('XAAA')).toThrow(
      '2020-02-30',
    );
    expect(() => open({ unknown: 1 }).calendars.get('XAAA')).toThrow();
  });
});

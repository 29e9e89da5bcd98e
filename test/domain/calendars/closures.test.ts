import { expect, test } from 'vitest';
import { describeUnknownCalendar, listClosures, type SessionChange } from '#domain/calendars/calendar.js';
import { correctCalendars, createLiveCalendars } from '#domain/calendars/exchange-calendars.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';

const base = openCalendars();
const CHANGES: readonly SessionChange[] = [
  { date: '2024-03-05', session: 'closed', reason: 'Storm' },
  { date: '2024-03-09', session: 'open', reason: 'Test of the new system' }, // a Saturday without a regular session
  { date: '2024-03-12', session: 'open', closes: '13:00', reason: 'Half day' },
  { date: '2024-03-13', session: 'open', opens: '11:00', reason: 'Late opening' },
  { date: '2024-11-29', session: 'closed', reason: 'A half day by the rules' },
];
const closures = { XNYS: { version: 3, changes: [...CHANGES] } };
const correctedCalendar = correctCalendars(base, closures).get('XNYS')!;
const rules = base.get('XNYS')!;

test('sessions differ from the rules on exactly the recorded days', () => {
  const [was, is] = [new Set(rules.sessions), new Set(correctedCalendar.sessions)];
  expect([...was].filter((day) => !is.has(day)).map(formatDay)).toEqual(['2024-03-05', '2024-11-29']);
  expect([...is].filter((day) => !was.has(day)).map(formatDay)).toEqual(['2024-03-09']);
  expect([...correctedCalendar.sessions]).toEqual([...correctedCalendar.sessions].toSorted((a, b) => a - b));
  for (let day = parseValidDay('2024-01-01'); day <= parseValidDay('2024-12-31'); day++)
    expect(correctedCalendar.isSession(day), formatDay(day)).toBe(is.has(day));
});

test('hours are the recorded ones, and the usual ones on an added session', () => {
  const readHours = (date: string) => correctedCalendar.hoursOn(parseValidDay(date));
  expect(readHours('2024-03-05')).toBeUndefined();
  expect(readHours('2024-03-09')).toMatchObject({ open: '09:30', close: '16:00' });
  expect(readHours('2024-03-12')).toMatchObject({ open: '09:30', close: '13:00' });
  expect(readHours('2024-03-13')).toMatchObject({ open: '11:00', close: '16:00' });
  expect(readHours('2024-03-14')).toEqual(rules.hoursOn(parseValidDay('2024-03-14')));
  expect(correctedCalendar.earlyCloses.has(parseValidDay('2024-11-29'))).toBe(false);
});

test('other calendars are the same objects, and documents contribute the newest version', () => {
  expect(correctCalendars(base, closures).get('XLON')).toBe(base.get('XLON'));
  const olderClosures = { XNYS: { version: 2, changes: [] }, XLON: { version: 1, changes: [] } };
  const closureList = listClosures({ A: { closures: olderClosures }, B: { closures }, C: {} });
  expect([closureList['XNYS']!.version, closureList['XLON']!.version]).toEqual([3, 1]);
});

test('live calendars follow the last recorded closures', () => {
  const liveCalendars = createLiveCalendars(base);
  liveCalendars.record(closures);
  expect(liveCalendars.get('XNYS')!.isSession(parseValidDay('2024-03-05'))).toBe(false);
  liveCalendars.record({});
  expect(liveCalendars.get('XNYS')).toBe(rules);
});

test('a composite calendar has the sessions of any or all of its exchanges, with their recorded changes', () => {
  // 2024: New York closes on 4 July, London on 26 August, both on 25 December.
  const calendars = correctCalendars(base, closures);
  const [any, all] = ['any(XLON,XNYS)', 'all(XLON,XNYS)'].map((code) => calendars.get(code)!);
  const has = (date: string) => [any!.isSession(parseValidDay(date)), all!.isSession(parseValidDay(date))];
  expect(has('2024-07-03')).toEqual([true, true]);
  expect(has('2024-07-04')).toEqual([true, false]);
  expect(has('2024-08-26')).toEqual([true, false]);
  expect(has('2024-12-25')).toEqual([false, false]);
  expect(has('2024-03-05')).toEqual([true, false]); // recorded: New York is closed
  expect(has('2024-03-09')).toEqual([true, false]); // recorded: New York is open on a Saturday
  const [london, newYork] = [base.get('XLON')!, correctedCalendar];
  const union = new Set([...london.sessions, ...newYork.sessions]);
  const isCovered = (day: number) => day >= any!.coverage.from && day <= any!.coverage.to;
  expect([...any!.sessions]).toEqual([...union].filter(isCovered).toSorted((a, b) => a - b));
  expect([...all!.sessions]).toEqual([...london.sessions].filter((day) => newYork.isSession(day) && isCovered(day)));
  expect(any!.coverage.from).toBe(Math.max(london.coverage.from, newYork.coverage.from));
  // Hours are those of the first exchange that is open.
  expect(any!.hoursOn(parseValidDay('2024-08-26'))).toEqual(newYork.hoursOn(parseValidDay('2024-08-26')));
  expect(any!.hoursOn(parseValidDay('2024-07-04'))).toEqual(london.hoursOn(parseValidDay('2024-07-04')));
  for (const code of ['any(XLON)', 'any(XLON,NONE)', 'any(XLON,XLON)', 'some(XLON,XNYS)', 'any(XLON,all(XNYS,XPAR))'])
    expect(calendars.get(code), code).toBeUndefined();
});

test('a composite calendar is refused with the exchange that is unknown, or with its form', () => {
  const isKnown = (code: string) => base.get(code) !== undefined;
  const form = /^The calendar \S+ is not any\(\.\.\.\) or all\(\.\.\.\) with 2 to 20 different exchange codes$/;
  expect(describeUnknownCalendar('NONE', isKnown)).toBe('Unknown calendar NONE');
  expect(describeUnknownCalendar('any(XLON,NONE)', isKnown)).toBe(
    'Unknown exchange NONE in the calendar any(XLON,NONE)',
  );
  for (const code of ['any(XLON)', 'any(XLON,XLON)', 'some(XLON,XNYS)', 'any(XLON,all(XNYS,XPAR))'])
    expect(describeUnknownCalendar(code, isKnown)).toMatch(form);
});

import { expect, test } from 'vitest';
import { findNextDay, listDueDays, ScheduleDocument } from '#domain/outputs/daily-plans.js';
import { openCalendars } from '#market/serve/calendar-files.js';

const calendars = openCalendars();
const createPlan = (change: object) =>
  ScheduleDocument.parse({
    name: 'Close',
    indices: ['CORE'],
    calendar: 'XNYS',
    at: '18:30',
    starts_on: '2026-11-23',
    steps: [{ type: 'run' }],
    ...change,
  });
const listDueDates = (change: object, after: string | null, now: string) => {
  const plan = createPlan(change);
  return listDueDays(plan, calendars.get(plan.calendar)!, { after, nowMs: Date.parse(now) }).map(({ date }) => date);
};

test('the days of sessions are due at their time, holidays and weekends have none', () => {
  // Thanksgiving is 26 November, and New York is five hours behind UTC.
  expect(listDueDates({}, null, '2026-11-30T23:30:00Z')).toEqual([
    '2026-11-23',
    '2026-11-24',
    '2026-11-25',
    '2026-11-27',
    '2026-11-30',
  ]);
  expect(listDueDates({}, '2026-11-25', '2026-11-30T23:29:59Z')).toEqual(['2026-11-27']);
  expect(listDueDates({}, '2026-11-30', '2026-12-01T12:00:00Z')).toEqual([]);
});

test('a day may begin on the morning after, and on the clocks of another place', () => {
  const change = { day_offset: 1, at: '06:00', time_zone: 'Europe/London' };
  expect(listDueDates(change, null, '2026-11-24T05:59:59Z')).toEqual([]);
  expect(listDueDates(change, null, '2026-11-24T06:00:00Z')).toEqual(['2026-11-23']);
});

test('a Friday session with an offset is due on Saturday', () => {
  expect(listDueDates({ day_offset: 1, at: '06:00' }, '2026-11-25', '2026-11-28T12:00:00Z')).toEqual(['2026-11-27']);
});

test('the next day is the first that is not due, with its deadline', () => {
  const plan = createPlan({ deadline_minutes: 90 });
  const next = findNextDay(plan, calendars.get('XNYS')!, Date.parse('2026-11-25T23:30:00Z'))!;
  expect(next.date).toBe('2026-11-27');
  expect(new Date(next.deadlineMs!).toISOString()).toBe('2026-11-28T01:00:00.000Z');
  expect(findNextDay(plan, calendars.get('XNYS')!, Date.parse('2026-01-05T00:00:00Z'))!.date).toBe('2026-11-23');
});

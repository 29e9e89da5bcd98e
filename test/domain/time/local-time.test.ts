import { expect, test } from 'vitest';
import { formatDay, isTimeZone, parseValidDay, toInstant, toLocalDay } from '#domain/base/time.js';

const formatInstant = (date: string, time: string, zone: string) =>
  new Date(toInstant({ day: parseValidDay(date), time, zone })).toISOString();

test('a local time keeps its hour while the offset of its zone changes', () => {
  expect(formatInstant('2026-03-06', '18:30', 'America/New_York')).toBe('2026-03-06T23:30:00.000Z');
  expect(formatInstant('2026-03-09', '18:30', 'America/New_York')).toBe('2026-03-09T22:30:00.000Z');
  expect(formatInstant('2026-10-30', '18:30', 'America/New_York')).toBe('2026-10-30T22:30:00.000Z');
  expect(formatInstant('2026-11-02', '18:30', 'America/New_York')).toBe('2026-11-02T23:30:00.000Z');
  expect(formatInstant('2026-07-01', '15:45', 'Asia/Kolkata')).toBe('2026-07-01T10:15:00.000Z');
  expect(formatInstant('2026-07-01', '00:00', 'Pacific/Kiritimati')).toBe('2026-06-30T10:00:00.000Z');
});

test('a skipped local time is moved later by the gap, and a repeated one is the first', () => {
  expect(formatInstant('2026-03-29', '02:30', 'Europe/Zurich')).toBe('2026-03-29T01:30:00.000Z'); // 03:30 summer time
  expect(formatInstant('2026-10-25', '02:30', 'Europe/Zurich')).toBe('2026-10-25T00:30:00.000Z'); // the first 02:30, still in summer time
  // On Lord Howe Island, clocks go back by half an hour at 02:00.
  expect(formatInstant('2026-04-05', '01:45', 'Australia/Lord_Howe')).toBe('2026-04-04T14:45:00.000Z');
  expect(formatInstant('2026-04-05', '02:15', 'Australia/Lord_Howe')).toBe('2026-04-04T15:45:00.000Z');
});

test('the day of an instant is the local day', () => {
  const instant = Date.parse('2026-01-01T04:59:59Z');
  expect(formatDay(toLocalDay('America/New_York', instant))).toBe('2025-12-31');
  expect(formatDay(toLocalDay('America/New_York', instant + 1000))).toBe('2026-01-01');
  expect(formatDay(toLocalDay('Asia/Tokyo', Date.parse('2025-12-31T15:00:00Z')))).toBe('2026-01-01');
});

test('time zones are those of the time zone database', () => {
  expect(['America/New_York', 'UTC', 'Mars/Olympus', ''].map(isTimeZone)).toEqual([true, true, false, false]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BookPayload } from '#contract/analytics/record.js';
import type { CalendarList } from '#contract/calendars.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { openLiveService, type LiveService } from '../../real/live.js';

/** Start of a market. The market begins before the calendar of Tel Aviv and ends after the calendar of Karachi. */
const START = '2018-09-03';
const END = '2026-06-30';

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  expect(
    (await service.job('/data/synthetic', { store_id: 'long', seed: 3, assets: 8, start: START, end: END })).error,
  ).toBeNull();
});
afterAll(() => service.close());

async function readRecord(calendar: string, base_date: string, request: { readonly end?: string } = {}) {
  await service.ok('PUT', `/indices/${calendar}`, {
    id: calendar,
    name: calendar,
    calendar,
    base_date,
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  expect((await service.job(`/analytics/${calendar}/backtest`, request)).error).toBeNull();
  return (
    await service.ok<{ readonly index: Readonly<Record<'target' | 'optimised', z.infer<typeof BookPayload> | null>> }>(
      'GET',
      `/analytics/${calendar}/record`,
    )
  ).index.target!;
}

async function readCoverage(code: string) {
  const { calendars } = await service.ok<CalendarList>('GET', '/indices/calendars');
  return calendars.find((option) => option.code === code)!.coverage;
}

test('a record states the part of the requested range that the calendar covers', async () => {
  const tail = await readRecord('XTAE', '2018-10-01');
  expect(tail.calendar_coverage).toEqual({
    calendar: 'XTAE',
    requested_start: '2018-10-01',
    requested_end: END,
    covered_start: '2019-01-01',
    covered_end: END,
    trimmed_start: true,
    trimmed_end: false,
  });
  expect(tail.levels.index[0]! >= '2019-01-01').toBe(true);
  const { to } = await readCoverage('XKAR');
  const head = await readRecord('XKAR', '2019-01-02');
  expect(head.calendar_coverage).toMatchObject({
    calendar: 'XKAR',
    covered_end: to,
    trimmed_start: false,
    trimmed_end: true,
  });
  expect(head.levels.index.at(-1)! <= to).toBe(true);
  expect((await readRecord('XNYS', '2019-01-02')).calendar_coverage).toBeNull();
});

test.each(['XTKS', 'XNYS'])('an end beyond the calendar %s is trimmed regardless of prices', async (calendar) => {
  const { to } = await readCoverage(calendar);
  const { calendar_coverage: coverage } = await readRecord(calendar, '2019-01-04', { end: '2031-06-30' });
  expect(coverage).toEqual({
    calendar,
    requested_start: '2019-01-04',
    requested_end: '2031-06-30',
    covered_start: '2019-01-04',
    covered_end: to,
    trimmed_start: false,
    trimmed_end: true,
  });
  expect(to < '2031-06-30').toBe(true);
});

test('a range outside the calendar is refused with the coverage', async () => {
  const { status, body } = await service.ask<{ error: ErrorDetail }>('POST', '/analytics/XTAE/backtest', {
    start: '2018-10-01',
    end: '2018-12-28',
  });
  expect([status, body.error.code]).toEqual([422, 'CALENDAR_NOT_COVERED']);
  expect(body.error.message).toBe(
    'The calendar XTAE covers 2019-01-01 to 2026-12-31, no part of 2018-10-01 to 2018-12-28.',
  );
});

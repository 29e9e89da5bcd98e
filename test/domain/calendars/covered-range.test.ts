import { describe, expect, test } from 'vitest';
import { requireCoveredRange } from '#domain/calendars/calendar.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { Refusal } from '#domain/base/refusals.js';

const calendar = {
  code: 'XTAE',
  name: '',
  region: 'Asia',
  tz: 'Asia/Tel_Aviv',
  coverage: {
    from: parseValidDay('2019-01-01'),
    publishedTo: parseValidDay('2026-12-31'),
    to: parseValidDay('2026-12-31'),
  },
};
const createRange = (start: string, end: string) =>
  requireCoveredRange(calendar, parseValidDay(start), parseValidDay(end));

describe('a range on a calendar', () => {
  test('is complete inside the coverage and causes no finding', () => {
    expect(createRange('2019-01-01', '2026-12-31')).toMatchObject({ trimmedStart: false, trimmedEnd: false });
  });

  test('is trimmed at the ends that the calendar cannot speak for', () => {
    const late = createRange('2015-06-01', '2020-12-31');
    expect([formatDay(late.requestedStart), formatDay(late.start), formatDay(late.end)]).toEqual([
      '2015-06-01',
      '2019-01-01',
      '2020-12-31',
    ]);
    expect(late).toMatchObject({ calendar: 'XTAE', trimmedStart: true, trimmedEnd: false });
    const early = createRange('2020-01-01', '2030-01-01');
    expect([formatDay(early.end), formatDay(early.requestedEnd)]).toEqual(['2026-12-31', '2030-01-01']);
    expect(early).toMatchObject({ trimmedStart: false, trimmedEnd: true });
    expect(formatDay(createRange('1990-01-01', '2050-01-01').end)).toBe('2026-12-31');
  });

  test('is refused if the calendar covers no part of it', () => {
    for (const [start, end] of [
      ['2010-01-01', '2018-12-31'],
      ['2027-01-01', '2028-01-01'],
    ] as const) {
      try {
        createRange(start, end);
        expect.unreachable();
      } catch (refusal) {
        expect(refusal).toBeInstanceOf(Refusal);
        expect(refusal).toMatchObject({
          code: 'CALENDAR_NOT_COVERED',
          detail: { calendar: 'XTAE', coverage_from: '2019-01-01', coverage_to: '2026-12-31' },
        });
      }
    }
  });
});

import { describe, expect, test } from 'vitest';
import { warnOfCutWindow } from '#domain/backtest/findings.js';
import { checkRequestedRange } from '#domain/books/rebalance-dates.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { Refusal } from '#domain/base/refusals.js';
import { CALENDARS } from '../rules/rule-market.js';

const calendar = CALENDARS.get('TEST')!;
const dates = calendar.sessions.filter(
  (day) => day >= parseValidDay('2020-01-01') && day <= parseValidDay('2020-12-31'),
);

function catchMessage(base_date: string, request: { readonly start?: string; readonly end?: string }): string {
  try {
    const { start, end } = checkRequestedRange({
      document: { id: 'X', base_date },
      calendar,
      dates,
      request: { start: request.start ?? null, end: request.end ?? null },
    });
    return `${formatDay(start)} to ${formatDay(end)}`;
  } catch (failure) {
    if (!(failure instanceof Refusal)) throw failure;
    return `${failure.code}: ${failure.message}`;
  }
}

describe('a range that cannot be run is refused by its fields and dates', () => {
  test.for([
    {
      base: '2020-06-01',
      request: { end: '2020-03-02' },
      message:
        'RANGE_TOO_SHORT: The end 2020-03-02 is before the base_date 2020-06-01 of the index X; a backtest needs an end after it.',
    },
    {
      base: '2020-02-03',
      request: { start: '2020-06-01', end: '2020-03-02' },
      message: 'RANGE_TOO_SHORT: The end 2020-03-02 is before the start 2020-06-01; a backtest needs an end after it.',
    },
    {
      base: '2020-06-01',
      request: { start: '2020-01-01', end: '2020-03-02' },
      message:
        'RANGE_TOO_SHORT: The end 2020-03-02 is before the base_date 2020-06-01 of the index X; a backtest needs an end after it.',
    },
    {
      base: '2021-02-01',
      request: {},
      message:
        'NO_DATA_IN_RANGE: The data contains prices from 2020-01-01 to 2020-12-31; the base_date 2021-02-01 of the index X is after them.',
    },
    {
      base: '2020-06-01',
      request: { start: '2021-02-01', end: '2021-03-01' },
      message:
        'NO_DATA_IN_RANGE: The data contains prices from 2020-01-01 to 2020-12-31; the start 2021-02-01 is after them.',
    },
    {
      base: '2019-03-01',
      request: { end: '2019-06-03' },
      message:
        'NO_DATA_IN_RANGE: The data contains prices from 2020-01-01 to 2020-12-31; the end 2019-06-03 is before them.',
    },
    {
      base: '2020-06-01',
      request: { end: '2020-06-01' },
      message: 'RANGE_TOO_SHORT: 2020-06-01 to 2020-06-01 contains 1 session; a backtest needs at least 2.',
    },
    { base: '2020-06-01', request: {}, message: '2020-06-01 to 2020-12-31' },
  ])('$message', ({ base, request, message }) => {
    expect(catchMessage(base, request)).toBe(message);
  });
});

describe('a range of fewer than two sessions is too short, whatever prices there are', () => {
  test.each([
    // A Saturday and a Sunday: one within the data, one after its end.
    ['2020-06-06', '2020-06-07', 'contains 0 sessions'],
    ['2021-02-06', '2021-02-07', 'contains 0 sessions'],
    ['2020-12-31', '2021-01-29', 'contains prices on 1 session'],
  ])('%s to %s %s', (start, end, what) => {
    expect(catchMessage('2020-06-01', { start, end })).toBe(
      `RANGE_TOO_SHORT: ${start} to ${end} ${what}; a backtest needs at least 2.`,
    );
  });
});

describe('what a calendar covers of a range', () => {
  const findCoverage = (base_date: string, end: string | null) =>
    checkRequestedRange({ document: { id: 'X', base_date }, calendar, dates, request: { start: null, end } }).coverage;
  const { from, to } = calendar.coverage;

  test('is cut where the range goes beyond it, though the prices end before', () => {
    expect(findCoverage('2020-06-01', null)).toBeNull();
    expect(findCoverage('2020-06-01', formatDay(to))).toBeNull();
    expect(findCoverage('2020-06-01', formatDay(to + 1))).toEqual({
      calendar: 'TEST',
      requestedStart: parseValidDay('2020-06-01'),
      requestedEnd: to + 1,
      coveredStart: parseValidDay('2020-06-01'),
      coveredEnd: to,
      trimmedStart: false,
      trimmedEnd: true,
    });
    expect(findCoverage(formatDay(from - 1), null)).toMatchObject({
      coveredStart: from,
      trimmedStart: true,
      trimmedEnd: false,
    });
  });
});

describe('a run reports which part of the requested range it omits', () => {
  const friday = parseValidDay('2020-10-30');
  const first = parseValidDay('2020-06-01');
  const listWindowWarnings = (start: string | null, end: string | null, base_date = '2020-06-01') =>
    warnOfCutWindow({ request: { start, end }, document: { base_date }, calendar, first, last: friday }).map(
      ({ code, message }) => `${code}: ${message}`,
    );

  test.each([
    [null, null],
    ['2020-06-01', '2020-10-30'],
    ['2020-05-30', '2020-11-01'], // a Saturday and a Sunday
  ])('%s to %s is run whole', (start, end) => {
    expect(listWindowWarnings(start, end)).toEqual([]);
  });

  test.each([
    ['2020-05-29', null, '2020-05-29 to the last prices', 'the base date of the index is 2020-06-01'],
    [null, '2020-11-02', 'the base date to 2020-11-02', 'the prices end on 2020-10-30'],
    [
      '2019-01-02',
      '2099-01-01',
      '2019-01-02 to 2099-01-01',
      'the base date of the index is 2020-06-01; the prices end on 2020-10-30',
    ],
  ])('%s to %s is not', (start, end, requestedRange, why) => {
    expect(listWindowWarnings(start, end)).toEqual([
      `WINDOW_CUT: Requested ${requestedRange}; run from 2020-06-01 to 2020-10-30: ${why}.`,
    ]);
  });

  test('prices that begin after the base date are the reason where it does not ask for less', () => {
    expect(listWindowWarnings('2020-05-01', null, '2020-01-02')).toEqual([
      expect.stringContaining('the required prices begin on 2020-06-01') as string,
    ]);
  });
});

import type { Calendar } from '../calendars/calendar.js';
import { dayFrom, formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { Refusal } from '../refusals/refusal.js';
import { firstAtLeast, lastAtMost } from '../numbers/search.js';
import type { BacktestRequest } from '../documents/backtest-plan.js';

/** The range a backtest was asked for, and what calendar and store leave of it. */
export interface RequestedRange {
  /** As asked: the base date unless a start was given, the store's last date unless an end was given. */
  readonly start: Day;
  readonly end: Day;
  /** Set when the calendar narrowed the range. */
  readonly coverage: CalendarCoverage | null;
}

export interface CalendarCoverage {
  readonly calendar: string;
  readonly requestedStart: Day;
  readonly requestedEnd: Day;
  readonly coveredStart: Day;
  readonly coveredEnd: Day;
  readonly trimmedStart: boolean;
  readonly trimmedEnd: boolean;
}

export interface RangeInput {
  readonly document: Pick<IndexDocument, 'id' | 'base_date'>;
  readonly calendar: Calendar;
  /** Days of the store with any bar, ascending. */
  readonly dates: Int32Array;
  readonly request: Pick<BacktestRequest, 'start' | 'end'>;
}

/**
 * Checks a requested range against calendar and store without reading a price; decided before a job is queued.
 * @throws Refusal CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT
 */
export function requestedRange({ document, calendar, dates, request }: RangeInput): RequestedRange {
  const base = dayFrom(document.base_date);
  const start = request.start === null ? base : Math.max(base, dayFrom(request.start));
  const datasetStart = dates[0];
  const datasetEnd = dates.at(-1);
  if (datasetStart === undefined || datasetEnd === undefined)
    throw new Refusal('NO_DATA_IN_RANGE', 'The data holds no price at all.');
  const end = request.end === null ? Math.max(datasetEnd, start) : dayFrom(request.end);
  const started =
    start > base ? `start ${formatDay(start)}` : `base_date ${document.base_date} of the index ${document.id}`;
  if (end < start)
    throw new Refusal(
      'NO_DATA_IN_RANGE',
      `The end ${formatDay(end)} is before the ${started}; a backtest needs an end after it.`,
    );
  const asked = `${formatDay(start)} to ${formatDay(end)}`;
  const { from, to } = calendar.coverage;
  if (end < from || start > to) {
    throw new Refusal(
      'CALENDAR_NOT_COVERED',
      `The calendar ${calendar.code} covers ${formatDay(from)} to ${formatDay(to)}, nothing of ${asked}.`,
    );
  }
  const held = `The data holds prices from ${formatDay(datasetStart)} to ${formatDay(datasetEnd)}`;
  if (end < datasetStart) throw new Refusal('NO_DATA_IN_RANGE', `${held}; the end ${formatDay(end)} is before them.`);
  if (start > datasetEnd) throw new Refusal('NO_DATA_IN_RANGE', `${held}; the ${started} is after them.`);
  const heldFrom = Math.max(start, datasetStart);
  const heldTo = Math.min(end, datasetEnd);
  const count = sessionsWithin(calendar, dates, { from: heldFrom, to: heldTo });
  if (count < 2) {
    throw new Refusal(
      count === 0 ? 'NO_DATA_IN_RANGE' : 'RANGE_TOO_SHORT',
      `${asked} holds ${count} ${count === 1 ? 'session' : 'sessions'} with prices; a backtest needs 2.`,
    );
  }
  return { start, end, coverage: coverageOf(calendar, dates, { start, end }) };
}

/** What a calendar leaves of a range for which the store has prices; null when it narrows nothing. */
export function coverageOf(
  { code, coverage: { from, to } }: Calendar,
  dates: Int32Array,
  { start, end }: { readonly start: Day; readonly end: Day },
): CalendarCoverage | null {
  const trimmedStart = from > Math.max(start, dates[0]!);
  const trimmedEnd = to < Math.min(end, dates.at(-1)!);
  if (!trimmedStart && !trimmedEnd) return null;
  return {
    calendar: code,
    requestedStart: start,
    requestedEnd: end,
    coveredStart: Math.max(start, from),
    coveredEnd: Math.min(end, to),
    trimmedStart,
    trimmedEnd,
  };
}

/** Sessions from the first to the last one in the range on which the store has any bar. */
function sessionsWithin(
  { sessions, isSession }: Calendar,
  dates: Int32Array,
  { from, to }: { readonly from: Day; readonly to: Day },
): number {
  let first = firstAtLeast(dates, from);
  let last = lastAtMost(dates, to);
  while (first <= last && !isSession(dates[first]!)) first++;
  while (last >= first && !isSession(dates[last]!)) last--;
  if (first > last) return 0;
  return lastAtMost(sessions, dates[last]!) - firstAtLeast(sessions, dates[first]!) + 1;
}

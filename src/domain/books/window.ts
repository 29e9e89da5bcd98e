import type { Calendar } from '../calendars/calendar.js';
import { dayFrom, formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { Refusal } from '../refusals/refusal.js';
import { firstAtLeast, lastAtMost } from '../numbers/search.js';
import type { ResolvedRequest } from '../documents/backtest-plan.js';

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
  readonly request: Pick<ResolvedRequest, 'start' | 'end'>;
}

/**
 * Checks a requested range against calendar and store without reading a price; decided before a job is queued.
 * @throws Refusal CALENDAR_NOT_COVERED; RANGE_TOO_SHORT for fewer than two sessions; NO_DATA_IN_RANGE where the store has no price on any
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
      'RANGE_TOO_SHORT',
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
  const startsAfterData = () => new Refusal('NO_DATA_IN_RANGE', `${held}; the ${started} is after them.`);
  if (request.end === null && start > datasetEnd) throw startsAfterData();
  const open = firstAtLeast(calendar.sessions, end + 1) - firstAtLeast(calendar.sessions, start);
  if (open < SESSIONS_MIN) throw tooShort(`${asked} holds ${open}`, open);
  if (end < datasetStart) throw new Refusal('NO_DATA_IN_RANGE', `${held}; the end ${formatDay(end)} is before them.`);
  if (start > datasetEnd) throw startsAfterData();
  const heldFrom = Math.max(start, datasetStart);
  const heldTo = Math.min(end, datasetEnd);
  const count = sessionsWithin(calendar, dates, { from: heldFrom, to: heldTo });
  if (count === 0) throw new Refusal('NO_DATA_IN_RANGE', `${held}, and none on a session from ${asked}.`);
  if (count < SESSIONS_MIN) throw tooShort(`${asked} holds prices on ${count}`, count);
  return { start, end, coverage: coverageOf(calendar, { start, end }) };
}

/** A return needs two sessions. */
const SESSIONS_MIN = 2;

function tooShort(what: string, count: number): Refusal {
  const sessions = count === 1 ? 'session' : 'sessions';
  return new Refusal('RANGE_TOO_SHORT', `${what} ${sessions}; a backtest needs ${SESSIONS_MIN}.`);
}

/** What a calendar can speak for of a range, whatever prices the store has; null when that is the whole range. */
export function coverageOf(
  { code, coverage: { from, to } }: Calendar,
  { start, end }: { readonly start: Day; readonly end: Day },
): CalendarCoverage | null {
  const trimmedStart = from > start;
  const trimmedEnd = to < end;
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

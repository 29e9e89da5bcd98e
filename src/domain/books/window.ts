import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import type { ResolvedRequest } from '../definition/backtest-plan.js';
import type { IndexDocument } from '../definition/index-document.js';

/** Requested range of a backtest, and the part that calendar and store cover. */
export interface RequestedRange {
  /** Requested dates. Default: from the base date of the index to the last date of the store. */
  readonly start: Day;
  readonly end: Day;
  /** Coverage of the calendar; null if it does not narrow the range. */
  readonly coverage: WindowCoverage | null;
}

export interface WindowCoverage {
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
  /** Days of the store with any price bar, ascending. */
  readonly dates: Int32Array;
  readonly request: Pick<ResolvedRequest, 'start' | 'end'>;
}

/**
 * Checks a requested range against calendar and store before a job is queued. Reads no price.
 * @throws Refusal CALENDAR_NOT_COVERED; RANGE_TOO_SHORT for fewer than two sessions; NO_DATA_IN_RANGE if the store has
 * no price in the range
 */
export function checkRequestedRange({ document, calendar, dates, request }: RangeInput): RequestedRange {
  const base = parseValidDay(document.base_date);
  const start = request.start === null ? base : Math.max(base, parseValidDay(request.start));
  const datasetStart = dates[0];
  const datasetEnd = dates.at(-1);
  if (datasetStart === undefined || datasetEnd === undefined)
    throw new Refusal('NO_DATA_IN_RANGE', 'The data contains no prices.');
  const end = request.end === null ? Math.max(datasetEnd, start) : parseValidDay(request.end);
  const startPhrase =
    start > base ? `start ${formatDay(start)}` : `base_date ${document.base_date} of the index ${document.id}`;
  if (end < start)
    throw new Refusal(
      'RANGE_TOO_SHORT',
      `The end ${formatDay(end)} is before the ${startPhrase}; a backtest needs an end after it.`,
    );
  const requestedRange = `${formatDay(start)} to ${formatDay(end)}`;
  const { from, to } = calendar.coverage;
  if (end < from || start > to) {
    throw new Refusal(
      'CALENDAR_NOT_COVERED',
      `The calendar ${calendar.code} covers ${formatDay(from)} to ${formatDay(to)}, no part of ${requestedRange}.`,
    );
  }
  const coverageSentence = `The data contains prices from ${formatDay(datasetStart)} to ${formatDay(datasetEnd)}`;
  const refuseStartAfterData = () =>
    new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}; the ${startPhrase} is after them.`);
  if (request.end === null && start > datasetEnd) throw refuseStartAfterData();
  const sessionCount = findFirstAtLeast(calendar.sessions, end + 1) - findFirstAtLeast(calendar.sessions, start);
  if (sessionCount < SESSIONS_MIN) throw refuseShortRange(`${requestedRange} contains ${sessionCount}`, sessionCount);
  if (end < datasetStart)
    throw new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}; the end ${formatDay(end)} is before them.`);
  if (start > datasetEnd) throw refuseStartAfterData();
  const coveredStart = Math.max(start, datasetStart);
  const coveredEnd = Math.min(end, datasetEnd);
  const count = countPricedSessions(calendar, dates, { from: coveredStart, to: coveredEnd });
  if (count === 0)
    throw new Refusal('NO_DATA_IN_RANGE', `${coverageSentence}, and none on a session from ${requestedRange}.`);
  if (count < SESSIONS_MIN) throw refuseShortRange(`${requestedRange} contains prices on ${count}`, count);
  return { start, end, coverage: limitToCoverage(calendar, { start, end }) };
}

const SESSIONS_MIN = 2;

function refuseShortRange(what: string, count: number): Refusal {
  const sessions = count === 1 ? 'session' : 'sessions';
  return new Refusal('RANGE_TOO_SHORT', `${what} ${sessions}; a backtest needs at least ${SESSIONS_MIN}.`);
}

/**
 * Returns the part of a range that a calendar covers, regardless of prices. Returns null if the calendar covers the
 * whole range.
 */
export function limitToCoverage(
  { code, coverage: { from, to } }: Calendar,
  { start, end }: { readonly start: Day; readonly end: Day },
): WindowCoverage | null {
  const isStartTrimmed = from > start;
  const isEndTrimmed = to < end;
  if (!isStartTrimmed && !isEndTrimmed) return null;
  return {
    calendar: code,
    requestedStart: start,
    requestedEnd: end,
    coveredStart: Math.max(start, from),
    coveredEnd: Math.min(end, to),
    trimmedStart: isStartTrimmed,
    trimmedEnd: isEndTrimmed,
  };
}

/**
 * Returns the number of sessions from the first to the last session in the range on which the store has any price bar.
 */
function countPricedSessions(
  { sessions, isSession }: Calendar,
  dates: Int32Array,
  { from, to }: { readonly from: Day; readonly to: Day },
): number {
  let first = findFirstAtLeast(dates, from);
  let last = findLastAtMost(dates, to);
  while (first <= last && !isSession(dates[first]!)) first++;
  while (last >= first && !isSession(dates[last]!)) last--;
  if (first > last) return 0;
  return findLastAtMost(sessions, dates[last]!) - findFirstAtLeast(sessions, dates[first]!) + 1;
}

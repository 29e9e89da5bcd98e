import { formatDay, type Day } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import type { CalendarOption } from './calendar.js';

/** Range of days, and the part that a calendar covers. */
export interface CoveredRange {
  readonly calendar: string;
  readonly requestedStart: Day;
  readonly requestedEnd: Day;
  /** Part of the requested range that the calendar covers. */
  readonly start: Day;
  readonly end: Day;
  readonly trimmedStart: boolean;
  readonly trimmedEnd: boolean;
}

/**
 * Returns the part of a range that a calendar covers, without extrapolation.
 * @throws Refusal CALENDAR_NOT_COVERED if it covers no part of the range
 */
export function requireCoveredRange(
  { code, coverage }: CalendarOption,
  requestedStart: Day,
  requestedEnd: Day,
): CoveredRange {
  const start = Math.max(requestedStart, coverage.from);
  const end = Math.min(requestedEnd, coverage.to);
  if (start > end) {
    const requestedRange = `${formatDay(requestedStart)} to ${formatDay(requestedEnd)}`;
    const coverageText = `${formatDay(coverage.from)} to ${formatDay(coverage.to)}`;
    throw new Refusal(
      'CALENDAR_NOT_COVERED',
      `The calendar ${code} covers ${coverageText}, no part of ${requestedRange}.`,
      {
        calendar: code,
        requested_start: formatDay(requestedStart),
        requested_end: formatDay(requestedEnd),
        coverage_from: formatDay(coverage.from),
        coverage_to: formatDay(coverage.to),
      },
    );
  }
  return {
    calendar: code,
    requestedStart,
    requestedEnd,
    start,
    end,
    trimmedStart: start > requestedStart,
    trimmedEnd: end < requestedEnd,
  };
}

/** Report of a run whose range was narrowed to the coverage of its calendar. */
export interface CalendarCoveragePayload {
  readonly calendar: string;
  readonly requested_start: string;
  readonly requested_end: string;
  readonly covered_start: string;
  readonly covered_end: string;
  readonly trimmed_start: boolean;
  readonly trimmed_end: boolean;
}

/** Returns the coverage report of a run. Returns null if its calendar covered the whole range. */
export function createCoveragePayload(range: CoveredRange): CalendarCoveragePayload | null {
  if (!range.trimmedStart && !range.trimmedEnd) return null;
  return {
    calendar: range.calendar,
    requested_start: formatDay(range.requestedStart),
    requested_end: formatDay(range.requestedEnd),
    covered_start: formatDay(range.start),
    covered_end: formatDay(range.end),
    trimmed_start: range.trimmedStart,
    trimmed_end: range.trimmedEnd,
  };
}

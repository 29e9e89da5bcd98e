import type { Calendar } from '../calendars/calendar.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import { findFirstAtLeast } from '../numbers/search.js';
import type { ResolvedRequest } from '../documents/backtest-plan.js';

/**
 * Warns if a benchmark lacks dates of a series that is compared with it. Figures relative to the benchmark use the
 * common dates only.
 * @param common dates of both, ascending, at least one
 * @param days dates of the series in its window
 */
export function warnOfCutBenchmark(benchmarkId: string, common: Int32Array, days: Int32Array): Finding[] {
  if (common.length === days.length) return [];
  const describeSpan = (spanDays: Int32Array) => `${formatDay(spanDays[0]!)} to ${formatDay(spanDays.at(-1)!)}`;
  return [
    {
      severity: 'warning',
      code: 'WINDOW_CUT',
      path: 'benchmark',
      message: `The benchmark ${benchmarkId} has ${common.length} of the ${days.length} dates of the window. The comparison covers ${describeSpan(common)}; without the benchmark it would cover ${describeSpan(days)}.`,
    },
  ];
}

interface ServedWindow {
  readonly request: Pick<ResolvedRequest, 'start' | 'end'>;
  readonly document: Pick<IndexDocument, 'base_date'>;
  readonly calendar: Calendar;
  /** First and last session of the run. */
  readonly first: Day;
  readonly last: Day;
}

/**
 * Warns if the run covers fewer sessions than the requested range. The finding WINDOW_CUT states both ranges and the
 * reason.
 */
export function warnOfCutWindow({ request, document, calendar, first, last }: ServedWindow): Finding[] {
  const { sessions, coverage, code } = calendar;
  const start = request.start === null ? first : parseValidDay(request.start);
  const end = request.end === null ? last : parseValidDay(request.end);
  const hasSession = (from: Day, until: Day) => findFirstAtLeast(sessions, from) < findFirstAtLeast(sessions, until);
  const reasons: string[] = [];
  if (start < first && (start < coverage.from || hasSession(start, first)))
    reasons.push(
      start < parseValidDay(document.base_date)
        ? `the base date of the index is ${document.base_date}`
        : start < coverage.from && first === sessions[0]
          ? `the calendar ${code} begins on ${formatDay(coverage.from)}`
          : `the required prices begin on ${formatDay(first)}`,
    );
  if (end > last && (end > coverage.to || hasSession(last + 1, end + 1)))
    reasons.push(
      end > coverage.to && last === sessions.at(-1)
        ? `the calendar ${code} ends on ${formatDay(coverage.to)}`
        : `the prices end on ${formatDay(last)}`,
    );
  if (reasons.length === 0) return [];
  const requestedRange = `${request.start ?? 'the base date'} to ${request.end ?? 'the last prices'}`;
  return [
    {
      severity: 'warning',
      code: 'WINDOW_CUT',
      path: '',
      message: `Requested ${requestedRange}; run from ${formatDay(first)} to ${formatDay(last)}: ${reasons.join('; ')}.`,
    },
  ];
}

import type { CalendarList, ScheduleQuery, ScheduleView } from '#contract/calendars.js';
import type { CalendarOption, Calendars } from '#domain/calendars/calendar.js';
import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { RebalanceSpec } from '#domain/schedule/rebalance-spec.js';
import { selectScheduleAround, type ScheduleDate } from '#domain/schedule/schedule-view.js';
import type { StoredSchedule } from './index-schedules.js';

/** Code of the calendar that forms preselect. */
export const DEFAULT_CALENDAR = 'XNYS';

export interface CalendarsDependencies {
  readonly calendars: Calendars;
  /** Returns the schedule of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  readonly readSchedule: (indexId: string) => Promise<StoredSchedule>;
  /** Returns the current day in UTC. */
  readonly today: () => Day;
}

/** Calendars and schedules as clients see them. */
export interface CalendarViews {
  list(): CalendarList;
  schedule(indexId: string, query: ScheduleQuery): Promise<ScheduleView>;
  /**
   * Returns the first effective date after a day (YYYY-MM-DD). Returns null if the index was deleted, or if no later
   * date is known.
   */
  nextRebalance(indexId: string, after: string): Promise<string | null>;
  /** Returns the first effective date after a day that is today or later. Returns null like `nextRebalance`. */
  comingRebalance(indexId: string, after: string): Promise<string | null>;
}

export function createCalendarViews({ calendars, readSchedule, today }: CalendarsDependencies): CalendarViews {
  const listing: CalendarList = { calendars: calendars.list().map(toOption), default: DEFAULT_CALENDAR };

  async function findFirstAfter(indexId: string, asOf: Day): Promise<string | null> {
    const schedule = await readSchedule(indexId).catch(ignoreRefusal);
    const [next] = schedule === null ? [] : selectScheduleAround({ schedule, asOf, limit: 1 }).upcoming;
    return next === undefined ? null : formatDay(next.date);
  }

  return {
    list: () => listing,
    nextRebalance: (indexId, after) => findFirstAfter(indexId, parseValidDay(after)),
    comingRebalance: (indexId, after) => findFirstAfter(indexId, Math.max(parseValidDay(after), today() - 1)),
    async schedule(indexId, query) {
      const asOf = parseAsOf(query) ?? today();
      const schedule = await readSchedule(indexId);
      const { recent, upcoming, lookaheadEnd } = selectScheduleAround({ schedule, asOf, limit: query.limit });
      const hasLag = schedule.cadences.some(({ rebalance }) => isNoticed(rebalance));
      return {
        index_id: indexId,
        as_of: formatDay(asOf),
        calendar: schedule.cadences[0]!.calendar.code,
        frequency: schedule.frequency,
        recent: recent.map(({ date }) => formatDay(date)),
        upcoming: upcoming.map(({ date }) => formatDay(date)),
        lookahead_end: formatDay(lookaheadEnd),
        ...(hasLag ? { announcements: listAnnouncements([...recent, ...upcoming]) } : {}),
      };
    },
  };
}

/** Returns true if a schedule announces rebalances before they become effective. */
function isNoticed({ effective_lag: lag, reference, announcement }: RebalanceSpec): boolean {
  return lag > 0 || reference !== undefined || announcement !== undefined;
}

/** Returns null for a refusal: a deleted or unreadable definition has no schedule. */
function ignoreRefusal(failure: unknown): null {
  if (failure instanceof Refusal) return null;
  throw failure;
}

function toOption({
  code,
  name,
  region,
  tz,
  coverage,
  sources = [],
}: CalendarOption): CalendarList['calendars'][number] {
  const { from, publishedTo, to } = coverage;
  return {
    code,
    name,
    region,
    tz,
    coverage: { from: formatDay(from), published_to: formatDay(publishedTo), to: formatDay(to) },
    sources: [...sources],
  };
}

function parseAsOf({ asof, as_of }: ScheduleQuery): Day | undefined {
  if (asof !== undefined && as_of !== undefined && asof !== as_of) {
    const message = `asof is ${asof} and as_of is ${as_of}; they are two names of one date.`;
    throw refuseWithFindings('query', [{ severity: 'error', code: 'BAD_DATE', message, path: 'as_of', value: as_of }]);
  }
  const text = asof ?? as_of;
  return text === undefined ? undefined : parseValidDay(text);
}

/** Returns the announcements by effective date, ascending. */
function listAnnouncements(dates: readonly ScheduleDate[]): Record<string, string> {
  const sortedDates = dates.toSorted((a, b) => a.date - b.date);
  return Object.fromEntries(sortedDates.map(({ date, announcement }) => [formatDay(date), formatDay(announcement)]));
}

import type { CalendarList, ScheduleQuery, ScheduleView } from '#contract/calendars.js';
import type { CalendarOption, Calendars } from '#domain/calendars/calendar.js';
import { dayFrom, formatDay, type Day } from '#domain/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import { scheduleAround, type ScheduleDate } from '#domain/schedule/schedule-view.js';
import { scheduledDocument } from './scheduled-document.js';

/** The calendar that forms preselect. */
const DEFAULT_CALENDAR = 'XNYS';

export interface CalendarsDependencies {
  readonly calendars: Calendars;
  /** @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  readonly indexOf: (indexId: string) => Promise<IndexDocument>;
  /** The current day in UTC. */
  readonly today: () => Day;
}

/** Calendars and schedules as clients see them. */
export interface CalendarViews {
  list(): CalendarList;
  schedule(indexId: string, query: ScheduleQuery): Promise<ScheduleView>;
  /** First effective date after a day YYYY-MM-DD; null for an index that is gone, or where none is known. */
  nextRebalance(indexId: string, after: string): Promise<string | null>;
  /** The same among today and the days behind it. */
  comingRebalance(indexId: string, after: string): Promise<string | null>;
}

export function createCalendarViews({ calendars, indexOf, today }: CalendarsDependencies): CalendarViews {
  const listing: CalendarList = { calendars: calendars.list().map(toOption), default: DEFAULT_CALENDAR };

  function around({ id, calendar: code, rebalance, base_date }: IndexDocument, asOf: Day, limit: number) {
    const calendar = calendars.get(code);
    if (calendar === undefined) throw new Error(`the index ${id} uses the calendar ${code}, which is not known`);
    return scheduleAround({ rebalance, calendar, baseDay: dayFrom(base_date), asOf, limit });
  }

  const scheduled = async (indexId: string): Promise<IndexDocument> =>
    scheduledDocument(await indexOf(indexId), indexOf);

  async function firstAfter(indexId: string, day: Day): Promise<string | null> {
    const document = await scheduled(indexId).catch(asMissing);
    const [next] = document === null ? [] : around(document, day, 1).upcoming;
    return next === undefined ? null : formatDay(next.date);
  }

  return {
    list: () => listing,
    nextRebalance: (indexId, after) => firstAfter(indexId, dayFrom(after)),
    comingRebalance: (indexId, after) => firstAfter(indexId, Math.max(dayFrom(after), today() - 1)),
    async schedule(indexId, query) {
      const asOf = asOfDay(query) ?? today();
      const document = await scheduled(indexId);
      const { calendar: code, rebalance } = document;
      const { recent, upcoming, lookaheadEnd } = around(document, asOf, query.limit);
      return {
        index_id: indexId,
        as_of: formatDay(asOf),
        calendar: code,
        frequency: rebalance.frequency,
        recent: recent.map(({ date }) => formatDay(date)),
        upcoming: upcoming.map(({ date }) => formatDay(date)),
        lookahead_end: formatDay(lookaheadEnd),
        ...(rebalance.effective_lag > 0 ? { announcements: announcementsOf([...recent, ...upcoming]) } : {}),
      };
    },
  };
}

/** A definition that is gone or cannot be read has no schedule. */
function asMissing(thrown: unknown): null {
  if (thrown instanceof Refusal) return null;
  throw thrown;
}

function toOption({ code, name, region, tz, coverage }: CalendarOption): CalendarList['calendars'][number] {
  const { from, publishedTo, to } = coverage;
  return {
    code,
    name,
    region,
    tz,
    coverage: { from: formatDay(from), published_to: formatDay(publishedTo), to: formatDay(to) },
  };
}

function asOfDay({ asof, as_of }: ScheduleQuery): Day | undefined {
  if (asof !== undefined && as_of !== undefined && asof !== as_of) {
    const message = `asof is ${asof} and as_of is ${as_of}; they are two names of one date.`;
    throw refuseWithFindings('query', [{ severity: 'error', code: 'BAD_DATE', message, path: 'as_of', value: as_of }]);
  }
  const text = asof ?? as_of;
  return text === undefined ? undefined : dayFrom(text);
}

/** By effective date, ascending. */
function announcementsOf(dates: readonly ScheduleDate[]): Record<string, string> {
  const ascending = dates.toSorted((a, b) => a.date - b.date);
  return Object.fromEntries(ascending.map(({ date, decision }) => [formatDay(date), formatDay(decision)]));
}

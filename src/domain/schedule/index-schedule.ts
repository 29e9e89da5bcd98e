import type { Calendar } from '../calendars/calendar.js';
import type { LimitRuleName } from '../compliance/rules.js';
import type { RebalanceCause } from './rebalance-causes.js';
import type { Day } from '../time/days.js';
import type { RebalanceSpec } from './rebalance-spec.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { countPhaseCloses } from './phase.js';
import { listRebalanceDates } from './schedule.js';

/** Rebalance that a breach triggered. */
export interface TriggeredRebalance {
  /** Session of the breach: the composition is decided at its close. */
  readonly decision: Day;
  /** Session at whose close it takes effect. Beyond the data of the run, it is a session of the calendar. */
  readonly effective: Day;
  /** Rule that was breached, if known. */
  readonly rule?: LimitRuleName;
}

/**
 * Returns the first triggered rebalance that is pending on a day: decided on or before it, effective on or after it.
 */
export function findAnnouncedRebalance(
  called: readonly TriggeredRebalance[],
  day: Day,
): TriggeredRebalance | undefined {
  return called.find(({ decision, effective }) => decision <= day && effective >= day);
}

/** Cadence with the calendar of its dates. */
export interface Cadence {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  /** True for a further review of a document, which does not include the base rebalance. */
  readonly isFurther?: boolean;
  /** First day, and day after the last day, of the dates to list. Default: all. */
  readonly from?: Day;
  readonly until?: Day;
}

/** Schedule of an index. */
export interface IndexSchedule {
  /** Base day: no rebalance is before its first session. */
  readonly baseDay: Day;
  /** Cadences of the index; for an overlay also those of its underlying indices. */
  readonly cadences: readonly Cadence[];
  /** Known rebalances triggered by breaches. */
  readonly called: readonly TriggeredRebalance[];
}

/** Effective date of an index, and the session of its announcement. */
export interface IndexDate {
  readonly date: Day;
  readonly announcement: Day;
  /**
   * True if the date is announced before its session. False if it is announced on the session itself, is added to an
   * earlier date, or is a later close of a rebalance.
   */
  readonly isAnnounced: boolean;
  readonly cause: RebalanceCause;
  /** Rule that was breached; null for other rebalances. */
  readonly rule: LimitRuleName | null;
  /** Market identifier code (MIC) of the calendar. */
  readonly calendar: string;
}

/**
 * Returns the effective dates of an index up to the end of its calendars, ascending, without duplicate announcements of
 * a date.
 */
export function listIndexDates({ baseDay, cadences, called }: IndexSchedule): IndexDate[] {
  const dates = cadences.flatMap(({ rebalance, calendar, isFurther = false, from = -Infinity, until = Infinity }) => {
    const { code, coverage } = calendar;
    const scheduleCause = { cause: 'schedule', rule: null, calendar: code } as const;
    const base = calendar.sessions[findFirstAtLeast(calendar.sessions, baseDay)] ?? baseDay;
    return listRebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to })
      .filter(({ date, session }) => date >= from && date < until && (!isFurther || session > base))
      .flatMap(({ date, decision, announcement = decision, session, also = [] }): IndexDate[] => [
        { date, announcement, isAnnounced: announcement < session, ...scheduleCause },
        ...[...also, ...(session <= base ? [] : listPhaseCloses(rebalance, session, calendar))].map((day) => ({
          date: day,
          announcement,
          isAnnounced: false,
          ...scheduleCause,
        })),
      ]);
  });
  const [first] = cadences;
  if (first !== undefined)
    for (const { decision, effective, rule = null } of called)
      if (effective > baseDay)
        dates.push({
          date: effective,
          announcement: decision,
          isAnnounced: decision < effective,
          cause: 'breach',
          rule,
          calendar: first.calendar.code,
        });
  if (cadences.length === 1 && called.length === 0) return dates;
  const uniqueDates = new Map<string, IndexDate>();
  for (const indexDate of dates) {
    const key = `${indexDate.date} ${indexDate.announcement}`;
    if (!uniqueDates.has(key)) uniqueDates.set(key, indexDate);
  }
  return [...uniqueDates.values()].toSorted((a, b) => a.date - b.date || a.announcement - b.announcement);
}

/**
 * Returns the closes of a rebalance after its first close. Returns none if it takes effect at one close, and none for
 * the base rebalance.
 */
function listPhaseCloses({ phase }: RebalanceSpec, session: Day, { sessions }: Calendar): readonly Day[] {
  const position = findLastAtMost(sessions, session);
  return [...sessions.subarray(position + 1, position + countPhaseCloses(phase))];
}

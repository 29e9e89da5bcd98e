import type { Calendar } from '../calendars/calendar.js';
import type { LimitRuleName } from '../compliance/rules.js';
import type { RebalanceCause } from './rebalance-causes.js';
import type { Day } from '../time/days.js';
import type { RebalanceSpec } from './rebalance-spec.js';
import { firstAtLeast, lastAtMost } from '../numbers/search.js';
import { closesOf } from './phase.js';
import { rebalanceDates } from './schedule.js';

/** A rebalance that a breach called for. */
export interface CalledRebalance {
  /** Session of the breach: the composition is decided at its close. */
  readonly decision: Day;
  /** Session at whose close it takes effect; beyond the data of the run the one that the calendar has for it. */
  readonly effective: Day;
  /** The rule that was broken, as far as it is known. */
  readonly rule?: LimitRuleName;
}

/** The first that is announced on a day: decided on it or before, effective on it or after. */
export function announcedOn(called: readonly CalledRebalance[], day: Day): CalledRebalance | undefined {
  return called.find(({ decision, effective }) => decision <= day && effective >= day);
}

/** A cadence on the calendar that its dates are sessions of. */
export interface Cadence {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  /** Whether it is that of a review beside the rebalance of a document: the base rebalance is none of it. */
  readonly isFurther?: boolean;
  /** Its dates are those on or after a day, and before another; all of them by default. */
  readonly from?: Day;
  readonly until?: Day;
}

/** What an index is rebalanced by. */
export interface IndexSchedule {
  /** No rebalance lies before its first session. */
  readonly baseDay: Day;
  /** Its own; of an overlay those of the indices beneath it, too. */
  readonly cadences: readonly Cadence[];
  /** What breaches have called for, as far as it is known. */
  readonly called: readonly CalledRebalance[];
}

/** An effective date of an index, and the session its composition is announced on. */
export interface IndexDate {
  readonly date: Day;
  readonly announcement: Day;
  /** Whether it is announced: not on its own session, where it joins the date before it, or continues a phase. */
  readonly isAnnounced: boolean;
  readonly cause: RebalanceCause;
  /** The rule whose breach it is; null for others. */
  readonly rule: LimitRuleName | null;
  /** MIC of the calendar. */
  readonly calendar: string;
}

/** The effective dates of an index up to the end of its calendars, ascending; each announcement of a date once. */
export function indexDates({ baseDay, cadences, called }: IndexSchedule): IndexDate[] {
  const dates = cadences.flatMap(({ rebalance, calendar, isFurther = false, from = -Infinity, until = Infinity }) => {
    const { code, coverage } = calendar;
    const scheduled = { cause: 'schedule', rule: null, calendar: code } as const;
    const base = calendar.sessions[firstAtLeast(calendar.sessions, baseDay)] ?? baseDay;
    return rebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to })
      .filter(({ date, session }) => date >= from && date < until && (!isFurther || session > base))
      .flatMap(({ date, decision, announcement = decision, session, also = [] }): IndexDate[] => [
        { date, announcement, isAnnounced: announcement < session, ...scheduled },
        ...[...also, ...(session <= base ? [] : phaseCloses(rebalance, session, calendar))].map((day) => ({
          date: day,
          announcement,
          isAnnounced: false,
          ...scheduled,
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
  const once = new Map<string, IndexDate>();
  for (const each of dates) {
    const key = `${each.date} ${each.announcement}`;
    if (!once.has(key)) once.set(key, each);
  }
  return [...once.values()].toSorted((a, b) => a.date - b.date || a.announcement - b.announcement);
}

/** Closes after the first one of a rebalance that is spread over several; none of the base rebalance. */
function phaseCloses({ phase }: RebalanceSpec, session: Day, { sessions }: Calendar): readonly Day[] {
  const at = lastAtMost(sessions, session);
  return [...sessions.subarray(at + 1, at + closesOf(phase))];
}

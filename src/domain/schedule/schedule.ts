import type { Calendar } from '../calendars/calendar.js';
import type { Day } from '../days.js';
import type { RebalanceSpec } from '../documents/rebalance-spec.js';
import { firstAtLeast, lastAtMost } from '../search.js';
import { scheduledDays } from './scheduled-days.js';

/** One rebalance of an index, on the three days that matter to it. */
export interface RebalanceDate {
  /** The effective date as the schedule states it. A session, except with `unadjusted`. */
  readonly date: Day;
  /**
   * The session whose prices the trades use and at whose close the weights take effect: `date`, or the latest session
   * before it.
   */
  readonly session: Day;
  /** The session the composition is decided on: `effective_lag` sessions before `session`. */
  readonly decision: Day;
  /**
   * Later dates of an unadjusted schedule that come to the same session: the rebalance is carried out once for all of
   * them.
   */
  readonly also?: readonly Day[];
}

export interface ScheduleQuery {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  readonly baseDay: Day;
  /** First and last session wanted, both included. */
  readonly from: Day;
  readonly to: Day;
}

/**
 * The rebalances of an index whose sessions lie in the window, ascending and at most one a session. The first of all is
 * the base rebalance, on the first session on or after the base day; none comes before it, and no date joins it. A date
 * whose anchor period the calendar covers only in part is left out rather than moved.
 * @cost O(periods of the coverage x log sessions)
 */
export function rebalanceDates({ rebalance, calendar, baseDay, from, to }: ScheduleQuery): readonly RebalanceDate[] {
  const { sessions } = calendar;
  const base = firstAtLeast(sessions, baseDay);
  if (base === sessions.length) return [];
  const landings: Landing[] = [{ date: sessions[base]!, position: base, also: [] }];
  for (const day of scheduledDays(rebalance, calendar, sessions[base]!)) {
    const landing = land(day, rebalance.roll, calendar);
    const latest = landings.at(-1)!;
    if (landing === undefined || landing.position < latest.position || landing.position === base) continue;
    if (landing.position > latest.position) landings.push({ ...landing, also: [] });
    else if (landing.date > latest.date) latest.also.push(landing.date);
  }
  return landings.flatMap(({ date, position, also }) => {
    const session = sessions[position]!;
    if (session < from || session > to) return [];
    return [
      {
        date,
        session,
        decision: sessions[position - rebalance.effective_lag] ?? session,
        ...(also.length > 0 ? { also } : {}),
      },
    ];
  });
}

interface Landing {
  readonly date: Day;
  /** Of its session. */
  readonly position: number;
  /** Later dates that come to the same session. */
  readonly also: Day[];
}

/**
 * Where a scheduled day comes to lie: its date and the position of its session; undefined beyond the covered sessions.
 */
function land(
  day: Day,
  roll: RebalanceSpec['roll'],
  { sessions, isSession }: Calendar,
): { date: Day; position: number } | undefined {
  const before = lastAtMost(sessions, day);
  if (isSession(day)) return { date: day, position: before };
  const position = roll === 'following' ? before + 1 : before;
  const session = sessions[position];
  if (session === undefined) return undefined;
  return { date: roll === 'unadjusted' ? day : session, position };
}

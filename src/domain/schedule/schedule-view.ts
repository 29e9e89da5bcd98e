import type { Calendar } from '../calendars/calendar.js';
import type { Day } from '../days.js';
import type { RebalanceSpec } from '../documents/rebalance-spec.js';
import { LIMITS } from '../limits.js';
import { rebalanceDates, type RebalanceDate } from './schedule.js';

/** The rebalances around a date. */
export interface ScheduleAround {
  /** Effective on or before the date, newest first. */
  readonly recent: readonly ScheduleDate[];
  /** Effective after the date, soonest first. */
  readonly upcoming: readonly ScheduleDate[];
  /** Last day upcoming rebalances are reported for. */
  readonly lookaheadEnd: Day;
}

/** A date of the schedule, and the session its composition is decided on. */
export type ScheduleDate = Pick<RebalanceDate, 'date' | 'decision'>;

export interface ScheduleAroundQuery {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  readonly baseDay: Day;
  readonly asOf: Day;
  /** Longest list, of each side. */
  readonly limit: number;
}

export function scheduleAround({ rebalance, calendar, baseDay, asOf, limit }: ScheduleAroundQuery): ScheduleAround {
  const lookaheadEnd = Math.min(
    asOf + LIMITS.SCHEDULE_LOOKAHEAD_DAYS,
    calendar.sessions.at(-1) ?? calendar.coverage.to,
  );
  const rebalances = rebalanceDates({
    rebalance,
    calendar,
    baseDay,
    from: calendar.coverage.from,
    to: calendar.coverage.to,
  });
  const dates = rebalances.flatMap(({ date, decision, also = [] }) =>
    [date, ...also].map((day): ScheduleDate => ({ date: day, decision })),
  );
  const past = dates.filter(({ date }) => date <= asOf);
  return {
    recent: past.toReversed().slice(0, limit),
    upcoming: dates
      .slice(past.length)
      .filter(({ date }) => date <= lookaheadEnd)
      .slice(0, limit),
    lookaheadEnd,
  };
}

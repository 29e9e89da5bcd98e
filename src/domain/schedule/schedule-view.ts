import type { Day } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { listIndexDates, type IndexDate, type IndexSchedule } from './index-schedule.js';

/** Rebalances before and after a date. */
export interface ScheduleAround {
  /** Rebalances effective on or before the date, latest first. */
  readonly recent: readonly ScheduleDate[];
  /** Rebalances effective after the date, soonest first. */
  readonly upcoming: readonly ScheduleDate[];
  /** Last day for which upcoming rebalances are reported. */
  readonly lookaheadEnd: Day;
}

/** Date of the schedule, and the session of its announcement. */
export type ScheduleDate = Pick<IndexDate, 'date' | 'announcement'>;

export interface ScheduleAroundQuery {
  readonly schedule: IndexSchedule;
  readonly asOf: Day;
  /** Maximum number of dates before and after the date. */
  readonly limit: number;
}

/**
 * Returns the rebalances before and after a date. A rebalance triggered by a breach is known from the session of the
 * breach on.
 */
export function selectScheduleAround({ schedule, asOf, limit }: ScheduleAroundQuery): ScheduleAround {
  const { cadences } = schedule;
  const lastCoveredDay = Math.max(...cadences.map(({ calendar }) => calendar.sessions.at(-1) ?? calendar.coverage.to));
  const lookaheadEnd = Math.min(asOf + LIMITS.SCHEDULE_LOOKAHEAD_DAYS, lastCoveredDay);
  const calledRebalances = schedule.called.filter(({ decision }) => decision <= asOf);
  const dates = mergeSameDates(listIndexDates({ ...schedule, called: calledRebalances }));
  const pastDates = dates.filter(({ date }) => date <= asOf);
  return {
    recent: pastDates.toReversed().slice(0, limit),
    upcoming: dates
      .slice(pastDates.length)
      .filter(({ date }) => date <= lookaheadEnd)
      .slice(0, limit),
    lookaheadEnd,
  };
}

/** Keeps the first announcement of each date. */
function mergeSameDates(dates: readonly IndexDate[]): readonly IndexDate[] {
  return dates.filter(({ date }, position) => dates[position - 1]?.date !== date);
}

import type { Day } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { listIndexDates, type IndexDate, type IndexSchedule } from './index-schedule.js';

/** Rebalances around a date. */
export interface ScheduleAround {
  /** Effective on or before the date, newest first. */
  readonly recent: readonly ScheduleDate[];
  /** Effective after the date, soonest first. */
  readonly upcoming: readonly ScheduleDate[];
  /** Last day for which upcoming rebalances are reported. */
  readonly lookaheadEnd: Day;
}

/** Date of the schedule, and the session of its announcement. */
export type ScheduleDate = Pick<IndexDate, 'date' | 'announcement'>;

export interface ScheduleAroundQuery {
  readonly schedule: IndexSchedule;
  readonly asOf: Day;
  /** Maximum number of dates on each side. */
  readonly limit: number;
}

/** A rebalance triggered by a breach is known from its session on. */
export function selectScheduleAround({ schedule, asOf, limit }: ScheduleAroundQuery): ScheduleAround {
  const { cadences } = schedule;
  const covered = Math.max(...cadences.map(({ calendar }) => calendar.sessions.at(-1) ?? calendar.coverage.to));
  const lookaheadEnd = Math.min(asOf + LIMITS.SCHEDULE_LOOKAHEAD_DAYS, covered);
  const called = schedule.called.filter(({ decision }) => decision <= asOf);
  const dates = mergeSameDates(listIndexDates({ ...schedule, called }));
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

/** Keeps the first announcement of each date. */
function mergeSameDates(dates: readonly IndexDate[]): readonly IndexDate[] {
  return dates.filter(({ date }, at) => dates[at - 1]?.date !== date);
}

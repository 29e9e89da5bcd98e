import type { Calendar } from '../calendars/calendar.js';
import type { Day } from '../time/days.js';
import type { RebalanceSpec } from './rebalance-spec.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { findReviewPositions, type DateRules, type EffectiveDate } from './review-dates.js';
import { listScheduledDays } from './scheduled-days.js';

/** Rebalance of an index with its relevant days. */
export interface RebalanceDate {
  /** Effective date according to the schedule; always a session, except with `unadjusted`. */
  readonly date: Day;
  /**
   * Session at whose prices trades are executed and at whose close weights take effect: `date`, or the latest session
   * before it.
   */
  readonly session: Day;
  /** Reference date: the session whose data the decision uses, on or before `session`. */
  readonly decision: Day;
  /** Session of the announcement; absent if it is the decision session. */
  readonly announcement?: Day;
  /** Session whose closes convert weights into index shares; absent if it is the decision session. */
  readonly pricing?: Day;
  /** Later dates of an unadjusted schedule with the same session. The rebalance is executed once for all of them. */
  readonly also?: readonly Day[];
}

export interface ScheduleQuery {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  readonly baseDay: Day;
  /** First and last requested session, inclusive. */
  readonly from: Day;
  readonly to: Day;
}

/**
 * Returns the rebalances of an index whose sessions are in the window, ascending and at most one per session. The first
 * is the base rebalance, on the first session on or after the base day. There is none before it, and no other date has
 * its session. If the calendar covers only a part of a date's anchor period, the date is omitted.
 * @cost O(periods of the coverage x log sessions), once per schedule and calendar
 */
export function listRebalanceDates({
  rebalance,
  calendar,
  baseDay,
  from,
  to,
}: ScheduleQuery): readonly RebalanceDate[] {
  const { sessions } = calendar;
  const base = findFirstAtLeast(sessions, baseDay);
  if (base === sessions.length) return [];
  return findLandings(rebalance, calendar, base).flatMap(({ date, position, also }) => {
    const session = sessions[position]!;
    if (session < from || session > to) return [];
    return [
      {
        date,
        session,
        ...listReviewDays(rebalance, { date, position }, calendar),
        ...(also.length > 0 ? { also } : {}),
      },
    ];
  });
}

/**
 * Returns the decision, announcement and pricing sessions of a rebalance in chronological order. None is after the
 * session of the rebalance.
 */
export function listReviewDays(
  rules: DateRules,
  effective: EffectiveDate,
  calendar: Calendar,
): Pick<RebalanceDate, 'decision' | 'announcement' | 'pricing'> {
  const { sessions } = calendar;
  const { position } = effective;
  const { reference, announcement, pricing } = findReviewPositions(rules, effective, calendar);
  const decisionPosition = Math.min(reference ?? position, position);
  const clampSession = (session = decisionPosition): Day =>
    sessions[Math.max(decisionPosition, Math.min(session, position))]!;
  return {
    decision: sessions[decisionPosition]!,
    ...(rules.announcement === undefined ? {} : { announcement: clampSession(announcement) }),
    ...(rules.pricing_date === undefined ? {} : { pricing: clampSession(pricing) }),
  };
}

/**
 * Returns the effective dates of a cadence over the whole calendar with the indices of their sessions, the base
 * rebalance first.
 */
export function listEffectiveDates({
  rebalance,
  calendar,
  baseDay,
}: Pick<ScheduleQuery, 'rebalance' | 'calendar' | 'baseDay'>): readonly EffectiveDate[] {
  const base = findFirstAtLeast(calendar.sessions, baseDay);
  return base === calendar.sessions.length ? [] : findLandings(rebalance, calendar, base);
}

/** Maximum number of cached schedules per calendar. A weekly schedule needs half a megabyte. */
const CACHED_MAX = 16;

/** Frequencies whose schedules are not cached. Either computing them is as fast as a look-up, or they are large. */
const NOT_CACHED: ReadonlySet<RebalanceSpec['frequency']> = new Set(['none', 'daily', 'custom']);

const landingsByCalendar = new WeakMap<Calendar, Map<string, readonly RolledDate[]>>();

/**
 * Returns the dates and session indices of all rebalances after rolling to sessions, the base rebalance first. @param
 * base index of the session of the base rebalance
 */
function findLandings(rebalance: RebalanceSpec, calendar: Calendar, base: number): readonly RolledDate[] {
  if (NOT_CACHED.has(rebalance.frequency)) return computeLandings(rebalance, calendar, base);
  const landingsByKey = landingsByCalendar.get(calendar) ?? new Map<string, readonly RolledDate[]>();
  landingsByCalendar.set(calendar, landingsByKey);
  const key = JSON.stringify([rebalance, base]);
  let landings = landingsByKey.get(key);
  if (landings === undefined) {
    landingsByKey.set(key, (landings = computeLandings(rebalance, calendar, base)));
    for (const oldest of landingsByKey.keys()) if (landingsByKey.size > CACHED_MAX) landingsByKey.delete(oldest);
  }
  return landings;
}

function computeLandings(rebalance: RebalanceSpec, calendar: Calendar, base: number): readonly RolledDate[] {
  const first = calendar.sessions[base]!;
  const landings: (RolledDate & { readonly also: Day[] })[] = [{ date: first, position: base, also: [] }];
  for (const day of listScheduledDays(rebalance, calendar, first)) {
    const rolledDate = rollDay(day, rebalance.roll, calendar);
    const latestLanding = landings.at(-1)!;
    if (rolledDate === undefined || rolledDate.position < latestLanding.position || rolledDate.position === base)
      continue;
    if (rolledDate.position > latestLanding.position) landings.push({ ...rolledDate, also: [] });
    else if (rolledDate.date > latestLanding.date) latestLanding.also.push(rolledDate.date);
  }
  return landings;
}

interface RolledDate {
  readonly date: Day;
  /** Index of the session. */
  readonly position: number;
  /** Later dates with the same session. */
  readonly also: readonly Day[];
}

/**
 * Returns the date of a scheduled day after rolling to a session, and the index of its session. Returns undefined
 * outside the covered sessions.
 */
function rollDay(
  day: Day,
  roll: RebalanceSpec['roll'],
  { sessions, isSession }: Calendar,
): { date: Day; position: number } | undefined {
  const before = findLastAtMost(sessions, day);
  if (isSession(day)) return { date: day, position: before };
  const position = roll === 'following' ? before + 1 : before;
  const session = sessions[position];
  if (session === undefined) return undefined;
  return { date: roll === 'unadjusted' ? day : session, position };
}

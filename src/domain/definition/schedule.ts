import { z } from 'zod';
import type { Finding } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost, formatNumber } from '../base/numbers.js';
import { AssetIdentifier, defineObject, formatPath, IsoDate } from '../base/schema.js';
import {
  addMonths,
  countDaysInMonth,
  type Day,
  formatDay,
  parseValidDay,
  toCivilDate,
  toDay,
  toWeekday,
} from '../base/time.js';
import type { Calendar } from '../calendars/calendar.js';
import { findWeekdayOnOrAfter, findWeekdayOnOrBefore } from '../calendars/exchange-calendars.js';
import { reportUnreadParameters } from './catalogue.js';

/** Rebalance with its date, and the session at whose close it took effect. */
interface DatedRebalance {
  readonly date: Day;
  readonly session: Day;
}

/**
 * Returns the date of the rebalance in force on a day, on or before that day. It is the date of the rebalance. If that
 * date is later, as in an unadjusted schedule on a closed day, it is the session of the rebalance.
 */
export function findDateInForce({ date, session }: DatedRebalance, asOf: Day): Day {
  return date > asOf ? session : date;
}

/** Returns the date in force of a composition, whose session is given as an index of `sessions`. */
export function findCompositionDate({ date, session }: DatedRebalance, sessions: Int32Array, asOf: Day): Day {
  return findDateInForce({ date, session: sessions[session]! }, asOf);
}

/** Rules for a date of a rebalance relative to its effective date. */
const DATE_RULES = [
  'sessions_before',
  'last_session',
  'nth_weekday',
  'day_of_month',
  'weekday_before',
  'nth_session',
] as const;

/** Maximum notice in sessions: a year. */
const SESSIONS_BEFORE_MAX = 260;

/** Maximum number of sessions in a month. Some markets trade every day. */
const MONTH_SESSIONS = 31;

const MONTHLY = ['last_session', 'nth_weekday', 'day_of_month', 'nth_session'];

/** Maximum number of sessions from an anchor to a date: a quarter. */
const OFFSET_MAX = 60;

/** Number of a session in a month. Some markets trade every day. */
const SessionNumber = z
  .int()
  .min(-MONTH_SESSIONS)
  .max(MONTH_SESSIONS)
  .refine((number) => number !== 0, {
    params: { finding: 'OUT_OF_RANGE' },
    error: 'must not be 0; 1 is the first session of the month, -1 the last',
  })
  .optional();

/** Date of a rebalance by a rule. A day that is not a session is replaced by the previous session. */
export const DateRule = defineObject(() => ({
  rule: z.enum(DATE_RULES).meta({
    label: 'Rule',
    help: 'Date rule: a number of sessions before the effective date; the last session, a weekday, a numbered session or a day of the month of the effective date or an earlier month; or the last such weekday at least some weeks before. A day that is not a session moves to the previous session.',
  }),
  sessions: z
    .int()
    .min(0)
    .max(SESSIONS_BEFORE_MAX)
    .optional()
    .meta({
      label: 'Sessions',
      help: 'Number of sessions before the effective date.',
      when: [{ rule: ['sessions_before'] }],
    }),
  months_before: z
    .int()
    .min(0)
    .max(12)
    .optional()
    .meta({
      label: 'Months before',
      help: 'Number of months before the month of the effective date. Default: 1 for last_session, otherwise 0.',
      when: [{ rule: MONTHLY }],
    }),
  nth: z
    .int()
    .min(1)
    .max(5)
    .optional()
    .meta({
      label: 'Which weekday',
      help: 'Number of the weekday in the month, from 1. 5 is the last one.',
      when: [{ rule: ['nth_weekday'] }],
    }),
  weekday: z
    .int()
    .min(0)
    .max(4)
    .optional()
    .meta({
      label: 'Weekday',
      help: 'Weekday: 0 is Monday, 4 is Friday.',
      when: [{ rule: ['nth_weekday', 'weekday_before'] }],
    }),
  day: z
    .int()
    .min(1)
    .max(31)
    .optional()
    .meta({
      label: 'Day of the month',
      help: 'Day of the month. In a shorter month, the last day is used.',
      when: [{ rule: ['day_of_month'] }],
    }),
  weeks: z
    .int()
    .min(0)
    .max(52)
    .optional()
    .meta({
      label: 'Weeks',
      help: 'Minimum number of weeks before the effective date.',
      when: [{ rule: ['weekday_before'] }],
    }),
  session: SessionNumber.meta({
    label: 'Which session',
    help: 'Number of the session in the month: 1 is the first one, -1 the last one. A month with fewer sessions has its last or first one instead.',
    when: [{ rule: ['nth_session'] }],
  }),
  offset: z
    .int()
    .min(-OFFSET_MAX)
    .max(OFFSET_MAX)
    .optional()
    .meta({
      label: 'Offset',
      help: 'Number of sessions after the day of the rule, or before it if negative. Default: 0.',
      unit: 'sessions',
      when: [{ rule: [...MONTHLY, 'weekday_before'] }],
    }),
})).meta({ id: 'DateRule' });
export type DateRule = z.infer<typeof DateRule>;

const RULE_PARAMETERS: Readonly<
  Record<DateRule['rule'], readonly ('sessions' | 'nth' | 'weekday' | 'day' | 'weeks' | 'session')[]>
> = {
  sessions_before: ['sessions'],
  last_session: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
  weekday_before: ['weekday', 'weeks'],
  nth_session: ['session'],
};

/** Maximum number of closes over which a rebalance is spread: about one quarter, beyond published practice. */
const PHASE_CLOSES_MAX = 60;

/** Closes over which a rebalance is spread, beginning with the effective date. */
export const PhaseSpec = defineObject(() => ({
  sessions: z
    .int()
    .min(1)
    .max(PHASE_CLOSES_MAX)
    .optional()
    .meta({ label: 'Closes', help: 'Number of closes with equal increments.', unit: 'sessions' }),
  fractions: z
    .array(z.number().gt(0).max(1))
    .min(1)
    .max(PHASE_CLOSES_MAX)
    .optional()
    .meta({ label: 'Increments', help: 'Increment of each close, with a sum of 1. Replaces the number of closes.' }),
})).meta({ id: 'PhaseSpec' });
export type PhaseSpec = z.infer<typeof PhaseSpec>;

/** Frequencies in months, which have an anchor. */
const ANCHORED = ['monthly', 'quarterly', 'semi_annual', 'annual'] as const;

export const RebalanceSpec = defineObject(() => ({
  frequency: z
    .enum(['none', 'daily', 'weekly', ...ANCHORED, 'custom'])
    .default('quarterly')
    .meta({ label: 'Frequency', help: 'Frequency of rebalances.' }),
  anchor: z
    .enum(['first_session', 'last_session', 'third_friday', 'nth_weekday', 'day_of_month', 'nth_session'])
    .default('last_session')
    .meta({ label: 'Day', help: 'Day within each period.', when: [{ frequency: ANCHORED }] }),
  months: z
    .array(z.int().min(1).max(12))
    .min(1)
    .max(12)
    .nullable()
    .default(null)
    .meta({
      label: 'Months',
      help: 'Months from 1 to 12. Default: the months of the frequency.',
      when: [{ frequency: ANCHORED }],
    }),
  weekday: z
    .int()
    .min(0)
    .max(4)
    .nullable()
    .default(null)
    .meta({
      label: 'Weekday',
      help: 'Weekday: 0 is Monday, 4 is Friday.',
      when: [{ frequency: ['weekly'] }, { frequency: ANCHORED, anchor: ['nth_weekday'] }],
    }),
  nth: z
    .int()
    .min(1)
    .max(5)
    .nullable()
    .default(null)
    .meta({
      label: 'Which weekday',
      help: 'Number of the weekday in the month, from 1. 5 is the last one.',
      when: [{ frequency: ANCHORED, anchor: ['nth_weekday'] }],
    }),
  day: z
    .int()
    .min(1)
    .max(31)
    .nullable()
    .default(null)
    .meta({
      label: 'Day of the month',
      help: 'Day of the month. In a shorter month, the last day is used.',
      when: [{ frequency: ANCHORED, anchor: ['day_of_month'] }],
    }),
  session: SessionNumber.meta({
    label: 'Which session',
    help: 'Number of the session in the month: 1 is the first one, -1 the last one. A month with fewer sessions has its last or first one instead.',
    when: [{ frequency: ANCHORED, anchor: ['nth_session'] }],
  }),
  offset: z
    .int()
    .min(-OFFSET_MAX)
    .max(OFFSET_MAX)
    .optional()
    .meta({
      label: 'Offset',
      help: 'Number of sessions from the day to the effective date, or before the day if negative. It is counted after the day has moved to a session. Default: 0.',
      unit: 'sessions',
      when: [{ frequency: ANCHORED }],
    }),
  roll: z
    .enum(['following', 'preceding', 'unadjusted'])
    .default('following')
    .meta({
      label: 'If it is not a session',
      help: 'Treatment of a date that is not a session: it moves to the next or the previous session. `unadjusted` keeps the day and uses prices of the previous session.',
      when: [{ frequency: ['weekly', ...ANCHORED, 'custom'] }],
    }),
  effective_lag: z
    .int()
    .min(0)
    .max(60)
    .default(0)
    .meta({ label: 'Notice', help: 'Number of sessions from the decision to the effective date.', unit: 'sessions' }),
  weights_as: z.enum(['shares', 'weights']).default('shares').meta({
    label: 'Weights as',
    help: 'Target weights are converted to index shares at the closes of the pricing date, and drift until the effective date (shares), or apply exactly at the effective close (weights).',
  }),
  reference: DateRule.optional().meta({
    label: 'Reference date',
    help: 'Date up to which selection and weighting read data. Default: the notice in sessions before the effective date.',
  }),
  announcement: DateRule.optional().meta({
    label: 'Announcement',
    help: 'Announcement date, on or after the reference date and before the effective date. Default: the reference date.',
  }),
  pricing_date: DateRule.optional().meta({
    label: 'Pricing date',
    help: 'Pricing date, at whose closes target weights are converted to index shares. Default: the reference date.',
  }),
  phase: PhaseSpec.optional().meta({
    label: 'Phase',
    help: 'Closes over which the rebalance is spread, beginning with the effective date. Default: one close.',
  }),
  dates: z
    .array(IsoDate)
    .max(10_000)
    .default([])
    .meta({ label: 'Dates', help: 'Effective dates, YYYY-MM-DD.', when: [{ frequency: ['custom'] }] }),
})).meta({ id: 'RebalanceSpec' });
export type RebalanceSpec = z.infer<typeof RebalanceSpec>;

const FRACTIONS_TOLERANCE = 1e-9;

/** Returns the completed fraction of a rebalance after each of its closes. The fractions ascend, and the last is 1. */
export function computePhaseFractions({ sessions, fractions }: PhaseSpec): readonly number[] {
  if (fractions === undefined) {
    const closes = sessions ?? 1;
    return Array.from({ length: closes }, (_, k) => (k + 1) / closes);
  }
  let completedFraction = 0;
  return fractions.map((fraction, k) => (k === fractions.length - 1 ? 1 : (completedFraction += fraction)));
}

/** Returns the number of closes over which a rebalance is spread. Returns 1 if it takes effect at one close. */
export function countPhaseCloses(phase: PhaseSpec | undefined): number {
  return phase === undefined ? 1 : (phase.fractions?.length ?? phase.sessions ?? 1);
}

const DAYS_PER_WEEK = 7;

/** Effective date, and the index of its session in the calendar. */
interface EffectiveDate {
  readonly date: Day;
  readonly position: number;
}

/** Members of a cadence that determine its dates by rules. */
type DateRules = Pick<RebalanceSpec, 'effective_lag' | 'reference' | 'announcement' | 'pricing_date'>;

/** Indices of the sessions of a review in the calendar. Undefined before the start of the calendar. */
interface ReviewPositions {
  /** Last session whose data selection and weighting use. */
  readonly reference: number | undefined;
  readonly announcement: number | undefined;
  /** Session whose closes convert weights into index shares. */
  readonly pricing: number | undefined;
}

/** Returns the sessions that the rules of a cadence give for an effective date. They may be out of order. */
function findReviewPositions(rules: DateRules, effective: EffectiveDate, calendar: Calendar): ReviewPositions {
  const findPosition = (rule: DateRule): number | undefined => findRulePosition(rule, effective, calendar);
  const reference = findPosition(rules.reference ?? { rule: 'sessions_before', sessions: rules.effective_lag });
  return {
    reference,
    announcement: rules.announcement ? findPosition(rules.announcement) : reference,
    pricing: rules.pricing_date ? findPosition(rules.pricing_date) : reference,
  };
}

/** Returns the index of the session of a rule: its day, or the previous session. */
function findRulePosition(rule: DateRule, { date, position }: EffectiveDate, calendar: Calendar): number | undefined {
  if (rule.rule === 'sessions_before') return toPosition(position - requireMember(rule, 'sessions'), calendar);
  const day = findRuleDay(rule, date, calendar);
  if (day === undefined) return undefined;
  const atDay = findLastAtMost(calendar.sessions, day);
  return atDay < 0 ? undefined : toPosition(atDay + (rule.offset ?? 0), calendar);
}

const toPosition = (position: number, { sessions }: Calendar): number | undefined =>
  position < 0 ? undefined : Math.min(position, sessions.length - 1);

/** Returns the day of a rule. Returns undefined if the calendar does not cover the sessions of its month. */
function findRuleDay(rule: DateRule, date: Day, calendar: Calendar): Day | undefined {
  if (rule.rule === 'weekday_before')
    return findWeekdayOnOrBefore(date - DAYS_PER_WEEK * requireMember(rule, 'weeks'), requireMember(rule, 'weekday'));
  const before = rule.months_before ?? (rule.rule === 'last_session' ? 1 : 0);
  const { year, month } = toCivilDate(addMonths(date, -before));
  const first = toDay({ year, month, day: 1 });
  const last = first + countDaysInMonth(year, month) - 1;
  if (rule.rule === 'nth_session')
    return first < calendar.coverage.from
      ? undefined
      : findNthSession(addClosedDays(calendar), { first, last, nth: requireMember(rule, 'session') });
  if (rule.rule === 'day_of_month') return Math.min(first + requireMember(rule, 'day') - 1, last);
  if (rule.rule !== 'nth_weekday') return last;
  const [nth, weekday] = [requireMember(rule, 'nth'), requireMember(rule, 'weekday')];
  return nth === LAST_OF_MONTH
    ? findWeekdayOnOrBefore(last, weekday)
    : findWeekdayOnOrAfter(first, weekday) + DAYS_PER_WEEK * (nth - 1);
}

const LAST_OF_MONTH = 5;

const WEEK_SESSIONS = 7;

/**
 * Returns the largest number of sessions from the reference date of a rebalance to its session. For rules in weeks and
 * months it is an upper bound.
 */
export function countNoticeSessions({ effective_lag: lag, reference }: DateRules): number {
  if (reference === undefined) return lag;
  const { rule, sessions = 0, weeks = 0, months_before: months = 1, offset = 0 } = reference;
  if (rule === 'sessions_before') return sessions;
  const before = Math.max(0, -offset);
  return before + (rule === 'weekday_before' ? (weeks + 2) * WEEK_SESSIONS : (months + 2) * MONTH_SESSIONS);
}

/** Returns a required parameter of a rule. Every rule of a validated document has its required parameters. */
function requireMember(rule: DateRule, name: 'sessions' | 'weeks' | 'weekday' | 'day' | 'nth' | 'session'): number {
  const { [name]: value } = rule;
  if (value === undefined) throw new Error(`the rule ${rule.rule} needs ${name}`);
  return value;
}

/** Default months of the frequencies in months. */
const MONTHS = {
  monthly: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  quarterly: [3, 6, 9, 12],
  semi_annual: [6, 12],
  annual: [12],
} as const;

const FRIDAY = 4;

/**
 * Returns the days of a cadence after its base session, ascending, before rolling to sessions. The calendar covers the
 * anchor period of each day completely.
 */
function listScheduledDays(rebalance: RebalanceSpec, calendar: Calendar, base: Day): readonly Day[] {
  switch (rebalance.frequency) {
    case 'none':
      return [];
    case 'daily':
      return [...calendar.sessions.subarray(findLastAtMost(calendar.sessions, base) + 1)];
    case 'custom':
      return listCustomDays(rebalance, calendar, base);
    case 'weekly':
      return listWeeklyDays(rebalance.weekday, addClosedDays(calendar), base);
    default:
      return listMonthlyDays(rebalance, rebalance.months ?? MONTHS[rebalance.frequency], calendar, base);
  }
}

/** Calendar, and the days that were sessions until a closure was recorded. */
interface ScheduledCalendar extends Pick<Calendar, 'sessions' | 'coverage'> {
  readonly closed: readonly Day[];
}

function addClosedDays({ sessions, coverage, recorded }: Calendar): ScheduledCalendar {
  const closedDays = (recorded?.changes ?? []).flatMap(({ date, session }) =>
    session === 'closed' ? [parseValidDay(date)] : [],
  );
  return { sessions, coverage, closed: closedDays };
}

function listCustomDays({ dates }: RebalanceSpec, { coverage }: Calendar, base: Day): Day[] {
  const days = dates.map(parseValidDay).filter((day) => day > base && day <= coverage.to);
  return days.sort((a, b) => a - b);
}

function listWeeklyDays(weekday: number | null, calendar: ScheduledCalendar, base: Day): Day[] {
  const days: Day[] = [];
  for (
    let monday = base - toWeekday(base);
    monday + DAYS_PER_WEEK - 1 <= calendar.coverage.to;
    monday += DAYS_PER_WEEK
  ) {
    const day = weekday === null ? findLastSession(calendar, monday, monday + DAYS_PER_WEEK - 1) : monday + weekday;
    if (day !== undefined && day > base) days.push(day);
  }
  return days;
}

function listMonthlyDays(rebalance: RebalanceSpec, months: readonly number[], calendar: Calendar, base: Day): Day[] {
  const monthSet = new Set(months);
  const scheduled = addClosedDays(calendar);
  const { offset = 0 } = rebalance;
  const days: Day[] = [];
  // An offset may lead from an anchor before the base session to a day after it.
  let { year, month } = toCivilDate(offset > 0 ? addMonths(base, -OFFSET_MONTHS) : base);
  for (;;) {
    const last = toDay({ year, month, day: countDaysInMonth(year, month) });
    if (last > calendar.coverage.to) return days;
    const isCovered = offset <= 0 || toDay({ year, month, day: 1 }) >= calendar.coverage.from;
    const anchorDay = isCovered && monthSet.has(month) ? findAnchorDay(rebalance, scheduled, year, month) : undefined;
    const day = anchorDay === undefined ? undefined : addOffset(anchorDay, rebalance, calendar);
    if (day !== undefined && day > base) days.push(day);
    month++;
    if (month > 12) {
      month = 1;
      year++;
    }
  }
}

/** Maximum number of months with as many sessions as the largest offset, in the calendars with the fewest sessions. */
const OFFSET_MONTHS = 4;

/**
 * Returns the day that an offset gives: a number of sessions after the session of an anchor day, or before it. Days that
 * were sessions until a closure was recorded count backwards as sessions, because an earlier session may have passed.
 */
function addOffset(day: Day, { offset = 0, roll }: RebalanceSpec, calendar: Calendar): Day | undefined {
  if (offset === 0) return day;
  const start = rollDay(day, roll === 'unadjusted' ? 'preceding' : roll, calendar);
  if (start === undefined) return undefined;
  if (offset > 0) return calendar.sessions[start.position + offset];
  return stepBack(addClosedDays(calendar), start.date, -offset);
}

function stepBack({ sessions, closed }: ScheduledCalendar, day: Day, count: number): Day | undefined {
  let before = day;
  for (let k = 0; k < count; k++)
    before = Math.max(
      sessions[findLastAtMost(sessions, before - 1)] ?? -Infinity,
      ...closed.filter((one) => one < before),
    );
  return before === -Infinity ? undefined : before;
}

/** Returns a numbered session of a period, from its start, or from its end if the number is negative. */
function findNthSession(
  calendar: ScheduledCalendar,
  { first, last, nth }: { readonly first: Day; readonly last: Day; readonly nth: number },
): Day | undefined {
  if (nth < 0) {
    let day = findLastSession(calendar, first, last);
    for (let k = -1; k > nth && day !== undefined; k--) day = findLastSession(calendar, first, day - 1) ?? day;
    return day;
  }
  const { sessions } = calendar;
  const from = findFirstAtLeast(sessions, first);
  const session = sessions[from + nth - 1];
  return session !== undefined && session <= last ? session : findLastSession(calendar, first, last);
}

/** Returns the anchor day in a month. Returns undefined if the anchor needs a session and the month has none. */
function findAnchorDay(
  { anchor, nth, weekday, day, session }: RebalanceSpec,
  calendar: ScheduledCalendar,
  year: number,
  month: number,
): Day | undefined {
  const first = toDay({ year, month, day: 1 });
  const last = first + countDaysInMonth(year, month) - 1;
  switch (anchor) {
    case 'first_session':
      return findFirstSession(calendar, first, last);
    case 'last_session':
      return findLastSession(calendar, first, last);
    case 'third_friday':
      return findNthWeekday({ first, last, nth: 3, weekday: FRIDAY });
    case 'nth_weekday':
      return findNthWeekday({
        first,
        last,
        nth: requireParameter(nth, 'nth'),
        weekday: requireParameter(weekday, 'weekday'),
      });
    case 'day_of_month':
      return Math.min(first + requireParameter(day, 'day') - 1, last);
    case 'nth_session':
      return findNthSession(calendar, { first, last, nth: requireParameter(session ?? null, 'session') });
  }
}

/** Returns the nth weekday of a month, counted from 1; 5 is the last one. */
function findNthWeekday({ first, last, nth, weekday }: { first: Day; last: Day; nth: number; weekday: number }): Day {
  if (nth === 5) return findWeekdayOnOrBefore(last, weekday);
  return findWeekdayOnOrAfter(first, weekday) + DAYS_PER_WEEK * (nth - 1);
}

function findFirstSession({ sessions }: ScheduledCalendar, first: Day, last: Day): Day | undefined {
  const session = sessions[findFirstAtLeast(sessions, first)];
  return session !== undefined && session <= last ? session : undefined;
}

/**
 * Returns the last session of a period. If a closure was recorded for that day, it remains the anchor and is rolled to
 * a session. The previous session may already have passed.
 */
function findLastSession({ sessions, closed }: ScheduledCalendar, first: Day, last: Day): Day | undefined {
  const session = sessions[findLastAtMost(sessions, last)] ?? -Infinity;
  const day = Math.max(session, ...closed.filter((one) => one >= first && one <= last));
  return day >= first ? day : undefined;
}

/** Returns a required parameter of an anchor. Every anchor of a validated document has its required parameters. */
function requireParameter(value: number | null, name: string): number {
  if (value === null) throw new Error(`the anchor needs rebalance.${name}`);
  return value;
}

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

export interface ScheduleTerms {
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
}: ScheduleTerms): readonly RebalanceDate[] {
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
}: Pick<ScheduleTerms, 'rebalance' | 'calendar' | 'baseDay'>): readonly EffectiveDate[] {
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

export interface CadenceOnCalendar {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  readonly baseDay: Day;
  readonly path: string;
}

interface DateOrder {
  readonly member: 'reference' | 'announcement' | 'pricing_date';
  /** Returns how the dates of a review violate the order. Returns undefined if they are in order. */
  readonly broken: (dates: ReviewPositions, effective: number) => OrderViolation | undefined;
}

/** Violation of an order: position of the date, and the position with which it is compared. */
interface OrderViolation {
  readonly at: number;
  readonly than: number;
  readonly words: string;
}

const DATE_ORDERS: readonly DateOrder[] = [
  {
    member: 'reference',
    broken: ({ reference }, effective) => findOrderViolation(reference, effective, 'is after the effective date'),
  },
  {
    member: 'announcement',
    broken: ({ announcement, reference }) =>
      findOrderViolation(reference, announcement, 'is before the reference date', 'second'),
  },
  {
    member: 'announcement',
    broken: ({ announcement }, effective) =>
      findOrderViolation(announcement, effective - 1, 'is not before the effective date', 'first', effective),
  },
  {
    member: 'pricing_date',
    broken: ({ pricing, reference }) =>
      findOrderViolation(reference, pricing, 'is before the reference date', 'second'),
  },
  {
    member: 'pricing_date',
    broken: ({ pricing }, effective) => findOrderViolation(pricing, effective, 'is after the effective date'),
  },
];

/** Returns a violation if the first position is after the second. @param named position that the member determines */
function findOrderViolation(
  first: number | undefined,
  second: number | undefined,
  words: string,
  named: 'first' | 'second' = 'first',
  shownDate = second,
): OrderViolation | undefined {
  if (first === undefined || second === undefined || first <= second) return undefined;
  return named === 'first' ? { at: first, than: shownDate!, words } : { at: second, than: first, words };
}

/**
 * Reports date rules whose dates are out of order on the calendar, each with the first affected rebalance. The base
 * rebalance is excluded. Its dates are never after its session.
 */
export function checkDateOrder(cadence: CadenceOnCalendar): Finding[] {
  const { rebalance, calendar, path } = cadence;
  const effectiveDates = listEffectiveDates(cadence).slice(1);
  const orders = DATE_ORDERS.filter(({ member }) => rebalance[member] !== undefined);
  return orders.flatMap(({ member, broken }): Finding[] => {
    const violations = effectiveDates.flatMap((effectiveDate): (OrderViolation & EffectiveDate)[] => {
      const result = broken(findReviewPositions(rebalance, effectiveDate, calendar), effectiveDate.position);
      return result === undefined ? [] : [{ ...result, ...effectiveDate }];
    });
    const [first] = violations;
    if (first === undefined) return [];
    const field = formatPath(path, [member]);
    const formatPosition = (position: number): string => formatDay(calendar.sessions[position]!);
    const count =
      violations.length === 1 ? 'One rebalance is' : `${violations.length} of ${effectiveDates.length} rebalances are`;
    const message = `${field} gives ${formatPosition(first.at)} for the rebalance effective on ${formatDay(first.date)}, which ${first.words} ${formatPosition(first.than)}. ${count} affected.`;
    return [{ severity: 'error', code: 'INVALID_RANGE', message, path: field, value: formatPosition(first.at) }];
  });
}

/**
 * Reports the first rebalance that takes effect on or before the last close of the previous rebalance. The base
 * rebalance takes effect at one close.
 */
export function checkPhase(cadence: CadenceOnCalendar): Finding[] {
  const { rebalance, calendar, path } = cadence;
  const closes = countPhaseCloses(rebalance.phase);
  if (closes === 1) return [];
  const effectiveDates = listEffectiveDates(cadence);
  const position = effectiveDates.findIndex(
    ({ position }, i) => i > 0 && (effectiveDates[i + 1]?.position ?? Infinity) < position + closes,
  );
  if (position < 0) return [];
  const field = formatPath(path, ['phase']);
  const [start, next] = [effectiveDates[position]!, effectiveDates[position + 1]!];
  const message = `${field} spreads the rebalance of ${formatDay(start.date)} over ${closes} closes, up to ${formatDay(calendar.sessions[start.position + closes - 1]!)}, but the next one takes effect on ${formatDay(next.date)}.`;
  return [{ severity: 'error', code: 'INVALID_RANGE', message, path: field }];
}

/** Id of the review that the `rebalance` of the document defines. */
export const DEFAULT_REVIEW = 'rebalance';

/** Effects of a review, in the order in which reviews of a common date run. */
export const REVIEW_SCOPES = ['membership', 'weights', 'shares'] as const;
export type ReviewScope = (typeof REVIEW_SCOPES)[number];

const isAnchored = (frequency: RebalanceSpec['frequency']): boolean => ANCHORED.some((one) => one === frequency);

const ANCHOR_PARAMETERS: Record<RebalanceSpec['anchor'], readonly ('nth' | 'weekday' | 'day' | 'session')[]> = {
  first_session: [],
  last_session: [],
  third_friday: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
  nth_session: ['session'],
};

/**
 * Reports missing parameters, and parameters without effect, in a cadence that matches the schema.
 * @param path path of the cadence in the document
 */
export function validateRebalance(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency !== 'custom' && rebalance.dates.length > 0)
    return [reportUnreadDates(path, rebalance.frequency)];
  return [
    ...listMissingFields(rebalance, path),
    ...reportUnreadParameters(RebalanceSpec, rebalance, path).filter(({ value }) => value !== undefined),
    ...listDateRules(rebalance).flatMap(([name, rule]) => reportRule(rule, formatPath(path, [name]))),
    ...reportUnreadNotice(rebalance, path),
    ...(rebalance.phase === undefined ? [] : reportFractions(rebalance.phase, formatPath(path, ['phase']))),
  ];
}

/** Members of a cadence that determine a date by a rule. */
const DATED_MEMBERS = ['reference', 'announcement', 'pricing_date'] as const;

function listDateRules(rebalance: RebalanceSpec): [(typeof DATED_MEMBERS)[number], DateRule][] {
  return DATED_MEMBERS.flatMap((name): [(typeof DATED_MEMBERS)[number], DateRule][] => {
    const { [name]: rule } = rebalance;
    return rule === undefined ? [] : [[name, rule]];
  });
}

function reportRule(rule: DateRule, path: string): Finding[] {
  const absentParameters = RULE_PARAMETERS[rule.rule].filter((name) => rule[name] === undefined);
  return [
    ...absentParameters.map((name) => reportMissing(path, name, `The rule ${rule.rule}`)),
    ...reportUnreadParameters(DateRule, rule, path).filter(({ value }) => value !== undefined),
  ];
}

/** Reports a notice in sessions that has no effect because the cadence has a reference date. */
function reportUnreadNotice({ effective_lag: lag, reference }: RebalanceSpec, path: string): Finding[] {
  if (reference === undefined || lag === 0) return [];
  const field = formatPath(path, ['effective_lag']);
  const message = `${field} has no effect if ${formatPath(path, ['reference'])} gives the reference date.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', message, path: field, value: lag }];
}

function reportFractions({ sessions, fractions }: PhaseSpec, path: string): Finding[] {
  const presentCount = [sessions, fractions].filter((value) => value !== undefined).length;
  if (presentCount !== 1) {
    const message = `${path} must have either sessions or fractions, but it has ${presentCount === 0 ? 'neither' : 'both'}.`;
    return [{ severity: 'error', code: 'MISSING_PARAMETER', message, path }];
  }
  const sum = (fractions ?? [1]).reduce((total, fraction) => total + fraction, 0);
  if (Math.abs(sum - 1) <= FRACTIONS_TOLERANCE) return [];
  const field = formatPath(path, ['fractions']);
  const message = `The sum of ${field} is ${formatNumber(sum)}; it must be 1.`;
  return [{ severity: 'error', code: 'WEIGHTS_NOT_ONE', message, path: field, value: sum }];
}

function listMissingFields(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency === 'custom' && rebalance.dates.length === 0)
    return [reportMissing(path, 'dates', 'The frequency custom')];
  if (!isAnchored(rebalance.frequency)) return [];
  return ANCHOR_PARAMETERS[rebalance.anchor]
    .filter((name) => (rebalance[name] ?? null) === null)
    .map((name) => reportMissing(path, name, `The anchor ${rebalance.anchor}`));
}

function reportUnreadDates(path: string, frequency: string): Finding {
  const field = formatPath(path, ['frequency']);
  const message = `${formatPath(path, ['dates'])} applies only to the frequency custom, but ${field} is ${frequency}.`;
  return { severity: 'error', code: 'NOT_IN_CHOICES', message, path: field, accepted: ['custom'], value: frequency };
}

function reportMissing(path: string, name: string, subject: string): Finding {
  const field = formatPath(path, [name]);
  return { severity: 'error', code: 'MISSING_PARAMETER', message: `${subject} needs ${field}.`, path: field };
}

const RESERVE_MAX = 1_000;

/** Maximum rank, larger than any universe. */
const RANK_MAX = 20_000;

const rankSchema = z.int().min(1).max(RANK_MAX);
const fieldSchema = z.string().min(1).max(64).default('FREE_FLOAT_MARKET_CAP');

export const FastEntrySpec = defineObject(() => ({
  rank: rankSchema.meta({ label: 'Rank', help: 'A new security enters if it ranks at or above this rank.' }),
  field: fieldSchema.meta({
    label: 'Ranked by',
    help: 'Datapoint by which constituents and candidates are ranked, largest first.',
  }),
  after_sessions: z.int().min(0).max(250).default(1).meta({
    label: 'After',
    help: 'A new security is ranked at the close of this number of sessions after its first price.',
    unit: 'sessions',
  }),
})).meta({ id: 'FastEntrySpec' });

export const FastExitSpec = defineObject(() => ({
  rank: rankSchema.meta({ label: 'Rank', help: 'A constituent leaves if it ranks below this rank.' }),
  field: fieldSchema.meta({
    label: 'Ranked by',
    help: 'Datapoint by which constituents and candidates are ranked, largest first.',
  }),
  schedule: RebalanceSpec.prefault({ frequency: 'monthly' }).meta({
    label: 'Schedule',
    help: 'Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly.',
  }),
})).meta({ id: 'FastExitSpec' });

/** Changes of an index between its reviews. */
export const EventsSpec = defineObject(() => ({
  share_changes: z.enum(['review', 'effective']).default('review').meta({
    label: 'Share and float changes',
    help: 'Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value.',
  }),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .meta({
      label: 'Threshold',
      help: 'Smallest change that is applied between reviews, relative to the counts that were adopted last.',
      unit: 'fraction',
      when: [{ share_changes: ['effective'] }],
    }),
  replacement: z.enum(['none', 'next_ranked', 'reserve']).default('none').meta({
    label: 'Replacement',
    help: 'Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve).',
  }),
  reserve: z
    .array(AssetIdentifier)
    .min(1)
    .max(RESERVE_MAX)
    .optional()
    .meta({
      label: 'Reserve',
      help: 'Identifiers, in the order in which they enter.',
      when: [{ replacement: ['reserve'] }],
    }),
  fast_entry: FastEntrySpec.optional().meta({
    label: 'Fast entry',
    help: 'New securities can enter between reviews. Each of them replaces the lowest-ranked constituent.',
  }),
  fast_exit: FastExitSpec.optional().meta({
    label: 'Fast exit',
    help: 'Constituents can leave between reviews. The best-ranked security outside the index replaces each of them.',
  }),
  acquirer: z.enum(['convert', 'remove']).default('convert').meta({
    label: 'Acquirer outside the universe',
    help: 'A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove).',
  }),
})).meta({ id: 'EventsSpec' });
export type EventsSpec = z.infer<typeof EventsSpec>;

/** Returns true if constituents of an index may change between reviews for reasons other than corporate actions. */
export function changesMembers(events: EventsSpec | undefined): events is EventsSpec {
  if (events === undefined) return false;
  return events.replacement !== 'none' || events.fast_entry !== undefined || events.fast_exit !== undefined;
}

import type { Calendar } from '../calendars/calendar.js';
import { findWeekdayOnOrAfter, findWeekdayOnOrBefore } from '../calendars/date-rule.js';
import { findLastAtMost } from '../numbers/search.js';
import { addMonths, toCivilDate, toDay, countDaysInMonth, type Day } from '../time/days.js';
import type { DateRule } from './date-rule-spec.js';
import type { RebalanceSpec } from './rebalance-spec.js';

const DAYS_PER_WEEK = 7;

/** Effective date, and the index of its session in the calendar. */
export interface EffectiveDate {
  readonly date: Day;
  readonly position: number;
}

/** Members of a cadence that determine its dates by rules. */
export type DateRules = Pick<RebalanceSpec, 'effective_lag' | 'reference' | 'announcement' | 'pricing_date'>;

/** Indices of the sessions of a review in the calendar. Undefined before the start of the calendar. */
export interface ReviewPositions {
  /** Last session whose data selection and weighting use. */
  readonly reference: number | undefined;
  readonly announcement: number | undefined;
  /** Session whose closes convert weights into index shares. */
  readonly pricing: number | undefined;
}

/** Returns the sessions that the rules of a cadence give for an effective date. They may be out of order. */
export function findReviewPositions(rules: DateRules, effective: EffectiveDate, calendar: Calendar): ReviewPositions {
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
  const result =
    rule.rule === 'sessions_before'
      ? position - requireMember(rule, 'sessions')
      : findLastAtMost(calendar.sessions, findRuleDay(rule, date));
  return result < 0 ? undefined : result;
}

function findRuleDay(rule: DateRule, date: Day): Day {
  if (rule.rule === 'weekday_before')
    return findWeekdayOnOrBefore(date - DAYS_PER_WEEK * requireMember(rule, 'weeks'), requireMember(rule, 'weekday'));
  const before = rule.months_before ?? (rule.rule === 'last_session' ? 1 : 0);
  const { year, month } = toCivilDate(addMonths(date, -before));
  const first = toDay({ year, month, day: 1 });
  const last = first + countDaysInMonth(year, month) - 1;
  if (rule.rule === 'day_of_month') return Math.min(first + requireMember(rule, 'day') - 1, last);
  if (rule.rule !== 'nth_weekday') return last;
  const [nth, weekday] = [requireMember(rule, 'nth'), requireMember(rule, 'weekday')];
  return nth === LAST_OF_MONTH
    ? findWeekdayOnOrBefore(last, weekday)
    : findWeekdayOnOrAfter(first, weekday) + DAYS_PER_WEEK * (nth - 1);
}

const LAST_OF_MONTH = 5;

/** Maximum number of sessions in a month and in a week. Some markets trade every day. */
const MONTH_SESSIONS = 31;
const WEEK_SESSIONS = 7;

/**
 * Returns the largest number of sessions from the reference date of a rebalance to its session. For rules in weeks and
 * months it is an upper bound.
 */
export function countNoticeSessions({ effective_lag: lag, reference }: DateRules): number {
  if (reference === undefined) return lag;
  const { rule, sessions = 0, weeks = 0, months_before: months = 1 } = reference;
  if (rule === 'sessions_before') return sessions;
  return rule === 'weekday_before' ? (weeks + 2) * WEEK_SESSIONS : (months + 2) * MONTH_SESSIONS;
}

/** Returns a required parameter of a rule. Every rule of a validated document has its required parameters. */
function requireMember(rule: DateRule, name: 'sessions' | 'weeks' | 'weekday' | 'day' | 'nth'): number {
  const { [name]: value } = rule;
  if (value === undefined) throw new Error(`the rule ${rule.rule} needs ${name}`);
  return value;
}

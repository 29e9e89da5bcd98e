import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Rules for a date of a rebalance relative to its effective date. */
export const DATE_RULES = ['sessions_before', 'last_session', 'nth_weekday', 'day_of_month', 'weekday_before'] as const;

/** Maximum notice in sessions: a year. */
const SESSIONS_BEFORE_MAX = 260;

const MONTHLY = ['last_session', 'nth_weekday', 'day_of_month'];

/** Date of a rebalance by a rule. A day that is not a session is replaced by the previous session. */
export const DateRule = defineObject(() => ({
  rule: z.enum(DATE_RULES).meta({
    label: 'Rule',
    help: 'Date rule: a number of sessions before the effective date; the last session, a weekday or a day of the month of the effective date or an earlier month; or the last such weekday at least some weeks before. A day that is not a session moves to the previous session.',
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
})).meta({ id: 'DateRule' });
export type DateRule = z.infer<typeof DateRule>;

/** Required parameters of each rule. */
export const RULE_PARAMETERS: Readonly<
  Record<DateRule['rule'], readonly ('sessions' | 'nth' | 'weekday' | 'day' | 'weeks')[]>
> = {
  sessions_before: ['sessions'],
  last_session: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
  weekday_before: ['weekday', 'weeks'],
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

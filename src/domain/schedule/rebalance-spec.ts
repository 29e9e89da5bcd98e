import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';
import { DateRule, PhaseSpec } from './date-rule-spec.js';

/** Frequencies in months, which have an anchor. */
export const ANCHORED = ['monthly', 'quarterly', 'semi_annual', 'annual'] as const;

/** Schedule of the rebalances of an index. */
export const RebalanceSpec = defineObject(() => ({
  frequency: z
    .enum(['none', 'daily', 'weekly', ...ANCHORED, 'custom'])
    .default('quarterly')
    .meta({ label: 'Frequency', help: 'Frequency of rebalances.' }),
  anchor: z
    .enum(['first_session', 'last_session', 'third_friday', 'nth_weekday', 'day_of_month'])
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

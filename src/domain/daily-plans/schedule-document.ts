import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { Id, IsoDate } from '../schema/shape.js';
import { LOCAL_TIME_PATTERN } from '../time/local-time.js';
import { Step } from './step-catalogue.js';

/** Maximum number of indices of a plan, equal to the maximum per request. */
export const PLAN_INDICES_MAX = 500;
const STEPS_MAX = 32;
/** Maximum number of sessions to catch up: a year. */
const CATCH_UP_MAX = 260;

const LocalTime = z.string().regex(LOCAL_TIME_PATTERN, { error: 'must be a time of day, HH:MM, such as 18:30' });

/** Daily plan of an index family as written by a client. */
export const ScheduleBody = defineObject(() => ({
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  enabled: z.boolean().default(true).meta({ description: 'True if days start automatically.' }),
  indices: z
    .array(Id)
    .min(1)
    .max(PLAN_INDICES_MAX)
    .meta({
      description: 'Indices of the family, in any order. Parents are computed before the indices that depend on them.',
      example: ['LARGE-100', 'EQUAL-100'],
    }),
  calendar: z
    .string()
    .min(1)
    .max(32)
    .meta({ description: 'Exchange whose sessions are the days of the schedule.', example: 'XNYS' }),
  at: LocalTime.meta({ description: 'Local time at which the day of a session starts.', example: '18:30' }),
  day_offset: z.int().min(0).max(7).default(0).meta({
    description: 'Number of days after the session. With 1, the day starts on the next calendar day.',
  }),
  time_zone: z.string().min(1).max(64).nullable().default(null).meta({
    description: 'Time zone of the IANA database. Default: the time zone of the calendar.',
  }),
  deadline_minutes: z.int().min(1).max(10_080).nullable().default(null).meta({
    description:
      'Number of minutes from the start to the deadline of a day. A day that ends after its deadline is late.',
  }),
  retry_minutes: z.int().min(1).max(1440).default(10).meta({
    description: 'Minutes until the next attempt of a day that is waiting or blocked.',
  }),
  starts_on: IsoDate.optional().meta({
    description: 'First session. Default: the session of the day on which the schedule is stored, or the next session.',
  }),
  catch_up: z.int().min(0).max(CATCH_UP_MAX).default(20).meta({
    description: 'Number of sessions that are performed after an outage. Earlier sessions are recorded as missed.',
  }),
  keep_files_days: z.int().min(1).max(36_500).nullable().default(400).meta({
    description:
      'Number of days after the end of a day for which the service keeps its files; null keeps them permanently.',
  }),
  on_failure: z.enum(['continue', 'stop']).default('continue').meta({
    description:
      'Effect of a failed or blocked index: the index and the indices that depend on it are held back (continue), or the whole family is held back (stop).',
  }),
  steps: z.array(Step).min(1).max(STEPS_MAX).meta({ description: 'Steps of a day, in order.' }),
})).meta({ id: 'ScheduleBody' });
export type ScheduleBody = z.infer<typeof ScheduleBody>;

/** Daily plan as it is stored; its id is the key of the document. */
export const ScheduleDocument = ScheduleBody.omit({ starts_on: true })
  .extend({
    starts_on: IsoDate.meta({ description: 'First session.' }),
  })
  .meta({ id: 'ScheduleDocument' });
export type ScheduleDocument = z.infer<typeof ScheduleDocument>;

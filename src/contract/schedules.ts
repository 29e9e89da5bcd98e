import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { CHECK_CATALOGUE, CHECK_NAMES, Judgement } from '#domain/definition/daily-plan-checks.js';
import {
  ScheduleBody,
  ScheduleDay,
  ScheduleDaySummary,
  ScheduleDocument,
  STEP_CATALOGUE,
  STEP_TYPES,
} from '#domain/outputs/daily-plans.js';
import { LIMITS } from '#domain/base/limits.js';
import { DeliveriesPayload } from './clients.js';
import { listingQuery, purgeQuery, skippedFields } from './payloads.js';
import { defineDocumentRoutes } from './route.js';

/** Maximum length of the reason for a decision: about one paragraph, in characters. */
const REASON_LENGTH_MAX = 2000;
const DAYS_LISTED_MAX = 500;
const DAYS_WITH_SCHEDULE_MAX = 60;

export const Schedule = defineObject(() => ({
  ...ScheduleDocument.shape,
  schedule_id: z.string(),
  updated_at: z.string(),
})).meta({ id: 'Schedule' });
export type Schedule = z.infer<typeof Schedule>;

export const ScheduleDays = defineObject(() => ({
  days: z.array(ScheduleDaySummary).meta({ description: 'Newest first.' }),
  next: z
    .strictObject({
      date: z.string().meta({ description: 'Session.' }),
      due_at: z.string().meta({ description: 'Time at which the day starts.' }),
    })
    .nullable()
    .meta({ description: 'Next day of the schedule; null for a disabled schedule, and at the end of the calendar.' }),
})).meta({ id: 'ScheduleDays' });

export const ListedSchedule = defineObject(() => ({
  ...Schedule.shape,
  latest: ScheduleDays.nullable().meta({
    description: 'Latest days of the schedule and its next day; null without `days`.',
  }),
})).meta({ id: 'ListedSchedule' });
export type ListedSchedule = z.infer<typeof ListedSchedule>;

export const ScheduleCollection = defineObject(() => ({
  schedules: z.array(ListedSchedule).meta({ description: 'Schedules by id.' }),
  ...skippedFields,
})).meta({ id: 'ScheduleCollection' });
export type ScheduleCollection = z.infer<typeof ScheduleCollection>;

const Reason = z.string().min(1).max(REASON_LENGTH_MAX);
const OptionalReason = Reason.nullable()
  .default(null)
  .meta({ description: 'Reason, which the register of decisions records.' });

const DayRun = defineObject(() => ({
  again: z
    .array(z.enum(STEP_TYPES))
    .default([])
    .meta({
      description: 'Steps whose results are discarded first. Their files are written again.',
      example: ['export'],
    }),
  reason: OptionalReason,
})).meta({ id: 'DayRun' });

const DaySkip = defineObject(() => ({
  reason: Reason.meta({ description: 'Reason, which the register of decisions records.' }),
})).meta({ id: 'DaySkip' });

const DayWaiver = defineObject(() => ({
  check: z.enum(CHECK_NAMES).meta({ description: 'Check whose findings are accepted.' }),
  index_id: Id.nullable().default(null).meta({
    description:
      'Index of the waiver, which also covers the indices that depend on it. Default: every index of the schedule.',
  }),
  identifier: z.string().min(1).max(64).nullable().default(null).meta({
    description: 'Security or series of the finding. Default: every finding of the check.',
  }),
  reason: Reason.meta({ description: 'Reason, which the register of decisions records.' }),
})).meta({ id: 'DayWaiver' });

const DayBackfill = defineObject(() => ({
  start: IsoDate.meta({ description: 'First session.' }),
  end: IsoDate.meta({ description: 'Last session.' }),
  reason: OptionalReason,
})).meta({ id: 'DayBackfill' });

const BackfilledDays = defineObject(() => ({
  dates: z.array(z.string()).meta({ description: 'Sessions whose days are performed.' }),
})).meta({ id: 'BackfilledDays' });

export const Judgements = defineObject(() => ({
  judgements: z.array(Judgement).meta({ description: 'Newest first.' }),
})).meta({ id: 'Judgements' });

const params = defineObject(() => ({ schedule_id: Id.meta({ description: 'Id of the schedule.' }) }));
const dayParams = defineObject(() => ({ ...params.shape, date: IsoDate.meta({ description: 'Session.' }) }));
const example = {
  name: 'Large caps, New York close',
  enabled: false,
  indices: ['LARGE-100'],
  calendar: 'XNYS',
  at: '18:30',
  starts_on: '2024-12-31',
  steps: [
    { type: 'run' },
    { type: 'publish' },
    { type: 'export', files: [{ table: 'closing', name: '{index}_{date:YYYYMMDD}_closing.csv' }] },
  ],
};
const steps = Object.entries(STEP_CATALOGUE).map(
  ([type, { help, scope }]) => `- \`${type}\` (scope \`${scope}\`): ${help}`,
);

const checkDescriptions = Object.entries(CHECK_CATALOGUE).map(([name, { help }]) => `- \`${name}\`: ${help}`);

export const scheduleRoutes = defineDocumentRoutes('schedules', {
  listSchedules: {
    method: 'GET',
    path: '/schedules',
    scope: 'read',
    summary: 'Every schedule.',
    query: defineObject(() => ({
      ...listingQuery.shape,
      days: z
        .int()
        .min(0)
        .max(DAYS_WITH_SCHEDULE_MAX)
        .default(0)
        .meta({ description: 'Number of latest days of each schedule in the response.' }),
    })),
    success: { status: 200, description: 'Schedules by id.', schema: ScheduleCollection },
  },
  getSchedulePlan: {
    method: 'GET',
    path: '/schedules/{schedule_id}',
    call: 'schedules.get',
    scope: 'read',
    summary: 'One schedule.',
    params,
    success: { status: 200, description: 'The schedule.', schema: Schedule },
    errors: ['SCHEDULE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putSchedule: {
    method: 'PUT',
    path: '/schedules/{schedule_id}',
    scope: 'write',
    summary: 'Creates or replaces the daily plan of an index family.',
    description: `The service performs the steps of each session at the time of the schedule. Parents are computed and published before the indices that depend on them. After a failure or a restart, every step is repeated and performs only the remaining work. A key needs the scopes of all steps.\n\n${steps.join('\n')}\n\nChecks:\n\n${checkDescriptions.join('\n')}`,
    versioned: true,
    params,
    body: { schema: ScheduleBody, example },
    success: { status: 200, description: 'The schedule as stored.', schema: Schedule },
    errors: ['PRECONDITION_FAILED', 'VALIDATION_FAILED'],
  },
  deleteSchedule: {
    method: 'DELETE',
    path: '/schedules/{schedule_id}',
    call: 'schedules.remove',
    scope: 'write',
    summary: 'Deletes a schedule. Its days and decisions are kept.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['SCHEDULE_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
  listScheduleDays: {
    method: 'GET',
    path: '/schedules/{schedule_id}/days',
    call: 'days.list',
    scope: 'read',
    summary: 'Lists the days of a schedule, and returns the start of the next day.',
    params,
    query: defineObject(() => ({
      limit: z.int().min(1).max(DAYS_LISTED_MAX).default(20).meta({ description: 'Maximum number of entries.' }),
      before: IsoDate.optional().meta({ description: 'Only days before this day.' }),
    })),
    success: { status: 200, description: 'Days, newest first.', schema: ScheduleDays },
    errors: ['SCHEDULE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  getScheduleDay: {
    method: 'GET',
    path: '/schedules/{schedule_id}/days/{date}',
    scope: 'read',
    summary: 'Returns a day of a schedule: each step with its results, log and duration.',
    description: 'With `wait`, the response is sent when no step is running, or after this time.',
    params: dayParams,
    query: defineObject(() => ({
      wait: z
        .int()
        .min(0)
        .max(LIMITS.MAX_WAIT_SECONDS)
        .default(0)
        .meta({ description: 'Maximum time to wait, in seconds.' }),
    })),
    success: { status: 200, description: 'The day.', schema: ScheduleDay },
    errors: ['SCHEDULE_NOT_FOUND', 'DAY_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  getScheduleFile: {
    method: 'GET',
    path: '/schedules/{schedule_id}/days/{date}/files/{file_name}',
    scope: 'read',
    summary: 'Returns a file that a step of the day has written.',
    params: defineObject(() => ({
      ...dayParams.shape,
      file_name: z.string().min(1).max(200).meta({ description: 'Name of the file.' }),
    })),
    success: { status: 200, description: 'The file.', media: ['application/octet-stream'] },
    errors: ['SCHEDULE_NOT_FOUND', 'DAY_NOT_FOUND', 'FILE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  listDayDeliveries: {
    method: 'GET',
    path: '/schedules/{schedule_id}/days/{date}/deliveries',
    scope: 'read',
    summary: 'Lists the files of the day by client and target, with the log of attempts.',
    params: dayParams,
    success: { status: 200, description: 'Clients by id.', schema: DeliveriesPayload },
    errors: ['SCHEDULE_NOT_FOUND', 'DAY_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  runScheduleDay: {
    method: 'POST',
    path: '/schedules/{schedule_id}/days/{date}/run',
    call: 'days.run',
    scope: 'run',
    summary: 'Performs a day at once, with the current schedule.',
    description:
      'A day that is waiting, blocked, skipped or missed is resumed. A day that is done performs only missing work. A running day is performed again after its current attempt.',
    versioned: true,
    params: dayParams,
    body: { schema: DayRun, optional: true, example: { again: ['export'] } },
    success: { status: 200, description: 'The day after the change.', schema: ScheduleDay },
    errors: ['SCHEDULE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'VALIDATION_FAILED'],
  },
  waiveScheduleCheck: {
    method: 'POST',
    path: '/schedules/{schedule_id}/days/{date}/waivers',
    call: 'days.waive',
    scope: 'publish',
    summary: 'Accepts findings of a check on a day, with a reason, and resumes the day at once.',
    description:
      'A waiver applies to one day and one check. With `index_id` and `identifier`, it applies to one index and one security. The finding stays visible with the waiver, and the log of the step states who accepted the finding. Findings that the checks of the day did not report are refused.',
    versioned: true,
    params: dayParams,
    body: { schema: DayWaiver, example: { check: 'moves', identifier: 'BEDV', reason: 'Results were published.' } },
    success: { status: 200, description: 'The day after the change.', schema: ScheduleDay },
    errors: [
      'APPROVAL_REQUIRED',
      'SCHEDULE_NOT_FOUND',
      'DAY_NOT_FOUND',
      'DAY_ENDED',
      'DOCUMENT_UNREADABLE',
      'VALIDATION_FAILED',
    ],
  },
  skipScheduleDay: {
    method: 'POST',
    path: '/schedules/{schedule_id}/days/{date}/skip',
    scope: 'run',
    summary: 'Ends an unfinished day, with a reason.',
    description: 'Published closes and delivered files are kept. The next day publishes closes that are still missing.',
    versioned: true,
    params: dayParams,
    body: { schema: DaySkip, example: { reason: 'No prices from the vendor; the exchange was closed.' } },
    success: { status: 200, description: 'The day after the change.', schema: ScheduleDay },
    errors: ['SCHEDULE_NOT_FOUND', 'DAY_NOT_FOUND', 'DAY_ENDED', 'DOCUMENT_UNREADABLE'],
  },
  backfillSchedule: {
    method: 'POST',
    path: '/schedules/{schedule_id}/backfill',
    call: 'days.backfill',
    scope: 'run',
    summary: 'Performs the days of a range of sessions, oldest first.',
    description: 'Days that are done are not changed.',
    versioned: true,
    params,
    body: { schema: DayBackfill, example: { start: '2025-01-02', end: '2025-01-02' } },
    success: { status: 200, description: 'The sessions.', schema: BackfilledDays },
    errors: ['SCHEDULE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'VALIDATION_FAILED', 'INVALID_RANGE'],
  },
  listJudgements: {
    method: 'GET',
    path: '/schedules/{schedule_id}/judgements',
    scope: 'read',
    summary: 'Lists the register of the decisions about the days of a schedule, with their reasons.',
    params,
    query: defineObject(() => ({
      limit: z.int().min(1).max(1000).default(100).meta({ description: 'Maximum number of entries.' }),
    })),
    success: { status: 200, description: 'Decisions, newest first.', schema: Judgements },
    errors: ['SCHEDULE_NOT_FOUND'],
  },
});

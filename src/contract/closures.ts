import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ClosuresDocument, SessionChange } from '#domain/calendars/closures.js';
import { purgeQuery } from './common.js';
import { defineRoutes } from './route.js';

const dates = z.array(z.string());

export const ClosuresBody = defineObject(() => ({
  ...ClosuresDocument.shape,
  dry_run: z.boolean().default(false).meta({ description: 'True lists the changes without storing them.' }),
})).meta({ id: 'ClosuresBody' });
export type ClosuresBody = z.infer<typeof ClosuresBody>;

const MovedDate = defineObject(() => ({
  date: z.string().meta({ description: 'Effective date.' }),
  announcement: z.string().meta({
    description: 'Session on which the closure was announced; the date of the closure if there was no notice.',
  }),
})).meta({ id: 'MovedDate' });

export const ClosureEffect = defineObject(() => ({
  added: dates.meta({ description: 'Dates that become sessions.' }),
  removed: dates.meta({ description: 'Sessions that are lost.' }),
  hours: dates.meta({ description: 'Sessions whose hours change.' }),
  indices: z
    .array(
      z.strictObject({
        index_id: z.string(),
        stale: z.array(z.string()).meta({
          description: 'Reasons why the latest run becomes stale. Empty if it remains current, or if there is no run.',
        }),
        before: z.array(MovedDate).meta({ description: 'Rebalances and reviews that move or are lost.' }),
        after: z.array(MovedDate).meta({ description: 'New dates of these rebalances and reviews.' }),
        published: dates.meta({ description: 'Published closes on lost sessions. They are kept.' }),
        unpublished: dates.meta({ description: 'Added sessions before the last published close.' }),
      }),
    )
    .meta({ description: 'Indices on the calendar, and other indices with a run that becomes stale.' }),
  schedules: z
    .array(
      z.strictObject({
        schedule_id: z.string(),
        ended: dates.meta({
          description:
            'Unfinished days on lost sessions. These days end. Days that are done, skipped or missed are not changed.',
        }),
        missing: dates.meta({
          description: 'Added sessions in the past without a day. A backfill can perform them.',
        }),
      }),
    )
    .meta({ description: 'Schedules on the calendar with such days.' }),
})).meta({ id: 'ClosureEffect', description: 'Effect of recorded changes.' });
export type ClosureEffect = z.infer<typeof ClosureEffect>;

export const CalendarClosures = defineObject(() => ({
  calendar: z.string().meta({ description: 'Code of the calendar.', example: 'XNYS' }),
  name: z.string().meta({ description: 'Name of the exchange.' }),
  version: z.int().min(0).meta({ description: 'Newest version of the changes; 0 if none were ever recorded.' }),
  updated_at: z.string().nullable().meta({ description: 'Time of the last write.' }),
  changes: z.array(SessionChange).meta({ description: 'Recorded changes by date.' }),
})).meta({ id: 'CalendarClosures' });
export type CalendarClosures = z.infer<typeof CalendarClosures>;

export const RecordedCalendarClosures = defineObject(() => ({
  ...CalendarClosures.shape,
  dry_run: z.boolean().meta({ description: 'True if nothing was stored.' }),
  effect: ClosureEffect,
})).meta({ id: 'RecordedCalendarClosures' });
export type RecordedCalendarClosures = z.infer<typeof RecordedCalendarClosures>;

const params = defineObject(() => ({
  calendar_code: z
    .string()
    .min(1)
    .max(64)
    .meta({ description: 'Code of the calendar, with a dash in place of a slash (`24-5`, `24-7`).', example: 'XNYS' }),
}));
const tag = 'calendars';

/** Path and texts of the version routes for the recorded changes of a calendar. */
export const closuresFamily = {
  path: '/calendars/{calendar_code}/closures',
  params: params.shape,
  tag,
  word: 'calendar',
  scope: 'data',
  missing: 'CALENDAR_NOT_FOUND',
  saved: CalendarClosures,
  errors: ['VALIDATION_FAILED'],
} as const;

export const closureRoutes = defineRoutes({
  listClosures: {
    method: 'GET',
    path: '/calendars',
    scope: 'read',
    tag,
    withoutMarket: true,
    summary: 'Lists the calendars with recorded changes.',
    success: {
      status: 200,
      description: 'Calendars by code.',
      schema: defineObject(() => ({
        calendars: z.array(CalendarClosures).meta({ description: 'Calendars by code.' }),
      })).meta({ id: 'CalendarClosuresCollection' }),
    },
    errors: [],
  },
  getClosures: {
    method: 'GET',
    path: '/calendars/{calendar_code}/closures',
    scope: 'read',
    tag,
    withoutMarket: true,
    summary:
      'Returns the recorded changes of a calendar: unscheduled closures, half days, late openings, additional sessions.',
    params,
    success: { status: 200, description: 'The changes.', schema: CalendarClosures },
    errors: ['CALENDAR_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putClosures: {
    method: 'PUT',
    path: '/calendars/{calendar_code}/closures',
    scope: 'data',
    tag,
    withoutMarket: true,
    summary: 'Records the changes of a calendar. They replace all changes recorded before.',
    description:
      'With `dry_run`, nothing is stored, and the response lists the effects on sessions, rebalances, indices, published closes and days of schedules. Runs, previews, schedules and derivatives use the changes at once. An earlier run becomes stale if a session on or before its end changes, or a rebalance that was decided by then; its numbers do not change. A published close is kept. Publish with an error policy to treat its difference. Codes with the same trading days have separate changes.',
    versioned: true,
    params,
    body: {
      schema: ClosuresBody,
      example: {
        changes: [{ date: '2025-02-14', session: 'closed', reason: 'Storm; notice of the exchange.' }],
      },
    },
    success: { status: 200, description: 'The changes and their effect.', schema: RecordedCalendarClosures },
    errors: ['CALENDAR_NOT_FOUND', 'PRECONDITION_FAILED', 'VALIDATION_FAILED', 'DOCUMENT_UNREADABLE'],
  },
  deleteClosures: {
    method: 'DELETE',
    path: '/calendars/{calendar_code}/closures',
    scope: 'data',
    tag,
    withoutMarket: true,
    summary: 'Deletes the recorded changes of a calendar. Afterwards only its rules apply.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['CALENDAR_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});

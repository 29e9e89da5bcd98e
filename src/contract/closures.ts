import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ClosuresDocument, SessionChange } from '#domain/calendars/closures.js';
import { purgeQuery } from './common.js';
import { defineRoutes } from './route.js';

const dates = z.array(z.string());

export const ClosuresBody = defineObject(() => ({
  ...ClosuresDocument.shape,
  dry_run: z.boolean().default(false).meta({ description: 'True: only list the changes, without storing them.' }),
})).meta({ id: 'ClosuresBody' });
export type ClosuresBody = z.infer<typeof ClosuresBody>;

const MovedDate = defineObject(() => ({
  date: z.string().meta({ description: 'Effective date.' }),
  announcement: z.string().meta({ description: 'Session of its announcement; the date itself without a notice.' }),
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
          description: 'Reasons for which its latest run becomes stale; empty if it stays current or there is none.',
        }),
        before: z.array(MovedDate).meta({ description: 'Rebalances and reviews that move or are lost.' }),
        after: z.array(MovedDate).meta({ description: 'New dates of these rebalances and reviews.' }),
        published: dates.meta({ description: 'Published closes on lost sessions, which are kept.' }),
        unpublished: dates.meta({ description: 'Added sessions before the last published close.' }),
      }),
    )
    .meta({ description: 'Indices on the calendar, and other indices whose runs become stale.' }),
  schedules: z
    .array(
      z.strictObject({
        schedule_id: z.string(),
        ended: dates.meta({
          description:
            'Unfinished days of lost sessions, which end. Days that are done, skipped or missed are not changed.',
        }),
        missing: dates.meta({
          description: 'Added sessions in the past without a day, which can be performed by a backfill.',
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

/** Path and texts of the version routes of a calendar's recorded changes. */
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
    summary: 'Calendars with recorded changes.',
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
    summary: 'Recorded changes of a calendar: unscheduled closures, half days, late openings, additional sessions.',
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
      'With `dry_run` nothing is stored and the answer lists what would change: sessions, rebalances, indices, published closes and days of schedules. Runs, previews, schedules and derivatives use the changes at once. Runs made before become stale if a session up to their end, or a rebalance decided by then, changes; their numbers stay. A published close stays; publish with an error policy to decide about its difference. A code that trades on the days of another one has separate changes.',
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
    summary: 'Deletes the recorded changes of a calendar: only its rules apply.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['CALENDAR_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});

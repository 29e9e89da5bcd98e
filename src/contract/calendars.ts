import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { ClosuresDocument, SessionChange } from '#domain/calendars/calendar.js';
import { BREACH_RULE_NAMES } from '#domain/definition/compliance.js';
import { EVENT_KINDS, type EventKind, REBALANCE_CAUSES } from '#domain/definition/index-schedule.js';
import { purgeQuery, skippedFields } from './payloads.js';
import { CALENDAR_MEDIA, defineRoutes } from './route.js';

const CalendarOptionPayload = defineObject(() => ({
  code: z
    .string()
    .meta({ description: 'MIC of the exchange, which is the value of `calendar` in requests.', example: 'XNYS' }),
  name: z.string().meta({ description: 'Display name.', example: 'New York Stock Exchange' }),
  region: z.string().meta({ description: 'First part of the IANA time zone.', example: 'America' }),
  tz: z.string().meta({ description: 'IANA time zone.', example: 'America/New_York' }),
  coverage: z
    .strictObject({
      from: z.string().meta({ description: 'First day that the calendar covers.' }),
      published_to: z.string().meta({ description: 'Last day for which closures come from a published list.' }),
      to: z.string().meta({
        description: 'Last day of the calendar. After published_to, holidays are computed from their rules.',
      }),
    })
    .meta({
      id: 'CalendarCoverage',
      description: 'Days for which the calendar has sessions, as YYYY-MM-DD. Nothing is extrapolated beyond them.',
    }),
  sources: z
    .array(z.string())
    .meta({ description: 'Sources with which the sessions agree, except for the differences that README.md lists.' }),
})).meta({ id: 'CalendarOption' });

export const CalendarList = defineObject(() => ({
  calendars: z.array(CalendarOptionPayload).meta({ description: 'Every accepted code, sorted by code.' }),
  default: z
    .string()
    .meta({ description: 'Code that a form can preselect. A document must still contain a calendar.' }),
})).meta({ id: 'CalendarList' });
export type CalendarList = z.infer<typeof CalendarList>;

const SCHEDULE_LIMIT_MAX = 512;
const SCHEDULE_LIMIT_DEFAULT = 4;

export const ScheduleQuery = defineObject(() => ({
  asof: IsoDate.optional().meta({ description: 'Date of the search. Default: today (UTC).' }),
  as_of: IsoDate.optional().meta({ description: 'Alias of asof. If both are present, they must be equal.' }),
  limit: z.int().min(1).max(SCHEDULE_LIMIT_MAX).default(SCHEDULE_LIMIT_DEFAULT).meta({
    description:
      'Maximum number of recent dates, and of upcoming dates. Upcoming dates are also limited by the horizon.',
  }),
}));
export type ScheduleQuery = z.infer<typeof ScheduleQuery>;

export const ScheduleView = defineObject(() => ({
  index_id: z.string(),
  as_of: z.string().meta({ description: 'Date from which the response was computed.' }),
  calendar: z.string().meta({ description: 'Exchange MIC of the calendar.' }),
  frequency: z.string().meta({ description: 'Frequency of the rebalances of the index.' }),
  recent: z.array(z.string()).meta({ description: 'Effective dates on or before as_of, newest first.' }),
  upcoming: z
    .array(z.string())
    .meta({ description: 'Effective dates after as_of up to lookahead_end, soonest first.' }),
  lookahead_end: z
    .string()
    .meta({ description: '366 days after as_of, or the last session of the calendar if that is earlier.' }),
  announcements: z.record(z.string(), z.string()).optional().meta({
    description: 'Decision date of each effective date; only for an index with an effective lag.',
  }),
})).meta({
  id: 'ScheduleView',
  description:
    'Rebalances of an index around a date. They are computed on request and not stored. Dates are YYYY-MM-DD.',
});
export type ScheduleView = z.infer<typeof ScheduleView>;

export const calendarRoutes = defineRoutes('indices', {
  listCalendars: {
    method: 'GET',
    path: '/indices/calendars',
    call: 'calendarViews.list',
    scope: 'read',
    summary: 'Lists every exchange calendar that an index can use.',
    success: { status: 200, description: 'All calendars.', schema: CalendarList },
  },
  getSchedule: {
    method: 'GET',
    path: '/indices/{index_id}/schedule',
    call: 'calendarViews.schedule',
    scope: 'read',
    summary: 'Lists recent and upcoming rebalance dates of an index.',
    params: defineObject(() => ({ index_id: Id })),
    query: ScheduleQuery,
    success: { status: 200, description: 'The schedule around the date.', schema: ScheduleView },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

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

export const closureRoutes = defineRoutes(tag, {
  listClosures: {
    method: 'GET',
    path: '/calendars',
    scope: 'read',
    withoutMarket: true,
    summary: 'Lists the calendars with recorded changes.',
    success: {
      status: 200,
      description: 'Calendars by code.',
      schema: defineObject(() => ({
        calendars: z.array(CalendarClosures).meta({ description: 'Calendars by code.' }),
      })).meta({ id: 'CalendarClosuresCollection' }),
    },
  },
  getClosures: {
    method: 'GET',
    path: '/calendars/{calendar_code}/closures',
    call: 'closures.get',
    scope: 'read',
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
    withoutMarket: true,
    summary: 'Deletes the recorded changes of a calendar. Afterwards only its rules apply.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 204, description: 'Deleted.' },
    errors: ['CALENDAR_NOT_FOUND', 'PRECONDITION_FAILED'],
  },
});

const KINDS = Object.keys(EVENT_KINDS) as [EventKind, ...EventKind[]]; // Object.keys returns plain strings.
const kindMeanings = Object.entries(EVENT_KINDS)
  .map(([kind, meaning]) => `\`${kind}\`: ${meaning}`)
  .join('; ');

/** Maximum number of indices in a request. */
const IDS_MAX = 200;

export const EventsQuery = defineObject(() => ({
  from: IsoDate.optional().meta({ description: 'First day. Default: today (UTC).' }),
  to: IsoDate.optional().meta({
    description: 'Last day, at most ten years after the first. Default: 366 days after the first.',
  }),
  index_ids: z.array(Id).max(IDS_MAX).default([]).meta({ description: 'Index ids. Default: all indices.' }),
  kinds: z
    .array(z.enum(KINDS))
    .max(KINDS.length)
    .default([])
    .meta({ description: `Kinds of events. Default: all kinds. ${kindMeanings}.` }),
}));
export type EventsQuery = z.infer<typeof EventsQuery>;

export const EventsView = defineObject(() => ({
  from: z.string().meta({ description: 'First day.' }),
  to: z.string().meta({ description: 'Last day.' }),
  indices: z.int().meta({ description: 'Number of indices that the response covers.' }),
  events: z
    .array(
      z
        .strictObject({
          date: z.string(),
          kind: z.enum(KINDS).meta({ description: kindMeanings }),
          index_id: z
            .string()
            .nullable()
            .meta({ description: 'Index of the event; null for an event of an exchange.' }),
          calendar: z.string().meta({ description: 'Exchange MIC.' }),
          effective: z
            .string()
            .nullable()
            .meta({ description: 'Effective date of the rebalance; null for other events.' }),
          cause: z.enum(REBALANCE_CAUSES).nullable().meta({
            description:
              'Trigger of the rebalance: the schedule, or a breach in the newest run; null for other events.',
          }),
          rule: z.enum(BREACH_RULE_NAMES).nullable().meta({
            description:
              'The rule whose breach triggers the rebalance, CUSTOM for limits of the index itself; null for other events.',
          }),
          summary: z.string().meta({ description: 'Description of the event.' }),
        })
        .meta({ id: 'IndexEvent' }),
    )
    .meta({ description: 'The first 10,000 events, sorted by date, kind and index.' }),
  covered_from: z.string().nullable().meta({
    description:
      'First day covered by all calendars of the indices; earlier events are incomplete. Null without an index.',
  }),
  covered_to: z.string().nullable().meta({
    description:
      'Last day covered by all calendars of the indices; later events are incomplete. Null without an index.',
  }),
  events_total: z.int().meta({ description: 'Total number.' }),
  ...skippedFields,
})).meta({ id: 'EventsView' });
export type EventsView = z.infer<typeof EventsView>;

export const eventRoutes = defineRoutes('indices', {
  listEvents: {
    method: 'GET',
    path: '/events',
    scope: 'read',
    summary: 'Lists the events of all indices: announcements, effective dates, expiries, holidays and early closes.',
    description:
      'With `format=ics` or `Accept: text/calendar`, the response is a calendar file (RFC 5545), which calendar programs can subscribe to. Holidays, early closes and expiries come from the calendars of the indices.',
    query: EventsQuery,
    success: { status: 200, description: 'The events.', schema: EventsView, media: [CALENDAR_MEDIA] },
    errors: ['INVALID_RANGE', 'INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

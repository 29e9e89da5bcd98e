import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { defineRoutes } from './route.js';

export const CalendarOption = defineObject(() => ({
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
  calendars: z.array(CalendarOption).meta({ description: 'Every accepted code, sorted by code.' }),
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

export const calendarRoutes = defineRoutes({
  listCalendars: {
    method: 'GET',
    path: '/indices/calendars',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists every exchange calendar that an index can use.',
    success: { status: 200, description: 'All calendars.', schema: CalendarList },
    errors: [],
  },
  getSchedule: {
    method: 'GET',
    path: '/indices/{index_id}/schedule',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists recent and upcoming rebalance dates of an index.',
    params: defineObject(() => ({ index_id: Id })),
    query: ScheduleQuery,
    success: { status: 200, description: 'The schedule around the date.', schema: ScheduleView },
    errors: ['INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

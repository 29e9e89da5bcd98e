import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { REBALANCE_CAUSES } from '#domain/schedule/rebalance-causes.js';
import { LIMIT_RULE_NAMES } from '#domain/compliance/rules.js';
import { EVENT_KINDS, type EventKind } from '#domain/schedule/index-events.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { skippedFields } from './common.js';
import { CALENDAR_MEDIA } from './media-formats.js';
import { defineRoutes } from './route.js';

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
          rule: z.enum(LIMIT_RULE_NAMES).nullable().meta({
            description: 'The rule whose breach triggers the rebalance; null for other events.',
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

export const eventRoutes = defineRoutes({
  listEvents: {
    method: 'GET',
    path: '/events',
    scope: 'read',
    tag: 'indices',
    summary: 'Lists the events of all indices: announcements, effective dates, expiries, holidays and early closes.',
    description:
      'With `format=ics` or `Accept: text/calendar`, the response is a calendar file (RFC 5545), which calendar programs can subscribe to. Holidays, early closes and expiries come from the calendars of the indices.',
    query: EventsQuery,
    success: { status: 200, description: 'The events.', schema: EventsView, media: [CALENDAR_MEDIA] },
    errors: ['INVALID_RANGE', 'INDEX_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

import { z } from 'zod';
import { LIMIT_SPECS, type LimitName } from '#domain/base/limits.js';
import { defineObject, Id } from '#domain/base/schema.js';
import { defineRoutes, MARKDOWN_MEDIA, PAGE_MEDIA } from './route.js';

const CHANGELOG_HEADINGS = ['Added', 'Changed', 'Fixed', 'Removed', 'Deprecated', 'Security'] as const;

export const ChangelogSectionView = defineObject(() => ({
  heading: z.enum(CHANGELOG_HEADINGS),
  items: z.array(z.string()).meta({ description: 'Changes as Markdown, one per entry.' }),
})).meta({ id: 'ChangelogSectionView' });
export type ChangelogSectionView = z.infer<typeof ChangelogSectionView>;

export const ChangelogEntryView = defineObject(() => ({
  version: z.string().meta({ description: 'Version number, or Unreleased.' }),
  date: z.string().nullable().meta({ description: 'YYYY-MM-DD; null for Unreleased.' }),
  sections: z
    .array(ChangelogSectionView)
    .meta({ description: 'Sections of the release; empty for an empty Unreleased entry.' }),
})).meta({ id: 'ChangelogEntryView' });
export type ChangelogEntryView = z.infer<typeof ChangelogEntryView>;

export const ChangelogResponse = defineObject(() => ({
  version: z.string().meta({ description: 'The running engine version, as /health reports it.' }),
  entries: z.array(ChangelogEntryView).meta({ description: 'Newest first; releases without changes are omitted.' }),
})).meta({ id: 'ChangelogResponse' });
export type ChangelogResponse = z.infer<typeof ChangelogResponse>;

export const changelogRoutes = defineRoutes('service', {
  getChangelog: {
    method: 'GET',
    path: '/changelog',
    scope: 'read',
    summary: 'Returns the release notes, newest first.',
    query: defineObject(() => ({
      since: z.string().max(64).optional().meta({
        description: 'Semantic version. The response contains only later releases, and Unreleased.',
        example: '0.1.0',
      }),
    })),
    success: { status: 200, description: 'The releases and the running version.', schema: ChangelogResponse },
  },
});

export const documentationRoutes = defineRoutes('documentation', {
  getOpenApi: {
    method: 'GET',
    path: '/openapi.json',
    scope: 'read',
    summary: 'Returns the whole contract as an OpenAPI 3.1 document.',
    success: {
      status: 200,
      description: 'Every response of the service satisfies this document.',
      schema: z
        .record(z.string(), z.unknown())
        .meta({ id: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' }),
    },
  },
  getDocumentation: {
    method: 'GET',
    path: '/docs',
    scope: 'read',
    summary: 'Returns the API reference as an HTML page.',
    description:
      'The page is generated from the OpenAPI document. It is self-contained, works without scripts, and can be printed and saved.',
    success: { status: 200, description: 'The page.', media: ['text/html'] },
  },
  getGuide: {
    method: 'GET',
    path: '/docs/guide',
    scope: 'read',
    summary: 'Returns the first page of the guide, which lists all pages.',
    success: { status: 200, description: 'The page.', media: [PAGE_MEDIA, MARKDOWN_MEDIA] },
  },
  getGuidePage: {
    method: 'GET',
    path: '/docs/guide/{page}',
    scope: 'read',
    summary: 'Returns one page of the guide.',
    params: defineObject(() => ({ page: Id.meta({ description: 'Name of the page.' }) })),
    success: { status: 200, description: 'The page.', media: [PAGE_MEDIA, MARKDOWN_MEDIA] },
  },
  getGuidePicture: {
    method: 'GET',
    path: '/docs/guide/pictures/{picture}',
    scope: 'read',
    summary: 'Returns an image of the guide.',
    params: defineObject(() => ({ picture: Id.meta({ description: 'Name of the image.', example: 'home' }) })),
    success: { status: 200, description: 'The picture.', media: ['image/webp'] },
  },
});

export const HealthCheck = defineObject(() => ({
  name: z.string().meta({ description: 'Name of the check.' }),
  ok: z.boolean(),
  warning: z.boolean().meta({ description: 'True if the check passes but its message needs attention.' }),
  message: z.string().nullable().meta({ description: 'Description of the problem or of the subject, or null.' }),
})).meta({ id: 'HealthCheck' });
export type HealthCheck = z.infer<typeof HealthCheck>;

const LaneHealth = defineObject(() => ({
  waiting: z.int().min(0).meta({ description: 'Jobs that wait for a slot.' }),
  running: z.int().min(0).meta({ description: 'Running jobs.' }),
  places: z.int().min(0).meta({ description: 'Maximum number of running jobs on all nodes.' }),
  oldest_wait_seconds: z
    .number()
    .min(0)
    .nullable()
    .meta({ description: 'Waiting time of the oldest job in seconds; null if no job waits.' }),
})).meta({ id: 'LaneHealth', description: 'Load of a queue, for scaling the workers.' });

const Limits = z
  .strictObject(
    Object.fromEntries(
      Object.entries(LIMIT_SPECS).map(([name, { help }]) => [name, z.number().meta({ description: help })]),
    ) as Readonly<Record<LimitName, z.ZodNumber>>, // one entry per limit
  )
  .meta({ id: 'Limits', description: 'Limits that apply to clients, each in the unit at the end of its name.' });

export const Health = defineObject(() => ({
  status: z.enum(['ok', 'degraded']).meta({ description: 'Degraded if no data store is active or a check fails.' }),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Reason for the status `degraded`, in one sentence; otherwise null.' }),
  version: z.string().meta({ description: 'The running engine version.' }),
  build: z
    .strictObject({
      commit: z.string().nullable().meta({ description: 'Commit of the build; null if unknown.' }),
      built_at: z.string().meta({ description: 'Time of the build, ISO-8601 UTC.' }),
    })
    .nullable()
    .meta({ description: 'Build of the running program; null if it was only compiled.' }),
  started_at: z.string().meta({ description: 'Start of the process, ISO-8601 UTC with offset.' }),
  uptime_seconds: z.number().min(0),
  store: z
    .strictObject({
      active: z.string().nullable().meta({ description: 'Id of the served data store.' }),
      status: z.string().nullable().meta({ description: 'State of the data store.' }),
      end: z.string().nullable().meta({ description: 'Latest session of the data store, YYYY-MM-DD.' }),
      partial_dates: z
        .strictObject({
          total: z
            .int()
            .min(0)
            .meta({ description: 'Number of dates on which only some securities of the store have a bar.' }),
          latest: z
            .array(z.string())
            .meta({ description: 'The latest five of these dates, YYYY-MM-DD, newest first.' }),
        })
        .nullable()
        .meta({ description: 'Findings of the last load of the data. `divisor audit STORE` lists the securities.' }),
    })
    .meta({ description: 'The served data store; all members are null if there is none.' }),
  jobs: z
    .strictObject({
      pending: z.int().min(0),
      running: z.int().min(0),
      lanes: z.strictObject({ heavy: LaneHealth, huge: LaneHealth, light: LaneHealth }).meta({
        description:
          'Queues of all machines. Huge jobs are heavy jobs that are expected to need more than 2 GiB. They use the heavy slots of machines with more memory for jobs.',
      }),
    })
    .meta({ description: 'Number of unfinished jobs.' }),
  checks: z.array(HealthCheck),
  freshness: z
    .array(
      z
        .strictObject({
          store_id: z.string(),
          calendar: z.string().meta({ description: 'Calendar of an index that reads the store.' }),
          data_through: z.string().meta({ description: 'Last date of the data, YYYY-MM-DD.' }),
          latest_session: z.string().meta({
            description: 'Newest session of the calendar before the current day of the exchange, YYYY-MM-DD.',
          }),
          sessions_behind: z.int().min(0).meta({ description: 'Sessions after the last date of the data.' }),
        })
        .meta({ id: 'StoreFreshness' }),
    )
    .meta({
      description:
        'Served data store and the stores that indices name, each compared with the calendars of its indices. At most a minute old.',
    }),
  states: z
    .array(
      z.strictObject({
        since: z.string().meta({ description: 'Time of the change, ISO-8601 UTC with offset.' }),
        status: z.enum(['ok', 'degraded']).meta({ description: 'State that began at this time.' }),
        reason: z
          .string()
          .nullable()
          .meta({ description: 'Reason of the state, and messages of the failed checks; null for `ok`.' }),
      }),
    )
    .meta({
      description: 'The latest 20 states of this process, newest last. The process checks its state every 15 seconds.',
    }),
  limits: Limits,
})).meta({ id: 'Health' });
export type Health = z.infer<typeof Health>;

const PublicHealth = defineObject(() => ({
  status: z.literal('live'),
  version: z.string().meta({ description: 'The running engine version.' }),
})).meta({ id: 'PublicHealth', description: 'Response to a request without a key, if the service has keys.' });
type PublicHealth = z.infer<typeof PublicHealth>;

const Liveness = defineObject(() => ({ status: z.literal('live') })).meta({ id: 'Liveness' });

export const Readiness = defineObject(() => ({ status: z.literal('ready'), checks: z.array(HealthCheck) })).meta({
  id: 'Readiness',
  description: 'All checks pass and the service is not stopping.',
});
export type Readiness = z.infer<typeof Readiness>;

export const healthRoutes = defineRoutes('service', {
  getHealth: {
    method: 'GET',
    path: '/health',
    scope: 'open',
    summary: 'Returns version, served data store, jobs, checks and limits.',
    description: 'If the service has keys, a request without a valid key receives only the version.',
    openQuery: true,
    optionalKey: true,
    success: {
      status: 200,
      description: 'The process is running, regardless of its checks.',
      schema: z.union([Health, PublicHealth]),
    },
  },
  getLiveness: {
    method: 'GET',
    path: '/health/live',
    scope: 'open',
    summary: 'Reports that the process is running.',
    openQuery: true,
    success: { status: 200, description: 'The process is running.', schema: Liveness },
  },
  getReadiness: {
    method: 'GET',
    path: '/health/ready',
    scope: 'open',
    summary: 'Reports if the service accepts work.',
    description: 'If the service has keys, it lists the checks only for a request with a valid key.',
    openQuery: true,
    optionalKey: true,
    success: { status: 200, description: 'The service accepts work.', schema: Readiness },
    errors: ['DRAINING', 'STORE_UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL'],
  },
});

export const metricsRoutes = defineRoutes('service', {
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns counters and gauges for Prometheus.',
    description:
      'Text in the Prometheus exposition format: request durations by operation and status, jobs by state, and figures of the process (memory, processor, event loop, garbage collection).',
    openQuery: true,
    success: { status: 200, description: 'Metrics in version 0.0.4 of the exposition format.', media: ['text/plain'] },
  },
});

import { z } from 'zod';
import { LIMIT_SPECS, type LimitName } from '#domain/refusals/limits.js';
import { routes } from './route.js';

export const HealthCheck = z
  .strictObject({
    name: z.string().meta({ description: 'What was looked at.' }),
    ok: z.boolean(),
    message: z.string().nullable().meta({ description: 'What is wrong, or null.' }),
  })
  .meta({ id: 'HealthCheck' });
export type HealthCheck = z.infer<typeof HealthCheck>;

const LaneHealth = z
  .strictObject({
    waiting: z.int().min(0).meta({ description: 'Jobs that wait for a place.' }),
    running: z.int().min(0).meta({ description: 'Jobs that have one.' }),
    places: z.int().min(0).meta({ description: 'Jobs that all nodes run at once.' }),
    oldest_wait_seconds: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: 'Time that the oldest job has waited; null where none waits.' }),
  })
  .meta({ id: 'LaneHealth', description: 'How busy a queue is: what to scale workers by.' });

const Limits = z
  .strictObject(
    Object.fromEntries(
      Object.entries(LIMIT_SPECS).map(([name, { help }]) => [name, z.number().meta({ description: help })]),
    ) as Readonly<Record<LimitName, z.ZodNumber>>, // One for each name.
  )
  .meta({ id: 'Limits', description: 'What a client can meet, each a number in the unit that its name ends on.' });

export const Health = z
  .strictObject({
    status: z.enum(['ok', 'degraded']).meta({ description: 'Degraded when no data store is active or a check fails.' }),
    reason: z.string().nullable().meta({ description: 'Why it is degraded, in one sentence; null when it is not.' }),
    version: z.string().meta({ description: 'The running engine version.' }),
    build: z
      .strictObject({
        commit: z
          .string()
          .nullable()
          .meta({ description: 'Commit that the program was built from; null when unknown.' }),
        built_at: z.string().meta({ description: 'Time of the build, ISO-8601 UTC.' }),
      })
      .nullable()
      .meta({ description: 'What the running program was built from; null for one that was only compiled.' }),
    started_at: z.string().meta({ description: 'Start of the process, ISO-8601 UTC with offset.' }),
    uptime_seconds: z.number().min(0),
    store: z
      .strictObject({
        active: z.string().nullable().meta({ description: 'Id of the data store being served.' }),
        status: z.string().nullable().meta({ description: 'State of the data store.' }),
        end: z.string().nullable().meta({ description: 'Latest session it holds, YYYY-MM-DD.' }),
        partial_dates: z
          .strictObject({
            total: z.int().min(0).meta({ description: 'Dates that only some of its names have a bar on.' }),
            latest: z.array(z.string()).meta({ description: 'The latest five of them, YYYY-MM-DD, newest first.' }),
          })
          .nullable()
          .meta({ description: 'Of what was read; `divisor audit STORE` says which names.' }),
      })
      .meta({ description: 'The data store being served; all null when none is.' }),
    jobs: z
      .strictObject({
        pending: z.int().min(0),
        running: z.int().min(0),
        lanes: z.strictObject({ heavy: LaneHealth, huge: LaneHealth, light: LaneHealth }).meta({
          description:
            'The queues, of several machines together. Huge are heavy jobs that are expected to need more than 2 GiB: their places are those heavy ones on machines with more memory for jobs.',
        }),
      })
      .meta({ description: 'Jobs that are not finished.' }),
    checks: z.array(HealthCheck),
    limits: Limits,
  })
  .meta({ id: 'Health' });
export type Health = z.infer<typeof Health>;

export const PublicHealth = z
  .strictObject({
    status: z.literal('live'),
    version: z.string().meta({ description: 'The running engine version.' }),
  })
  .meta({ id: 'PublicHealth', description: 'Response of a service with keys to a request without a key.' });
export type PublicHealth = z.infer<typeof PublicHealth>;

export const Liveness = z.strictObject({ status: z.literal('live') }).meta({ id: 'Liveness' });

export const Readiness = z
  .strictObject({ status: z.literal('ready'), checks: z.array(HealthCheck) })
  .meta({ id: 'Readiness', description: 'Every check passes and the service is not stopping.' });
export type Readiness = z.infer<typeof Readiness>;

export const healthRoutes = routes({
  getHealth: {
    method: 'GET',
    path: '/health',
    scope: 'open',
    tag: 'service',
    summary: 'Version, served data store, jobs, checks and limits.',
    description: 'A service with keys returns only its version to a request without a valid key.',
    openQuery: true,
    optionalKey: true,
    success: {
      status: 200,
      description: 'The process answers, whatever its checks say.',
      schema: z.union([Health, PublicHealth]),
    },
    errors: [],
  },
  getLiveness: {
    method: 'GET',
    path: '/health/live',
    scope: 'open',
    tag: 'service',
    summary: 'Whether the process answers.',
    openQuery: true,
    success: { status: 200, description: 'The process answers.', schema: Liveness },
    errors: [],
  },
  getReadiness: {
    method: 'GET',
    path: '/health/ready',
    scope: 'open',
    tag: 'service',
    summary: 'Whether the service takes work.',
    description: 'A service with keys lists its checks only with a valid key.',
    openQuery: true,
    optionalKey: true,
    success: { status: 200, description: 'The service takes work.', schema: Readiness },
    errors: ['DRAINING', 'STORE_UNAVAILABLE', 'OVERLOADED', 'STORAGE_FULL'],
  },
});

import { z } from 'zod';
import { parseRetryPolicies, RETRY_DEFAULTS, type RetryPolicies } from '#domain/jobs/retry-policy.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { QueueLimits } from '#jobs/queue.js';
import { databaseUrl, declare, whole } from './setting-schemas.js';

/** Largest of the counts of jobs that a setting may have. */
const JOBS_MAX = 10_000_000;

const retryText = z.string().superRefine((text, context) => {
  const policies = parseRetryPolicies(text);
  if (typeof policies === 'string') context.addIssue({ code: 'custom', message: policies });
});

/** Settings of the queue of jobs, and of the way to its database. */
export const JOB_SETTINGS = {
  databasePooler: declare({
    flag: 'database-pooler',
    variable: 'DATABASE_POOLER_URL',
    otherwise: () => '',
    help: 'PgBouncer in transaction mode before --database: postgres://user:password@host:6432/name; statements go through it, one connection a process does not.',
    schema: databaseUrl,
    mayHoldSecret: true,
    needs: { setting: 'database' },
  }),
  jobsKept: declare({
    flag: 'jobs-kept',
    variable: 'DIVISOR_JOBS_KEPT',
    otherwise: () => String(LIMITS.MAX_ENDED_JOBS),
    help: 'Ended jobs that are remembered; the oldest are deleted. A service without --database reads all of them at its start.',
    schema: whole(1, JOBS_MAX),
  }),
  jobsWaiting: declare({
    flag: 'jobs-waiting',
    variable: 'DIVISOR_JOBS_WAITING',
    otherwise: () => String(LIMITS.MAX_QUEUED_JOBS),
    help: 'Jobs that may wait for a worker; more are refused with OVERLOADED.',
    schema: whole(1, JOBS_MAX),
  }),
  jobRetries: declare({
    flag: 'job-retries',
    variable: 'DIVISOR_JOB_RETRIES',
    otherwise: () => '',
    otherwiseHelp: Object.entries(RETRY_DEFAULTS)
      .map(([member, value]) => `${member}=${value}`)
      .join(','),
    help: 'How often a job may crash, be lost or be given back before it fails, the seconds between retries, and the seconds after which it is not tried again: member=value for all kinds, kind.member=value for one, with commas.',
    schema: retryText,
  }),
};

interface JobSettingValues {
  readonly jobsKept: number;
  readonly jobsWaiting: number;
  readonly jobRetries: string;
}

/** Limits of the queue that are settings. */
export function queuePolicy({
  jobsKept,
  jobsWaiting,
  jobRetries,
}: JobSettingValues): Pick<QueueLimits, 'queueMax' | 'endedMax' | 'retryOf'> {
  const retryOf = parseRetryPolicies(jobRetries) as RetryPolicies; // Its schema has read it.
  return { queueMax: jobsWaiting, endedMax: jobsKept, retryOf };
}

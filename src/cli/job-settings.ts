import { z } from 'zod';
import { parseRetryPolicies, RETRY_DEFAULTS, type RetryPolicies } from '#domain/jobs/retry-policy.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { QueueLimits } from '#jobs/queue.js';
import { databaseUrl, declareSetting, createWholeNumber } from './setting-schemas.js';

/** Largest value of a setting that counts jobs. */
const JOBS_MAX = 10_000_000;

const DEFAULT_TEXT = Object.entries(RETRY_DEFAULTS)
  .map(([member, value]) => `${member}=${value}`)
  .join(',');

/** Text of a policy with every member that applies to all kinds: later entries replace earlier ones. */
const retryText = z
  .string()
  .superRefine((text, context) => {
    const policies = parseRetryPolicies(text);
    if (typeof policies === 'string') context.addIssue({ code: 'custom', message: policies });
  })
  .transform((text) => {
    const entries = [DEFAULT_TEXT, text].flatMap((list) => list.split(',')).map((entry) => entry.trim().split('='));
    return [...new Map(entries.filter(([member]) => member !== '') as [string, string][])]
      .map(([member, value]) => `${member}=${value}`)
      .join(',');
  });

/** Settings of the job queue and of its database connection. */
export const JOB_SETTINGS = {
  databasePooler: declareSetting({
    flag: 'database-pooler',
    variable: 'DATABASE_POOLER_URL',
    otherwise: () => '',
    help: 'PgBouncer in transaction mode in front of --database: postgres://user:password@host:6432/name. Statements use it; one connection per process bypasses it.',
    schema: databaseUrl,
    mayHoldSecret: true,
    needs: { setting: 'database' },
  }),
  jobsKept: declareSetting({
    flag: 'jobs-kept',
    variable: 'DIVISOR_JOBS_KEPT',
    otherwise: () => String(LIMITS.MAX_ENDED_JOBS),
    help: 'Maximum number of ended jobs to keep; the oldest are deleted. A service without --database reads all of them at its start.',
    schema: createWholeNumber(1, JOBS_MAX),
  }),
  jobsWaiting: declareSetting({
    flag: 'jobs-waiting',
    variable: 'DIVISOR_JOBS_WAITING',
    otherwise: () => String(LIMITS.MAX_QUEUED_JOBS),
    help: 'Maximum number of waiting jobs; more are refused with OVERLOADED.',
    schema: createWholeNumber(1, JOBS_MAX),
  }),
  jobRetries: declareSetting({
    flag: 'job-retries',
    variable: 'DIVISOR_JOB_RETRIES',
    otherwise: () => '',
    otherwiseHelp: DEFAULT_TEXT,
    help: 'Retry policy: the number of crashes, losses and returns to the queue before a job fails, the seconds between retries, and the seconds after which retries stop. member=value applies to all kinds, kind.member=value to one; separate by commas.',
    schema: retryText,
  }),
};

interface JobSettingValues {
  readonly jobsKept: number;
  readonly jobsWaiting: number;
  readonly jobRetries: string;
}

/** Returns the limits of the queue that the settings contain. */
export function readQueuePolicy({
  jobsKept,
  jobsWaiting,
  jobRetries,
}: JobSettingValues): Pick<QueueLimits, 'queueMax' | 'endedMax' | 'getRetryPolicy'> {
  const getRetryPolicy = parseRetryPolicies(jobRetries) as RetryPolicies; // the schema of the setting parsed it
  return { queueMax: jobsWaiting, endedMax: jobsKept, getRetryPolicy };
}

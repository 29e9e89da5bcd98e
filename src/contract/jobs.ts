import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { JOB_PRIORITIES } from '#domain/outputs/job-priority.js';
import { JOB_KINDS, type JobKindName } from '#domain/outputs/jobs.js';
import { LIMITS } from '#domain/base/limits.js';
import { ErrorDetailPayload, skippedFields } from './payloads.js';

export const JOB_STATUS_NAMES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;
const ATTEMPT_ENDS = ['succeeded', 'failed', 'cancelled', 'crashed', 'lost', 'released'] as const;

/** Job id in the form `{kind}:{ident}`. Paths may contain the colon unescaped or as %3A. */
export const jobIdSchema = z
  .string()
  .regex(
    new RegExp(`^(?:${JOB_KINDS.join('|')}):[A-Za-z0-9_-]{1,64}$`),
    'must be a kind of job, a colon and an id of 1 to 64 letters, digits, dashes and underscores',
  )
  .meta({ description: '{kind}:{id}, for example backtest:LARGE-100.', example: 'backtest:LARGE-100' });

const JobCallbackPayload = defineObject(() => ({
  delivery_id: z.string().meta({ description: 'Header webhook-id of the message, the same in every attempt.' }),
  url: z.string().meta({ description: 'Address of the receiver.' }),
  state: z.enum(['waiting', 'due', 'delivered', 'failed']).meta({
    description:
      'State of the delivery: `waiting` until the job ends, then `due` until the receiver accepts the message. The final state is `delivered`, or `failed` after the last attempt.',
  }),
  attempts: z.int().min(0).meta({ description: 'Number of attempts.' }),
  last_attempt_at: z.string().nullable().meta({ description: 'Time of the last attempt.' }),
  last_error: z.string().nullable().meta({ description: 'Reason why the last attempt failed; null if it succeeded.' }),
  next_attempt_at: z
    .string()
    .nullable()
    .meta({ description: 'Time of the next attempt; only while the message is due.' }),
})).meta({ id: 'JobCallback' });

export const JobAttempt = defineObject(() => ({
  attempt: z.int().min(1).meta({ description: 'Number of the attempt, from 1.' }),
  node: z.string().nullable().meta({
    description: 'Process of the attempt, as listed by `divisor nodes`; null if a single process uses a home.',
  }),
  started_at: z.string().meta({ description: 'Start of the attempt.' }),
  heartbeat_at: z.string().nullable().meta({ description: 'Time of the last heartbeat of the attempt.' }),
  ended_at: z.string().nullable().meta({ description: 'End of the attempt; null while it runs.' }),
  end: z.enum(ATTEMPT_ENDS).nullable().meta({
    description:
      '`crashed`: its thread ended. `lost`: its process ended, did not send heartbeats or was disconnected. `released`: the job was returned to the queue. The setting job-retries limits the number of each outcome. Null while the attempt runs.',
  }),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Reason why the attempt crashed, was lost, was released or failed.' }),
})).meta({ id: 'JobAttempt' });

const fields = {
  job_id: jobIdSchema,
  kind: z.enum(JOB_KINDS),
  priority: z.enum(JOB_PRIORITIES).meta({ description: 'Order in which waiting jobs start.' }),
  status: z
    .enum(JOB_STATUS_NAMES)
    .meta({ description: 'pending -> running -> succeeded, failed or cancelled. Terminal states never change.' }),
  progress: z.number().min(0).max(1).meta({
    description: 'Completed fraction: 0 while pending, exactly 1 after success. It never decreases during an attempt.',
  }),
  message: z.string().meta({ description: 'Current step.' }),
  error: ErrorDetailPayload.nullable().meta({ description: 'Error of the job; only if it failed.' }),
  created_at: z.string().meta({ description: 'Time of the submission, ISO-8601 UTC with offset.' }),
  started_at: z.string().nullable().meta({ description: 'Start of the current attempt.' }),
  finished_at: z.string().nullable(),
  heartbeat_at: z.string().nullable().meta({ description: 'Time of the last heartbeat of the running attempt.' }),
  attempt: z.int().min(1).meta({ description: 'Number of starts, which is recorded before the work starts.' }),
  attempts: z.array(JobAttempt).readonly().meta({
    description: 'Latest attempts in order, at most eleven. The last one is the current attempt.',
  }),
  request: z.unknown().meta({ description: 'Request body as it was accepted.' }),
  input_hash: z.string().meta({ description: 'SHA-256 of all inputs except the market.' }),
  request_id: z.string().nullable().meta({
    description:
      'X-Request-Id of the submission, which log lines of the job contain. Null if the service submitted the job.',
  }),
  trace_id: z.string().nullable().meta({ description: 'Trace of the submission, from its header traceparent.' }),
  callbacks: z.array(JobCallbackPayload).meta({ description: 'Addresses that are notified when the job ends.' }),
};

/** Returns the status schema of a kind of job, including its result. */
export function createJobStatus<R extends z.ZodType>(id: string, kind: JobKindName, result: R) {
  return z
    .strictObject({
      ...fields,
      kind: z.literal(kind),
      result: result
        .nullable()
        .meta({ description: 'Result of the job, if it succeeded. Null if the run of a backtest was deleted.' }),
    })
    .meta({ id });
}

export const JobStatusPayload = defineObject(() => ({
  ...fields,
  result: z.unknown().meta({ description: 'Result of the job; only if it succeeded. Its schema depends on the kind.' }),
})).meta({ id: 'JobStatus', description: 'A job of any kind.' });
export type JobStatusPayload = z.infer<typeof JobStatusPayload>;

export const JobCollection = defineObject(() => ({
  jobs: z.array(JobStatusPayload).meta({ description: 'Jobs, newest first. `result` of every job is null.' }),
  ...skippedFields,
})).meta({ id: 'JobCollection' });
export type JobCollection = z.infer<typeof JobCollection>;

export const JobRetries = defineObject(() => ({
  retried: z.array(jobIdSchema).meta({ description: 'Jobs that were queued again, newest first.' }),
  refused: z
    .array(z.strictObject({ job_id: jobIdSchema, code: z.string(), message: z.string() }))
    .meta({ description: 'Failed jobs that were not queued again, with the reason.' }),
  is_complete: z.boolean().meta({ description: 'False if more failed jobs match than the limit.' }),
})).meta({ id: 'JobRetries' });
export type JobRetries = z.infer<typeof JobRetries>;

/** Returns true for an ISO 8601 time with an offset. */
const isTime = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text));

export const JobRetryRequest = defineObject(() => ({
  kinds: z.array(z.enum(JOB_KINDS)).min(1).optional().meta({ description: 'Kinds of jobs. Default: all kinds.' }),
  job_ids: z
    .array(jobIdSchema)
    .min(1)
    .max(LIMITS.MAX_LISTED_JOBS)
    .optional()
    .meta({ description: 'Ids of jobs. Only failed jobs are queued again. Default: all failed jobs.' }),
  since: z
    .string()
    .max(40)
    .refine(isTime, 'must be a time with offset, for example 2024-06-28T00:00:00Z')
    .optional()
    .meta({ description: 'Only jobs that failed at or after this time, with an offset. Default: no limit.' }),
  limit: z
    .int()
    .min(1)
    .max(LIMITS.MAX_LISTED_JOBS)
    .default(LIMITS.MAX_LISTED_JOBS)
    .meta({ description: 'Maximum number of jobs, newest first.' }),
})).meta({ id: 'JobRetryRequest' });
export type JobRetryRequest = z.infer<typeof JobRetryRequest>;

export const JobKindState = defineObject(() => ({
  kind: z.enum(JOB_KINDS),
  lane: z
    .enum(['heavy', 'light'])
    .meta({ description: 'Queue of the kind. Jobs of the light lane run in parallel to jobs of the heavy lane.' }),
  pause: z
    .strictObject({
      paused_at: z.string().meta({ description: 'Time of the pause, ISO-8601 UTC with offset.' }),
      author: z.string().meta({ description: 'Name of the key that paused the kind; `local` without authentication.' }),
      reason: z.string().nullable().meta({ description: 'Reason in the request.' }),
    })
    .nullable()
    .meta({ description: 'Pause of the kind; null if it is not paused.' }),
})).meta({ id: 'JobKindState', description: 'A kind of job.' });
export type JobKindState = z.infer<typeof JobKindState>;

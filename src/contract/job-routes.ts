import { z } from 'zod';
import { defineObject } from '#domain/base/schema.js';
import { JOB_KINDS } from '#domain/outputs/jobs.js';
import { LIMITS } from '#domain/base/limits.js';
import { BacktestJobStatus } from './analytics/record.js';
import {
  JOB_STATUS_NAMES,
  JobCollection,
  jobIdSchema,
  JobKindState,
  JobRetries,
  JobRetryRequest,
  JobStatusPayload,
} from './jobs.js';
import { OptimisationJobStatus } from './optimise.js';
import { RenderJobStatus } from './reports.js';
import { RiskModelJobStatus } from './risk-models.js';
import { defineRoutes } from './route.js';
import { SyncJobStatus } from './stores.js';

const JobKindList = defineObject(() => ({
  kinds: z.array(JobKindState).meta({ description: 'Kinds of jobs, in a fixed order.' }),
})).meta({ id: 'JobKindList' });

const kindParams = defineObject(() => ({
  job_kind: z.enum(JOB_KINDS).meta({ description: 'Kind of job.', example: 'sweep' }),
}));

const params = defineObject(() => ({ job_id: jobIdSchema }));

/** Status of a job by its kind. Kinds without a schema in this list have that of every job. */
const AnyJobStatus = z.union([
  BacktestJobStatus,
  OptimisationJobStatus,
  RenderJobStatus,
  RiskModelJobStatus,
  SyncJobStatus,
  JobStatusPayload,
]);

export const jobRoutes = defineRoutes('jobs', {
  listJobs: {
    method: 'GET',
    path: '/jobs',
    scope: 'read',
    withoutMarket: true,
    summary: 'Lists jobs, newest first.',
    query: defineObject(() => ({
      kind: z.array(z.enum(JOB_KINDS)).optional().meta({ description: 'Only jobs of one of these kinds.' }),
      status: z.array(z.enum(JOB_STATUS_NAMES)).optional().meta({ description: 'Only jobs in one of these states.' }),
      limit: z.int().min(1).max(LIMITS.MAX_LISTED_JOBS).default(100).meta({ description: 'Maximum number of jobs.' }),
      before: jobIdSchema.optional().meta({ description: 'Only jobs submitted before this job.' }),
    })),
    success: { status: 200, description: 'The jobs.', schema: JobCollection },
  },
  followJobs: {
    method: 'GET',
    path: '/jobs/events',
    scope: 'read',
    summary: 'Streams the status of every job as server-sent events.',
    description: `When a client connects, the stream sends one event \`status\` for each unfinished job (at most the newest ${LIMITS.MAX_LISTED_JOBS}). The data of an event is the JobStatus with a null result. The event \`caught-up\` follows. Afterwards, the stream sends an event \`status\` for every change of any job, and a comment every 15 seconds.`,
    query: defineObject(() => ({
      seconds: z.int().min(0).max(LIMITS.MAX_STREAM_SECONDS).default(LIMITS.MAX_STREAM_SECONDS).meta({
        description: 'Seconds until the stream ends. With 0, it ends as soon as the unfinished jobs are reported.',
      }),
    })),
    success: { status: 200, description: 'The stream.', media: ['text/event-stream'] },
    errors: ['OVERLOADED'],
  },
  listJobKinds: {
    method: 'GET',
    path: '/jobs/kinds',
    scope: 'read',
    withoutMarket: true,
    tag: 'service',
    summary: 'Lists the kinds of jobs, and shows which kinds are paused.',
    success: { status: 200, description: 'The kinds.', schema: JobKindList },
  },
  pauseJobKind: {
    method: 'POST',
    path: '/jobs/kinds/{job_kind}/pause',
    scope: 'admin',
    withoutMarket: true,
    tag: 'service',
    summary: 'Pauses all jobs of a kind.',
    description:
      'Running jobs continue. New jobs are accepted and wait. The pause applies to all processes and continues across restarts, until the kind is resumed. Other processes apply it within two seconds. Pausing a paused kind has no effect.',
    params: kindParams,
    body: {
      schema: defineObject(() => ({
        reason: z
          .string()
          .max(500)
          .nullable()
          .default(null)
          .meta({ description: 'Reason, which is shown with the kind.' }),
      })).meta({ id: 'JobKindPause' }),
      optional: true,
      example: { reason: 'The vendor delivers late.' },
    },
    success: { status: 200, description: 'The paused kind.', schema: JobKindState },
    errors: ['STORAGE_FULL'],
  },
  resumeJobKind: {
    method: 'POST',
    path: '/jobs/kinds/{job_kind}/resume',
    scope: 'admin',
    withoutMarket: true,
    tag: 'service',
    summary: 'Resumes the jobs of a kind.',
    params: kindParams,
    success: { status: 200, description: 'The kind.', schema: JobKindState },
    errors: ['STORAGE_FULL'],
  },
  getJob: {
    method: 'GET',
    path: '/jobs/{job_id}',
    scope: 'read',
    withoutMarket: true,
    summary: 'Returns the status of a job. After success, the response includes its result.',
    description: 'With `wait`, the response is sent when the status changes, or after this time.',
    params,
    query: defineObject(() => ({
      wait: z
        .number()
        .min(0)
        .max(LIMITS.MAX_WAIT_SECONDS)
        .default(0)
        .meta({ description: 'Maximum time to wait for a change of the status, in seconds.' }),
      created_at: z.string().max(40).optional().meta({
        description:
          'Time of the submission. If the job was submitted again since, the response is JOB_NOT_FOUND. Default: the latest submission.',
      }),
    })),
    success: { status: 200, description: 'The status.', schema: AnyJobStatus },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  retryJobs: {
    method: 'POST',
    path: '/jobs/retry',
    scope: 'run',
    withoutMarket: true,
    summary: 'Queues failed jobs again.',
    description:
      'Each job of these kinds that failed at or after the given time is queued again, with the input and the owner of its submission. Its status still lists the earlier attempts, and its callbacks are sent again. Jobs that were not queued are reported with the reason. The input of jobs that failed under an earlier version is not available.',
    body: { schema: JobRetryRequest, optional: true, example: { kinds: ['backtest'], since: '2024-06-28T00:00:00Z' } },
    success: { status: 200, description: 'The jobs that were queued.', schema: JobRetries },
    errors: ['DRAINING', 'STORAGE_FULL'],
  },
  cancelJob: {
    method: 'DELETE',
    path: '/jobs/{job_id}',
    scope: 'run',
    summary: 'Cancels a job.',
    description:
      'A pending or running job is cancelled before the response is sent. An ended job is returned unchanged. A cancelled job does not replace stored results.',
    params,
    success: { status: 200, description: 'The status after the cancellation.', schema: AnyJobStatus },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'STORAGE_FULL'],
  },
  followJob: {
    method: 'GET',
    path: '/jobs/{job_id}/events',
    scope: 'read',
    summary: 'Streams the status of a job as server-sent events.',
    description:
      'The stream sends one event `status` when a client connects, and one for each change. The data of an event is the JobStatus with a null result. `id` is a counter: a client that reconnects with `Last-Event-ID` receives only later events. The stream also sends a comment every 15 seconds. It ends after the event of a final status.',
    params,
    success: { status: 200, description: 'The stream.', media: ['text/event-stream'] },
    errors: ['JOB_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'OVERLOADED'],
  },
});

import { setTimeout as pause } from 'node:timers/promises';
import { Refusal, type ErrorCode } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { JobStatus } from '#jobs/status.js';

/** Delay before the first check of a job. The delay is short, because most jobs are short. */
const FIRST_POLL_MS = 20;
const POLL_MS_MAX = 1000;

/** Returns the status of a job once it has ended; undefined if the job is no longer stored. */
export async function awaitJobEnd(
  jobs: Pick<Jobs, 'get'>,
  jobId: string,
  signal: AbortSignal,
): Promise<JobStatus | undefined> {
  for (let ms = FIRST_POLL_MS; ; ms = Math.min(2 * ms, POLL_MS_MAX)) {
    const status = await jobs.get(jobId);
    if (status === undefined || isTerminal(status.status)) return status;
    await pause(ms, undefined, { signal });
  }
}

/** Refuses a job that failed or was cancelled, with the code of the job. @throws Refusal */
export function assertSucceeded(jobId: string, status: JobStatus | undefined): asserts status is JobStatus {
  if (status?.status === 'succeeded') return;
  const { error } = status ?? {};
  if (error != null) throw new Refusal(error.code as ErrorCode, error.message, error.detail);
  throw new Refusal('JOB_NOT_FOUND', `The job ${jobId} was ${status === undefined ? 'removed' : status.status}.`);
}

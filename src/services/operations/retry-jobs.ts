import type { JobRetries } from '#contract/jobs.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { JobSystem } from '#jobs/job-system.js';

/** Failed jobs to queue again. */
export interface RetryOrder {
  readonly kinds?: readonly JobKindName[] | undefined;
  readonly job_ids?: readonly string[] | undefined;
  /** ISO-8601 time; only jobs that failed at this time or later. */
  readonly since?: string | undefined;
  readonly limit: number;
}

/** Refusals that apply to every further job. No more jobs are queued after one of them. */
const GENERAL_REFUSALS: ReadonlySet<string> = new Set(['DRAINING', 'STORAGE_FULL', 'STORE_UNAVAILABLE']);

/** Queues failed jobs again, the newest first. @throws Refusal DRAINING, STORAGE_FULL, STORE_UNAVAILABLE */
export async function retryJobs(jobs: Pick<JobSystem, 'list' | 'retry'>, order: RetryOrder): Promise<JobRetries> {
  const { limit } = order;
  const failedIds = await listFailedJobs(jobs, { ...order, limit: limit + 1 });
  const retriedIds: string[] = [];
  const refusals: JobRetries['refused'] = [];
  for (const jobId of failedIds.slice(0, limit)) {
    try {
      await jobs.retry(jobId);
      retriedIds.push(jobId);
    } catch (failure) {
      if (!(failure instanceof Refusal) || GENERAL_REFUSALS.has(failure.code)) throw failure;
      refusals.push({ job_id: jobId, code: failure.code, message: failure.message });
    }
  }
  return { retried: retriedIds, refused: refusals, is_complete: failedIds.length <= limit };
}

/** Lists the ids of failed jobs, the newest first. @cost pages over all failed jobs of the kinds until the limit */
async function listFailedJobs(
  jobs: Pick<JobSystem, 'list'>,
  { kinds, job_ids: ids, since, limit }: RetryOrder,
): Promise<string[]> {
  const selectedIds = ids === undefined ? null : new Set(ids);
  const sinceMs = since === undefined ? -Infinity : Date.parse(since);
  const results: string[] = [];
  for (let pageEnd: string | undefined; ;) {
    const page = (await jobs.list({ kinds, statuses: ['failed'], limit: LIMITS.MAX_LISTED_JOBS, before: pageEnd }))
      .jobs;
    const failedJobs = page.filter(
      ({ finished_at: finishedAt }) => finishedAt !== null && Date.parse(finishedAt) >= sinceMs,
    );
    results.push(...failedJobs.map(({ job_id: jobId }) => jobId).filter((jobId) => selectedIds?.has(jobId) ?? true));
    pageEnd = page.at(-1)?.job_id;
    if (page.length < LIMITS.MAX_LISTED_JOBS || results.length >= limit) return results.slice(0, limit);
  }
}

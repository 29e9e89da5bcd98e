import { Refusal } from '#domain/refusals/refusal.js';
import { admit, type Admission } from '../admission.js';
import type { JobQueue, NewJob, QueueLimits } from '../queue.js';
import type { JobStatus } from '../status.js';
import type { PendingSubmissions } from './pending-submissions.js';
import type { JobTable } from './job-table.js';
import type { LiveJob } from './live-jobs.js';
import type { Lines } from './lines.js';

export interface Acceptance extends Pick<JobQueue, 'submit' | 'retry'> {
  /** Returns the status of a job. @throws Refusal JOB_NOT_FOUND */
  requireStatus(jobId: string): Promise<JobStatus>;
}

export interface AcceptanceDependencies {
  readonly table: JobTable;
  readonly submissions: PendingSubmissions;
  readonly lines: Lines;
  readonly limits: QueueLimits;
  readonly isDraining: () => boolean;
  readonly onWork: () => void;
}

/** @returns functions that queue new jobs and retry failed ones */
export function createAcceptance(dependencies: AcceptanceDependencies): Acceptance {
  const { table, submissions, lines, limits, isDraining, onWork } = dependencies;

  async function submit(job: NewJob): Promise<JobStatus> {
    const { jobId, inputHash } = job;
    const pendingSubmission = submissions.find(jobId);
    const liveHash = pendingSubmission?.inputHash ?? table.live(jobId)?.identity.input_hash;
    if (liveHash !== undefined) {
      if (liveHash !== inputHash)
        throw new Refusal('JOB_RUNNING', `The job ${jobId} runs with a different request.`, { job_id: jobId });
      await pendingSubmission?.durable;
      await addCallback(table, job);
      return requireStatus(jobId);
    }
    const owner = job.origin?.owner ?? '';
    admitNow({ estimatedBytes: job.estimatedBytes, owner });
    return submissions.hold(jobId, { inputHash, owner, durable: write(jobId, () => table.add(job)) });
  }

  /**
   * Checks the limits of the queue for a submission. @throws Refusal VALIDATION_FAILED, OVERLOADED, RATE_LIMITED,
   * DRAINING
   */
  function admitNow(job: Admission): void {
    if (isDraining()) throw new Refusal('DRAINING', 'The service is stopping.');
    const { owner } = job;
    const queuedJobs = lines.length + submissions.count;
    admit(
      job,
      { queued: queuedJobs, queuedOfOwner: lines.countWaiting(owner) + submissions.countSubmissions(owner) },
      limits,
    );
  }

  async function retry(jobId: string): Promise<JobStatus> {
    const pendingSubmission = submissions.find(jobId);
    if (pendingSubmission !== undefined) return pendingSubmission.durable;
    const failedJob = await table.failed(jobId);
    // another request may have queued the job meanwhile
    const laterSubmission = submissions.find(jobId);
    if (laterSubmission !== undefined) return laterSubmission.durable;
    if (failedJob === undefined || table.live(jobId) !== undefined) return requireStatus(jobId);
    const { owner, input_hash: inputHash, estimated_bytes: estimatedBytes } = failedJob.record;
    admitNow({ estimatedBytes, owner });
    return submissions.hold(jobId, { inputHash, owner, durable: write(jobId, () => table.renew(failedJob)) });
  }

  async function write(jobId: string, add: () => Promise<LiveJob>): Promise<JobStatus> {
    const job = await add();
    const status = await requireStatus(jobId);
    lines.add(job.identity);
    onWork();
    return status;
  }

  async function requireStatus(jobId: string): Promise<JobStatus> {
    const match = await table.find(jobId);
    if (match === undefined) throw new Refusal('JOB_NOT_FOUND', `No job is stored under ${jobId}.`, { job_id: jobId });
    return match.status;
  }

  return { submit, retry, requireStatus };
}

/** Adds the callback of a submission to the live job with the same id, if the submission has one. */
async function addCallback(table: JobTable, { jobId, origin }: NewJob): Promise<void> {
  const job = table.live(jobId);
  const url = origin?.callback ?? null;
  if (job !== undefined && url !== null) await table.addCallback(job, url);
}

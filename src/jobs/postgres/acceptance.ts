import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { formatTimestamp } from '#store/timestamp.js';
import { admit, type Admission, type Waiting } from '../admission.js';
import type { Clock } from '../clock.js';
import { toStatus, selectLogFields, type JobRecord } from '../job-record.js';
import type { JobLog, JobQueue, QueueLimits } from '../queue.js';
import type { JobStatus } from '../status.js';
import type { JobDocuments } from './job-documents.js';
import type { JobRows } from './job-rows.js';
import type { Presence } from './presence.js';
import type { SubmissionWriter } from './submissions.js';

export interface AcceptanceDependencies {
  readonly jobs: JobDocuments;
  readonly rows: JobRows;
  readonly presence: Pick<Presence, 'jobBytesMax'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: QueueLimits;
  readonly log: JobLog;
  readonly find: JobQueue['find'];
  readonly isDraining: () => boolean;
  /** Called for each queued job. */
  readonly onChange: (jobId: string) => void;
}

/** Maximum number of ended jobs deleted at a time. */
const DELETED_JOBS_MAX = 400;

/** @returns functions that queue new jobs and retry failed ones */
export function createAcceptance(dependencies: AcceptanceDependencies) {
  const { jobs, rows, presence, clock, limits, log, find, isDraining, onChange } = dependencies;
  const forgetSurplus = createForgetting({ rows, jobs, endedMax: limits.endedMax });
  const formatNow = (): string => formatTimestamp(clock.now());

  /**
   * Checks the limits of the queue for a submission. @throws Refusal VALIDATION_FAILED, OVERLOADED, RATE_LIMITED,
   * DRAINING
   */
  function admitNow(job: Admission, queuePosition: Waiting, bytesMax = limits.jobBytesMax): void {
    if (isDraining()) throw new Refusal('DRAINING', 'The service is stopping.');
    admit(job, queuePosition, { ...limits, jobBytesMax: bytesMax });
  }

  /** Runs the follow-up of a submission. @returns its status */
  async function finishSubmission({ record, isNew }: { record: JobRecord; isNew: boolean }): Promise<JobStatus> {
    const status = toStatus(record, record, record);
    if (!isNew) return (await find(record.job_id))?.status ?? status;
    log.info(selectLogFields(record), 'job accepted');
    onChange(record.job_id);
    return status;
  }

  const submitAll: SubmissionWriter = async (newJobs) => {
    await forgetSurplus(newJobs.length);
    const bytesMax = await Promise.all(newJobs.map(({ kind }) => presence.jobBytesMax(JOB_KIND_CATALOGUE[kind].lane)));
    const queuePositions = await rows.places(
      newJobs.map(({ jobId, origin }) => ({ jobId, owner: origin?.owner ?? '' })),
    );
    const acceptedTally = createTally();
    return Promise.allSettled(
      newJobs.map(async (job, i) => {
        const newJob = { estimatedBytes: job.estimatedBytes, owner: job.origin?.owner ?? '' };
        const admit = (queuePosition: Waiting): void => {
          admitNow(newJob, acceptedTally.with(queuePosition, newJob.owner), bytesMax[i]);
          acceptedTally.add(newJob.owner);
        };
        return finishSubmission(await jobs.add(job, { at: formatNow(), position: queuePositions[i]!, admit }));
      }),
    );
  };

  return {
    submitAll,
    async retry(jobId: string): Promise<JobStatus> {
      // A job that is too large for every node waits for a node with enough memory.
      const renewedJob = await jobs.renew(jobId, formatNow(), (job, queuePosition) =>
        admitNow(job, queuePosition, Infinity),
      );
      if (renewedJob === undefined) throw refuseMissingJob(jobId);
      return finishSubmission(renewedJob);
    },
  };
}

export const refuseMissingJob = (jobId: string): Refusal =>
  new Refusal('JOB_NOT_FOUND', `No job is stored under ${jobId}.`, { job_id: jobId });

/** Counts the accepted jobs of a group. The queue positions were read before and do not contain them. */
function createTally() {
  const byOwner = new Map<string, number>();
  let count = 0;
  return {
    add(owner: string): void {
      count++;
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1);
    },
    with: ({ queued, queuedOfOwner }: Waiting, owner: string): Waiting => ({
      queued: queued + count,
      queuedOfOwner: queuedOfOwner + (byOwner.get(owner) ?? 0),
    }),
  };
}

/**
 * @returns a function that deletes the oldest ended jobs without querying all ended jobs at every submission
 */
function createForgetting({ rows, jobs, endedMax }: { rows: JobRows; jobs: JobDocuments; endedMax: number }) {
  const submissions = Math.max(1, Math.floor(endedMax / 100));
  let remainingCount = 0;
  return async (count: number): Promise<void> => {
    remainingCount -= count;
    if (remainingCount >= 0) return;
    remainingCount = submissions - 1;
    for (const endedJob of await rows.surplus(endedMax, DELETED_JOBS_MAX)) await jobs.forget(endedJob);
  };
}

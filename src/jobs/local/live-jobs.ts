import type { RetryPolicies } from '#domain/jobs/retry-policy.js';
import type { Clock } from '../clock.js';
import type { TaskProgress } from '../compute-pool.js';
import { selectLogFields, type JobIdentity } from '../job-record.js';
import { advance, isTerminal, type ImpossibleReason, type JobLife, type LifeEvent } from '../life-cycle.js';
import { computeLifeLimits } from '../life-limits.js';
import type { JobLog, JobQueue } from '../queue.js';
import type { JobState } from '../status.js';
import { createJobHistory, type JobHistory } from './job-history.js';
import { createJobWatchers } from './watchers.js';

/** A pending or running job. */
export interface LiveJob {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}

/** Live job with the writes that are in progress. */
export interface TrackedJob extends LiveJob {
  life: JobLife;
  /** Result of the latest transition that was started. */
  tail: Promise<unknown>;
  isSettling: boolean;
}

/** Unfinished jobs in memory, with the changes of all jobs. */
export interface LiveJobs extends Pick<JobQueue, 'watch' | 'watchAll'> {
  readonly history: JobHistory;
  /** Adds a stored job. */
  adopt(identity: JobIdentity, life: JobLife): TrackedJob;
  get(jobId: string): TrackedJob | undefined;
  values(): Iterable<TrackedJob>;
  ids(): Iterable<string>;
  counts(): { readonly pending: number; readonly running: number };
  /** Updates the progress of a running job from its node. Changes nothing while the next state is being written. */
  refresh(entry: TrackedJob): void;
  /** Applies an event that is not stored. */
  apply(entry: TrackedJob, event: LifeEvent): void;
  /** Returns the state of a job after an event, or the reason why the event comes too late. */
  advance(entry: TrackedJob, event: LifeEvent): JobLife | ImpossibleReason;
  /** Makes a stored life visible. */
  publish(entry: TrackedJob, life: JobLife, event: LifeEvent): void;
  /** Notifies the watchers of a job. */
  notify(jobId: string): void;
}

export interface LiveJobsDependencies {
  readonly clock: Clock;
  readonly getRetryPolicy: RetryPolicies;
  readonly log: JobLog;
  /** Returns the progress of the attempt of a running job. Returns undefined if it is unknown. */
  readonly findProgress: (job: LiveJob) => TaskProgress | undefined;
  /** Called after every change of state, once it is visible. */
  readonly onChange: (job: LiveJob, before: JobState, event: LifeEvent) => void;
}

export function createLiveJobs({ clock, getRetryPolicy, log, findProgress, onChange }: LiveJobsDependencies): LiveJobs {
  const jobsById = new Map<string, TrackedJob>();
  // Microseconds since 1970 at the start of the process.
  const history = createJobHistory(clock.now() * 1000);
  const watchers = createJobWatchers({ clock, liveIds: () => jobsById.keys(), look: notifyOfProgress });
  let runningCount = 0;

  function adopt(identity: JobIdentity, life: JobLife): TrackedJob {
    const entry: TrackedJob = { identity, life, tail: Promise.resolve(), isSettling: false };
    jobsById.set(identity.job_id, entry);
    if (life.status === 'running') runningCount++;
    history.add(identity, life.status);
    return entry;
  }

  function publish(entry: TrackedJob, life: JobLife, event: LifeEvent): void {
    const { job_id: jobId } = entry.identity;
    const previousStatus = entry.life.status;
    entry.life = life;
    runningCount += Number(life.status === 'running') - Number(previousStatus === 'running');
    history.change(jobId, life.status);
    if (isTerminal(life.status)) jobsById.delete(jobId);
    log.info(
      { ...selectLogFields(entry.identity), status: life.status, attempt: life.attempt, code: life.error?.code },
      'job changed',
    );
    notify(jobId);
    onChange(entry, previousStatus, event);
  }

  function refresh(entry: TrackedJob): void {
    if (entry.life.status !== 'running' || entry.isSettling) return;
    const progress = findProgress(entry);
    if (progress === undefined) return;
    const { fraction, message } = progress;
    const { attempt } = entry.life;
    apply(entry, { type: 'progress', attempt, fraction, ...(message === undefined ? {} : { message }) });
  }

  function apply(entry: TrackedJob, event: LifeEvent): void {
    const next = advanceJob(entry, event);
    if (typeof next !== 'string') entry.life = next;
  }

  const advanceJob = ({ identity, life }: TrackedJob, event: LifeEvent): JobLife | ImpossibleReason =>
    advance(life, event, computeLifeLimits(identity, { attempt: life.attempt, getRetryPolicy }));

  function notify(jobId: string): void {
    history.touch(jobId);
    watchers.notify(jobId);
  }

  function notifyOfProgress(jobId: string): void {
    const entry = jobsById.get(jobId);
    if (entry === undefined) return;
    const { progress, message } = entry.life;
    refresh(entry);
    if (entry.life.progress !== progress || entry.life.message !== message) notify(jobId);
  }

  return {
    history,
    adopt,
    get: (jobId) => jobsById.get(jobId),
    values: () => jobsById.values(),
    ids: () => jobsById.keys(),
    counts: () => ({ pending: jobsById.size - runningCount, running: runningCount }),
    refresh,
    apply,
    advance: advanceJob,
    publish,
    notify,
    watch: watchers.watch,
    watchAll: watchers.watchAll,
  };
}

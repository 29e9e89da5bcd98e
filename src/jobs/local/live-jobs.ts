import type { JobKindName, RetryPolicies } from '#domain/outputs/jobs.js';
import type { Clock } from '../port/clock.js';
import type { TaskProgress } from '../port/compute-pool.js';
import {
  advance,
  computeLifeLimits,
  type ImpossibleReason,
  isTerminal,
  type JobIdentity,
  type JobLife,
  type JobState,
  type LifeEvent,
  selectLogFields,
} from '../port/life-cycle.js';
import {
  type AttemptKey,
  createJobListeners,
  type JobListeners,
  type JobLog,
  type JobQuery,
  type JobQueue,
  type Lease,
} from '../port/queue.js';

/** Fields of all jobs that listings filter on. All other fields are read from disk. */
interface JobHistory {
  /** Adds a job as the newest one. Replaces an ended job with the same id. */
  add(identity: JobIdentity, status: JobState): void;
  change(jobId: string, status: JobState): void;
  /** Counts a change of a job. */
  touch(jobId: string): void;
  /**
   * Returns the value of the change counter at the last change of a job. For an unknown job, returns the counter of all
   * jobs.
   */
  getRevision(jobId: string): number;
  /** Lists at most `countMax` of the oldest ended jobs in excess of `endedMax`. */
  surplus(endedMax: number, countMax: number): readonly RememberedJob[];
  forget(job: RememberedJob): void;
  /** Lists the ids of a kind, oldest first. */
  ids(kind: JobKindName): string[];
  /** Lists the ids that match a query, newest first, without its limit. */
  matching(query: Omit<JobQuery, 'limit'>): Iterable<string>;
}

export interface RememberedJob {
  readonly id: string;
  readonly sequence: number;
}

/**
 * Creates an empty history. @param revision first value of the change counter, higher than those of the previous
 * process
 */
function createJobHistory(revision: number): JobHistory {
  /** Jobs in order of submission, the oldest first. */
  const jobs = new Map<
    string,
    { readonly kind: JobKindName; readonly sequence: number; status: JobState; revision: number }
  >();
  let latestRevision = revision;
  let endedCount = 0;

  const countEnded = (status: JobState | undefined): number => (status !== undefined && isTerminal(status) ? 1 : 0);

  return {
    add({ job_id: jobId, kind, sequence }, status) {
      endedCount += countEnded(status) - countEnded(jobs.get(jobId)?.status);
      jobs.delete(jobId); // A replaced job becomes the newest.
      jobs.set(jobId, { kind, sequence, status, revision: latestRevision });
    },
    change(jobId, status) {
      const job = jobs.get(jobId);
      if (job === undefined) return;
      endedCount += countEnded(status) - countEnded(job.status);
      job.status = status;
    },
    touch(jobId) {
      const job = jobs.get(jobId);
      if (job !== undefined) job.revision = ++latestRevision;
    },
    getRevision: (jobId) => jobs.get(jobId)?.revision ?? latestRevision,
    surplus(endedMax, countMax) {
      const count = Math.min(endedCount - endedMax, countMax);
      const rememberedJobs: RememberedJob[] = [];
      if (count <= 0) return rememberedJobs;
      for (const [id, { status, sequence }] of jobs) {
        if (isTerminal(status)) rememberedJobs.push({ id, sequence });
        if (rememberedJobs.length === count) break;
      }
      return rememberedJobs;
    },
    forget({ id, sequence }) {
      const job = jobs.get(id);
      if (job?.sequence !== sequence) return;
      endedCount -= countEnded(job.status);
      jobs.delete(id);
    },
    ids: (kind) => [...jobs].flatMap(([jobId, job]) => (job.kind === kind ? [jobId] : [])),
    *matching({ kinds, statuses, before }) {
      const end = before === undefined ? Infinity : (jobs.get(before)?.sequence ?? 0);
      for (const [jobId, job] of [...jobs].reverse()) {
        if (job.sequence >= end || kinds?.includes(job.kind) === false) continue;
        if (statuses !== undefined && !statuses.includes(job.status)) continue;
        yield jobId;
      }
    },
  };
}

export interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
  notify(jobId: string): void;
}

/** Interval between reads of the progress of watched jobs. */
const WATCH_MS = 250;

/**
 * @param liveIds returns the ids of the jobs that may have progress; they are checked while a listener watches all jobs
 * @param look checks whether the progress of a watched job has changed; called every 250 ms while any job is watched
 */
function createJobWatchers(
  clock: Pick<Clock, 'after'>,
  liveIds: () => Iterable<string>,
  look: (jobId: string) => void,
): JobWatchers {
  const listeners = createJobListeners(poll);
  let isPolling = false;

  function poll(): void {
    if (isPolling || listeners.isEmpty()) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      isPolling = false;
      for (const jobId of listeners.hasListenersOfAll() ? liveIds() : listeners.jobIds()) look(jobId);
      poll();
    });
  }

  return { watch: listeners.watch, watchAll: listeners.watchAll, notify: listeners.call };
}

/** A pending or running job. */
export interface LiveJob {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}

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
  const watchers = createJobWatchers(clock, () => jobsById.keys(), notifyOfProgress);
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

/** Leases of running jobs with their last heartbeats. */
export interface Leases {
  /** Grants a lease for an attempt that starts now. */
  grant(job: LiveJob, nowMs: number): Lease;
  of(job: LiveJob): Lease | undefined;
  /** Returns the lease that this process holds for a job. */
  ofJob(jobId: string): Lease | undefined;
  /** Returns true if a lease belongs to the current attempt of its job. */
  isHeld(lease: Lease): boolean;
  /** Records a heartbeat. */
  beat(lease: Lease, nowMs: number): void;
  /** Lists the leases without a heartbeat since a time. */
  silentSince(ms: number): readonly Lease[];
  /** Ends the lease of a job. With `isLost`, the node that holds the lease did not end it. */
  end(job: LiveJob, isLost: boolean): void;
  /** Ends the lease of an attempt after another process has given the job to another node. */
  lose(lease: Lease): void;
  readonly count: number;
}

/** Lease with the function that revokes it. */
export interface NewLease {
  readonly lease: Lease;
  giveUp(): void;
}

interface ActiveLease extends NewLease {
  beatMs: number;
}

export function createLeases(): Leases {
  /** Leases by job. */
  const leases = new Map<string, ActiveLease>();
  const findCurrent = ({ jobId, sequence, attempt }: Lease): ActiveLease | undefined => {
    const activeLease = leases.get(jobId);
    return activeLease?.lease.sequence === sequence && activeLease.lease.attempt === attempt ? activeLease : undefined;
  };

  return {
    grant({ identity: { job_id: jobId, sequence }, life: { attempt } }, nowMs) {
      const newLease = createLease({ jobId, sequence, attempt });
      leases.set(jobId, { ...newLease, beatMs: nowMs });
      return newLease.lease;
    },
    of: ({ identity }) => leases.get(identity.job_id)?.lease,
    ofJob: (jobId) => leases.get(jobId)?.lease,
    isHeld: (lease) => findCurrent(lease) !== undefined,
    beat(lease, nowMs) {
      const activeLease = findCurrent(lease);
      if (activeLease !== undefined) activeLease.beatMs = nowMs;
    },
    silentSince: (ms) => [...leases.values()].flatMap(({ lease, beatMs }) => (beatMs < ms ? [lease] : [])),
    end({ identity }, isLost) {
      const activeLease = leases.get(identity.job_id);
      leases.delete(identity.job_id);
      if (isLost) activeLease?.giveUp();
    },
    lose(lease) {
      const activeLease = findCurrent(lease);
      if (activeLease === undefined) return;
      leases.delete(lease.jobId);
      activeLease.giveUp();
    },
    get count() {
      return leases.size;
    },
  };
}

/** Creates a lease. Every attempt has one, so it uses fewer allocations than an AbortSignal. */
export function createLease({ jobId, sequence, attempt }: AttemptKey): NewLease {
  const calls: (() => void)[] = [];
  let isLost = false;
  return {
    lease: {
      jobId,
      sequence,
      attempt,
      get isLost() {
        return isLost;
      },
      onLost: (call) => void calls.push(call),
    },
    giveUp() {
      isLost = true;
      for (const call of calls) call();
    },
  };
}

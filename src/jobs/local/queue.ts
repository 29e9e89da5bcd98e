import { Refusal } from '#domain/base/refusals.js';
import { formatTimestamp } from '#store/document-identity.js';
import type { DocumentStore } from '#store/port.js';
import { type Admission, admit } from '../port/admission.js';
import { createEvent, endJob } from '../port/callbacks.js';
import type { Clock } from '../port/clock.js';
import type { Lane } from '../port/compute-pool.js';
import { computeDelayMs, type JobLife, type JobState, type JobStatus, type LifeEvent } from '../port/life-cycle.js';
import { getJobKind, type PausedKinds } from '../port/paused-kinds.js';
import {
  type Claim,
  type ClaimOrder,
  countSlotsByClass,
  type EndedJob,
  type Ending,
  type JobClass,
  type JobLog,
  type JobQueue,
  type LaneLoad,
  type Lease,
  type NewJob,
  type Node,
  type QueueLimits,
} from '../port/queue.js';
import { type JobIdentity, selectLogFields } from '../port/record.js';
import { createJobTable, type JobTable } from './job-table.js';
import { createLines, type Lines } from './lanes.js';
import { createLeases, type Leases, type LiveJob } from './live-jobs.js';

/** Submission that is not yet on disk. */
export interface PendingSubmission {
  readonly inputHash: string;
  readonly owner: string;
  readonly durable: Promise<JobStatus>;
}

/** Pending submissions by the id of their job. */
interface PendingSubmissions {
  find(jobId: string): PendingSubmission | undefined;
  /** Keeps a submission until it is on disk or refused. @returns the status once it is on disk */
  hold(jobId: string, submission: PendingSubmission): Promise<JobStatus>;
  readonly count: number;
  countSubmissions(owner: string): number;
  /** Resolves when all pending submissions are on disk or refused. */
  settled(): Promise<void>;
}

function createPendingSubmissions(): PendingSubmissions {
  const submissionsById = new Map<string, PendingSubmission>();

  return {
    find: (jobId) => submissionsById.get(jobId),
    async hold(jobId, submission) {
      submissionsById.set(jobId, submission);
      try {
        return await submission.durable;
      } finally {
        submissionsById.delete(jobId);
      }
    },
    get count() {
      return submissionsById.size;
    },
    countSubmissions: (owner) =>
      [...submissionsById.values()].reduce((sum, submission) => sum + Number(submission.owner === owner), 0),
    settled: async () => void (await Promise.allSettled([...submissionsById.values()].map(({ durable }) => durable))),
  };
}

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
function createAcceptance(dependencies: AcceptanceDependencies): Acceptance {
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

/** Jobs that wait for their earliest start. */
export interface DelayedJobs {
  /** Puts a job at the front of the queue as soon as it may start. */
  queueAgain(job: LiveJob, event: LifeEvent): void;
  /**
   * Puts a job at the front of the queue after a short delay. Used if its start could not be written, for example
   * because the disk is full.
   */
  startAgain(job: LiveJob): void;
  /** Puts a job of the previous process in the queue as soon as it may start. */
  restore(job: LiveJob): void;
}

/** Delay before a failed start is retried. */
const START_AGAIN_MS = 1000;

export interface DelayedJobsDependencies {
  readonly clock: Clock;
  readonly lines: Lines;
  readonly live: (jobId: string) => LiveJob | undefined;
  readonly onWork: () => void;
}

function createDelayedJobs({ clock, lines, live, onWork }: DelayedJobsDependencies): DelayedJobs {
  function waitFor(identity: JobIdentity, { attempt }: JobLife, delayMs: number): void {
    clock.after(delayMs, () => {
      const liveJob = live(identity.job_id);
      if (liveJob?.identity !== identity || liveJob.life.status !== 'pending' || liveJob.life.attempt !== attempt)
        return;
      lines.addFirst(identity);
      onWork();
    });
  }

  return {
    queueAgain({ identity, life }, event) {
      const delayMs = computeDelayMs(life, event);
      if (delayMs === 0) lines.addFirst(identity);
      else waitFor(identity, life, delayMs);
    },
    startAgain: ({ identity, life }) => waitFor(identity, life, START_AGAIN_MS),
    restore({ identity, life }) {
      const delayMs = life.not_before === null ? 0 : Date.parse(life.not_before) - clock.now();
      if (delayMs <= 0) lines.add(identity);
      else waitFor(identity, life, delayMs);
    },
  };
}

export interface LocalQueueDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly limits: QueueLimits;
  /** Maximum number of running jobs of this node. */
  readonly places?: Readonly<Record<Lane, number>>;
  readonly log: JobLog;
  /** Receives every ended job. */
  readonly onEnded?: (job: EndedJob) => void;
  /** Kinds that do not start. Default: none. */
  readonly paused?: Pick<PausedKinds, 'has' | 'onResumed'> | undefined;
}

/** Reason for the loss of jobs that ran when the previous process ended. */
const ENDED_CAUSE = 'the service ended while the job ran';

/** Interval between checks of leases. */
const TICK_MS = 1000;

/**
 * Creates the queue of one process on its documents. The order of waiting jobs is in memory, and every state is on
 * disk.
 */
export function createLocalQueue(dependencies: LocalQueueDependencies): JobQueue {
  const { store, clock, limits, log, onEnded, paused, places = { heavy: 0, light: 0 } } = dependencies;
  const submissions = createPendingSubmissions();
  const lines = createLines();
  const leases = createLeases();
  const table = createJobTable({ store, clock, ...limits, log, findProgress, onChange: follow });
  let node: Node | undefined;
  let isDraining = false;
  const delayedJobs = createDelayedJobs({ clock, lines, live: table.live, onWork: () => node?.onWork() });
  const onWork = (): void => node?.onWork();
  const acceptance = createAcceptance({ table, submissions, lines, limits, isDraining: () => isDraining, onWork });
  const getTimestamp = (): string => formatTimestamp(clock.now());
  const watch = createLeaseWatch({ clock, leases, leaseMs: limits.leaseMs, expire });

  function findProgress(job: LiveJob) {
    const lease = leases.of(job);
    return lease && node?.findProgress(lease);
  }

  /** Updates lines and leases after a change of state. */
  function follow(job: LiveJob, before: JobState, event: LifeEvent): void {
    const { status } = job.life;
    if (status === 'running') {
      leases.grant(job, clock.monotonicMs());
      watch();
    } else if (before === 'pending') lines.remove(job.identity);
    else leases.end(job, event.type === 'cancel' || event.type === 'crash' || event.type === 'lose');
    if (before === 'running' && status === 'pending') delayedJobs.queueAgain(job, event);
    const endedJob = endJob(job);
    if (endedJob !== undefined) onEnded?.(endedJob);
    node?.onWork();
  }

  async function cancel(jobId: string): Promise<JobStatus> {
    await submissions.find(jobId)?.durable.catch(() => undefined); // A pending submission is cancelled once it is on disk.
    const job = table.live(jobId);
    if (job !== undefined) await table.transition(job, { type: 'cancel', at: getTimestamp() });
    return acceptance.requireStatus(jobId);
  }

  async function join(joining: Node): Promise<number> {
    const leftLiveJobs = await table.load();
    node = joining;
    paused?.onResumed(onWork);
    const lostJobs = leftLiveJobs.filter(({ life }) => life.status === 'running');
    for (const job of leftLiveJobs) if (job.life.status === 'pending') delayedJobs.restore(job);
    const end = (job: LiveJob) =>
      ({ type: 'lose', attempt: job.life.attempt, cause: ENDED_CAUSE, at: getTimestamp() }) as const;
    // Starts with the newest job. Each job goes to the front of the queue, so that the oldest job is first at the end.
    await Promise.all(lostJobs.reverse().map((job) => table.transition(job, end(job))));
    return lostJobs.length;
  }

  async function claim({ lane, exceptOwners, take }: ClaimOrder): Promise<Claim | undefined> {
    const mayRun = (owner: string, jobId: string): boolean =>
      !exceptOwners.has(owner) && paused?.has(getJobKind(jobId)) !== true;
    const job = isDraining ? undefined : table.live(lines[lane].peek(mayRun) ?? '');
    if (job === undefined || !take(job.identity)) return undefined;
    lines[lane].shift(mayRun);
    const startedLife = await start(job);
    const lease = leases.of(job);
    if (typeof startedLife === 'string' || lease === undefined) return undefined;
    return { lease, job: job.identity, input: await table.input(lease.jobId) };
  }

  async function start(job: LiveJob) {
    try {
      return await table.transition(job, { type: 'start', at: getTimestamp() });
    } catch (thrown) {
      delayedJobs.startAgain(job);
      throw thrown;
    }
  }

  async function heartbeat(lease: Lease): Promise<boolean> {
    const job = findHeldJob(lease);
    if (job === undefined) return false;
    leases.beat(lease, clock.monotonicMs());
    table.beat(job);
    return true;
  }

  /** Returns the running job of a lease. Returns undefined after the attempt was abandoned. */
  function findHeldJob(lease: Lease): LiveJob | undefined {
    return leases.isHeld(lease) ? table.live(lease.jobId) : undefined;
  }

  async function complete(lease: Lease, ending: Ending): Promise<boolean> {
    const job = findHeldJob(lease);
    if (job === undefined) return false;
    const effect = ending.type === 'succeed' ? ending.effect : undefined;
    return (
      typeof (await table.transition(job, createEvent(ending, lease.attempt, getTimestamp()), effect)) !== 'string'
    );
  }

  function expire(lease: Lease): void {
    const job = findHeldJob(lease);
    if (job === undefined || table.isSettling(job)) return;
    const cause = `no heartbeat for ${limits.leaseMs / 1000} seconds`;
    complete(lease, { type: 'lose', cause }).catch((thrown: unknown) => {
      log.error({ ...selectLogFields(job.identity), err: thrown }, 'a change of the job could not be written');
    });
  }

  return {
    submit: acceptance.submit,
    cancel,
    retry: acceptance.retry,
    join,
    claim,
    heartbeat,
    complete,
    drain: () => void (isDraining = true),
    close: submissions.settled,
    ...table.reader,
    lanes: async () => addSlotLoads(await table.reader.lanes(), countSlotsByClass(places, limits.jobBytesMax)),
    isLive: async (jobId) => table.live(jobId) !== undefined || submissions.find(jobId) !== undefined,
  };
}

interface LeaseWatch {
  readonly clock: Clock;
  readonly leases: Leases;
  readonly leaseMs: number;
  readonly expire: (lease: Lease) => void;
}

/** Returns a function that starts periodic checks of the leases. The checks continue as long as there are leases. */
function createLeaseWatch({ clock, leases, leaseMs, expire }: LeaseWatch): () => void {
  let isTicking = false;
  return function watch() {
    if (isTicking) return;
    isTicking = true;
    clock.after(TICK_MS, () => {
      isTicking = false;
      for (const lease of leases.silentSince(clock.monotonicMs() - leaseMs)) expire(lease);
      if (leases.count > 0) watch();
    });
  };
}

/** Adds the slots of this process to the loads of its lanes. */
function addSlotLoads(
  loads: Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>>,
  ownCounts: Readonly<Record<JobClass, number>>,
): Readonly<Record<JobClass, LaneLoad>> {
  const createLaneLoad = (name: JobClass): LaneLoad => {
    const { waiting, running, oldestSeconds } = loads[name];
    return { waiting, running, oldestSeconds, places: ownCounts[name] };
  };
  return { heavy: createLaneLoad('heavy'), huge: createLaneLoad('huge'), light: createLaneLoad('light') };
}

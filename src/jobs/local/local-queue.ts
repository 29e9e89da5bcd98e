import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Clock } from '../clock.js';
import type { Lane } from '../compute-pool.js';
import { endJob, createEvent } from '../ending.js';
import { countSlotsByClass, type JobClass } from '../job-class.js';
import { selectLogFields } from '../job-record.js';
import type { LifeEvent } from '../life-cycle.js';
import { getJobKind, type PausedKinds } from '../paused-kinds.js';
import type {
  Claim,
  ClaimOrder,
  EndedJob,
  Ending,
  JobLog,
  JobQueue,
  LaneLoad,
  Lease,
  Node,
  QueueLimits,
} from '../queue.js';
import type { JobState, JobStatus } from '../status.js';
import { createPendingSubmissions } from './pending-submissions.js';
import { createDelayedJobs } from './delayed-jobs.js';
import { createAcceptance } from './acceptance.js';
import { createJobTable } from './job-table.js';
import type { LiveJob } from './live-jobs.js';
import { createLeases, type Leases } from './leases.js';
import { createLines } from './lines.js';

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

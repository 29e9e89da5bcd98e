import { randomUUID } from 'node:crypto';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { JOB_KIND_CATALOGUE } from '#domain/outputs/jobs.js';
import { formatTimestamp } from '#store/port.js';
import type { Database } from '#store/postgres/database.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import {
  type Admission,
  admit,
  type AttemptKey,
  type Claim,
  type ClaimOrder,
  createJobListeners,
  createLeases,
  type EndedJob,
  type Ending,
  type JobListeners,
  type JobLog,
  type JobQueue,
  type Lease,
  type NewJob,
  type QueueLimits,
  type QueueNode,
  type StoredInput,
  type Waiting,
} from '../port/queue.js';
import { createEvent, endJob } from '../port/callbacks.js';
import type { Clock } from '../port/clock.js';
import type { Lane, TaskProgress } from '../port/compute-pool.js';
import {
  isTerminal,
  type JobRecord,
  type JobStatus,
  type LifeEvent,
  selectLogFields,
  toStatus,
} from '../port/life-cycle.js';
import type { PausedKinds } from '../port/job-kind.js';
import { createHeartbeats, createNodeAttemptRecords, createNotificationBuffer } from './heartbeats.js';
import {
  createJobDocuments,
  createJobReader,
  type JobChange,
  type JobDocuments,
  parseRecord,
} from './job-documents.js';
import {
  createJobRows,
  type JobRows,
  listStartedKinds,
  RESERVED_SECONDS,
  type ReservedJob,
  type Start,
} from './job-rows.js';
import type { NodeState } from './nodes.js';
import { createPresence, pollRepeatedly, type Presence } from './presence.js';
import { createPartRows, createSharedParts, type SharedParts } from './parts.js';

/** Jobs that are reserved for this node while it decides whether to take them. */
interface Offers {
  /**
   * Returns the job for which the node keeps memory free, otherwise the next waiting job that the node may take. The
   * job starts if it fits into the free memory.
   */
  next(order: ClaimOrder, start: Start): Promise<ReservedJob | undefined>;
  /** Runs the work that follows a start. If the work fails, no node runs the job, and the start is undone. */
  orTakenBack<T>(start: Start, work: () => Promise<T>): Promise<T>;
  /** Undoes failed or unconfirmed starts. Their jobs wait again, and the starts do not count as crashes. */
  takeBack(): Promise<void>;
  /**
   * Returns a job that was not taken to the front of the queue. If the job has waited so long that nodes without enough
   * memory are offered it, this node keeps the job and takes no other job of its lane until the memory is free.
   */
  leave(offered: ReservedJob, order: ClaimOrder): Promise<void>;
  /** Releases the jobs for which the node keeps memory free. */
  close(): Promise<void>;
}

interface OfferedJob {
  readonly job: ReservedJob;
  readonly untilMs: number;
}

/** @param memoryBytes memory of this node for all its jobs */
function createOffers(
  rows: Pick<JobRows, 'reserve' | 'release' | 'undo'>,
  clock: Pick<Clock, 'monotonicMs'>,
  memoryBytes: number,
): Offers {
  const offersByLane = new Map<Lane, OfferedJob>();
  /** Starts that failed half-way or were not confirmed; no node runs their jobs. */
  const lostStarts = new Set<Start>();

  /**
   * Removes the job for which the node keeps memory free. After the reservation has expired, another node may have
   * reserved it.
   */
  function takeOffered({ lane, exceptOwners }: ClaimOrder): ReservedJob | undefined {
    const entry = offersByLane.get(lane);
    if (entry !== undefined && exceptOwners.has(entry.job.owner)) return undefined;
    offersByLane.delete(lane);
    return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.job : undefined;
  }

  async function undoOnFailure<T>(start: Start, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      lostStarts.add(start);
      throw thrown;
    }
  }

  async function takeBack(): Promise<void> {
    if (lostStarts.size === 0) return;
    const starts = [...lostStarts];
    await rows.undo(starts);
    for (const start of starts) lostStarts.delete(start);
  }

  return {
    async next(claim, start) {
      await takeBack();
      const { lane, exceptOwners, freeBytes } = claim;
      const ownReservedJob = takeOffered(claim);
      if (ownReservedJob !== undefined) return ownReservedJob;
      const order = { lane, exceptOwners: [...exceptOwners], freeBytes, memoryBytes, start };
      return undoOnFailure(start, () => rows.reserve(order));
    },
    orTakenBack: undoOnFailure,
    takeBack,
    async leave(offered, { lane, freeBytes }) {
      const isHeld = offered.claim === null && offered.estimated_bytes > freeBytes;
      if (!isHeld || offersByLane.has(lane)) return rows.release(offered);
      offersByLane.set(lane, { job: offered, untilMs: clock.monotonicMs() + RESERVED_SECONDS * 1000 });
    },
    async close() {
      const releases = [...offersByLane.values()].map(({ job }) => rows.release(job));
      offersByLane.clear();
      await Promise.allSettled(releases); // Reservations expire by themselves.
    },
  };
}

/** Dependencies of the queue of a node and of its attempts. */
export interface SharedQueueDependencies {
  readonly documents: Pick<PostgresDocuments, 'get' | 'transaction' | 'jobTransaction'>;
  readonly rows: JobRows;
  readonly presence: Presence;
  /** Parts of running jobs, which several nodes compute. */
  readonly parts?: SharedParts | undefined;
  /** Name of this node, across restarts. */
  readonly node: string;
  readonly clock: Clock;
  readonly limits: QueueLimits;
  readonly log: JobLog;
  /** Receives every job that this process ended. */
  readonly onEnded?: (job: EndedJob) => void;
  /** Called for the end of an abandoned attempt, which changed nothing. */
  readonly onStale?: () => void;
  /** Called if this process abandons an attempt of a node that stopped sending heartbeats. */
  readonly onTakenOver?: () => void;
  /**
   * Channel on which the ids of cancelled jobs are published. Default: nodes detect a cancellation only by heartbeats.
   */
  readonly cancellations?: Notices;
}

interface QueueAttemptsDependencies extends SharedQueueDependencies {
  readonly jobs: JobDocuments;
  /** Returns the progress of an attempt of this node, if known. */
  readonly findProgress: (lease: Lease) => TaskProgress | undefined;
  /** Called if a response of the database contains changes of a job. */
  readonly onNews: (jobId: string) => void;
  readonly onChange: (jobId: string) => void;
  readonly isDraining: () => boolean;
  readonly isClosed: () => boolean;
}

/** Attempts of this node, with functions that start them, send heartbeats and end them. */
export interface QueueAttempts extends Pick<JobQueue, 'claim' | 'heartbeat' | 'complete'> {
  /** Runs the work that follows a change which this process committed. */
  follow(change: JobChange, event: LifeEvent): void;
  /** Abandons an attempt. @returns true if the attempt had not ended before */
  lose(key: AttemptKey, cause: string): Promise<boolean>;
  /** Checks at once whether the attempt of a job was cancelled or abandoned. */
  hear(jobId: string): void;
  readonly takeBack: Offers['takeBack'];
  close(): Promise<void>;
}

/** Delay between two attempts to write the end of an attempt. */
const RETRY_DELAY_MS = 500;
/** Events by which another process or the thread ends an attempt. */
const EXTERNAL_END_EVENTS: ReadonlySet<LifeEvent['type']> = new Set(['cancel', 'crash', 'lose']);

function createQueueAttempts(dependencies: QueueAttemptsDependencies): QueueAttempts {
  const { documents, rows, presence, parts, clock, limits, log } = dependencies;
  const { jobs, findProgress, onNews, onChange, onEnded, isDraining, isClosed } = dependencies;
  const leases = createLeases();
  const offers = createOffers(rows, clock, limits.jobBytesMax);
  const notificationBuffer = createNotificationBuffer();
  const records = createNodeAttemptRecords();
  const heartbeats = createHeartbeats({ rows, leases, own: records, clock, ...limits, findProgress, onNews });

  function publishChange({ identity, before, life }: JobChange, event: LifeEvent): void {
    const changedJob = { identity, life };
    const { job_id: jobId } = identity;
    log.info(
      { ...selectLogFields(identity), status: life.status, attempt: life.attempt, code: life.error?.code },
      'job changed',
    );
    if (life.status === 'running') leases.grant(changedJob, clock.monotonicMs());
    else if (before.status === 'running') leases.end(changedJob, EXTERNAL_END_EVENTS.has(event.type));
    const endedJob = endJob(changedJob);
    if (endedJob !== undefined) onEnded?.(endedJob);
    onChange(jobId);
  }

  /** Checks at once whether an attempt was cancelled or abandoned. Its row records a cancellation. */
  function retryCompletion(lease: Lease | undefined): void {
    if (lease !== undefined) void heartbeats.prolong(lease).catch(() => {}); // a heartbeat tries again
  }

  async function lose(key: AttemptKey, cause: string): Promise<boolean> {
    const event = createEvent({ type: 'lose', cause }, key.attempt, getTimestamp(clock));
    const change = await jobs.move({ jobId: key.jobId, attempt: key, event });
    if (typeof change !== 'object') return false;
    publishChange(change, event);
    await parts?.forget(key.jobId);
    return true;
  }

  async function claim(order: ClaimOrder): Promise<Claim | undefined> {
    if (isDraining()) return undefined;
    const { node } = dependencies;
    const event: LifeEvent = { type: 'start', at: getTimestamp(clock), node };
    const start = { node, leaseMs: limits.leaseMs, at: event.at, claim: randomUUID() };
    const { value: claimedJobs, heard } = await notificationBuffer.during(() => takeJob(order, start));
    if (claimedJobs === undefined) return isDraining() || order.lane === 'light' ? undefined : parts?.claim(order);
    const { begun, input } = claimedJobs;
    if (begun === undefined) return undefined;
    publishChange(begun, event);
    const newLease = leases.of(begun);
    if (newLease === undefined) return undefined;
    records.start(newLease, begun.seen);
    if (heard.has(newLease.jobId)) retryCompletion(newLease);
    return { lease: newLease, job: begun.identity, input };
  }

  /** @returns the start of the offered job if the node took it; undefined if no job waits */
  async function takeJob(order: ClaimOrder, start: Start) {
    const offer = await offers.next(order, start);
    if (offer === undefined) return undefined;
    return offers.orTakenBack(start, async () => {
      if (isDraining() || !order.take(offer)) {
        await (isDraining() ? rows.release(offer) : offers.leave(offer, order));
        return {};
      }
      const beat = offer.seen.beat ?? (await rows.start(offer, start));
      if (beat === undefined) return {}; // another node has the job now
      const startedAttempt = await jobs.begun({ ...offer, claim: start.claim }, beat);
      return startedAttempt === undefined ? {} : { begun: startedAttempt, input: await readInput(offer, documents) };
    });
  }

  async function complete(lease: Lease, ending: Ending): Promise<boolean> {
    if (parts?.hasLease(lease)) return parts.complete(lease, ending);
    const effect = ending.type === 'succeed' ? ending.effect : undefined;
    for (let cause: unknown; ;) {
      const isHeld = leases.isHeld(lease);
      if (!isHeld && cause === undefined) return refuseStale(lease);
      const event = createEvent(ending, lease.attempt, getTimestamp(clock));
      try {
        const move = { jobId: lease.jobId, attempt: lease, event, ...(effect && { effect }), seen: records.of(lease) };
        const change = isHeld ? await jobs.move(move) : undefined;
        // An earlier try may have succeeded.
        const outcome = typeof change === 'object' || cause === undefined ? change : await jobs.determineOutcome(lease);
        if (outcome === 'unknown') throw cause;
        if (typeof outcome !== 'object') return refuseStale(lease);
        publishChange(outcome, event);
        return true;
      } catch (thrown) {
        // Retries the end of the attempt. An attempt ends only once, however often and late the end is retried.
        if (!isStoreUnavailable(thrown) || isClosed() || thrown === cause) throw thrown;
        cause = thrown;
      }
      await new Promise<void>((resolve) => void clock.after(RETRY_DELAY_MS, resolve));
      // Sends a heartbeat, so that the attempt counts as alive while its end cannot be written.
      if (leases.isHeld(lease)) await heartbeats.prolong(lease).catch(() => {});
    }
  }

  /** Records that the end of an abandoned attempt was ignored. @returns false */
  function refuseStale(lease: Lease): false {
    leases.lose(lease);
    presence.noteStale();
    log.warn({ job_id: lease.jobId, attempt: lease.attempt }, 'the end of an abandoned attempt is ignored');
    dependencies.onStale?.();
    return false;
  }

  return {
    follow: publishChange,
    lose,
    hear(jobId) {
      notificationBuffer.hear(jobId); // a job whose start is being written has no lease yet
      retryCompletion(leases.ofJob(jobId));
    },
    takeBack: offers.takeBack,
    claim,
    heartbeat: (lease) => (parts?.hasLease(lease) ? parts.heartbeat(lease) : heartbeats.heartbeat(lease)),
    complete,
    close: offers.close,
  };
}

const getTimestamp = (clock: Pick<Clock, 'now'>): string => formatTimestamp(clock.now());

async function readInput(
  { jobId, sequence, seen, input }: ReservedJob,
  documents: Pick<PostgresDocuments, 'get'>,
): Promise<Claim['input']> {
  // Compares the submissions. The input of the offered job is not replaced before the job has ended.
  const isSameJob = parseRecord(seen.found)?.sequence === sequence;
  const storedInput = isSameJob ? input : await documents.get('job-input', jobId);
  // `add` wrote the input and the store checked its seal
  return storedInput === undefined || 'unreadable' in storedInput ? undefined : (storedInput.body as StoredInput);
}

/** Submissions of one process. */
export interface Submissions {
  /** Writes a job together with other waiting jobs, in the order of submission. */
  submit(job: NewJob): Promise<JobStatus>;
  /** Resolves when the submissions of one job have ended, successfully or not. */
  of(jobId: string): Promise<void>;
  /** Resolves when all submissions have ended. */
  idle(): Promise<void>;
}

/** Function that writes jobs with different ids. @returns the outcome of each job, in order */
type SubmissionWriter = (jobs: readonly NewJob[]) => Promise<readonly PromiseSettledResult<JobStatus>[]>;

interface WaitingJob {
  readonly job: NewJob;
  resolve(status: JobStatus): void;
  reject(reason: unknown): void;
}

/** Maximum number of jobs written together. Their locks exclude other writers during the write. */
const BATCH_MAX = 64;

/**
 * Writes jobs that arrive during a write as one group. Otherwise a process could write only one job per round trip.
 * @param write called for one group at a time, in the order of arrival, because limits count all earlier jobs
 */
export function createSubmissions(write: SubmissionWriter): Submissions {
  const waitingJobs: WaitingJob[] = [];
  /** End of the last submission of each job. */
  const lastWriteByJob = new Map<string, Promise<void>>();
  let pendingWrite: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    await undefined; // Submissions of the same moment join one group.
    for (let next = takeGroup(waitingJobs); next.length > 0; next = takeGroup(waitingJobs)) await writeGroup(next);
    pendingWrite = undefined;
  }

  async function writeGroup(group: readonly WaitingJob[]): Promise<void> {
    try {
      const outcomes = await write(group.map(({ job }) => job));
      for (const [i, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') group[i]!.resolve(outcome.value);
        else group[i]!.reject(outcome.reason);
      }
    } catch (thrown) {
      for (const { reject } of group) reject(thrown);
    }
  }

  return {
    submit(job) {
      const writtenStatus = new Promise<JobStatus>(
        (resolve, reject) => void waitingJobs.push({ job, resolve, reject }),
      );
      pendingWrite ??= writeAll();
      const end: Promise<void> = writtenStatus
        .then(
          () => {},
          () => {},
        )
        .finally(() => void (lastWriteByJob.get(job.jobId) === end && lastWriteByJob.delete(job.jobId)));
      lastWriteByJob.set(job.jobId, end);
      return writtenStatus;
    },
    of: async (jobId) => lastWriteByJob.get(jobId),
    idle: async () => pendingWrite,
  };
}

/** Takes the next jobs from the queue. Stops at a job whose id is already in the group. */
function takeGroup(waiting: WaitingJob[]): readonly WaitingJob[] {
  const ids = new Set<string>();
  for (const { job } of waiting) {
    if (ids.size === BATCH_MAX || ids.has(job.jobId)) break;
    ids.add(job.jobId);
  }
  return waiting.splice(0, ids.size);
}

export interface SharedAcceptance {
  readonly jobs: JobDocuments;
  readonly rows: JobRows;
  readonly presence: Pick<Presence, 'jobBytesMax'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly limits: QueueLimits;
  readonly log: JobLog;
  readonly find: JobQueue['find'];
  readonly isDraining: () => boolean;
  readonly onChange: (jobId: string) => void;
}

/** Maximum number of ended jobs deleted at a time. */
const DELETED_JOBS_MAX = 400;

/** @returns functions that queue new jobs and retry failed ones */
function createAcceptance(dependencies: SharedAcceptance) {
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

const refuseMissingJob = (jobId: string): Refusal =>
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

/** Listeners for changes of jobs on any node. */
export interface SharedJobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
  /** Calls the listeners at once after a change by this process. */
  notify(jobId: string): void;
  close(): void;
}

/** Interval between reads of the rows of watched jobs. One statement reads all rows. */
const WATCH_MS = 250;

function createJobWatchers(rows: JobRows, clock: Pick<Clock, 'after'>): SharedJobWatchers {
  const listeners = createJobListeners(poll);
  let knownRevisions: ReadonlyMap<string, number> = new Map();
  let isPolling = false;
  let isClosed = false;

  async function look(): Promise<void> {
    const revisions = await rows.revisions(listeners.jobIds());
    const watchesAll = listeners.hasListenersOfAll();
    const allRevisions = watchesAll ? new Map([...revisions, ...(await rows.revisions('live'))]) : revisions;
    // A job that was live and is no longer in the list has ended.
    const unwatchedIds = watchesAll ? [...knownRevisions.keys()].filter((jobId) => !allRevisions.has(jobId)) : [];
    const changedIds = [...allRevisions].flatMap(([jobId, revision]) =>
      knownRevisions.get(jobId) === revision ? [] : [jobId],
    );
    knownRevisions = allRevisions;
    for (const jobId of [...changedIds, ...unwatchedIds]) listeners.call(jobId);
  }

  function poll(): void {
    if (isPolling || isClosed || listeners.isEmpty()) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      const firstLook = isClosed ? Promise.resolve() : look();
      // The next read finds the changes that the failed read missed.
      void firstLook
        .catch(() => {})
        .finally(() => {
          isPolling = false;
          poll();
        });
    });
  }

  return {
    watch: listeners.watch,
    watchAll: listeners.watchAll,
    notify: listeners.call,
    close: () => void (isClosed = true),
  };
}

export interface PostgresQueueDependencies extends Omit<SharedQueueDependencies, 'rows' | 'presence' | 'parts'> {
  readonly documents: SharedQueueDependencies['documents'] & Pick<PostgresDocuments, 'events'>;
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  /** Returns the state that this node reports. Default: the node is not listed. */
  readonly describe?: (() => Omit<NodeState, 'stale' | 'protocol'>) | undefined;
  /** Kinds that do not start. Default: none. */
  readonly paused?: Pick<PausedKinds, 'has'> | undefined;
}

/**
 * Notifications between processes on one database. They are only for rare events, because commits with notifications
 * wait for each other.
 */
export interface Notices {
  publish(text: string): Promise<void>;
  subscribe(listener: (text: string) => void): void;
}

/**
 * Maximum number of repetitions of a cancellation. Each repetition is for a job with the same id that was submitted and
 * ended meanwhile.
 */
const CANCEL_TRIES_MAX = 10;
/** Creates the queue on the tables of a database. */
export function createPostgresQueue(dependencies: PostgresQueueDependencies): JobQueue {
  const { database, schema, node, describe, clock, limits, documents, paused } = dependencies;
  const listKinds = () => listStartedKinds((kind) => paused?.has(kind) === true);
  const helper = describe && { node, version: () => describe().version };
  const rows = createJobRows(database, schema, listKinds);
  const parts = helper && createSharedParts(createPartRows(database, schema, helper), documents, clock, limits.leaseMs);
  const presence = createPresence({ ...dependencies, kinds: listKinds, events: documents.events }, helper, parts);
  return createSharedQueue({ ...dependencies, rows, parts, presence });
}

/**
 * Creates the queue that any number of processes share. It consists of statements on rows and transactions on
 * documents.
 */
export function createSharedQueue(dependencies: SharedQueueDependencies): JobQueue {
  const { documents, rows, presence, parts, clock, limits, log, onTakenOver, cancellations } = dependencies;
  const jobs = createJobDocuments(documents, rows, limits.getRetryPolicy);
  const reader = createJobReader(rows);
  const watchers = createJobWatchers(rows, clock);
  let node: QueueNode | undefined;
  let isDraining = false;
  let isClosed = false;
  const attempts = createQueueAttempts({
    ...dependencies,
    jobs,
    findProgress: (lease) => node?.findProgress(lease),
    onNews: watchers.notify,
    onChange,
    isDraining: () => isDraining,
    isClosed: () => isClosed,
  });
  const acceptance = createAcceptance({
    ...dependencies,
    jobs,
    find: reader.find,
    isDraining: () => isDraining,
    onChange,
  });
  const submissions = createSubmissions(acceptance.submitAll);

  function onChange(jobId: string): void {
    watchers.notify(jobId);
    node?.onWork();
  }

  async function cancel(jobId: string): Promise<JobStatus> {
    await submissions.of(jobId); // A pending submission is cancelled once it is stored.
    const event: LifeEvent = { type: 'cancel', at: formatTimestamp(clock.now()) };
    for (let tries = 1; ; tries++) {
      const jobChange = await jobs.move({ jobId, event });
      if (typeof jobChange === 'object') {
        attempts.follow(jobChange, event);
        // Notifies other nodes, because a waiting job may have been started since. Its document does not show this.
        cancellations?.publish(jobId).catch(() => {}); // a heartbeat also reports the cancellation
        if (jobChange.before.status === 'running') await parts?.forget(jobId);
        return jobChange.status;
      }
      const status = (await reader.find(jobId))?.status;
      if (status === undefined) throw refuseMissingJob(jobId);
      // Another live job was submitted under this id meanwhile.
      if (isTerminal(status.status) || tries === CANCEL_TRIES_MAX) return status;
    }
  }

  async function join(joining: QueueNode): Promise<number> {
    node = joining;
    await presence.announce();
    cancellations?.subscribe((jobId) => {
      parts?.ask(jobId);
      attempts.hear(jobId);
    });
    const leftRunningJobs = await rows.runningOn(dependencies.node);
    for (const key of leftRunningJobs) await attempts.lose(key, 'the service ended while the job ran');
    pollRepeatedly({
      presence,
      clock,
      leaseMs: limits.leaseMs,
      isOver: () => isClosed,
      getCapacity: () => (isDraining ? undefined : node?.getFreeCapacity()),
      onAnswer: attempts.takeBack,
      onWork: () => node?.onWork(),
      async lose(key, cause) {
        if (!(await attempts.lose(key, cause))) return;
        const { jobId: job_id, attempt, node } = key;
        log.warn(
          { job_id, attempt, node, lease_ms: limits.leaseMs },
          'the node of a job is silent: its attempt is abandoned',
        );
        onTakenOver?.();
      },
      onFailure: (thrown) => isStoreUnavailable(thrown) || log.error({ err: thrown }, 'the queue could not be read'),
    });
    return leftRunningJobs.length;
  }

  return {
    submit: submissions.submit,
    cancel,
    retry: acceptance.retry,
    join,
    claim: attempts.claim,
    heartbeat: attempts.heartbeat,
    parts,
    complete: attempts.complete,
    ...reader,
    lanes: presence.loads,
    isLive: (jobId) => submissions.of(jobId).then(() => reader.isLive(jobId)),
    watch: watchers.watch,
    watchAll: watchers.watchAll,
    drain: () => void (isDraining = true),
    async close() {
      await submissions.idle();
      isClosed = true;
      watchers.close();
      await attempts.close();
      await presence.leave();
    },
  };
}

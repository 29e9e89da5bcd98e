import { randomUUID } from 'node:crypto';
import { isUnavailable } from '#domain/base/refusals.js';
import { formatTimestamp } from '#store/document-identity.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import { createLeases } from '../local/live-jobs.js';
import { createEvent, endJob } from '../port/callbacks.js';
import type { Clock } from '../port/clock.js';
import type { Lane, TaskProgress } from '../port/compute-pool.js';
import type { LifeEvent } from '../port/life-cycle.js';
import type {
  AttemptKey,
  Claim,
  ClaimOrder,
  EndedJob,
  Ending,
  JobLog,
  JobQueue,
  Lease,
  QueueLimits,
  StoredInput,
} from '../port/queue.js';
import { selectLogFields } from '../port/record.js';
import { createHeartbeats, createNodeAttemptRecords, createNotificationBuffer } from './heartbeats.js';
import { type JobChange, type JobDocuments, parseRecord } from './job-documents.js';
import { type JobRows, RESERVED_SECONDS, type ReservedJob, type Start } from './job-rows.js';
import type { SharedParts } from './parts.js';
import type { Presence } from './presence.js';

export interface OffersDependencies {
  readonly rows: Pick<JobRows, 'reserve' | 'release' | 'undo'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Memory of this node for all its jobs. */
  readonly memoryBytes: number;
}

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

function createOffers({ rows, clock, memoryBytes }: OffersDependencies): Offers {
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
export interface QueueDependencies {
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
}

export interface QueueAttemptsDependencies extends QueueDependencies {
  readonly jobs: JobDocuments;
  /** Returns the progress of an attempt of this node, if known. */
  readonly findProgress: (lease: Lease) => TaskProgress | undefined;
  /** Called if a response of the database contains changes of a job. */
  readonly onNews: (jobId: string) => void;
  /** Called after every change of a job. */
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

export function createQueueAttempts(dependencies: QueueAttemptsDependencies): QueueAttempts {
  const { documents, rows, presence, parts, clock, limits, log } = dependencies;
  const { jobs, findProgress, onNews, onChange, onEnded, isDraining, isClosed } = dependencies;
  const leases = createLeases();
  const offers = createOffers({ rows, clock, memoryBytes: limits.jobBytesMax });
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
        if (!isUnavailable(thrown) || isClosed() || thrown === cause) throw thrown;
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

/** Returns the input of a job. */
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

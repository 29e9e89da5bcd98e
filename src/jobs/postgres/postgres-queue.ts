import { randomUUID } from 'node:crypto';
import { isUnavailable } from '#domain/refusals/refusal.js';
import type { Database } from '#store/postgres/database.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { AttemptKey } from '../attempt-key.js';
import type { Clock } from '../clock.js';
import type { TaskProgress } from '../compute-pool.js';
import { endJob, eventOf } from '../ending.js';
import { createLeases } from '../local/leases.js';
import { logFields } from '../job-record.js';
import type { StoredInput } from '../kept-parts.js';
import { isTerminal, type LifeEvent } from '../life-cycle.js';
import type { Claim, ClaimOrder, EndedJob, Ending, JobLog, JobQueue, Lease, Node, QueueLimits } from '../queue.js';
import type { JobStatus } from '../status.js';
import { createJobDocuments, recordOf, type JobChange } from './job-documents.js';
import { createJobReader } from './job-reader.js';
import { createNotificationBuffer } from './notification-buffer.js';
import { createAcceptance, jobNotFound } from './acceptance.js';
import { createHeartbeats } from './heartbeats.js';
import { createJobRows, type JobRows, type ReservedJob, type Start } from './job-rows.js';
import { createJobWatchers } from './job-watchers.js';
import { keepLooking } from './keep-looking.js';
import type { NodeState } from './node-rows.js';
import { createOffers } from './offers.js';
import { createOwnAttempts } from './own-attempts.js';
import { createPartRows } from './part-rows.js';
import type { PausedKinds } from '../paused-kinds.js';
import { createPresence, type Presence } from './presence.js';
import { listStartedKinds } from './queued-kinds.js';
import { createSharedParts, type SharedParts } from './shared-parts.js';
import { createSubmissions } from './submissions.js';

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

export interface SharedQueueDependencies {
  readonly documents: Pick<PostgresDocuments, 'get' | 'transaction' | 'jobTransaction'>;
  readonly rows: JobRows;
  readonly presence: Presence;
  /** Parts of running jobs, which nodes share. */
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
  /** Called for an attempt of a silent node that this process abandoned. */
  readonly onTakenOver?: () => void;
  /** Publishes every cancelled job. Default: only heartbeats report cancellations. */
  readonly cancellations?: Notices;
}

/** Notifications between processes on one database. Each serialises commits, so they are for rare events. */
export interface Notices {
  publish(text: string): Promise<void>;
  subscribe(listener: (text: string) => void): void;
}

/** Delay before the end of an attempt retries the database. */
const AGAIN_MS = 500;
/** Maximum number of submissions under one id that may end during its cancellation. */
const CANCEL_TRIES_MAX = 10;
/** Events that end an attempt without its node, or with its thread. */
const ENDS_OF_OTHERS: ReadonlySet<LifeEvent['type']> = new Set(['cancel', 'crash', 'lose']);

/** Creates the queue on the tables of a database. */
export function createPostgresQueue(dependencies: PostgresQueueDependencies): JobQueue {
  const { database, schema, node, describe, limits, documents, paused } = dependencies;
  const kinds = () => listStartedKinds((kind) => paused?.has(kind) === true);
  const helper = describe && { node, version: () => describe().version };
  const rows = createJobRows(database, schema, kinds);
  const parts =
    helper &&
    createSharedParts({ ...dependencies, rows: createPartRows(database, schema, helper), leaseMs: limits.leaseMs });
  const presence = createPresence({ ...dependencies, kinds, events: documents.events }, helper, parts);
  return createSharedQueue({ ...dependencies, rows, parts, presence });
}

/** Creates the queue of any number of processes, from statements on its rows and transactions on its documents. */
export function createSharedQueue(dependencies: SharedQueueDependencies): JobQueue {
  const { documents, rows, presence, parts, clock, limits, log, onEnded, onTakenOver, cancellations } = dependencies;
  const jobs = createJobDocuments({ documents, rows, retryOf: limits.retryOf });
  const reader = createJobReader(rows);
  const watchers = createJobWatchers(rows, clock);
  const leases = createLeases();
  const offers = createOffers({ rows, clock, memoryBytes: limits.jobBytesMax });
  const hearing = createNotificationBuffer();
  const own = createOwnAttempts();
  let node: Node | undefined;
  const progressOf = (lease: Lease): TaskProgress | undefined => node?.progressOf(lease);
  const beats = createHeartbeats({ rows, leases, own, clock, ...limits, progressOf, onNews: watchers.notify });
  let isDraining = false;
  let isClosed = false;
  const accept = createAcceptance({ ...dependencies, jobs, find: reader.find, isDraining: () => isDraining, onChange });
  const submissions = createSubmissions(accept.submitAll);

  function onChange(jobId: string): void {
    watchers.notify(jobId);
    node?.onWork();
  }

  /** Runs the follow-up of a change that this process committed. */
  function follow({ identity, before, life }: JobChange, event: LifeEvent): void {
    const changed = { identity, life };
    const { job_id: jobId } = identity;
    log.info(
      { ...logFields(identity), status: life.status, attempt: life.attempt, code: life.error?.code },
      'job changed',
    );
    if (life.status === 'running') leases.grant(changed, clock.monotonicMs());
    else if (before.status === 'running') leases.end(changed, ENDS_OF_OTHERS.has(event.type));
    const ended = endJob(changed);
    if (ended !== undefined) onEnded?.(ended);
    onChange(jobId);
  }

  async function cancel(jobId: string): Promise<JobStatus> {
    await submissions.of(jobId); // A pending submission is cancelled once it is stored.
    const event: LifeEvent = { type: 'cancel', at: timestampOf(clock) };
    for (let tries = 1; ; tries++) {
      const moved = await jobs.move({ jobId, event });
      if (typeof moved === 'object') {
        follow(moved, event);
        // A job that was waiting may have been started since, which its document does not show.
        cancellations?.publish(jobId).catch(() => {}); // a heartbeat reports it too
        if (moved.before.status === 'running') await parts?.forget(jobId);
        return moved.status;
      }
      const status = (await reader.find(jobId))?.status;
      if (status === undefined) throw jobNotFound(jobId);
      // A live job under this id was submitted since.
      if (isTerminal(status.status) || tries === CANCEL_TRIES_MAX) return status;
    }
  }

  async function join(joining: Node): Promise<number> {
    node = joining;
    await presence.announce();
    cancellations?.subscribe((jobId) => {
      parts?.ask(jobId);
      hearing.hear(jobId); // a job whose start is being written has no lease yet
      askAgain(leases.ofJob(jobId));
    });
    const left = await rows.runningOn(dependencies.node);
    for (const key of left) await lose(key, 'the service ended while the job ran');
    keepLooking({
      presence,
      clock,
      leaseMs: limits.leaseMs,
      isOver: () => isClosed,
      room: () => (isDraining ? undefined : node?.room()),
      onAnswer: offers.takeBack,
      onWork: () => node?.onWork(),
      async lose(key, cause) {
        if (!(await lose(key, cause))) return;
        const { jobId: job_id, attempt, node } = key;
        log.warn(
          { job_id, attempt, node, lease_ms: limits.leaseMs },
          'the node of a job is silent: its attempt is abandoned',
        );
        onTakenOver?.();
      },
      onFailure: (thrown) => isUnavailable(thrown) || log.error({ err: thrown }, 'the queue could not be read'),
    });
    return left.length;
  }

  /** Checks at once whether an attempt is still wanted: its row records a cancellation. */
  function askAgain(lease: Lease | undefined): void {
    if (lease !== undefined) void beats.prolong(lease).catch(() => {}); // a heartbeat tries again
  }

  /** @returns true if the attempt had not ended before */
  async function lose(key: AttemptKey, cause: string): Promise<boolean> {
    const event = eventOf({ type: 'lose', cause }, key.attempt, timestampOf(clock));
    const moved = await jobs.move({ jobId: key.jobId, attempt: key, event });
    if (typeof moved !== 'object') return false;
    follow(moved, event);
    await parts?.forget(key.jobId);
    return true;
  }

  async function claim(order: ClaimOrder): Promise<Claim | undefined> {
    if (isDraining) return undefined;
    const { node } = dependencies;
    const event: LifeEvent = { type: 'start', at: timestampOf(clock), node };
    const start = { node, leaseMs: limits.leaseMs, at: event.at, claim: randomUUID() };
    const { value: taken, heard } = await hearing.during(() => take(order, start));
    if (taken === undefined) return isDraining || order.lane === 'light' ? undefined : parts?.claim(order);
    const { begun, input } = taken;
    if (begun === undefined) return undefined;
    follow(begun, event);
    const granted = leases.of(begun);
    if (granted === undefined) return undefined;
    own.start(granted, begun.seen);
    if (heard.has(granted.jobId)) askAgain(granted);
    return { lease: granted, job: begun.identity, input };
  }

  /** @returns the start of the offered job, if it was taken; undefined if none waits */
  async function take(order: ClaimOrder, start: Start) {
    const offered = await offers.next(order, start);
    if (offered === undefined) return undefined;
    return offers.orTakenBack(start, async () => {
      if (isDraining || !order.take(offered)) {
        await (isDraining ? rows.release(offered) : offers.leave(offered, order));
        return {};
      }
      const beat = offered.seen.beat ?? (await rows.start(offered, start));
      if (beat === undefined) return {}; // another node has it now
      const startedAttempt = await jobs.begun({ ...offered, claim: start.claim }, beat);
      return startedAttempt === undefined ? {} : { begun: startedAttempt, input: await inputOf(offered, documents) };
    });
  }

  async function complete(lease: Lease, ending: Ending): Promise<boolean> {
    if (parts?.isOf(lease)) return parts.complete(lease, ending);
    const effect = ending.type === 'succeed' ? ending.effect : undefined;
    for (let lost: unknown; ;) {
      const isHeld = leases.isHeld(lease);
      if (!isHeld && lost === undefined) return refuseStale(lease);
      const event = eventOf(ending, lease.attempt, timestampOf(clock));
      try {
        const move = { jobId: lease.jobId, attempt: lease, event, ...(effect && { effect }), seen: own.of(lease) };
        const moved = isHeld ? await jobs.move(move) : undefined;
        // An earlier try may have succeeded.
        const fate = typeof moved === 'object' || lost === undefined ? moved : await jobs.fateOf(lease);
        if (fate === 'unknown') throw lost;
        if (typeof fate !== 'object') return refuseStale(lease);
        follow(fate, event);
        return true;
      } catch (thrown) {
        // The attempt is fenced: however often and late it retries, it ends once.
        if (!isUnavailable(thrown) || isClosed || thrown === lost) throw thrown;
        lost = thrown;
      }
      await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve));
      // A heartbeat shows that the attempt is alive while its end cannot be written.
      if (leases.isHeld(lease)) await beats.prolong(lease).catch(() => {});
    }
  }

  /** @returns false: the end of an abandoned attempt is ignored */
  function refuseStale(lease: Lease): false {
    leases.lose(lease);
    presence.noteStale();
    log.warn({ job_id: lease.jobId, attempt: lease.attempt }, 'the end of an abandoned attempt is ignored');
    dependencies.onStale?.();
    return false;
  }

  return {
    submit: submissions.submit,
    cancel,
    retry: accept.retry,
    join,
    claim,
    heartbeat: (lease) => (parts?.isOf(lease) ? parts.heartbeat(lease) : beats.heartbeat(lease)),
    parts,
    complete,
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
      await offers.close();
      await presence.leave();
    },
  };
}

const timestampOf = (clock: Pick<Clock, 'now'>): string => formatTimestamp(clock.now());

/** Returns the input of a job. */
async function inputOf(
  { jobId, sequence, seen, input }: ReservedJob,
  documents: Pick<PostgresDocuments, 'get'>,
): Promise<Claim['input']> {
  // The input of the offered job is not replaced before the job has ended.
  const isItsOwn = recordOf(seen.found)?.sequence === sequence;
  const stored = isItsOwn ? input : await documents.get('job-input', jobId);
  // `add` wrote it and the store checked it.
  return stored === undefined || 'unreadable' in stored ? undefined : (stored.body as StoredInput);
}

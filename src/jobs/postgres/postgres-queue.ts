import { isUnavailable } from '#domain/refusals/refusal.js';
import type { Database } from '#store/postgres/database.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import { formatTimestamp } from '#store/timestamp.js';
import { isTerminal, type LifeEvent } from '../life-cycle.js';
import type { JobQueue, Node } from '../queue.js';
import type { JobStatus } from '../status.js';
import { createAcceptance, refuseMissingJob } from './acceptance.js';
import { createJobDocuments } from './job-documents.js';
import { createJobReader } from './job-reader.js';
import { createJobRows } from './job-rows.js';
import { createJobWatchers } from './job-watchers.js';
import { pollRepeatedly } from './keep-looking.js';
import type { NodeState } from './node-rows.js';
import { createPartRows } from './part-rows.js';
import type { PausedKinds } from '../paused-kinds.js';
import { createPresence } from './presence.js';
import { createQueueAttempts, type QueueDependencies } from './queue-attempts.js';
import { listStartedKinds } from './queued-kinds.js';
import { createSharedParts } from './shared-parts.js';
import { createSubmissions } from './submissions.js';

export interface SharedQueueDependencies extends QueueDependencies {
  /** Called if this process abandons an attempt of a node that stopped sending heartbeats. */
  readonly onTakenOver?: () => void;
  /**
   * Channel on which the ids of cancelled jobs are published. Default: nodes detect a cancellation only by heartbeats.
   */
  readonly cancellations?: Notices;
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
  const { database, schema, node, describe, limits, documents, paused } = dependencies;
  const listKinds = () => listStartedKinds((kind) => paused?.has(kind) === true);
  const helper = describe && { node, version: () => describe().version };
  const rows = createJobRows(database, schema, listKinds);
  const parts =
    helper &&
    createSharedParts({ ...dependencies, rows: createPartRows(database, schema, helper), leaseMs: limits.leaseMs });
  const presence = createPresence({ ...dependencies, kinds: listKinds, events: documents.events }, helper, parts);
  return createSharedQueue({ ...dependencies, rows, parts, presence });
}

/**
 * Creates the queue that any number of processes share. It consists of statements on rows and transactions on
 * documents.
 */
export function createSharedQueue(dependencies: SharedQueueDependencies): JobQueue {
  const { documents, rows, presence, parts, clock, limits, log, onTakenOver, cancellations } = dependencies;
  const jobs = createJobDocuments({ documents, rows, getRetryPolicy: limits.getRetryPolicy });
  const reader = createJobReader(rows);
  const watchers = createJobWatchers(rows, clock);
  let node: Node | undefined;
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

  async function join(joining: Node): Promise<number> {
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
      onFailure: (thrown) => isUnavailable(thrown) || log.error({ err: thrown }, 'the queue could not be read'),
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

import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import { causeOf, readStored } from '#store/read-stored.js';
import type { Clock } from '../clock.js';
import type { TaskProgress } from '../compute-pool.js';
import { assertRoom, newCallback, putDeliveries } from '../callbacks.js';
import type { JobClass } from '../job-class.js';
import { identityOf } from '../job-identity.js';
import type { StoredInput } from '../kept-parts.js';
import { renewRecord } from '../renewal.js';
import { lifeLimits } from '../life-limits.js';
import type { RetryPolicies } from '#domain/jobs/retry-policy.js';
import { readLostJobs, newListing, type LostJobs } from '../job-listing.js';
import {
  authorOf,
  readJobRecord,
  splitRecord,
  toStatus,
  logFields,
  type JobIdentity,
  type JobRecord,
} from '../job-record.js';
import {
  advance,
  isTerminal,
  newLife,
  findStoredResult,
  type Impossible,
  type Life,
  type LifeEvent,
} from '../life-cycle.js';
import type { FoundJob, JobListing, JobLog, JobQuery, JobQueue, LaneLoad, NewJob } from '../queue.js';
import type { JobState } from '../status.js';
import { createJobHistory } from './job-history.js';
import { lanesOf } from './lane-tally.js';
import {
  deleteResultsOf,
  failJob,
  forgetIn,
  isEndedIn,
  submittedIn,
  writeLife,
  type Effect,
  type FailedJob,
} from './stored-jobs.js';
import { createJobWatchers } from './watchers.js';

/** A pending or running job. */
export interface LiveJob {
  readonly identity: JobIdentity;
  readonly life: Life;
}

/**
 * Every job and its state. A state is on disk before it is visible; progress and heartbeat are in memory, restart from
 * zero and are never written.
 */
export interface JobTable {
  /** Reads the stored jobs; returns the unfinished ones, oldest first. */
  load(): Promise<LiveJob[]>;
  /** Writes a new job, replacing an ended one of the same id, and deletes the oldest ended jobs beyond the limit. */
  add(job: NewJob): Promise<LiveJob>;
  /** Returns a failed job with its input. @throws Refusal DOCUMENT_UNREADABLE if the input no longer exists */
  failed(jobId: string): Promise<FailedJob | undefined>;
  /** Writes a failed job as a waiting one, like `add`. */
  renew(job: FailedJob): Promise<LiveJob>;
  /**
   * Applies an event to a job, together with its effect. Events of one job follow each other.
   * @returns the life after it, or the reason why the event came too late
   * @throws the error of the store or of the effect; then nothing has changed
   */
  transition(job: LiveJob, event: LifeEvent, effect?: Effect): Promise<Life | Impossible>;
  /**
   * Adds a callback URL to a job. If the job has ended meanwhile, the callback is due at once.
   * @throws Refusal OVERLOADED if the job has the maximum number
   */
  addCallback(job: LiveJob, url: string): Promise<void>;
  /** Records a heartbeat of a running job. */
  beat(job: LiveJob): void;
  /** Returns true while the next state of a job is being written. */
  isSettling(job: LiveJob): boolean;
  live(jobId: string): LiveJob | undefined;
  /** Returns the input of a live job; undefined if it is unreadable. */
  input(jobId: string): Promise<StoredInput | undefined>;
  find(jobId: string): Promise<FoundJob | undefined>;
  /** Reads that need only memory and documents. */
  readonly reader: Pick<JobQueue, 'find' | 'list' | 'ids' | 'liveIds' | 'counts' | 'watch' | 'watchAll'> & {
    lanes(): Promise<Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>>>;
  };
}

export interface JobTableDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly retryOf: RetryPolicies;
  /** Maximum number of ended jobs to keep. */
  readonly endedMax: number;
  readonly log: JobLog;
  /** Returns the progress of the attempt of a running job, if known. */
  readonly progressOf: (job: LiveJob) => TaskProgress | undefined;
  /** Called after every change of state, once it is visible. */
  readonly onChange: (job: LiveJob, before: JobState, event: LifeEvent) => void;
}

/** Maximum number of ended jobs deleted with a new one: enough to catch up, small enough for one transaction. */
const FORGOTTEN_AT_ONCE_MAX = 100;

interface Entry extends LiveJob {
  life: Life;
  /** The latest transition that was started. */
  tail: Promise<unknown>;
  isSettling: boolean;
}

export function createJobTable(dependencies: JobTableDependencies): JobTable {
  const { store, clock, retryOf, endedMax, log, progressOf, onChange } = dependencies;
  const live = new Map<string, Entry>();
  // Microseconds since 1970 at the start of the process.
  const history = createJobHistory(clock.now() * 1000);
  const watchers = createJobWatchers({ clock, liveIds: () => live.keys(), look: notifyOfProgress });
  let lost: LostJobs | undefined;
  let nextSequence = 1;
  let runningCount = 0;

  const timestamp = (): string => formatTimestamp(clock.now());
  const stampSubmission = () => ({ created_at: timestamp(), sequence: nextSequence++ });

  function adopt(identity: JobIdentity, life: Life): Entry {
    const entry: Entry = { identity, life, tail: Promise.resolve(), isSettling: false };
    live.set(identity.job_id, entry);
    if (life.status === 'running') runningCount++;
    history.add(identity, life.status);
    return entry;
  }

  async function load(): Promise<LiveJob[]> {
    const stored = await store.list('job', readJobRecord);
    const records = [...stored.documents].sort((a, b) => a.sequence - b.sequence);
    if (stored.skipped > 0) lost = await readLostJobs(store, records);
    nextSequence = (records.at(-1)?.sequence ?? 0) + 1;
    const adopted: LiveJob[] = [];
    for (const record of records) {
      const { identity, life } = splitRecord(record);
      if (isTerminal(life.status)) history.add(identity, life.status);
      else adopted.push(adopt(identity, life));
    }
    return adopted;
  }

  async function add({ request, payload, message, ...job }: NewJob): Promise<LiveJob> {
    const identity = identityOf(job, stampSubmission());
    const life = newLife(message);
    const url = job.origin?.callback ?? null;
    const callbacks = url === null ? [] : [newCallback(url)];
    return write({ ...identity, ...life, request, callbacks }, { payload });
  }

  async function write(record: JobRecord, input: StoredInput): Promise<LiveJob> {
    const { identity, life } = splitRecord(record);
    const jobId = identity.job_id;
    const surplus = history.surplus(endedMax, FORGOTTEN_AT_ONCE_MAX);
    await store.transaction(async (tx) => {
      for (const ended of surplus) await forgetIn(tx, ended);
      await deleteResultsOf(tx, jobId);
      await tx.put('job', jobId, record);
      await tx.put('job-input', jobId, input);
    });
    for (const ended of surplus) history.forget(ended);
    const entry = adopt(identity, life);
    log.info(logFields(identity), 'job accepted');
    notify(jobId);
    return entry;
  }

  function transition(job: LiveJob, event: LifeEvent, effect?: Effect): Promise<Life | Impossible> {
    const entry = job as Entry; // `adopt` created every LiveJob
    const turn = entry.tail.then(async () => {
      refresh(entry);
      const next = advanceBy(entry, event);
      if (typeof next === 'string') return next;
      entry.isSettling = true;
      try {
        await store.transaction((tx) => writeLife(tx, { identity: entry.identity, life: next, effect }), {
          reserve: true,
          by: authorOf(entry.identity),
        });
      } finally {
        entry.isSettling = false;
      }
      publish(entry, next, event);
      return next;
    });
    entry.tail = turn.catch(() => undefined);
    return turn;
  }

  function addCallback(job: LiveJob, url: string): Promise<void> {
    const entry = job as Entry;
    const { identity } = entry;
    const turn = entry.tail.then(() =>
      store.transaction(async (tx) => {
        const { request, callbacks: before } = await submittedIn(tx, identity.job_id);
        if (before.some((callback) => callback.url === url)) return;
        assertRoom(identity.job_id, before.length);
        const job = { ...identity, ...entry.life, request };
        const added = [newCallback(url)];
        const callbacks = isTerminal(entry.life.status)
          ? await putDeliveries(tx, toStatus(job, job, { request, callbacks: added }), identity)
          : added;
        const isReplaced =
          isTerminal(entry.life.status) && !(await isEndedIn(tx, { ...identity, id: identity.job_id }));
        if (isReplaced) return; // replaced by a later submission under its id, which has separate callbacks
        await tx.put('job', identity.job_id, { ...job, callbacks: [...before, ...callbacks] } satisfies JobRecord);
      }),
    );
    entry.tail = turn.catch(() => undefined);
    return turn;
  }

  function publish(entry: Entry, life: Life, event: LifeEvent): void {
    const { job_id: jobId } = entry.identity;
    const before = entry.life.status;
    entry.life = life;
    runningCount += Number(life.status === 'running') - Number(before === 'running');
    history.change(jobId, life.status);
    if (isTerminal(life.status)) live.delete(jobId);
    log.info(
      { ...logFields(entry.identity), status: life.status, attempt: life.attempt, code: life.error?.code },
      'job changed',
    );
    notify(jobId);
    onChange(entry, before, event);
  }

  /** Updates the progress of a running job from its node; frozen while the next state is being written. */
  function refresh(entry: Entry): void {
    if (entry.life.status !== 'running' || entry.isSettling) return;
    const progress = progressOf(entry);
    if (progress === undefined) return;
    const { fraction, message } = progress;
    const { attempt } = entry.life;
    apply(entry, { type: 'progress', attempt, fraction, ...(message === undefined ? {} : { message }) });
  }

  function apply(entry: Entry, event: LifeEvent): void {
    const next = advanceBy(entry, event);
    if (typeof next !== 'string') entry.life = next;
  }

  const advanceBy = ({ identity, life }: Entry, event: LifeEvent): Life | Impossible =>
    advance(life, event, lifeLimits(identity, { attempt: life.attempt, retryOf }));

  function notify(jobId: string): void {
    history.touch(jobId);
    watchers.notify(jobId);
  }

  function notifyOfProgress(jobId: string): void {
    const entry = live.get(jobId);
    if (entry === undefined) return;
    const { progress, message } = entry.life;
    refresh(entry);
    if (entry.life.progress !== progress || entry.life.message !== message) notify(jobId);
  }

  async function find(jobId: string): Promise<FoundJob | undefined> {
    const revision = history.revisionOf(jobId);
    const entry = live.get(jobId);
    if (entry !== undefined) {
      refresh(entry);
      return {
        status: toStatus(entry.identity, entry.life, await submittedIn(store, jobId)),
        stored: null,
        revision,
      };
    }
    const stored = await store.get('job', jobId);
    if (stored === undefined) return undefined;
    const record = readStored(stored, readJobRecord);
    if (record === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
    return { status: toStatus(record, record, record), stored: findStoredResult(record), revision };
  }

  async function list({ limit, ...query }: JobQuery): Promise<JobListing> {
    const listing = newListing();
    for (const jobId of history.matching(query)) {
      if (listing.count >= limit) break;
      const cause = live.has(jobId) ? undefined : causeOf(await store.get('job', jobId), readJobRecord);
      const status = cause === undefined ? (await find(jobId))?.status : undefined;
      if (cause !== undefined) listing.skip(cause);
      else if (status !== undefined) listing.add(status);
    }
    for (const cause of (await lost?.causes(query.kinds)) ?? []) listing.skip(cause);
    return listing.end();
  }

  function reader(): JobTable['reader'] {
    return {
      find,
      list,
      ids: async (kind) => history.ids(kind),
      liveIds: async () => [...live.keys()],
      lanes: async () => lanesOf(live.values(), clock.now()),
      counts: async () => ({ pending: live.size - runningCount, running: runningCount }),
      watch: watchers.watch,
      watchAll: watchers.watchAll,
    };
  }

  return {
    load,
    add,
    failed: async (jobId) => (live.has(jobId) ? undefined : failJob(store, jobId)),
    renew: ({ record, input }) => write(renewRecord(record, stampSubmission()), input),
    transition,
    addCallback,
    beat: (job) => apply(job as Entry, { type: 'beat', attempt: job.life.attempt, at: timestamp() }),
    isSettling: (job) => (job as Entry).isSettling,
    live: (jobId) => live.get(jobId),
    async input(jobId) {
      const stored = await store.get('job-input', jobId);
      // `add` wrote it and the store sealed it.
      return stored === undefined || 'unreadable' in stored ? undefined : (stored.body as StoredInput);
    },
    find,
    reader: reader(),
  };
}

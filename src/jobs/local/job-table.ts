import { Refusal } from '#domain/base/refusals.js';
import { formatTimestamp } from '#store/document-identity.js';
import { type DocumentStore, type DocumentTransaction, findCause, readStored } from '#store/port.js';
import { createIdentity } from '../port/admission.js';
import { assertCallbackLimit, createCallback, putDeliveries, renewRecord, requireInput } from '../port/callbacks.js';
import type { Clock } from '../port/clock.js';
import {
  createLife,
  findStoredResult,
  type ImpossibleReason,
  isTerminal,
  type JobLife,
  type LifeEvent,
} from '../port/life-cycle.js';
import { createListing, type LostJobs, readLostJobs } from '../port/listing.js';
import {
  type Ending,
  getJobClass,
  type JobClass,
  type JobListing,
  type JobQuery,
  type JobQueue,
  type LaneLoad,
  type LocatedJob,
  type NewJob,
  type StoredInput,
} from '../port/queue.js';
import {
  createAuthorship,
  type JobIdentity,
  type JobRecord,
  listResults,
  readJobRecord,
  selectLogFields,
  splitRecord,
  type StoredSubmission,
  toStatus,
} from '../port/record.js';
import {
  createLiveJobs,
  type LiveJob,
  type LiveJobs,
  type LiveJobsDependencies,
  type RememberedJob,
  type TrackedJob,
} from './live-jobs.js';

type Effect = Extract<Ending, { type: 'succeed' }>['effect'];

/** A failed job with its input, for a retry. */
interface FailedJob {
  readonly record: JobRecord;
  readonly input: StoredInput;
}

/** Returns true if the ended job is still stored. Its id may have been submitted again meanwhile. */
async function isEndedIn(tx: DocumentTransaction, { id, sequence }: RememberedJob): Promise<boolean> {
  const storedJob = await tx.get('job', id);
  const record = readStored(storedJob, readJobRecord);
  if (record === undefined) return storedJob !== undefined;
  return record.sequence === sequence && isTerminal(record.status);
}

/** Deletes an ended job with its results, if it is still stored. */
async function deleteJobIn(tx: DocumentTransaction, ended: RememberedJob): Promise<void> {
  if (!(await isEndedIn(tx, ended))) return;
  await deleteResults(tx, ended.id);
  await tx.delete('job', ended.id);
  await tx.delete('job-input', ended.id);
}

/** Deletes the results of the job stored under an id, if there is one. */
async function deleteResults(tx: DocumentTransaction, jobId: string): Promise<void> {
  const record = readStored(await tx.get('job', jobId), readJobRecord);
  if (record !== undefined) for (const { kind, id } of listResults(record)) await tx.delete(kind, id);
}

interface LifeChange {
  readonly identity: JobIdentity;
  readonly life: JobLife;
  readonly effect: Effect;
}

/**
 * Writes a change of a job with its effect. A final state also triggers the callbacks of the job, and removes its
 * payload unless the job failed.
 */
async function writeLife(tx: DocumentTransaction, { identity, life, effect }: LifeChange): Promise<void> {
  await effect?.(tx);
  const { job_id: jobId } = identity;
  const storedSubmission = await readSubmission(tx, jobId);
  const callbacks = isTerminal(life.status)
    ? await putDeliveries(tx, toStatus(identity, life, storedSubmission), identity)
    : storedSubmission.callbacks;
  await tx.put('job', jobId, { ...identity, ...life, ...storedSubmission, callbacks } satisfies JobRecord);
  // A failed job keeps its input for a retry.
  if (isTerminal(life.status) && life.status !== 'failed') await tx.delete('job-input', jobId);
}

/**
 * Reads the request body and callbacks of a job. They are only on disk, so that waiting jobs do not fill the memory.
 */
async function readSubmission(store: Pick<DocumentStore, 'get'>, jobId: string): Promise<StoredSubmission> {
  const storedJob = await store.get('job', jobId);
  const { request = null, callbacks = [] } =
    storedJob === undefined || 'unreadable' in storedJob ? {} : (storedJob.body as Partial<StoredSubmission>); // `add` wrote the document
  return { request, callbacks };
}

/** Returns a failed job with its input. @throws Refusal DOCUMENT_UNREADABLE if the input no longer exists */
async function readFailedJob(store: Pick<DocumentStore, 'get'>, jobId: string): Promise<FailedJob | undefined> {
  const storedJob = await store.get('job', jobId);
  const record = readStored(storedJob, readJobRecord);
  if (record?.status !== 'failed') return undefined;
  return { record, input: requireInput(await store.get('job-input', jobId), jobId) };
}

interface TalliedJob {
  readonly identity: JobIdentity;
  readonly life: JobLife;
}

/** Counts the waiting and running jobs of each class. @cost one pass over the live jobs */
function countLanes(live: Iterable<TalliedJob>, nowMs: number): Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>> {
  const createTally = () => ({ waiting: 0, running: 0, oldest: '' });
  const tallies = { heavy: createTally(), huge: createTally(), light: createTally() };
  for (const { identity, life } of live) {
    const lane = tallies[getJobClass(identity)];
    if (life.status !== 'pending') lane.running++;
    // Compares times as texts. All times of the service have one format, so that their texts sort like the times.
    else if (lane.waiting++ === 0 || identity.created_at < lane.oldest) lane.oldest = identity.created_at;
  }
  const createLoad = ({ waiting, running, oldest }: ReturnType<typeof createTally>): Omit<LaneLoad, 'places'> => ({
    waiting,
    running,
    oldestSeconds: waiting === 0 ? null : Math.max(0, nowMs - Date.parse(oldest)) / 1000,
  });
  return { heavy: createLoad(tallies.heavy), huge: createLoad(tallies.huge), light: createLoad(tallies.light) };
}

/** Reads of the queue that need only memory and documents. */
type TableReader = Pick<JobQueue, 'find' | 'list' | 'ids' | 'liveIds' | 'counts' | 'watch' | 'watchAll'> & {
  lanes(): Promise<Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>>>;
};

export interface TableReaderDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly live: LiveJobs;
  /** Returns the unreadable jobs of the store, if there are any. */
  readonly lost: () => LostJobs | undefined;
}

/** Creates the reads of a table of jobs. */
function createTableReader({ store, clock, live, lost }: TableReaderDependencies): TableReader {
  async function find(jobId: string): Promise<LocatedJob | undefined> {
    const revision = live.history.getRevision(jobId);
    const entry = live.get(jobId);
    if (entry !== undefined) {
      live.refresh(entry);
      return {
        status: toStatus(entry.identity, entry.life, await readSubmission(store, jobId)),
        stored: null,
        revision,
      };
    }
    const storedJob = await store.get('job', jobId);
    if (storedJob === undefined) return undefined;
    const record = readStored(storedJob, readJobRecord);
    if (record === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
    return { status: toStatus(record, record, record), stored: findStoredResult(record), revision };
  }

  async function list({ limit, ...query }: JobQuery): Promise<JobListing> {
    const listing = createListing();
    for (const jobId of live.history.matching(query)) {
      if (listing.count >= limit) break;
      const cause = live.get(jobId) !== undefined ? undefined : findCause(await store.get('job', jobId), readJobRecord);
      const status = cause === undefined ? (await find(jobId))?.status : undefined;
      if (cause !== undefined) listing.skip(cause);
      else if (status !== undefined) listing.add(status);
    }
    for (const cause of (await lost()?.causes(query.kinds)) ?? []) listing.skip(cause);
    return listing.end();
  }

  return {
    find,
    list,
    ids: async (kind) => live.history.ids(kind),
    liveIds: async () => [...live.ids()],
    lanes: async () => countLanes(live.values(), clock.now()),
    counts: async () => live.counts(),
    watch: live.watch,
    watchAll: live.watchAll,
  };
}

/**
 * Table of all jobs and their states. A state is on disk before it is visible. Progress and heartbeats are only in
 * memory, and start from zero after a restart.
 */
export interface JobTable {
  /** Reads the stored jobs. Returns the unfinished ones, oldest first. */
  load(): Promise<LiveJob[]>;
  /** Writes a new job. Replaces an ended job with the same id, and deletes the oldest ended jobs beyond the limit. */
  add(job: NewJob): Promise<LiveJob>;
  /** Returns a failed job with its input. @throws Refusal DOCUMENT_UNREADABLE if the input no longer exists */
  failed(jobId: string): Promise<FailedJob | undefined>;
  /** Writes a failed job as a waiting job, like `add`. */
  renew(job: FailedJob): Promise<LiveJob>;
  /**
   * Applies an event to a job, together with its effect. Events of one job are applied one after another.
   * @returns the state of the job after the event, or the reason why the event came too late
   * @throws the error of the store or of the effect; then nothing has changed
   */
  transition(job: LiveJob, event: LifeEvent, effect?: Effect): Promise<JobLife | ImpossibleReason>;
  /**
   * Adds a callback URL to a job. If the job has ended meanwhile, the callback is sent at once.
   * @throws Refusal OVERLOADED if the job has the maximum number of callbacks
   */
  addCallback(job: LiveJob, url: string): Promise<void>;
  /** Records a heartbeat of a running job. */
  beat(job: LiveJob): void;
  /** Returns true while the next state of a job is being written. */
  isSettling(job: LiveJob): boolean;
  live(jobId: string): LiveJob | undefined;
  /** Returns the input of a live job. Returns undefined if it is unreadable. */
  input(jobId: string): Promise<StoredInput | undefined>;
  find(jobId: string): Promise<LocatedJob | undefined>;
  readonly reader: TableReader;
}

export interface JobTableDependencies extends LiveJobsDependencies {
  readonly store: DocumentStore;
  /** Maximum number of ended jobs to keep. */
  readonly endedMax: number;
}

/**
 * Maximum number of ended jobs that are deleted when a job is added. It is large enough to remove a backlog, and small
 * enough for one transaction.
 */
const DELETED_JOBS_MAX = 100;

export function createJobTable(dependencies: JobTableDependencies): JobTable {
  const { store, clock, endedMax, log } = dependencies;
  const liveJobs = createLiveJobs(dependencies);
  const { history } = liveJobs;
  let lostJobs: LostJobs | undefined;
  const { find, ...reader } = createTableReader({ store, clock, live: liveJobs, lost: () => lostJobs });
  let nextSequence = 1;

  const getTimestamp = (): string => formatTimestamp(clock.now());
  const stampSubmission = () => ({ created_at: getTimestamp(), sequence: nextSequence++ });

  async function load(): Promise<LiveJob[]> {
    const storedJobs = await store.list('job', readJobRecord);
    const records = [...storedJobs.documents].sort((a, b) => a.sequence - b.sequence);
    if (storedJobs.skipped > 0) lostJobs = await readLostJobs(store, records);
    nextSequence = (records.at(-1)?.sequence ?? 0) + 1;
    const adoptedJobs: LiveJob[] = [];
    for (const record of records) {
      const { identity, life } = splitRecord(record);
      if (isTerminal(life.status)) history.add(identity, life.status);
      else adoptedJobs.push(liveJobs.adopt(identity, life));
    }
    return adoptedJobs;
  }

  async function add({ request, payload, message, ...job }: NewJob): Promise<LiveJob> {
    const identity = createIdentity(job, stampSubmission());
    const life = createLife(message);
    const url = job.origin?.callback ?? null;
    const callbacks = url === null ? [] : [createCallback(url)];
    return write({ ...identity, ...life, request, callbacks }, { payload });
  }

  async function write(record: JobRecord, input: StoredInput): Promise<LiveJob> {
    const { identity, life } = splitRecord(record);
    const jobId = identity.job_id;
    const surplus = history.surplus(endedMax, DELETED_JOBS_MAX);
    await store.transaction(async (tx) => {
      for (const endedJob of surplus) await deleteJobIn(tx, endedJob);
      await deleteResults(tx, jobId);
      await tx.put('job', jobId, record);
      await tx.put('job-input', jobId, input);
    });
    for (const endedJob of surplus) history.forget(endedJob);
    const entry = liveJobs.adopt(identity, life);
    log.info(selectLogFields(identity), 'job accepted');
    liveJobs.notify(jobId);
    return entry;
  }

  function transition(job: LiveJob, event: LifeEvent, effect?: Effect): Promise<JobLife | ImpossibleReason> {
    const entry = job as TrackedJob; // `LiveJobs` created every live job as a tracked job
    const pendingTransition = entry.tail.then(async () => {
      liveJobs.refresh(entry);
      const next = liveJobs.advance(entry, event);
      if (typeof next === 'string') return next;
      entry.isSettling = true;
      try {
        await store.transaction((tx) => writeLife(tx, { identity: entry.identity, life: next, effect }), {
          reserve: true,
          by: createAuthorship(entry.identity),
        });
      } finally {
        entry.isSettling = false;
      }
      liveJobs.publish(entry, next, event);
      return next;
    });
    entry.tail = pendingTransition.catch(() => undefined);
    return pendingTransition;
  }

  function addCallback(job: LiveJob, url: string): Promise<void> {
    const entry = job as TrackedJob;
    const { identity } = entry;
    const pendingAddition = entry.tail.then(() =>
      store.transaction(async (tx) => {
        const { request, callbacks: before } = await readSubmission(tx, identity.job_id);
        if (before.some((callback) => callback.url === url)) return;
        assertCallbackLimit(identity.job_id, before.length);
        const job = { ...identity, ...entry.life, request };
        const newCallbacks = [createCallback(url)];
        const callbacks = isTerminal(entry.life.status)
          ? await putDeliveries(tx, toStatus(job, job, { request, callbacks: newCallbacks }), identity)
          : newCallbacks;
        const isReplaced =
          isTerminal(entry.life.status) && !(await isEndedIn(tx, { ...identity, id: identity.job_id }));
        if (isReplaced) return; // a later submission under the same id, with separate callbacks, has replaced this job
        await tx.put('job', identity.job_id, { ...job, callbacks: [...before, ...callbacks] } satisfies JobRecord);
      }),
    );
    entry.tail = pendingAddition.catch(() => undefined);
    return pendingAddition;
  }

  return {
    load,
    add,
    failed: async (jobId) => (liveJobs.get(jobId) !== undefined ? undefined : readFailedJob(store, jobId)),
    renew: ({ record, input }) => write(renewRecord(record, stampSubmission()), input),
    transition,
    addCallback,
    beat: (job) => liveJobs.apply(job as TrackedJob, { type: 'beat', attempt: job.life.attempt, at: getTimestamp() }),
    isSettling: (job) => (job as TrackedJob).isSettling,
    live: (jobId) => liveJobs.get(jobId),
    async input(jobId) {
      const storedInput = await store.get('job-input', jobId);
      // `add` wrote the input and the store sealed it
      return storedInput === undefined || 'unreadable' in storedInput ? undefined : (storedInput.body as StoredInput);
    },
    find,
    reader: { find, ...reader },
  };
}

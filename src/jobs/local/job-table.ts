import { formatTimestamp } from '#store/timestamp.js';
import type { DocumentStore } from '#store/port.js';
import { assertCallbackLimit, createCallback, putDeliveries } from '../callbacks.js';
import { createIdentity } from '../job-identity.js';
import type { StoredInput } from '../retained-parts.js';
import { renewRecord } from '../renewal.js';
import { readLostJobs, type LostJobs } from '../job-listing.js';
import {
  createAuthorship,
  readJobRecord,
  splitRecord,
  toStatus,
  selectLogFields,
  type JobRecord,
} from '../job-record.js';
import { isTerminal, createLife, type ImpossibleReason, type JobLife, type LifeEvent } from '../life-cycle.js';
import type { LocatedJob, NewJob } from '../queue.js';
import { createLiveJobs, type TrackedJob, type LiveJob, type LiveJobsDependencies } from './live-jobs.js';
import {
  deleteResults,
  readFailedJob,
  deleteJobIn,
  isEndedIn,
  readSubmission,
  writeLife,
  type Effect,
  type FailedJob,
} from './stored-jobs.js';
import { createTableReader, type TableReader } from './table-reader.js';

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

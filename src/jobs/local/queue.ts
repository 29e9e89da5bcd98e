import { Refusal } from '#domain/base/refusals.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import { JOB_KIND_CATALOGUE, type JobKindName, type RetryPolicies } from '#domain/outputs/jobs.js';
import {
  type DocumentStore,
  type DocumentTransaction,
  findCause,
  formatTimestamp,
  readStoredBody,
} from '#store/port.js';
import {
  assertCallbackLimit,
  createCallback,
  createEvent,
  endJob,
  putDeliveries,
  renewRecord,
  requireInput,
} from '../port/callbacks.js';
import type { Clock } from '../port/clock.js';
import type { Lane, TaskProgress } from '../port/compute-pool.js';
import { getJobKind, type PausedKinds } from '../port/job-kind.js';
import {
  advance,
  computeDelayMs,
  computeLifeLimits,
  createAuthorship,
  createLife,
  findStoredResult,
  type ImpossibleReason,
  isTerminal,
  type JobIdentity,
  type JobLife,
  type JobRecord,
  type JobState,
  type JobStatus,
  type LifeEvent,
  listResults,
  readJobRecord,
  selectLogFields,
  splitRecord,
  startLife,
  type StoredSubmission,
  toStatus,
} from '../port/life-cycle.js';
import {
  type Admission,
  admit,
  type Claim,
  type ClaimOrder,
  countSlotsByClass,
  createJobIdentity,
  createJobListeners,
  createLeases,
  createListing,
  type EndedJob,
  type Ending,
  getJobClass,
  type JobClass,
  type JobListeners,
  type JobListing,
  type JobLog,
  type JobQuery,
  type JobQueue,
  type LaneLoad,
  type Lease,
  type Leases,
  type LiveJob,
  type LocatedJob,
  type LostJobs,
  type NewJob,
  type QueueLimits,
  type QueueNode,
  readLostJobs,
  type StoredInput,
  type BeginClaim,
  type WaitingJob,
} from '../port/queue.js';

type Effect = Extract<Ending, { type: 'succeed' }>['effect'];

/** A failed job with its input, for a retry. */
interface FailedJob {
  readonly record: JobRecord;
  readonly input: StoredInput;
}

/** Returns true if the ended job is still stored. Its id may have been submitted again meanwhile. */
async function isEndedIn(tx: DocumentTransaction, { id, sequence }: RememberedJob): Promise<boolean> {
  const storedJob = await tx.get('job', id);
  const record = readStoredBody(storedJob, readJobRecord);
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

async function deleteResults(tx: DocumentTransaction, jobId: string): Promise<void> {
  const record = readStoredBody(await tx.get('job', jobId), readJobRecord);
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
  const record = readStoredBody(storedJob, readJobRecord);
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

/** Creates the reads of a table of jobs. @param lost returns the unreadable jobs of the store, if there are any */
function createTableReader(
  store: DocumentStore,
  clock: Clock,
  live: LiveJobs,
  lost: () => LostJobs | undefined,
): TableReader {
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
    const record = readStoredBody(storedJob, readJobRecord);
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

interface AcceptedJob {
  readonly job: LiveJob;
  /** Status of the job before its start. */
  readonly status: JobStatus;
}

/**
 * Table of all jobs and their states. A state is on disk before it is visible. Progress and heartbeats are only in
 * memory, and start from zero after a restart.
 */
interface JobTable {
  /** Reads the stored jobs. Returns the unfinished ones, oldest first. */
  load(): Promise<LiveJob[]>;
  /**
   * Writes a new job, as running if it is taken. Replaces an ended job with the same id, and deletes the oldest ended
   * jobs beyond the limit.
   */
  add(job: NewJob, isTaken: boolean): Promise<AcceptedJob>;
  /** Returns a failed job with its input. @throws Refusal DOCUMENT_UNREADABLE if the input no longer exists */
  failed(jobId: string): Promise<FailedJob | undefined>;
  /** Writes a failed job as a waiting job, like `add`. */
  renew(job: FailedJob, isTaken: boolean): Promise<AcceptedJob>;
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

/**
 * Maximum number of ended jobs that are deleted when a job is added. It is large enough to remove a backlog, and small
 * enough for one transaction.
 */
const DELETED_JOBS_MAX = 100;

/** @param endedMax maximum number of ended jobs to keep */
function createJobTable(store: DocumentStore, endedMax: number, dependencies: LiveJobsDependencies): JobTable {
  const { clock, log } = dependencies;
  const liveJobs = createLiveJobs(dependencies);
  const { history } = liveJobs;
  let lostJobs: LostJobs | undefined;
  const { find, ...reader } = createTableReader(store, clock, liveJobs, () => lostJobs);
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

  async function add({ request, payload, message, ...job }: NewJob, isTaken: boolean): Promise<AcceptedJob> {
    const identity = createJobIdentity(job, stampSubmission());
    const life = createLife(message);
    const url = job.origin?.callback ?? null;
    const callbacks = url === null ? [] : [createCallback(url)];
    return write({ ...identity, ...life, request, callbacks }, { payload }, isTaken);
  }

  async function write(record: JobRecord, input: StoredInput, isTaken: boolean): Promise<AcceptedJob> {
    const { identity, life } = splitRecord(record);
    const jobId = identity.job_id;
    const start = { type: 'start', at: getTimestamp() } as const;
    const surplus = history.surplus(endedMax, DELETED_JOBS_MAX);
    await store.transaction(async (tx) => {
      for (const endedJob of surplus) await deleteJobIn(tx, endedJob);
      await deleteResults(tx, jobId);
      await tx.put('job', jobId, isTaken ? startLife(record, start) : record);
      await tx.put('job-input', jobId, input);
    });
    for (const endedJob of surplus) history.forget(endedJob);
    const entry = liveJobs.adopt(identity, life);
    log.info(selectLogFields(identity), 'job accepted');
    liveJobs.notify(jobId);
    if (isTaken) liveJobs.publish(entry, startLife(life, start), start);
    return { job: entry, status: toStatus(identity, life, record) };
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
    renew: ({ record, input }, isTaken) => write(renewRecord(record, stampSubmission()), input, isTaken),
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

/**
 * Queue of the waiting light or heavy jobs. Owners take turns, and each owner's jobs keep the order of submission. A
 * hundred sweeps of one client therefore do not delay the first backtest of another.
 */
interface LaneQueue {
  readonly length: number;
  countWaiting(owner: string): number;
  push(owner: string, jobId: string): void;
  /** Puts a job before all other jobs of its owner. */
  unshift(owner: string, jobId: string): void;
  /** Returns the next job that may run. */
  peek(mayRun?: MayRun): string | undefined;
  /** Removes the job that `peek` returns. Its owner moves to the end of the queue. */
  shift(mayRun?: MayRun): string | undefined;
  remove(owner: string, jobId: string): boolean;
}

/** Function that returns true if a job of an owner may run now. */
type MayRun = (owner: string, jobId: string) => boolean;

const acceptAny = (): boolean => true;

export function createLaneQueue(): LaneQueue {
  const waitingByOwner = new Map<string, string[]>(); // owners in the order of their turns
  let length = 0;

  const add = (owner: string, insert: (list: string[]) => void): void => {
    const jobIds = waitingByOwner.get(owner) ?? [];
    insert(jobIds);
    waitingByOwner.set(owner, jobIds);
    length++;
  };
  const findFirst = (mayRun: MayRun) => {
    for (const [owner, list] of waitingByOwner) {
      const jobId = list.find((candidateId) => mayRun(owner, candidateId));
      if (jobId !== undefined) return { owner, list, jobId };
    }
    return undefined;
  };

  return {
    get length() {
      return length;
    },
    countWaiting: (owner) => waitingByOwner.get(owner)?.length ?? 0,
    push: (owner, jobId) => add(owner, (list) => list.push(jobId)),
    unshift: (owner, jobId) => add(owner, (list) => list.unshift(jobId)),
    peek: (mayRun = acceptAny) => findFirst(mayRun)?.jobId,
    shift(mayRun = acceptAny) {
      const nextJob = findFirst(mayRun);
      if (nextJob === undefined) return undefined;
      const { owner, list, jobId } = nextJob;
      list.splice(list.indexOf(jobId), 1);
      waitingByOwner.delete(owner);
      if (list.length > 0) waitingByOwner.set(owner, list);
      length--;
      return jobId;
    },
    remove(owner, jobId) {
      const jobIds = waitingByOwner.get(owner);
      const position = jobIds?.indexOf(jobId) ?? -1;
      if (jobIds === undefined || position < 0) return false;
      jobIds.splice(position, 1);
      if (jobIds.length === 0) waitingByOwner.delete(owner);
      length--;
      return true;
    },
  };
}

/** Queues of the waiting jobs of every lane. */
interface Lines extends Readonly<Record<Lane, LaneLine>> {
  /** Puts a job after the other jobs of its owner. */
  add(job: JobIdentity): void;
  /** Puts a job before the other jobs of its owner. */
  addFirst(job: JobIdentity): void;
  remove(job: JobIdentity): void;
  readonly length: number;
  countWaiting(owner: string): number;
}

/** Waiting jobs of one lane, in order of priority. */
type LaneLine = Pick<LaneQueue, 'peek' | 'shift'>;

function createLines(): Lines {
  const queues = { heavy: createPriorityQueues(), light: createPriorityQueues() };
  const laneQueues = Object.values(queues).flatMap((lane) => Object.values(lane));
  const getLine = ({ kind, priority = 'normal' }: JobIdentity): LaneQueue =>
    queues[JOB_KIND_CATALOGUE[kind].lane][priority];

  return {
    heavy: combineByPriority(queues.heavy),
    light: combineByPriority(queues.light),
    add: (job) => getLine(job).push(job.owner, job.job_id),
    addFirst: (job) => getLine(job).unshift(job.owner, job.job_id),
    remove: (job) => void getLine(job).remove(job.owner, job.job_id),
    get length() {
      return laneQueues.reduce((sum, { length }) => sum + length, 0);
    },
    countWaiting: (owner) => laneQueues.reduce((sum, queue) => sum + queue.countWaiting(owner), 0),
  };
}

type ByPriority = Readonly<Record<JobPriority, LaneQueue>>;

const createPriorityQueues = (): ByPriority => ({
  high: createLaneQueue(),
  normal: createLaneQueue(),
  low: createLaneQueue(),
});

function combineByPriority(queues: ByPriority): LaneLine {
  const takeNext = (take: (queue: LaneQueue) => string | undefined): string | undefined => {
    for (const priority of JOB_PRIORITIES) {
      const jobId = take(queues[priority]);
      if (jobId !== undefined) return jobId;
    }
    return undefined;
  };
  return {
    peek: (mayRun) => takeNext((queue) => queue.peek(mayRun)),
    shift: (mayRun) => takeNext((queue) => queue.shift(mayRun)),
  };
}

/** Submission that is not yet on disk. */
interface PendingSubmission {
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

interface Acceptance extends Pick<JobQueue, 'submit' | 'retry'> {
  /** Returns the status of a job. @throws Refusal JOB_NOT_FOUND */
  requireStatus(jobId: string): Promise<JobStatus>;
}

interface LocalAcceptance {
  readonly table: JobTable;
  readonly submissions: PendingSubmissions;
  readonly lines: Lines;
  readonly limits: QueueLimits;
  readonly isDraining: () => boolean;
  readonly onWork: () => void;
  /** Reserves capacity for a job if no other job has to run before it. */
  readonly reserve: (job: WaitingJob) => BeginClaim | undefined;
  readonly findClaim: (job: LiveJob) => Promise<Claim | undefined>;
}

/** @returns functions that queue new jobs and retry failed ones */
function createAcceptance(dependencies: LocalAcceptance): Acceptance {
  const { table, submissions, lines, limits, isDraining, onWork, reserve, findClaim } = dependencies;

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
    const { kind, estimatedBytes } = job;
    const owner = job.origin?.owner ?? '';
    admitNow({ estimatedBytes, owner });
    const durable = write({ job_id: jobId, kind, owner, estimated_bytes: estimatedBytes }, (isTaken) =>
      table.add(job, isTaken),
    );
    return submissions.hold(jobId, { inputHash, owner, durable });
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
    const durable = write(failedJob.record, (isTaken) => table.renew(failedJob, isTaken));
    return submissions.hold(jobId, { inputHash, owner, durable });
  }

  /** Writes a job, as running if it may start at once: one flush less before it runs. */
  async function write(waitingJob: WaitingJob, add: (isTaken: boolean) => Promise<AcceptedJob>): Promise<JobStatus> {
    const begin = reserve(waitingJob);
    const addition = add(begin !== undefined);
    begin?.(
      addition.then(
        ({ job }) => findClaim(job),
        () => undefined, // the submission reports the error
      ),
    );
    const { job, status } = await addition;
    if (begin === undefined) {
      lines.add(job.identity);
      onWork();
    }
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

/** Delay before a failed start is retried. */
const START_AGAIN_MS = 1000;

/** Jobs that wait for their earliest start. */
function createDelayedJobs(
  clock: Clock,
  lines: Lines,
  live: (jobId: string) => LiveJob | undefined,
  onWork: () => void,
) {
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
    /** Puts a job at the front of the queue as soon as it may start. */
    queueAgain({ identity, life }: LiveJob, event: LifeEvent): void {
      const delayMs = computeDelayMs(life, event);
      if (delayMs === 0) lines.addFirst(identity);
      else waitFor(identity, life, delayMs);
    },
    /**
     * Puts a job at the front of the queue after a short delay. Used if its start could not be written, for example
     * because the disk is full.
     */
    startAgain: ({ identity, life }: LiveJob): void => waitFor(identity, life, START_AGAIN_MS),
    /** Puts a job of the previous process in the queue as soon as it may start. */
    restore({ identity, life }: LiveJob): void {
      const delayMs = life.not_before === null ? 0 : Date.parse(life.not_before) - clock.now();
      if (delayMs <= 0) lines.add(identity);
      else waitFor(identity, life, delayMs);
    },
  };
}

interface LocalQueueDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly limits: QueueLimits;
  /** Maximum number of running jobs of this node. */
  readonly places?: Readonly<Record<Lane, number>>;
  readonly log: JobLog;
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
  const table = createJobTable(store, limits.endedMax, { clock, ...limits, log, findProgress, onChange: follow });
  let node: QueueNode | undefined;
  let isDraining = false;
  const delayedJobs = createDelayedJobs(clock, lines, table.live, () => node?.onWork());
  const onWork = (): void => node?.onWork();
  const acceptance = createAcceptance({
    table,
    submissions,
    lines,
    limits,
    isDraining: () => isDraining,
    onWork,
    reserve,
    findClaim,
  });
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

  async function join(joining: QueueNode): Promise<number> {
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
    return typeof (await start(job)) === 'string' ? undefined : findClaim(job);
  }

  async function findClaim(job: LiveJob): Promise<Claim | undefined> {
    const lease = leases.of(job);
    return lease && { lease, job: job.identity, input: await table.input(lease.jobId) };
  }

  function reserve(job: WaitingJob): BeginClaim | undefined {
    const isFirst = submissions.count === 0 && lines[JOB_KIND_CATALOGUE[job.kind].lane].peek() === undefined;
    return isFirst && paused?.has(job.kind) !== true ? node?.reserve?.(job) : undefined;
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

interface RememberedJob {
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

interface JobWatchers extends Pick<JobListeners, 'watch' | 'watchAll'> {
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

interface TrackedJob extends LiveJob {
  life: JobLife;
  /** Result of the latest transition that was started. */
  tail: Promise<unknown>;
  isSettling: boolean;
}

/** Unfinished jobs in memory, with the changes of all jobs. */
interface LiveJobs extends Pick<JobQueue, 'watch' | 'watchAll'> {
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

interface LiveJobsDependencies {
  readonly clock: Clock;
  readonly getRetryPolicy: RetryPolicies;
  readonly log: JobLog;
  /** Returns the progress of the attempt of a running job. Returns undefined if it is unknown. */
  readonly findProgress: (job: LiveJob) => TaskProgress | undefined;
  /** Called after every change of state, once it is visible. */
  readonly onChange: (job: LiveJob, before: JobState, event: LifeEvent) => void;
}

function createLiveJobs({ clock, getRetryPolicy, log, findProgress, onChange }: LiveJobsDependencies): LiveJobs {
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

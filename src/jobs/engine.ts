import { createHash } from 'node:crypto';
import { canonicalJson } from '#domain/canonical-json.js';
import { Refusal } from '#domain/refusal.js';
import type { ArtifactRef, ArtifactStore } from '#store/artifacts.js';
import type { DocumentStore, DocumentTransaction } from '#store/documents.js';
import { formatTimestamp } from '#store/timestamp.js';
import { startAttempt, type RunningAttempt } from './attempt.js';
import type { Clock } from './clock.js';
import { WorkerLost, type ComputePool, type Lane } from './compute-pool.js';
import type { Completion, JobKind, Jobs, Submission } from './job-kind.js';
import { readJobRecord, toStatus, type JobIdentity, type JobRecord } from './job-record.js';
import { createLaneQueue, type LaneQueue } from './lane-queue.js';
import { advance, isTerminal, newLife, type Impossible, type Life, type LifeEvent } from './life-cycle.js';
import type { JobKindName, JobState, JobStatus } from './status.js';

export interface EngineLimits {
  /** Starts that may end in a crash. */
  readonly attemptsMax: number;
  /** Jobs that may wait. */
  readonly queueMax: number;
  /** Jobs that run at once in each lane. */
  readonly runningMax: Readonly<Record<Lane, number>>;
  /** Bytes that running jobs may be expected to need together. */
  readonly memoryBytes: number;
  readonly heartbeatTimeoutMs: number;
  readonly jobMsMax: number;
  /** Time an ended attempt has before its place is given away. */
  readonly cancelGraceMs: number;
  /** Wall time of interactive work. */
  readonly queryMsMax: number;
}

/** Structured log; pino has this shape. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface JobEngineDependencies {
  readonly store: DocumentStore;
  readonly artifacts: ArtifactStore;
  readonly pool: ComputePool;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly log: JobLog;
}

export interface JobQuery {
  readonly kind?: JobKindName | undefined;
  readonly statuses?: readonly JobState[] | undefined;
  readonly limit: number;
  /** Only jobs submitted before this one. */
  readonly before?: string | undefined;
}

/** A job with its result where it lies. */
export interface FoundJob {
  /** `result` is null when the result is an artifact. */
  readonly status: JobStatus;
  /** Result of a succeeded job that is kept as JSON bytes. */
  readonly artifact: ArtifactRef | null;
  /** Grows with every change of any job, over restarts too. */
  readonly revision: number;
}

export interface JobCounts {
  readonly pending: number;
  readonly running: number;
}

/** The job engine as the service's root sees it. */
export interface JobEngine extends Jobs {
  /** Makes a kind known. Every kind is registered before `start`, so that jobs of the last process can run. */
  register<P>(kind: JobKind<P>): void;
  /** Reads the stored jobs, queues what the last process left and begins to work. */
  start(): Promise<void>;
  /** @throws Refusal DOCUMENT_UNREADABLE */
  find(jobId: string): FoundJob | undefined;
  /** Newest first, results null. */
  list(query: JobQuery): JobStatus[];
  /** Calls after every change of a job's status, progress included (at most four times a second); returns how to stop. */
  watch(jobId: string, listener: () => void): () => void;
  counts(): JobCounts;
  /** Refuses new jobs from now on. */
  drain(): void;
  /** Gives running jobs back to the queue, durably, and ends the threads. */
  stop(): Promise<void>;
}

/** How often running jobs are looked at: heartbeat, time limit, work that could not be written down. */
const TICK_MS = 1000;
/** How often the progress of a watched job is read. */
const WATCH_MS = 250;
/** Longest the engine waits for ended attempts when it stops. */
const STOP_MS = 5000;

/** What happens in the transaction of an event and right after it. */
type Consequence = Pick<Completion, 'effect' | 'committed'>;

/** A job that is pending or running. */
interface LiveJob {
  readonly identity: JobIdentity;
  readonly lane: Lane;
  life: Life;
  /** The last transition that was begun: transitions of one job follow each other. */
  tail: Promise<unknown>;
  /** A transition is on its way to disk: what it shows is decided. */
  isSettling: boolean;
  attempt: RunningAttempt | undefined;
  startedMs: number;
  beatMs: number;
}

/**
 * The durable life of jobs. A job's state lies in the store; what the engine holds in memory is that state plus progress
 * and heartbeat, which begin anew after a restart and are never written. Every change of state is first on disk and
 * visible afterwards, and the end of a job is one transaction with its effect.
 */
export function createJobEngine({ store, artifacts, pool, clock, limits, log }: JobEngineDependencies): JobEngine {
  const kinds = new Map<JobKindName, JobKind<unknown>>();
  const live = new Map<string, LiveJob>();
  /** Every job, oldest first, as far as listings filter on it. */
  const history = new Map<string, { readonly kind: JobKindName; readonly sequence: number; status: JobState; revision: number }>();
  /** Submissions on their way to disk. */
  const reserved = new Map<string, { readonly inputHash: string; readonly durable: Promise<JobStatus> }>();
  const queues: Record<Lane, LaneQueue> = { heavy: createLaneQueue(), light: createLaneQueue() };
  const running: Record<Lane, number> = { heavy: 0, light: 0 };
  const watchers = new Map<string, Set<() => void>>();
  let reservedBytes = 0;
  let nextSequence = 1;
  // Microseconds since 1970 at the start of the process: ahead of what the last process counted to.
  let revision = clock.now() * 1000;
  let isStarted = false;
  let isDraining = false;
  let isTicking = false;
  let isPolling = false;

  const timestamp = (): string => formatTimestamp(clock.now());
  const lifeLimits = { attemptsMax: limits.attemptsMax };

  // Submitting

  async function submit<P>(submission: Submission<P>): Promise<JobStatus> {
    const { kind, ident, payload } = submission;
    if (kinds.get(kind.kind) === undefined) throw new Error(`the kind ${kind.kind} is not registered`);
    const jobId = `${kind.kind}:${ident}`;
    const inputHash = createHash('sha256').update(canonicalJson({ kind: kind.kind, ident, payload })).digest('hex');
    const coming = reserved.get(jobId);
    const liveHash = coming?.inputHash ?? live.get(jobId)?.identity.input_hash;
    if (liveHash !== undefined) {
      if (liveHash !== inputHash) throw new Refusal('JOB_RUNNING', `The job ${jobId} runs with a different request.`, { job_id: jobId });
      return coming === undefined ? requireStatus(jobId) : coming.durable;
    }
    admit(submission.estimatedBytes);
    const durable = write(submission, jobId, inputHash);
    reserved.set(jobId, { inputHash, durable });
    try {
      return await durable;
    } finally {
      reserved.delete(jobId);
      schedule();
    }
  }

  function admit(estimatedBytes: number): void {
    if (isDraining) throw new Refusal('DRAINING', 'The service is stopping.', null);
    if (estimatedBytes > limits.memoryBytes) {
      const message = `The job is expected to need ${estimatedBytes} bytes of memory; all jobs together may need ${limits.memoryBytes}.`;
      throw new Refusal('VALIDATION_FAILED', message, {
        findings: [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: '' }],
        estimated_bytes: estimatedBytes,
        budget_bytes: limits.memoryBytes,
      });
    }
    const queued = queues.heavy.length + queues.light.length + reserved.size;
    if (queued >= limits.queueMax) {
      const message = `${queued} jobs wait already; ${limits.queueMax} may.`;
      throw new Refusal('OVERLOADED', message, { queued, limit: limits.queueMax });
    }
  }

  async function write<P>({ kind, payload, request, estimatedBytes, message, owner = '' }: Submission<P>, jobId: string, inputHash: string): Promise<JobStatus> {
    const identity: JobIdentity = {
      job_id: jobId, kind: kind.kind, created_at: timestamp(), input_hash: inputHash, sequence: nextSequence++,
      estimated_bytes: estimatedBytes, owner,
    };
    const life = newLife(message);
    await store.transaction((tx) => {
      tx.put('job', jobId, { ...identity, ...life, request } satisfies JobRecord);
      tx.put('job-input', jobId, { payload });
    });
    const job = adopt(identity, life, kind.lane);
    queues[job.lane].push(owner, jobId);
    log.info({ job_id: jobId }, 'job accepted');
    notify(jobId);
    return toStatus(identity, life, request);
  }

  function adopt(identity: JobIdentity, life: Life, lane: Lane): LiveJob {
    const job: LiveJob = { identity, lane, life, tail: Promise.resolve(), isSettling: false, attempt: undefined, startedMs: 0, beatMs: 0 };
    live.set(identity.job_id, job);
    history.delete(identity.job_id); // A replaced job is the newest again.
    history.set(identity.job_id, { kind: identity.kind, sequence: identity.sequence, status: life.status, revision });
    return job;
  }

  // Changing state

  /**
   * Takes one job through one event, together with the effect: on disk first, then in memory.
   * @returns the life after it, or why the event came too late
   * @throws whatever the store or the effect refused with; then nothing has changed
   */
  function transition(job: LiveJob, event: LifeEvent, { effect, committed }: Consequence = {}): Promise<Life | Impossible> {
    const turn = job.tail.then(async () => {
      refresh(job);
      const next = advance(job.life, event, lifeLimits);
      if (typeof next === 'string') return next;
      job.isSettling = true;
      try {
        await store.transaction((tx) => writeLife(tx, job, next, effect), { reserve: true });
        committed?.();
      } finally {
        job.isSettling = false;
      }
      publish(job, next);
      return next;
    });
    job.tail = turn.catch(() => undefined);
    return turn;
  }

  function writeLife(tx: DocumentTransaction, { identity }: LiveJob, life: Life, effect: Consequence['effect']): void {
    effect?.(tx);
    tx.put('job', identity.job_id, { ...identity, ...life, request: requestIn(tx, identity.job_id) } satisfies JobRecord);
    if (isTerminal(life.status)) tx.delete('job-input', identity.job_id);
  }

  function publish(job: LiveJob, life: Life): void {
    const { job_id: jobId, owner } = job.identity;
    const before = job.life.status;
    job.life = life;
    const entry = history.get(jobId);
    if (entry !== undefined) entry.status = life.status;
    if (before === 'pending' && life.status !== 'running') queues[job.lane].remove(owner, jobId);
    if (before === 'running' && life.status === 'pending') queues[job.lane].unshift(owner, jobId);
    if (isTerminal(life.status)) live.delete(jobId);
    log.info({ job_id: jobId, status: life.status, attempt: life.attempt, code: life.error?.code }, 'job changed');
    notify(jobId);
    schedule();
  }

  // Running

  function schedule(): void {
    if (!isStarted || isDraining) return;
    for (const lane of ['light', 'heavy'] as const) {
      while (running[lane] < limits.runningMax[lane]) {
        const job = live.get(queues[lane].peek() ?? '');
        if (job === undefined || !fits(job)) break;
        queues[lane].shift();
        running[lane]++;
        reservedBytes += job.identity.estimated_bytes;
        void runAttempt(job).finally(() => {
          running[lane]--;
          reservedBytes -= job.identity.estimated_bytes;
          schedule();
        });
      }
    }
    if (live.size > 0) keepTicking();
  }

  /** The first in line waits until there is room for it, and the others behind it: a large job is not passed over for ever. */
  function fits(job: LiveJob): boolean {
    return reservedBytes === 0 || reservedBytes + job.identity.estimated_bytes <= limits.memoryBytes;
  }

  /** One attempt from its start on disk to its end on disk. Never rejects. */
  async function runAttempt(job: LiveJob): Promise<void> {
    try {
      const started = await transition(job, { type: 'start', at: timestamp() });
      if (typeof started === 'string' || isDraining) return;
      job.startedMs = job.beatMs = clock.monotonicMs();
      const attempt = await prepare(job, started.attempt);
      if (attempt === undefined) return;
      job.attempt = attempt;
      await Promise.race([settle(job, attempt), graceAfterEnd(attempt)]);
      if (job.attempt === attempt) job.attempt = undefined;
    } catch (thrown) {
      // A running job without an attempt has no heartbeat any more: it is queued again when that is noticed.
      job.attempt = undefined;
      log.error({ job_id: job.identity.job_id, err: thrown }, 'a change of the job could not be written');
      if (job.life.status === 'pending') retryLater(job);
    }
  }

  /** The start could not be written (a full disk): the job stands first in line again from the next tick on. */
  function retryLater(job: LiveJob): void {
    clock.after(TICK_MS, () => {
      if (job.life.status !== 'pending') return;
      queues[job.lane].unshift(job.identity.owner, job.identity.job_id);
      schedule();
    });
  }

  async function prepare(job: LiveJob, number: number): Promise<RunningAttempt | undefined> {
    const { job_id: jobId, kind: name } = job.identity;
    const kind = kinds.get(name);
    const input = store.get('job-input', jobId);
    if (kind === undefined || input === undefined || 'unreadable' in input) {
      const error =
        kind === undefined
          ? new Refusal('NOT_SUPPORTED', `This build does not run jobs of the kind ${name}.`)
          : new Refusal('DOCUMENT_UNREADABLE', `The stored input of ${jobId} cannot be read.`);
      await transition(job, { type: 'fail', attempt: number, error: error.toDetail(), at: timestamp() });
      return undefined;
    }
    const { payload } = input.body as { readonly payload: unknown }; // Written by `write` and sealed by the store.
    return startAttempt({ kind, jobId, number, payload }, { pool, artifacts });
  }

  async function settle(job: LiveJob, attempt: RunningAttempt): Promise<void> {
    try {
      const completion = await attempt.completion;
      const event: LifeEvent = { type: 'succeed', attempt: attempt.number, result: completion.result, at: timestamp() };
      if (typeof (await transition(job, event, completion)) === 'string') await discard(attempt);
    } catch (thrown) {
      // Whether a failed commit is on disk is not known before the next start, which removes what nothing refers to.
      if (isStoreFault(thrown)) throw thrown;
      await discard(attempt);
      if (attempt.isEnded) return; // Whoever ended it has decided what becomes of the job.
      await transition(job, eventOf(thrown, attempt.number, job.identity.job_id));
    }
  }

  function eventOf(thrown: unknown, attempt: number, jobId: string): LifeEvent {
    const at = timestamp();
    if (thrown instanceof Refusal) return { type: 'fail', attempt, error: thrown.toDetail(), at };
    if (thrown instanceof WorkerLost) return { type: 'crash', attempt, cause: thrown.message, at };
    log.error({ job_id: jobId, attempt, err: thrown }, 'a job failed by a defect');
    const message = `A defect of the service ended the job; it is logged under ${jobId}, attempt ${attempt}.`;
    return { type: 'fail', attempt, error: { code: 'INTERNAL', message, detail: null }, at };
  }

  async function discard(attempt: RunningAttempt): Promise<void> {
    if (attempt.kept.length > 0) await artifacts.remove(attempt.kept.map(({ name }) => name));
  }

  /** Work that does not stop when it is asked to loses its place, so that it cannot hold up the queue. */
  function graceAfterEnd(attempt: RunningAttempt): Promise<void> {
    return new Promise((resolve) => attempt.onEnd(() => void clock.after(limits.cancelGraceMs, resolve)));
  }

  // Watching over

  /** Progress of a running job as its worker last reported it; frozen while the next state is on its way to disk. */
  function refresh(job: LiveJob): void {
    if (job.life.status !== 'running' || job.attempt === undefined || job.isSettling) return;
    const { fraction, message } = job.attempt.progress();
    apply(job, { type: 'progress', attempt: job.attempt.number, fraction, ...(message === undefined ? {} : { message }) });
  }

  function apply(job: LiveJob, event: LifeEvent): void {
    const next = advance(job.life, event, lifeLimits);
    if (typeof next !== 'string') job.life = next;
  }

  function keepTicking(): void {
    if (isTicking) return;
    isTicking = true;
    clock.after(TICK_MS, () => {
      isTicking = false;
      for (const job of live.values()) if (job.life.status === 'running' && !job.isSettling) watchOver(job);
      schedule();
    });
  }

  function watchOver(job: LiveJob): void {
    const now = clock.monotonicMs();
    const attempt = job.life.attempt;
    if (now - job.startedMs > limits.jobMsMax) {
      const message = `The job ran longer than ${limits.jobMsMax / 1000} seconds.`;
      finishFromOutside(job, { type: 'fail', attempt, error: { code: 'JOB_TIMEOUT', message, detail: null }, at: timestamp() });
    } else if (job.attempt?.number === attempt && job.attempt.isAlive()) {
      job.beatMs = now;
      apply(job, { type: 'beat', attempt, at: timestamp() });
    } else if (now - job.beatMs > limits.heartbeatTimeoutMs) {
      const cause = `no sign of life for ${limits.heartbeatTimeoutMs / 1000} seconds`;
      finishFromOutside(job, { type: 'crash', attempt, cause, at: timestamp() });
    }
  }

  function finishFromOutside(job: LiveJob, event: LifeEvent): void {
    const { attempt } = job;
    transition(job, event).then(
      (next) => void (typeof next === 'string' || attempt?.end()),
      (thrown: unknown) => log.error({ job_id: job.identity.job_id, err: thrown }, 'a change of the job could not be written'),
    );
  }

  function notify(jobId: string): void {
    const entry = history.get(jobId);
    if (entry !== undefined) entry.revision = ++revision;
    for (const listener of watchers.get(jobId) ?? []) listener();
  }

  function pollWatched(): void {
    if (isPolling || watchers.size === 0) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      isPolling = false;
      for (const jobId of watchers.keys()) {
        const job = live.get(jobId);
        const before = job?.life;
        if (job !== undefined) refresh(job);
        if (job?.life.progress !== before?.progress || job?.life.message !== before?.message) notify(jobId);
      }
      pollWatched();
    });
  }

  // Reading

  function find(jobId: string): FoundJob | undefined {
    const job = live.get(jobId);
    if (job !== undefined) {
      refresh(job);
      return { status: toStatus(job.identity, job.life, requestIn(store, jobId)), artifact: null, revision: revisionOf(jobId) };
    }
    const stored = store.get('job', jobId);
    if (stored === undefined) return undefined;
    const record = 'unreadable' in stored ? undefined : readJobRecord(stored.body, jobId);
    if (record === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
    return {
      status: toStatus(record, record, record.request),
      artifact: record.result !== null && 'artifact' in record.result ? record.result.artifact : null,
      revision: revisionOf(jobId),
    };
  }

  const revisionOf = (jobId: string): number => history.get(jobId)?.revision ?? revision;

  function requireStatus(jobId: string): JobStatus {
    const found = find(jobId);
    if (found === undefined) throw new Refusal('JOB_NOT_FOUND', `No job is stored under ${jobId}.`);
    return found.status;
  }

  function list({ kind, statuses, limit, before }: JobQuery): JobStatus[] {
    const end = before === undefined ? Infinity : (history.get(before)?.sequence ?? 0);
    const listed: JobStatus[] = [];
    for (const [jobId, entry] of [...history].reverse()) {
      if (listed.length >= limit) break;
      if (entry.sequence >= end || (kind !== undefined && entry.kind !== kind)) continue;
      if (statuses !== undefined && !statuses.includes(entry.status)) continue;
      const found = readable(() => find(jobId));
      if (found !== undefined) listed.push({ ...found.status, result: null });
    }
    return listed;
  }

  // Starting and stopping

  async function start(): Promise<void> {
    const { documents } = store.list('job', readJobRecord);
    const records = [...documents].sort((a, b) => a.sequence - b.sequence);
    const at = timestamp();
    const lost: LiveJob[] = [];
    for (const { request: _, ...record } of records) {
      nextSequence = Math.max(nextSequence, record.sequence + 1);
      history.set(record.job_id, { kind: record.kind, sequence: record.sequence, status: record.status, revision });
      if (isTerminal(record.status)) continue;
      const job = adopt(identityOf(record), lifeOf(record), kinds.get(record.kind)?.lane ?? 'light');
      if (record.status === 'running') lost.push(job);
      else queues[job.lane].push(job.identity.owner, job.identity.job_id);
    }
    await Promise.all(
      lost.map((job) => transition(job, { type: 'crash', attempt: job.life.attempt, cause: 'the service ended while the job ran', at })),
    );
    isStarted = true;
    schedule();
    log.info({ stored: records.length, live: live.size, recovered: lost.length }, 'jobs read');
  }

  async function stop(): Promise<void> {
    isDraining = true;
    await Promise.allSettled([...reserved.values()].map(({ durable }) => durable));
    const released = Promise.allSettled(
      [...live.values()].map(async (job) => {
        await transition(job, { type: 'release', attempt: job.life.attempt });
        job.attempt?.end();
      }),
    );
    await Promise.race([released, new Promise<void>((resolve) => void clock.after(STOP_MS, resolve))]);
    await pool.close();
  }

  return {
    register: (kind) => void kinds.set(kind.kind, kind),
    start,
    submit,
    find,
    get: (jobId) => find(jobId)?.status,
    list,
    async cancel(jobId) {
      await reserved.get(jobId)?.durable.catch(() => undefined); // A submission on its way to disk is cancelled once it is there.
      const job = live.get(jobId);
      if (job !== undefined) {
        const next = await transition(job, { type: 'cancel', at: timestamp() });
        if (typeof next !== 'string') job.attempt?.end();
      }
      return requireStatus(jobId);
    },
    isLive: (jobId) => live.has(jobId) || reserved.has(jobId),
    query: (task, input, signal) => runQuery({ pool, clock, limits }, task, input, signal),
    watch(jobId, listener) {
      const listeners = watchers.get(jobId) ?? new Set();
      listeners.add(listener);
      watchers.set(jobId, listeners);
      pollWatched();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && watchers.get(jobId) === listeners) watchers.delete(jobId);
      };
    },
    counts() {
      const states = [...live.values()].filter(({ life }) => life.status === 'running').length;
      return { pending: live.size - states, running: states };
    },
    drain() {
      isDraining = true;
    },
    stop,
  };
}

/** Interactive work: no state, a time limit, and no job that a failure could be written into. */
async function runQuery(
  { pool, clock, limits }: Pick<JobEngineDependencies, 'pool' | 'clock' | 'limits'>,
  ...[task, input, signal]: Parameters<Jobs['query']>
): Promise<never> {
  const timeout = new AbortController();
  const callOff = clock.after(limits.queryMsMax, () => timeout.abort());
  const either = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  try {
    // The engine's caller named the task; its output has the type of that name.
    return (await pool.run({ lane: 'light', task, input, signal: either }).output) as never;
  } catch (thrown) {
    if (timeout.signal.aborted) {
      throw new Refusal('OVERLOADED', `The computation took longer than ${limits.queryMsMax / 1000} seconds.`, null, { cause: thrown });
    }
    if (thrown instanceof Refusal && thrown.code === 'WORKER_OUT_OF_MEMORY') {
      throw new Refusal('OVERLOADED', 'The computation ran out of memory.', null, { cause: thrown });
    }
    throw thrown;
  } finally {
    callOff();
  }
}

function requestIn(store: Pick<DocumentStore, 'get'>, jobId: string): unknown {
  const stored = store.get('job', jobId);
  if (stored === undefined || 'unreadable' in stored) return null;
  return (stored.body as { readonly request?: unknown }).request ?? null;
}

function identityOf({ job_id, kind, created_at, input_hash, sequence, estimated_bytes, owner }: JobIdentity): JobIdentity {
  return { job_id, kind, created_at, input_hash, sequence, estimated_bytes, owner };
}

function lifeOf(record: Life): Life {
  const { status, attempt, crashes, progress, message, error, result, started_at, finished_at, heartbeat_at } = record;
  return { status, attempt, crashes, progress, message, error, result, started_at, finished_at, heartbeat_at };
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

const isStoreFault = (thrown: unknown): boolean => thrown instanceof Refusal && thrown.code === 'STORE_UNAVAILABLE';

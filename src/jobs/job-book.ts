import { Refusal } from '#domain/refusal.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { RunningAttempt } from './attempt.js';
import type { Clock } from './clock.js';
import type { FoundJob, JobCounts, JobLog, JobQuery } from './job-engine.js';
import type { Completion } from './job-kind.js';
import { readJobRecord, splitRecord, toStatus, traced, type JobIdentity, type JobRecord } from './job-record.js';
import { advance, isTerminal, type Impossible, type Life, type LifeEvent } from './life-cycle.js';
import type { JobKindName } from '#domain/jobs/job-kinds.js';
import type { JobState, JobStatus } from './status.js';

/** A job that is pending or running. */
export interface LiveJob {
  readonly identity: JobIdentity;
  readonly life: Life;
  /** The attempt under way. */
  attempt: RunningAttempt | undefined;
}

/** What is written in the transaction of an event. */
export type Consequence = Pick<Completion, 'effect'>;

/**
 * Every job and its state. A state is first on disk and visible afterwards; progress and heartbeat lie in memory,
 * begin anew after a restart and are never written.
 */
export interface JobBook {
  /** Reads the stored jobs; returns those that are not over, oldest first. */
  load(): Promise<LiveJob[]>;
  /** Writes a new job, in place of an ended one of the same id; the oldest ended ones beyond the limit are forgotten with it. */
  add(job: NewJob): Promise<LiveJob>;
  /**
   * Takes a job through an event, together with its consequence. Events of one job follow each other.
   * @returns the life after it, or why the event came too late
   * @throws whatever the store or the effect refused with; then nothing has changed
   */
  transition(job: LiveJob, event: LifeEvent, consequence?: Consequence): Promise<Life | Impossible>;
  /** Takes a running job through a heartbeat. */
  beat(job: LiveJob): void;
  /** Whether the next state of a job is on its way to disk. */
  isSettling(job: LiveJob): boolean;
  live(jobId: string): LiveJob | undefined;
  liveJobs(): LiveJob[];
  /** The payload of a live job; undefined when it cannot be read. */
  payload(jobId: string): Promise<{ readonly payload: unknown } | undefined>;
  find(jobId: string): Promise<FoundJob | undefined>;
  /** Jobs of a kind, oldest first. */
  ids(kind: JobKindName): string[];
  list(query: JobQuery): Promise<JobStatus[]>;
  counts(): JobCounts;
  watch(jobId: string, listener: () => void): () => void;
  watchAll(listener: (jobId: string) => void): () => void;
}

export interface NewJob {
  readonly identity: Omit<JobIdentity, 'created_at' | 'sequence'>;
  readonly life: Life;
  readonly request: unknown;
  readonly payload: unknown;
}

export interface JobBookDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly attemptsMax: number;
  /** Ended jobs that are remembered. */
  readonly endedMax: number;
  readonly log: JobLog;
  /** Told of every change of state, after it is visible. */
  readonly onChange: (job: LiveJob, before: JobState) => void;
}

/** Ended jobs forgotten with one new one: enough to catch up, little enough for one transaction. */
const FORGOTTEN_AT_ONCE_MAX = 100;
/** How often the progress of a watched job is read. */
const WATCH_MS = 250;

interface Entry extends LiveJob {
  life: Life;
  /** The last transition that was begun. */
  tail: Promise<unknown>;
  isSettling: boolean;
}

export function createJobBook({ store, clock, attemptsMax, endedMax, log, onChange }: JobBookDependencies): JobBook {
  const live = new Map<string, Entry>();
  /** Every job, oldest first, as far as listings filter on it. */
  const history = new Map<
    string,
    { readonly kind: JobKindName; readonly sequence: number; status: JobState; revision: number }
  >();
  const watchers = new Map<string, Set<() => void>>();
  const watchersOfAll = new Set<(jobId: string) => void>();
  // Microseconds since 1970 at the start of the process: ahead of what the last process counted to.
  let revision = clock.now() * 1000;
  let nextSequence = 1;
  let runningCount = 0;
  let isPolling = false;

  const lifeLimits = { attemptsMax };
  const timestamp = (): string => formatTimestamp(clock.now());

  function adopt(identity: JobIdentity, life: Life): Entry {
    const entry: Entry = { identity, life, tail: Promise.resolve(), isSettling: false, attempt: undefined };
    live.set(identity.job_id, entry);
    if (life.status === 'running') runningCount++;
    remember(identity, life.status);
    return entry;
  }

  function remember({ job_id: jobId, kind, sequence }: JobIdentity, status: JobState): void {
    history.delete(jobId); // A replaced job is the newest again.
    history.set(jobId, { kind, sequence, status, revision });
  }

  async function load(): Promise<LiveJob[]> {
    const records = [...(await store.list('job', readJobRecord)).documents].sort((a, b) => a.sequence - b.sequence);
    nextSequence = (records.at(-1)?.sequence ?? 0) + 1;
    const adopted: LiveJob[] = [];
    for (const record of records) {
      const { identity, life } = splitRecord(record);
      if (isTerminal(life.status)) remember(identity, life.status);
      else adopted.push(adopt(identity, life));
    }
    return adopted;
  }

  async function add({ identity: given, life, request, payload }: NewJob): Promise<LiveJob> {
    const identity: JobIdentity = { ...given, created_at: timestamp(), sequence: nextSequence++ };
    const jobId = identity.job_id;
    const surplus = endedSurplus();
    await store.transaction(async (tx) => {
      for (const { id, sequence } of surplus) if (await isEndedIn(tx, id, sequence)) await tx.delete('job', id);
      await tx.put('job', jobId, { ...identity, ...life, request } satisfies JobRecord);
      await tx.put('job-input', jobId, { payload });
    });
    for (const { id, sequence } of surplus) if (history.get(id)?.sequence === sequence) history.delete(id);
    const entry = adopt(identity, life);
    log.info(traced(identity), 'job accepted');
    notify(jobId);
    return entry;
  }

  /** The oldest of the ended jobs beyond those that are remembered. */
  function endedSurplus(): { readonly id: string; readonly sequence: number }[] {
    const count = Math.min(history.size - live.size - endedMax, FORGOTTEN_AT_ONCE_MAX);
    const found: { readonly id: string; readonly sequence: number }[] = [];
    if (count <= 0) return found;
    for (const [id, { status, sequence }] of history) {
      if (isTerminal(status)) found.push({ id, sequence });
      if (found.length === count) break;
    }
    return found;
  }

  function transition(job: LiveJob, event: LifeEvent, { effect }: Consequence = {}): Promise<Life | Impossible> {
    const entry = job as Entry; // Every LiveJob was made by `adopt`.
    const turn = entry.tail.then(async () => {
      refresh(entry);
      const next = advance(entry.life, event, lifeLimits);
      if (typeof next === 'string') return next;
      entry.isSettling = true;
      try {
        await store.transaction((tx) => writeLife(tx, entry.identity, next, effect), { reserve: true });
      } finally {
        entry.isSettling = false;
      }
      publish(entry, next);
      return next;
    });
    entry.tail = turn.catch(() => undefined);
    return turn;
  }

  function publish(entry: Entry, life: Life): void {
    const { job_id: jobId } = entry.identity;
    const before = entry.life.status;
    entry.life = life;
    runningCount += Number(life.status === 'running') - Number(before === 'running');
    const remembered = history.get(jobId);
    if (remembered !== undefined) remembered.status = life.status;
    if (isTerminal(life.status)) live.delete(jobId);
    log.info(
      { ...traced(entry.identity), status: life.status, attempt: life.attempt, code: life.error?.code },
      'job changed',
    );
    notify(jobId);
    onChange(entry, before);
  }

  /** Progress of a running job as its worker last reported it; frozen while the next state is on its way to disk. */
  function refresh(entry: Entry): void {
    if (entry.life.status !== 'running' || entry.attempt === undefined || entry.isSettling) return;
    const { fraction, message } = entry.attempt.progress();
    apply(entry, {
      type: 'progress',
      attempt: entry.attempt.number,
      fraction,
      ...(message === undefined ? {} : { message }),
    });
  }

  function apply(entry: Entry, event: LifeEvent): void {
    const next = advance(entry.life, event, lifeLimits);
    if (typeof next !== 'string') entry.life = next;
  }

  function notify(jobId: string): void {
    const remembered = history.get(jobId);
    if (remembered !== undefined) remembered.revision = ++revision;
    for (const listener of watchers.get(jobId) ?? []) listener();
    for (const listener of watchersOfAll) listener(jobId);
  }

  function pollWatched(): void {
    if (isPolling || watchers.size + watchersOfAll.size === 0) return;
    isPolling = true;
    clock.after(WATCH_MS, () => {
      isPolling = false;
      for (const jobId of watchersOfAll.size > 0 ? live.keys() : watchers.keys()) notifyOfProgress(jobId);
      pollWatched();
    });
  }

  function notifyOfProgress(jobId: string): void {
    const entry = live.get(jobId);
    if (entry === undefined) return;
    const { progress, message } = entry.life;
    refresh(entry);
    if (entry.life.progress !== progress || entry.life.message !== message) notify(jobId);
  }

  async function find(jobId: string): Promise<FoundJob | undefined> {
    const own = history.get(jobId)?.revision ?? revision;
    const entry = live.get(jobId);
    if (entry !== undefined) {
      refresh(entry);
      return {
        status: toStatus(entry.identity, entry.life, await requestIn(store, jobId)),
        artifact: null,
        revision: own,
      };
    }
    const stored = await store.get('job', jobId);
    if (stored === undefined) return undefined;
    const record = 'unreadable' in stored ? undefined : readJobRecord(stored.body, jobId);
    if (record === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
    const artifact = record.result !== null && 'artifact' in record.result ? record.result.artifact : null;
    return { status: toStatus(record, record, record.request), artifact, revision: own };
  }

  return {
    load,
    add,
    transition,
    beat: (job) => apply(job as Entry, { type: 'beat', attempt: job.life.attempt, at: timestamp() }),
    isSettling: (job) => (job as Entry).isSettling,
    live: (jobId) => live.get(jobId),
    liveJobs: () => [...live.values()],
    async payload(jobId) {
      const stored = await store.get('job-input', jobId);
      // Written by `add` and sealed by the store.
      return stored === undefined || 'unreadable' in stored
        ? undefined
        : (stored.body as { readonly payload: unknown });
    },
    find,
    ids: (kind) => [...history].flatMap(([jobId, entry]) => (entry.kind === kind ? [jobId] : [])),
    async list({ kind, statuses, limit, before }) {
      const end = before === undefined ? Infinity : (history.get(before)?.sequence ?? 0);
      const listed: JobStatus[] = [];
      for (const [jobId, entry] of [...history].reverse()) {
        if (listed.length >= limit) break;
        if (entry.sequence >= end || (kind !== undefined && entry.kind !== kind)) continue;
        if (statuses !== undefined && !statuses.includes(entry.status)) continue;
        const status = await readable(async () => (await find(jobId))?.status);
        if (status !== undefined) listed.push({ ...status, result: null });
      }
      return listed;
    },
    counts: () => ({ pending: live.size - runningCount, running: runningCount }),
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
    watchAll(listener) {
      watchersOfAll.add(listener);
      pollWatched();
      return () => void watchersOfAll.delete(listener);
    },
  };
}

/** Whether the ended job of this submission is still the stored one: its id may have been submitted again meanwhile. */
async function isEndedIn(tx: DocumentTransaction, jobId: string, sequence: number): Promise<boolean> {
  const stored = await tx.get('job', jobId);
  if (stored === undefined || 'unreadable' in stored) return stored !== undefined;
  const record = readJobRecord(stored.body, jobId);
  return record === undefined || (record.sequence === sequence && isTerminal(record.status));
}

/** The end of a job is one transaction: its effect, its terminal state, and the payload it needs no more. */
async function writeLife(
  tx: DocumentTransaction,
  identity: JobIdentity,
  life: Life,
  effect: Consequence['effect'],
): Promise<void> {
  await effect?.(tx);
  await tx.put('job', identity.job_id, {
    ...identity,
    ...life,
    request: await requestIn(tx, identity.job_id),
  } satisfies JobRecord);
  if (isTerminal(life.status)) await tx.delete('job-input', identity.job_id);
}

/** The body as accepted stays on disk only: ten thousand waiting jobs must not hold theirs in memory. */
async function requestIn(store: Pick<DocumentStore, 'get'>, jobId: string): Promise<unknown> {
  const stored = await store.get('job', jobId);
  if (stored === undefined || 'unreadable' in stored) return null;
  return (stored.body as { readonly request?: unknown }).request ?? null;
}

/** A listing leaves out what cannot be read. */
async function readable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

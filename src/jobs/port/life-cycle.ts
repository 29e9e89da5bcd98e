import type { JobStatusPayload } from '#contract/jobs.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { type Authorship, LOCAL_AUTHOR } from '#domain/definition/versions.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import {
  computeRetryDelayMs,
  JOB_KIND_CATALOGUE,
  JOB_KINDS,
  type JobKindName,
  type ResultIds,
  type RetryPolicies,
  type RetryPolicy,
} from '#domain/outputs/jobs.js';
import {
  type ArtifactRef,
  type DocumentBodyReader,
  type DocumentKind,
  type DocumentReader,
  formatTimestamp,
  readStoredBody,
} from '#store/port.js';
import type { RowsInBlocks } from '../tasks/messages.js';

export const JOB_STATES = ['pending', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Status of a job on the wire. `result` is null until the job has succeeded, and always in listings. */
export type JobStatus = Readonly<JobStatusPayload>;

type JobAttempt = Readonly<JobStatus['attempts'][number]>;

/** Callback URL and the state of its delivery, stored with the job. */
export type JobCallback = Readonly<JobStatus['callbacks'][number]>;

/** Fields of a stored job that concern its attempts. */
interface JobAttempts {
  readonly status: JobState;
  readonly attempt: number;
  readonly node: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  readonly error: ErrorDetail | null;
  readonly earlier: readonly JobAttempt[];
}

/** End of an attempt after which the job waits again. */
interface EarlyEnd {
  readonly end: Extract<JobAttempt['end'], 'crashed' | 'lost' | 'released'>;
  readonly reason: string;
  readonly at: string;
}

/** Maximum number of recorded earlier attempts: a job may return to the queue many times. */
const EARLIER_ATTEMPTS_MAX = 10;

/** Appends the current attempt to the earlier ones, once it has ended early. */
function addEnded(life: JobAttempts, { end, reason, at }: EarlyEnd): readonly JobAttempt[] {
  const currentAttempt = findCurrentAttempt(life);
  if (currentAttempt === undefined) return life.earlier;
  return [...life.earlier, { ...currentAttempt, ended_at: at, end, reason }].slice(-EARLIER_ATTEMPTS_MAX);
}

/** Lists the attempts in order, the current one last. */
export function listAttempts(life: JobAttempts): readonly JobAttempt[] {
  const currentAttempt = findCurrentAttempt(life);
  return currentAttempt === undefined ? life.earlier : [...life.earlier, currentAttempt];
}

/** Returns the running or last attempt. Returns undefined if the job waits, or if it ended while it waited. */
function findCurrentAttempt(life: JobAttempts): JobAttempt | undefined {
  const { attempt, node, started_at, finished_at, heartbeat_at } = life;
  if (started_at === null) return undefined;
  return { attempt, node, started_at, heartbeat_at, ended_at: finished_at, ...describeEnd(life) };
}

function describeEnd({ status, error }: JobAttempts): Pick<JobAttempt, 'end' | 'reason'> {
  if (status === 'pending' || status === 'running') return { end: null, reason: null };
  if (status !== 'failed') return { end: status, reason: null };
  const { cause, end = 'crashed' } = (error?.detail ?? {}) as {
    readonly cause?: unknown;
    readonly end?: EarlyEnd['end'];
  };
  return typeof cause === 'string' && EARLY_END_CODES.has(error?.code)
    ? { end, reason: cause }
    : { end: 'failed', reason: error?.message ?? null };
}

/**
 * Error codes of jobs whose last attempt ended early. Records of earlier versions do not contain the reason, so the
 * code shows it.
 */
const EARLY_END_CODES: ReadonlySet<string | undefined> = new Set(['WORKER_CRASHED', 'JOB_INTERRUPTED', 'JOB_TIMEOUT']);

/**
 * The life of a job as one pure state machine. Every change of a job is an event; only this module decides the effect
 * of an event. All other changes are impossible. The possible ones are:
 *     pending -> running | cancelled | failed
 *     running -> succeeded | failed | cancelled
 *     running -> pending (the attempt crashed, was lost or released; attempt + 1)
 * An event of an attempt contains the number of the attempt. Events of an abandoned attempt change nothing (fencing).
 */
export interface JobLife {
  readonly status: JobState;
  /** Number of the running or next attempt; 1 for the first. */
  readonly attempt: number;
  /** Number of attempts whose thread ended. */
  readonly crashes: number;
  /** Number of attempts whose process ended, stopped sending heartbeats or was disconnected. */
  readonly losses: number;
  /** Number of attempts that were released undamaged. */
  readonly releases: number;
  /** Earliest start of the next attempt of a waiting job. */
  readonly not_before: string | null;
  readonly progress: number;
  readonly message: string;
  readonly error: ErrorDetail | null;
  readonly result: JobResult | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly heartbeat_at: string | null;
  /**
   * Process that runs the current attempt. It is null for a waiting job, and if only one process uses the data folder.
   */
  readonly node: string | null;
  /** Latest attempts that ended early. */
  readonly earlier: readonly JobAttempt[];
}

export type JobResult =
  /**
   * JSON bytes that are stored as an artifact, with rows that are read in blocks. Files occur only in outputs of parts.
   */
  | {
      readonly artifact: ArtifactRef;
      readonly rows?: RowsInBlocks;
      /** Rows that are too many for one file. */
      readonly volumes?: readonly RowsInBlocks[];
      readonly files?: readonly ArtifactRef[];
    }
  /** Small value that is stored with the job. */
  | { readonly value: unknown }
  /** Small value from which the result is rendered on each read. */
  | { readonly reference: unknown };

/** A result that the status does not contain. */
export type StoredResult = Exclude<JobResult, { readonly value: unknown }>;

export function findStoredResult({ result }: Pick<JobLife, 'result'>): StoredResult | null {
  return result === null || 'value' in result ? null : result;
}

/** Event in the life of a job; its times have the wire format. */
export type LifeEvent =
  /** @param node process that runs the attempt, if there are several */
  | { readonly type: 'start'; readonly at: string; readonly node?: string }
  | { readonly type: 'progress'; readonly attempt: number; readonly fraction: number; readonly message?: string }
  | { readonly type: 'beat'; readonly attempt: number; readonly at: string }
  | {
      readonly type: 'succeed';
      readonly attempt: number;
      readonly result: JobResult;
      readonly message?: string;
      readonly at: string;
    }
  | { readonly type: 'fail'; readonly attempt: number; readonly error: ErrorDetail; readonly at: string }
  /** The thread of the attempt ended. */
  | { readonly type: 'crash'; readonly attempt: number; readonly cause: string; readonly at: string }
  /** The process of the attempt ended or sends no heartbeats. The job may not be the cause. */
  | { readonly type: 'lose'; readonly attempt: number; readonly cause: string; readonly at: string }
  /** The attempt ends without a fault of the job, because the service stops or a resource of the job is unavailable. */
  | { readonly type: 'release'; readonly attempt: number; readonly cause: string; readonly at: string }
  | { readonly type: 'cancel'; readonly at: string };

/** Reasons for an event to change nothing. */
export type ImpossibleReason = 'already-terminal' | 'stale-attempt' | 'not-pending' | 'not-running';

/** Retry limits of a job. */
interface LifeLimits {
  readonly retry: RetryPolicy;
  /** Time of the job's submission, in the wire format. */
  readonly submittedAt: string;
  /** Fraction from 0 to 1 that spreads the retries of many jobs. */
  readonly chance: number;
}

export function createLife(message = 'Waiting for a worker.'): JobLife {
  return {
    status: 'pending',
    attempt: 1,
    crashes: 0,
    losses: 0,
    releases: 0,
    not_before: null,
    progress: 0,
    message,
    error: null,
    result: null,
    started_at: null,
    finished_at: null,
    heartbeat_at: null,
    node: null,
    earlier: [],
  };
}

export function isTerminal(status: JobState): boolean {
  return status !== 'pending' && status !== 'running';
}

export function advance(life: JobLife, event: LifeEvent, limits: LifeLimits): JobLife | ImpossibleReason {
  if (isTerminal(life.status)) return 'already-terminal';
  switch (event.type) {
    case 'start':
      if (life.status !== 'pending') return 'not-pending';
      return startLife(life, event);
    case 'cancel':
      return { ...life, status: 'cancelled', message: 'Cancelled.', finished_at: event.at };
    case 'fail':
      // A pending job can also fail, if a resource disappears before it starts.
      if (event.attempt !== life.attempt) return 'stale-attempt';
      return { ...life, status: 'failed', message: event.error.message, error: event.error, finished_at: event.at };
    case 'progress':
    case 'beat':
    case 'succeed':
    case 'crash':
    case 'lose':
    case 'release':
      if (life.status !== 'running') return 'not-running';
      if (event.attempt !== life.attempt) return 'stale-attempt';
      return advanceRunning(life, event, limits);
  }
}

/** Starts a waiting life. */
export function startLife<L extends JobLife>(
  life: L,
  { at, node = null }: { readonly at: string; readonly node?: string | null },
): L {
  const startTimes = { started_at: at, heartbeat_at: at, not_before: null };
  return { ...life, status: 'running', message: 'Started.', ...startTimes, node };
}

type EarlyEndType = keyof typeof EARLY_END_TYPES;
type EarlyEvent = Extract<LifeEvent, { type: EarlyEndType }>;
type RunningEvent = Extract<LifeEvent, { type: 'progress' | 'beat' | 'succeed' }> | EarlyEvent;

/**
 * Ways in which an attempt ends so that the job waits again. Each has a counter, a name, and the error after too many
 * of them.
 */
const EARLY_END_TYPES = {
  crash: { counter: 'crashes', end: 'crashed', code: 'WORKER_CRASHED', many: 'The job crashed its thread' },
  lose: {
    counter: 'losses',
    end: 'lost',
    code: 'JOB_INTERRUPTED',
    many: 'The process of the job ended or fell silent',
  },
  release: { counter: 'releases', end: 'released', code: 'JOB_INTERRUPTED', many: 'The job was returned to the queue' },
} as const;

function advanceRunning(life: JobLife, event: RunningEvent, limits: LifeLimits): JobLife {
  switch (event.type) {
    case 'progress': {
      const progress = Math.max(life.progress, Math.min(event.fraction, 1));
      return { ...life, progress, message: event.message ?? life.message };
    }
    case 'beat':
      return { ...life, heartbeat_at: event.at };
    case 'succeed':
      return {
        ...life,
        status: 'succeeded',
        progress: 1,
        message: event.message ?? 'Done.',
        result: event.result,
        finished_at: event.at,
      };
    case 'crash':
    case 'lose':
    case 'release':
      return endEarly(life, event, limits);
  }
}

/**
 * Ends an attempt early. The job waits again, unless attempts have ended early too often or it is too late for a retry.
 */
function endEarly(life: JobLife, { type, cause, at }: EarlyEvent, { retry, submittedAt, chance }: LifeLimits): JobLife {
  const { counter, end, code, many } = EARLY_END_TYPES[type];
  const count = life[counter] + 1;
  const countedLife = { ...life, [counter]: count };
  const { crashes, losses, releases } = countedLife;
  const isLate = retry.deadline > 0 && Date.parse(at) - Date.parse(submittedAt) >= retry.deadline * 1000;
  if (count < retry[counter] && !isLate) {
    const nodeText = life.node === null ? '' : ` on ${life.node}`;
    const reason = type === 'release' ? cause : `attempt ${life.attempt}${nodeText} ended: ${cause}`;
    const delayMs = computeRetryDelayMs(retry, counter, count, chance);
    const not_before = delayMs === 0 ? null : formatTimestamp(Date.parse(at) + delayMs);
    const earlierAttempts = addEnded(life, { end, reason: cause, at });
    return requeue({ ...countedLife, not_before, earlier: earlierAttempts }, `Waiting again: ${reason}.`);
  }
  const message =
    count < retry[counter]
      ? `Retries of the job end ${retry.deadline} seconds after its submission.`
      : `${many} ${count} times.`;
  const detail = { attempts: count, cause, end, crashes, losses, releases };
  const error: ErrorDetail = { code: count < retry[counter] ? 'JOB_TIMEOUT' : code, message, detail };
  return { ...countedLife, status: 'failed', message, error, finished_at: at };
}

function requeue(life: JobLife, message: string): JobLife {
  return {
    ...life,
    status: 'pending',
    attempt: life.attempt + 1,
    progress: 0,
    message,
    started_at: null,
    heartbeat_at: null,
    node: null,
  };
}

/** Returns the delay from an event until a waiting job may start; 0 if it may start at once. */
export const computeDelayMs = ({ not_before }: Pick<JobLife, 'not_before'>, event: LifeEvent): number =>
  not_before === null || !('at' in event) ? 0 : Math.max(0, Date.parse(not_before) - Date.parse(event.at));

/** Returns the state of a failed job for a retry. Its counters start again at zero, and its earlier attempts remain. */
export function renewLife(life: JobLife, earlierAttempts: readonly JobAttempt[]): JobLife {
  return { ...createLife(), attempt: life.attempt + 1, earlier: earlierAttempts };
}

/** Constant part of a job. */
export interface JobIdentity {
  readonly job_id: string;
  readonly kind: JobKindName;
  readonly created_at: string;
  readonly input_hash: string;
  /** Number of the submission, which increases across restarts. */
  readonly sequence: number;
  readonly estimated_bytes: number;
  /** Id of the key that owns the job, for fair scheduling. It is empty for a job of the service itself. */
  readonly owner: string;
  /** Name of the key that owns the job; null for a job of the service itself. */
  readonly author: string | null;
  /** Note of the client; null without a note. */
  readonly note: string | null;
  /** Id of the request; null for a job of the service itself. */
  readonly request_id: string | null;
  /** Id of the trace of the request; null without a trace. */
  readonly trace_id: string | null;
  /** Trace span of the request, as a `traceparent` header; absent without a trace. */
  readonly trace_parent?: string;
  /** Priority of the job; absent if normal. */
  readonly priority?: JobPriority;
}

/** Returns the log fields that identify a job: its id, its request and its trace. */
export function selectLogFields({ job_id, request_id, trace_id }: JobIdentity): object {
  return { job_id, ...(request_id !== null && { request_id }), ...(trace_id !== null && { trace_id }) };
}

/** Returns the author of the documents that a job writes: the key that submitted the job. */
export function createAuthorship({
  owner,
  author,
  note,
  request_id,
}: Pick<JobIdentity, 'owner' | 'author' | 'note' | 'request_id'>): Authorship {
  return {
    author: author ?? (owner === '' ? LOCAL_AUTHOR : owner),
    keyId: owner === '' ? null : owner,
    note,
    requestId: request_id ?? '',
  };
}

/** Stored job with its identity, state and request. The payload is a separate document that is deleted at the end. */
export interface JobRecord extends JobIdentity, JobLife, StoredSubmission {}

/** Fields that are read from disk together with every status. */
export interface StoredSubmission {
  /** Request body. */
  readonly request: unknown;
  readonly callbacks: readonly JobCallback[];
}

export function toStatus(identity: JobIdentity, life: JobLife, { request, callbacks }: StoredSubmission): JobStatus {
  return {
    job_id: identity.job_id,
    kind: identity.kind,
    priority: identity.priority ?? 'normal',
    status: life.status,
    progress: life.progress,
    message: life.message,
    error: life.error,
    result: life.result !== null && 'value' in life.result ? life.result.value : null,
    created_at: identity.created_at,
    started_at: life.started_at,
    finished_at: life.finished_at,
    heartbeat_at: life.heartbeat_at,
    attempt: life.attempt,
    attempts: listAttempts(life),
    request,
    input_hash: identity.input_hash,
    request_id: identity.request_id,
    trace_id: identity.trace_id,
    callbacks: [...callbacks],
  };
}

/** Splits a record into its two halves, without the request body. */
export function splitRecord(record: JobRecord): { readonly identity: JobIdentity; readonly life: JobLife } {
  const { job_id, kind, created_at, input_hash, sequence, estimated_bytes } = record;
  const { owner, author, note, request_id, trace_id, trace_parent, priority } = record;
  const { status, attempt, crashes, losses, releases, not_before, progress, message, error, result } = record;
  const { started_at, finished_at, heartbeat_at, node, earlier } = record;
  return {
    identity: {
      job_id,
      kind,
      created_at,
      input_hash,
      sequence,
      estimated_bytes,
      owner,
      author,
      note,
      request_id,
      trace_id,
      ...(trace_parent !== undefined && { trace_parent }),
      ...(priority !== undefined && { priority }),
    },
    life: {
      status,
      attempt,
      crashes,
      losses,
      releases,
      not_before,
      progress,
      message,
      error,
      result,
      started_at,
      finished_at,
      heartbeat_at,
      node,
      earlier,
    },
  };
}

/** Parses a stored body as a record; undefined if it is invalid. */
export const readJobRecord: DocumentBodyReader<JobRecord> = (body, id) => {
  if (typeof body !== 'object' || body === null) return undefined;
  const record: Partial<Record<keyof JobRecord, unknown>> = body; // its members are checked below
  const isRecord =
    record.job_id === id &&
    isOneOf(JOB_KINDS, record.kind) &&
    isOneOf(JOB_STATES, record.status) &&
    (record.priority === undefined || isOneOf(JOB_PRIORITIES, record.priority)) &&
    Array.isArray(record.callbacks) &&
    Array.isArray(record.earlier) &&
    [record.attempt, record.crashes, record.losses, record.releases, record.sequence].every(Number.isInteger) &&
    [record.progress, record.estimated_bytes].every((value) => typeof value === 'number') &&
    [record.message, record.created_at, record.input_hash, record.owner].every((value) => typeof value === 'string') &&
    [
      record.author,
      record.note,
      record.request_id,
      record.trace_id,
      record.started_at,
      record.finished_at,
      record.heartbeat_at,
      record.node,
      record.not_before,
    ].every((value) => value === null || typeof value === 'string') &&
    (record.result !== null) === (record.status === 'succeeded') &&
    (record.error !== null) === (record.status === 'failed');
  return isRecord ? (record as JobRecord) : undefined;
};

/**
 * Returns true if the document of a job is pending or running. For use in transactions, which must read all data that
 * they depend on.
 */
export async function isLiveIn(reader: Pick<DocumentReader, 'get'>, jobId: string): Promise<boolean> {
  const storedJob = await reader.get('job', jobId);
  const record = readStoredBody(storedJob, readJobRecord);
  return record !== undefined && !isTerminal(record.status);
}

const isOneOf = (accepted: readonly string[], value: unknown): boolean =>
  typeof value === 'string' && accepted.includes(value);

export function computeLifeLimits(
  { kind, job_id: jobId, created_at: submittedAt }: JobIdentity,
  { attempt, getRetryPolicy }: { readonly attempt: number; readonly getRetryPolicy: RetryPolicies },
): LifeLimits {
  return { retry: getRetryPolicy(kind), submittedAt, chance: hashToFraction(`${jobId}#${attempt}`) };
}

/** Hashes a text to a fraction from 0 to 1 by FNV-1a. The result is equal on every node and in every run. */
function hashToFraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}

/**
 * Lists the documents with the results of an ended job, at most 10,000. They are deleted with the job, or when a new
 * job with the same id replaces it.
 */
export const listResults = (record: JobRecord): readonly { readonly kind: DocumentKind; readonly id: string }[] =>
  listResultIds(record).map((id) => ({ kind: 'optimisation-run', id }));

function listResultIds({ job_id, kind, status, request }: JobRecord): readonly string[] {
  const { resultIds } = JOB_KIND_CATALOGUE[kind] as { readonly resultIds?: ResultIds };
  return status === 'succeeded' && resultIds !== undefined ? resultIds(job_id.slice(kind.length + 1), request) : [];
}

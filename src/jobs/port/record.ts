import { type Authorship, LOCAL_AUTHOR } from '#domain/definition/versions.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/outputs/job-priority.js';
import {
  JOB_KIND_CATALOGUE,
  JOB_KINDS,
  type JobKindName,
  type ResultIds,
  type RetryPolicies,
} from '#domain/outputs/jobs.js';
import { type DocumentBodyReader, type DocumentKind, type DocumentReader, readStoredBody } from '#store/port.js';
import {
  isTerminal,
  JOB_STATES,
  type JobCallback,
  type JobLife,
  type JobStatus,
  type LifeLimits,
  listAttempts,
} from './life-cycle.js';

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

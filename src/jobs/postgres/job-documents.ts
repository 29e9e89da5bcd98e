import { NO_REQUEST } from '#domain/documents/version-document.js';
import { JOB_KIND_CATALOGUE } from '#domain/jobs/job-kinds.js';
import type { RetryPolicies } from '#domain/jobs/retry-policy.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentTransaction } from '#store/port.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import type { JobRow } from '#store/postgres/commit-order.js';
import type { JobTransaction } from '#store/postgres/transaction.js';
import { formatTimestamp } from '#store/timestamp.js';
import { identityOf } from '../job-identity.js';
import { assertRoom, newCallback, putDeliveries } from '../callbacks.js';
import { authorOf, readJobRecord, splitRecord, toStatus, type JobIdentity, type JobRecord } from '../job-record.js';
import {
  advance,
  delayMsOf,
  isTerminal,
  newLife,
  started,
  type Impossible,
  type Life,
  type LifeEvent,
} from '../life-cycle.js';
import { lifeLimits } from '../life-limits.js';
import type { Ending, NewJob } from '../queue.js';
import type { JobStatus } from '../status.js';
import type { Admission, Waiting } from '../admission.js';
import { inputIn, renewedRecord } from '../renewal.js';
import type { AttemptKey } from '../attempt-key.js';
import type { JobRows, Place, ReservedJob } from './job-rows.js';
import { queuedKind } from './queued-kinds.js';
import { NOTHING, type Beat, type FoundBody, type SeenJob } from './seen-job.js';

/** A change of a job that has been committed. */
export interface Moved {
  readonly identity: JobIdentity;
  readonly before: Life;
  readonly life: Life;
  readonly status: JobStatus;
}

/** An attempt that has begun. */
export interface Begun extends Moved {
  /** The job as it is stored, on which its end builds. */
  readonly seen: SeenJob;
}

export interface Move {
  readonly jobId: string;
  /** The attempt that the event is of; without it any attempt is meant. */
  readonly attempt?: AttemptKey;
  readonly event: LifeEvent;
  readonly effect?: Extract<Ending, { type: 'succeed' }>['effect'];
  /** The job as the caller has seen it: it need not be read, unless it is another by now. */
  readonly seen?: SeenJob | undefined;
}

/** Jobs as documents: what a job is and has become. Every change writes its row along. */
export interface JobDocuments {
  /**
   * The live job of an id, if there is one with the same input; otherwise `admit` lets a new one pass, which is written.
   * @param at time of the submission, as the wire writes times
   * @throws Refusal JOB_RUNNING for another input, OVERLOADED for too many callbacks
   */
  add(job: NewJob, at: string, admit: (place: Place) => void): Promise<{ record: JobRecord; isNew: boolean }>;
  /**
   * Queues a failed job anew; another one is answered as it is, undefined without a readable one.
   * @throws Refusal DOCUMENT_UNREADABLE when its input is gone
   */
  renew(
    jobId: string,
    at: string,
    admit: (job: Admission, place: Waiting) => void,
  ): Promise<{ record: JobRecord; isNew: boolean } | undefined>;
  /** What an attempt that its row has begun is of; undefined where the job has ended since, or cannot be read. */
  begun(offered: ReservedJob, beat: Beat): Promise<Begun | undefined>;
  /** Takes a job through an event. @returns the change, why it came too late, or undefined without a readable job */
  move(move: Move): Promise<Moved | Impossible | undefined>;
  /**
   * What became of an attempt whose end was written, the answer lost: the change where it succeeded, that it was given
   * up, or that nobody can tell, because its id was submitted again since.
   */
  fateOf(attempt: AttemptKey): Promise<Moved | 'given-up' | 'unknown'>;
  /** Forgets a job that has ended, unless its id was submitted again. */
  forget(ended: { readonly id: string; readonly sequence: number }): Promise<void>;
}

export interface JobDocumentsDependencies {
  readonly documents: Pick<PostgresDocuments, 'get' | 'transaction' | 'jobTransaction'>;
  readonly rows: JobRows;
  readonly retryOf: RetryPolicies;
}

interface MoveTerms {
  readonly seen: SeenJob;
  /** Receives the job before what it causes is written: in its author's name. */
  setBy(record: JobRecord): void;
}

export function createJobDocuments({ documents, rows, retryOf }: JobDocumentsDependencies): JobDocuments {
  /** @param delayMs before it may begin */
  async function write(tx: JobTransaction, record: JobRecord, delayMs = 0): Promise<void> {
    await tx.put('job', record.job_id, record);
    tx.putJob({ ...rowOf(record), ...(delayMs > 0 && { delay_ms: delayMs }) });
  }

  const look = async (jobId: string): Promise<SeenJob> =>
    (await rows.look([jobId])).get(jobId) ?? { ...NOTHING, beat: undefined };

  /** @returns the change, or why it came too late */
  async function moveIn(tx: JobTransaction, order: Move, { seen, setBy }: MoveTerms) {
    const { jobId, attempt, event, effect } = order;
    tx.buildOn({ kind: 'job', id: jobId }, seen.version);
    const record = recordOf(seen.found);
    if (record === undefined) return undefined;
    if (attempt !== undefined && record.sequence !== attempt.sequence) return 'stale-attempt';
    const { identity, life } = splitRecord(record);
    if (attempt !== undefined && life.attempt !== attempt.attempt) return 'stale-attempt';
    const before = withBeat(life, seen.beat);
    const next = advance(before, event, lifeLimits(identity, { attempt: before.attempt, retryOf }));
    if (typeof next === 'string') return next;
    setBy(record);
    await effect?.(tx);
    const isOver = isTerminal(next.status);
    const callbacks = isOver ? await putDeliveries(tx, toStatus(identity, next, record)) : record.callbacks;
    const written = { ...identity, ...next, request: record.request, callbacks };
    await write(tx, written, delayMsOf(next, event));
    if (isOver && next.status !== 'failed') tx.drop({ kind: 'job-input', id: jobId });
    return { identity, before, life: next, status: toStatus(identity, next, written) };
  }

  return {
    add: (job, at, admit) =>
      documents.jobTransaction(async (tx) => {
        const { jobId, payload, request, message, origin } = job;
        const url = origin?.callback ?? null;
        const { seen, ...place } = await rows.place({ jobId, owner: origin?.owner ?? '' });
        tx.buildOn({ kind: 'job', id: jobId }, seen.version);
        const before = recordOf(seen.found);
        if (before !== undefined && !isTerminal(before.status)) {
          if (before.input_hash !== job.inputHash) throw otherRequest(jobId);
          return { record: url === null ? before : await addCallback(tx, before, url), isNew: false };
        }
        admit(place);
        const callbacks = url === null ? [] : [newCallback(url)];
        const identity = identityOf(job, { created_at: at, sequence: place.sequence });
        const record = { ...identity, ...newLife(message), request, callbacks };
        await write(tx, record);
        await tx.put('job-input', jobId, { payload });
        return { record, isNew: true };
      }),
    renew: (jobId, at, admit) =>
      documents.jobTransaction(async (tx) => {
        const { found, version } = await look(jobId);
        tx.buildOn({ kind: 'job', id: jobId }, version);
        const before = recordOf(found);
        if (before?.status !== 'failed') return before && { record: before, isNew: false };
        const input = inputIn(await tx.get('job-input', jobId), jobId);
        const { owner, estimated_bytes: estimatedBytes } = before;
        const { sequence, ...place } = await rows.place({ jobId, owner });
        admit({ owner, estimatedBytes }, place);
        const record = renewedRecord(before, { created_at: at, sequence });
        await write(tx, record);
        await tx.put('job-input', jobId, input);
        return { record, isNew: true };
      }),
    async begun(offered, beat) {
      const { jobId, sequence, attempt } = offered;
      const isOf = (record: JobRecord | undefined): boolean =>
        record?.status === 'pending' && record.sequence === sequence && record.attempt === attempt;
      const own = { ...offered.seen, beat };
      const seen = isOf(recordOf(own.found)) ? own : await look(jobId);
      const record = recordOf(seen.found);
      if (record === undefined) await rows.drop(offered);
      if (record === undefined || !isOf(record)) return undefined;
      const { identity, life: before } = splitRecord(record);
      const life = withBeat(before, beat);
      return { identity, before, life, status: toStatus(identity, life, record), seen };
    },
    async move(order) {
      let { seen } = order;
      let by = NO_REQUEST;
      const setBy = (record: JobRecord): void => void (by = authorOf(splitRecord(record).identity));
      return documents.jobTransaction(
        async (tx) => {
          const known = seen;
          seen = undefined; // It is another where the body runs again.
          const moved = known && (await moveIn(tx, order, { seen: known, setBy }));
          return typeof moved === 'object' ? moved : moveIn(tx, order, { seen: await look(order.jobId), setBy });
        },
        {
          get by() {
            return by;
          },
        },
      );
    },
    async fateOf({ jobId, sequence, attempt }) {
      const record = recordOf(await documents.get('job', jobId));
      if (record?.sequence !== sequence) return 'unknown';
      // Nobody but the holder of an attempt makes it succeed.
      if (record.status !== 'succeeded' || record.attempt !== attempt) return 'given-up';
      const { identity, life } = splitRecord(record);
      return { identity, before: { ...life, status: 'running' }, life, status: toStatus(identity, life, record) };
    },
    forget: ({ id, sequence }) => documents.transaction((tx) => forgetIn(tx, id, sequence)),
  };
}

/** A second submission of a live job may bring a callback of its own. */
async function addCallback(tx: DocumentTransaction, record: JobRecord, url: string): Promise<JobRecord> {
  if (record.callbacks.some((callback) => callback.url === url)) return record;
  assertRoom(record.job_id, record.callbacks.length);
  const changed = { ...record, callbacks: [...record.callbacks, newCallback(url)] };
  await tx.put('job', record.job_id, changed);
  return changed;
}

const otherRequest = (jobId: string): Refusal =>
  new Refusal('JOB_RUNNING', `The job ${jobId} runs with a different request.`, { job_id: jobId });

async function forgetIn(tx: DocumentTransaction, id: string, sequence: number): Promise<void> {
  const stored = await tx.get('job', id);
  const record = recordOf(stored);
  const isItself = record === undefined ? stored !== undefined : record.sequence === sequence;
  if (!isItself || (record !== undefined && !isTerminal(record.status))) return;
  await tx.delete('job', id);
  if (record?.status !== 'succeeded') await tx.delete('job-input', id);
}

/** The row of a job. @param lease of an attempt that runs */
export function rowOf(record: JobRecord, lease?: { readonly node: string; readonly ms: number }): JobRow {
  const { job_id, kind, owner, status, sequence, attempt, estimated_bytes } = record;
  const { lane } = JOB_KIND_CATALOGUE[kind];
  const held = { node: lease?.node ?? null, lease_ms: lease?.ms ?? null };
  return { job_id, kind: queuedKind(kind), lane, owner, status, sequence, attempt, estimated_bytes, ...held };
}

/** A stored job; undefined when there is none, or it cannot be read. */
export function recordOf(stored: FoundBody): JobRecord | undefined {
  return stored === undefined || 'unreadable' in stored ? undefined : readJobRecord(stored.body, stored.id);
}

/** @throws Refusal DOCUMENT_UNREADABLE */
export function requireRecord(stored: FoundBody, jobId: string): JobRecord | undefined {
  const record = recordOf(stored);
  if (stored !== undefined && record === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
  return record;
}

/** A life as its row has it: whether its attempt has begun, and what that last said. */
export function withBeat<L extends Life>(stored: L, beat: Beat | undefined): L {
  if (beat === undefined) return stored;
  const at = (time: Date): string => formatTimestamp(time.getTime());
  const isBegun = stored.status === 'pending' && beat.started_at !== null;
  const life = isBegun ? started(stored, { at: at(beat.started_at), node: beat.node }) : stored;
  if (life.status !== 'running') return life;
  return {
    ...life,
    progress: Math.max(life.progress, beat.progress),
    message: beat.message ?? life.message,
    heartbeat_at: beat.beat_at === null ? life.heartbeat_at : at(beat.beat_at),
  };
}

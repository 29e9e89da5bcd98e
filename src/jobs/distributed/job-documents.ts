import { Refusal } from '#domain/base/refusals.js';
import { NO_REQUEST } from '#domain/definition/versions.js';
import { JOB_KIND_CATALOGUE, type RetryPolicies } from '#domain/outputs/jobs.js';
import { type DocumentTransaction, findCause, formatTimestamp, readStoredBody } from '#store/port.js';
import type { PostgresDocuments } from '#store/postgres/document-store.js';
import type { JobRow, JobTransaction } from '#store/postgres/transaction.js';
import {
  type Admission,
  type AttemptKey,
  createJobIdentity,
  createListing,
  type Ending,
  type JobListing,
  type JobQuery,
  type JobReader,
  type LocatedJob,
  type NewJob,
  type Waiting,
} from '../port/queue.js';
import { assertCallbackLimit, createCallback, putDeliveries, renewRecord, requireInput } from '../port/callbacks.js';
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
  type JobStatus,
  type LifeEvent,
  listResults,
  readJobRecord,
  splitRecord,
  startLife,
  toStatus,
} from '../port/life-cycle.js';
import {
  ABSENT_JOB,
  type Beat,
  type DocumentBodyRow,
  formatLane,
  formatStoredKind,
  type JobReading,
  type JobRevision,
  type JobRows,
  type QueuePosition,
  type ReservedJob,
  type SubmissionPosition,
} from './job-rows.js';

export interface JobChange {
  readonly identity: JobIdentity;
  readonly before: JobLife;
  readonly life: JobLife;
  readonly status: JobStatus;
}

export interface StartedAttempt extends JobChange {
  /** Stored job. The write of the attempt's end starts from it. */
  readonly seen: JobReading;
}

export interface ChangeOrder {
  readonly jobId: string;
  /** Attempt of the event. Default: any attempt. */
  readonly attempt?: AttemptKey;
  readonly event: LifeEvent;
  readonly effect?: Extract<Ending, { type: 'succeed' }>['effect'];
  /** Job as the caller read it. It is read again only if it has changed since. */
  readonly seen?: JobReading | undefined;
}

export interface AddTerms {
  /** Time of the submission, in the wire format. */
  readonly at: string;
  /** State of the queue as the caller read it. It is read again only if the job has changed. */
  readonly position: SubmissionPosition;
  /** Checks a job against the limits of the queue. @throws Refusal if the job exceeds a limit */
  readonly admit: (queuePosition: QueuePosition) => void;
}

/** Jobs as documents, with identity and state. Every change also writes the queue's row of the job. */
export interface JobDocuments {
  /**
   * Returns the live job with an id if it has the same input. Otherwise writes a new job that `admit` accepts.
   * @throws Refusal JOB_RUNNING for another input, OVERLOADED for too many callbacks
   */
  add(job: NewJob, terms: AddTerms): Promise<{ record: JobRecord; isNew: boolean }>;
  /**
   * Retries a failed job. Returns any other job unchanged. Returns undefined if there is no readable job.
   * @throws Refusal DOCUMENT_UNREADABLE if the input of the job no longer exists
   */
  renew(
    jobId: string,
    createdAt: string,
    admit: (job: Admission, queuePosition: Waiting) => void,
  ): Promise<{ record: JobRecord; isNew: boolean } | undefined>;
  /**
   * Returns the job of an attempt. The start of the attempt is already in the row of the job. Returns undefined if the
   * job has ended since or is unreadable.
   */
  begun(offered: ReservedJob, beat: Beat): Promise<StartedAttempt | undefined>;
  /**
   * Applies an event to a job. @returns the change, the reason why the event came too late, or undefined without a
   * readable job
   */
  move(move: ChangeOrder): Promise<JobChange | ImpossibleReason | undefined>;
  /**
   * Determines whether an unconfirmed success of an attempt was written. Returns the change if it was written,
   * otherwise `given-up`. Returns `unknown` if the job's id was submitted again, or the job is unreadable.
   */
  determineOutcome(attempt: AttemptKey): Promise<JobChange | 'given-up' | 'unknown'>;
  /** Deletes an ended job, unless its id was submitted again. */
  forget(ended: { readonly id: string; readonly sequence: number }): Promise<void>;
}

interface MoveTerms {
  readonly seen: JobReading;
  /** Receives the job before its effects are written. The effects state its author. */
  setBy(record: JobRecord): void;
}

export function createJobDocuments(
  documents: Pick<PostgresDocuments, 'get' | 'transaction' | 'jobTransaction'>,
  rows: JobRows,
  getRetryPolicy: RetryPolicies,
): JobDocuments {
  /** @param delayMs delay before the job may start */
  async function write(tx: JobTransaction, record: JobRecord, delayMs = 0): Promise<void> {
    await tx.put('job', record.job_id, record);
    tx.putJob({ ...createJobRow(record), ...(delayMs > 0 && { delay_ms: delayMs }) });
  }

  const findPosition = async (job: { readonly jobId: string; readonly owner: string }): Promise<SubmissionPosition> =>
    (await rows.places([job]))[0]!;

  const look = async (jobId: string): Promise<JobReading> =>
    (await rows.look([jobId])).get(jobId) ?? { ...ABSENT_JOB, beat: undefined };

  /** @returns the change, or the reason why the event came too late */
  async function moveJob(tx: JobTransaction, order: ChangeOrder, { seen, setBy }: MoveTerms) {
    const { jobId, attempt, event, effect } = order;
    tx.buildOn({ kind: 'job', id: jobId }, seen.version);
    const record = parseRecord(seen.found);
    if (record === undefined) return undefined;
    if (attempt !== undefined && record.sequence !== attempt.sequence) return 'stale-attempt';
    const { identity, life } = splitRecord(record);
    if (attempt !== undefined && life.attempt !== attempt.attempt) return 'stale-attempt';
    const before = addBeat(life, seen.beat);
    const next = advance(before, event, computeLifeLimits(identity, { attempt: before.attempt, getRetryPolicy }));
    if (typeof next === 'string') return next;
    setBy(record);
    await effect?.(tx);
    const isOver = isTerminal(next.status);
    const callbacks = isOver ? await putDeliveries(tx, toStatus(identity, next, record), identity) : record.callbacks;
    const renewedRecord = { ...identity, ...next, request: record.request, callbacks };
    await write(tx, renewedRecord, computeDelayMs(next, event));
    if (isOver && next.status !== 'failed') tx.drop({ kind: 'job-input', id: jobId });
    return { identity, before, life: next, status: toStatus(identity, next, renewedRecord) };
  }

  return {
    async add(job, { at, position: knownPosition, admit }) {
      let first: SubmissionPosition | undefined = knownPosition;
      return documents.jobTransaction(async (tx) => {
        const { jobId, payload, request, message, origin } = job;
        const url = origin?.callback ?? null;
        const { seen, ...place } = first ?? (await findPosition({ jobId, owner: origin?.owner ?? '' }));
        first = undefined; // the body may run again on another version
        tx.buildOn({ kind: 'job', id: jobId }, seen.version);
        const previousRecord = parseRecord(seen.found);
        if (previousRecord !== undefined && !isTerminal(previousRecord.status)) {
          if (previousRecord.input_hash !== job.inputHash) throw refuseOtherRequest(jobId);
          return { record: url === null ? previousRecord : await addCallback(tx, previousRecord, url), isNew: false };
        }
        admit(place);
        if (previousRecord !== undefined) listResults(previousRecord).forEach(tx.drop);
        const callbacks = url === null ? [] : [createCallback(url)];
        const identity = createJobIdentity(job, { created_at: at, sequence: place.sequence });
        const record = { ...identity, ...createLife(message), request, callbacks };
        await write(tx, record);
        await tx.put('job-input', jobId, { payload });
        return { record, isNew: true };
      });
    },
    renew: (jobId, at, admit) =>
      documents.jobTransaction(async (tx) => {
        const { found, version } = await look(jobId);
        tx.buildOn({ kind: 'job', id: jobId }, version);
        const previousRecord = parseRecord(found);
        if (previousRecord?.status !== 'failed') return previousRecord && { record: previousRecord, isNew: false };
        const input = requireInput(await tx.get('job-input', jobId), jobId);
        const { owner, estimated_bytes: estimatedBytes } = previousRecord;
        const { sequence, ...place } = await findPosition({ jobId, owner });
        admit({ owner, estimatedBytes }, place);
        const record = renewRecord(previousRecord, { created_at: at, sequence });
        await write(tx, record);
        await tx.put('job-input', jobId, input);
        return { record, isNew: true };
      }),
    async begun(offered, beat) {
      const { jobId, sequence, attempt } = offered;
      const isOffered = (record: JobRecord | undefined): boolean =>
        record?.status === 'pending' && record.sequence === sequence && record.attempt === attempt;
      const ownClaim = { ...offered.seen, beat };
      const jobReading = isOffered(parseRecord(ownClaim.found)) ? ownClaim : await look(jobId);
      const record = parseRecord(jobReading.found);
      if (record === undefined) await rows.drop(offered);
      if (record === undefined || !isOffered(record)) return undefined;
      const { identity, life: before } = splitRecord(record);
      const life = addBeat(before, beat);
      return { identity, before, life, status: toStatus(identity, life, record), seen: jobReading };
    },
    async move(order) {
      let { seen } = order;
      let author = NO_REQUEST;
      const setAuthor = (record: JobRecord): void => void (author = createAuthorship(splitRecord(record).identity));
      return documents.jobTransaction(
        async (tx) => {
          const lastReading = seen;
          seen = undefined; // the body may run again on another version
          const change = lastReading && (await moveJob(tx, order, { seen: lastReading, setBy: setAuthor }));
          return typeof change === 'object'
            ? change
            : moveJob(tx, order, { seen: await look(order.jobId), setBy: setAuthor });
        },
        {
          get by() {
            return author;
          },
        },
      );
    },
    async determineOutcome({ jobId, sequence, attempt }) {
      const record = parseRecord(await documents.get('job', jobId));
      if (record?.sequence !== sequence) return 'unknown';
      // Only the holder of an attempt can make it succeed.
      if (record.status !== 'succeeded' || record.attempt !== attempt) return 'given-up';
      const { identity, life } = splitRecord(record);
      return { identity, before: { ...life, status: 'running' }, life, status: toStatus(identity, life, record) };
    },
    forget: ({ id, sequence }) => documents.jobTransaction((tx) => deleteJobIn(tx, id, sequence)),
  };
}

/** Adds the callback of a submission to the live job with the same id. */
async function addCallback(tx: DocumentTransaction, record: JobRecord, url: string): Promise<JobRecord> {
  if (record.callbacks.some((callback) => callback.url === url)) return record;
  assertCallbackLimit(record.job_id, record.callbacks.length);
  const changedRecord = { ...record, callbacks: [...record.callbacks, createCallback(url)] };
  await tx.put('job', record.job_id, changedRecord);
  return changedRecord;
}

const refuseOtherRequest = (jobId: string): Refusal =>
  new Refusal('JOB_RUNNING', `The job ${jobId} runs with a different request.`, { job_id: jobId });

async function deleteJobIn(tx: JobTransaction, id: string, sequence: number): Promise<void> {
  const storedJob = await tx.get('job', id);
  const record = parseRecord(storedJob);
  const isSameJob = record === undefined ? storedJob !== undefined : record.sequence === sequence;
  if (!isSameJob || (record !== undefined && !isTerminal(record.status))) return;
  if (record !== undefined) listResults(record).forEach(tx.drop); // drops the results without reading their documents
  await tx.delete('job', id);
  if (record?.status !== 'succeeded') await tx.delete('job-input', id);
}

/** Builds the row of a job. @param lease lease of a running attempt */
export function createJobRow(record: JobRecord, lease?: { readonly node: string; readonly ms: number }): JobRow {
  const { job_id, kind, owner, status, sequence, attempt, estimated_bytes, priority } = record;
  const lane = formatLane(JOB_KIND_CATALOGUE[kind].lane, priority);
  const leaseColumns = { node: lease?.node ?? null, lease_ms: lease?.ms ?? null };
  return {
    job_id,
    kind: formatStoredKind(kind),
    lane,
    owner,
    status,
    sequence,
    attempt,
    estimated_bytes,
    ...leaseColumns,
  };
}

/** Parses a stored job; undefined if it is absent or unreadable. */
export function parseRecord(stored: DocumentBodyRow): JobRecord | undefined {
  return readStoredBody(stored, readJobRecord);
}

/** Parses a stored job. @throws Refusal DOCUMENT_UNREADABLE */
function requireRecord(stored: DocumentBodyRow, jobId: string): JobRecord | undefined {
  const record = parseRecord(stored);
  if (stored !== undefined && record === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
  return record;
}

/** Adds the values of a job's row to its state: the start of its attempt and its last report. */
export function addBeat<L extends JobLife>(stored: L, beat: Beat | undefined): L {
  if (beat === undefined) return stored;
  const formatTime = (time: Date): string => formatTimestamp(time.getTime());
  const isBegun = stored.status === 'pending' && beat.started_at !== null;
  const life = isBegun ? startLife(stored, { at: formatTime(beat.started_at), node: beat.node }) : stored;
  if (life.status !== 'running') return life;
  return {
    ...life,
    progress: Math.max(life.progress, beat.progress),
    message: beat.message ?? life.message,
    heartbeat_at: beat.beat_at === null ? life.heartbeat_at : formatTime(beat.beat_at),
  };
}

/** Reads job statuses from the documents, and the last reports of running attempts from the rows. */
export function createJobReader(rows: JobRows): Omit<JobReader, 'lanes'> {
  const look = async (jobId: string): Promise<JobRevision | undefined> => (await rows.look([jobId])).get(jobId);

  async function find(jobId: string): Promise<LocatedJob | undefined> {
    const jobReading = await look(jobId);
    return jobReading && readJobRow(jobReading, jobId);
  }

  async function list(query: JobQuery): Promise<JobListing> {
    const jobIds = await rows.matching(query);
    const readings = await rows.look(jobIds);
    const listing = createListing();
    for (const jobId of jobIds) {
      const jobReading = readings.get(jobId);
      const cause = findCause(jobReading?.found, readJobRecord);
      const job = jobReading === undefined || cause !== undefined ? undefined : readJobRow(jobReading, jobId);
      if (cause !== undefined) listing.skip(cause);
      else if (job !== undefined) listing.add(job.status);
    }
    return listing.end();
  }

  return {
    find,
    list,
    ids: rows.ids,
    async isLive(jobId) {
      const record = requireRecord((await look(jobId))?.found, jobId);
      return record?.status === 'pending' || record?.status === 'running';
    },
    liveIds: rows.liveIds,
    counts: rows.counts,
  };
}

/** Converts the row and document of a job to its status. @throws Refusal DOCUMENT_UNREADABLE */
function readJobRow({ found, beat, revision }: JobRevision, jobId: string): LocatedJob | undefined {
  const record = requireRecord(found, jobId);
  if (record === undefined) return undefined;
  return { status: toStatus(record, addBeat(record, beat), record), stored: findStoredResult(record), revision };
}

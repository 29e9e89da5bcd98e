import { createHash, randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { JobCollection, JobKindState, JobRetries, JobRetryRequest } from '#contract/jobs.js';
import { LIMITS } from '#domain/base/limits.js';
import { divideEvenly, locateParts } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  JOB_KIND_CATALOGUE,
  JOB_KINDS,
  type JobKindName,
  type JobSubject,
  listKindsDeletedWith,
} from '#domain/outputs/jobs.js';
import type { Attempt, Jobs, JobSystem, PausedKinds, Submission } from '#jobs/port/job-kind.js';
import { isTerminal, type JobStatus } from '#jobs/port/life-cycle.js';
import type { JobQuery, LocatedJob, PartOutput, StoredInput, WrittenParts } from '#jobs/port/queue.js';
import type { PortableTaskName } from '#jobs/tasks/catalogue.js';
import type { RowsInBlocks } from '#jobs/tasks/messages.js';
import type { RowEntry, SumRowsInput } from '#jobs/tasks/runs.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  type DocumentStore,
  type DocumentTransaction,
  formatTimestamp,
} from '#store/port.js';
import { limitJobs } from '../keys/access.js';
import type { Context } from './context.js';

interface JobEvent {
  /** Counter for `Last-Event-ID`. */
  readonly id: number;
  readonly status: JobStatus;
}

/** Event about any job. The value null means that every job that was unfinished at the start has been reported. */
export type AnyJobEvent = JobEvent | null;

export interface FollowOptions {
  /**
   * Number of seconds for which changes are sent after the list of unfinished jobs. With 0, the stream ends after the
   * list.
   */
  readonly seconds: number;
  readonly stopping: AbortSignal;
  readonly onEnd: () => void;
}

/**
 * Yields the latest unfinished jobs of a listing and then every change of any job. While the reader is busy, changes of
 * one job are combined. At most one event per job waits.
 */
async function followJobs(
  system: Pick<JobSystem, 'find' | 'watchAll' | 'liveIds'>,
  { seconds, stopping, onEnd }: FollowOptions,
): Promise<AsyncIterableIterator<AnyJobEvent>> {
  const waitingIds = new Set<string>();
  let isCaughtUp = false;
  /** Jobs that changed while the unfinished jobs were being reported. */
  const changedIds = new Set<string>();
  let isEnded = false;
  let wake = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const unwatch = system.watchAll((jobId) => {
    (isCaughtUp ? waitingIds : changedIds).add(jobId);
    wake();
  });
  stopping.addEventListener('abort', end);
  const liveIds = await system.liveIds().catch((failure: unknown) => {
    end();
    throw failure;
  });
  for (const jobId of liveIds.slice(-LIMITS.MAX_LISTED_JOBS)) waitingIds.add(jobId);

  function end(): IteratorResult<AnyJobEvent, undefined> {
    if (!isEnded) {
      isEnded = true;
      clearTimeout(timer);
      unwatch();
      stopping.removeEventListener('abort', end);
      onEnd();
      wake();
    }
    return { done: true, value: undefined };
  }

  /** Returns the id of the next job to report; undefined if no job waits. */
  function takeNext(): string | undefined {
    const [jobId] = waitingIds;
    if (jobId !== undefined) waitingIds.delete(jobId);
    return jobId;
  }

  const events: AsyncIterableIterator<AnyJobEvent> = {
    async next() {
      for (;;) {
        if (isEnded || stopping.aborted) return end();
        const jobId = takeNext();
        if (jobId !== undefined) {
          const result = await system.find(jobId).catch(() => undefined); // unreadable jobs are omitted, as in a listing
          if (isEnded) return end();
          if (result !== undefined)
            return { done: false, value: { id: result.revision, status: { ...result.status, result: null } } };
        } else if (!isCaughtUp) {
          isCaughtUp = true;
          timer = setTimeout(end, seconds * 1000);
          for (const changedId of changedIds) waitingIds.add(changedId);
          return { done: false, value: null };
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
    return: () => Promise.resolve(end()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return events;
}

/**
 * Yields the changes of a job. While the reader is busy, changes are combined: an event contains the current status and
 * not each earlier one.
 */
function followJob(
  system: Pick<JobSystem, 'find' | 'watch'>,
  {
    jobId,
    seen,
    stopping,
    onEnd,
  }: {
    readonly jobId: string;
    readonly seen: number | undefined;
    readonly stopping: AbortSignal;
    readonly onEnd: () => void;
  },
): AsyncIterableIterator<JobEvent> {
  let lastRevision = seen;
  let isEnded = false;
  /** True if a change has occurred since the last read. */
  let hasChange = false;
  let wake = (): void => {};
  const unwatch = system.watch(jobId, () => {
    hasChange = true;
    wake();
  });

  stopping.addEventListener('abort', end);

  function end(): IteratorResult<JobEvent, undefined> {
    if (!isEnded) {
      isEnded = true;
      unwatch();
      stopping.removeEventListener('abort', end);
      onEnd();
      wake();
    }
    return { done: true, value: undefined };
  }

  return {
    async next() {
      for (;;) {
        hasChange = false;
        const result = isEnded ? undefined : await system.find(jobId);
        if (result === undefined || isEnded) return end();
        if (lastRevision !== result.revision) {
          lastRevision = result.revision;
          return { done: false, value: { id: result.revision, status: { ...result.status, result: null } } };
        }
        if (isTerminal(result.status.status) || stopping.aborted) return end();
        if (hasChange) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    return: () => Promise.resolve(end()),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Pausing and resuming of job kinds by operators. */
export interface JobKindsService {
  list(): Promise<JobKindState[]>;
  /** Pauses a kind of job. @throws Refusal STORAGE_FULL */
  pause(kind: JobKindName, reason: string | null, by: Authorship): Promise<JobKindState>;
  /** Resumes a paused kind of job. @throws Refusal STORAGE_FULL */
  resume(kind: JobKindName, by: Authorship): Promise<JobKindState>;
}

export function createJobKinds({ now }: Context, paused: PausedKinds): JobKindsService {
  const readState = async (kind: JobKindName): Promise<JobKindState> => ({
    kind,
    lane: JOB_KIND_CATALOGUE[kind].lane,
    pause: (await paused.get(kind)) ?? null,
  });
  return {
    list: () => Promise.all(JOB_KINDS.map(readState)),
    async pause(kind, reason, authorship) {
      await paused.pause(kind, { paused_at: formatTimestamp(now()), author: authorship.author, reason }, authorship);
      return readState(kind);
    },
    async resume(kind, authorship) {
      await paused.resume(kind, authorship);
      return readState(kind);
    },
  };
}

/** Refusals that apply to every further job. No more jobs are queued after one of them. */
const GENERAL_REFUSALS: ReadonlySet<string> = new Set(['DRAINING', 'STORAGE_FULL', 'STORE_UNAVAILABLE']);

/** Queues failed jobs again, the newest first. @throws Refusal DRAINING, STORAGE_FULL, STORE_UNAVAILABLE */
async function retryJobs(jobs: Pick<JobSystem, 'list' | 'retry'>, order: JobRetryRequest): Promise<JobRetries> {
  const { limit } = order;
  const failedIds = await listFailedJobs(jobs, { ...order, limit: limit + 1 });
  const retriedIds: string[] = [];
  const refusals: JobRetries['refused'] = [];
  for (const jobId of failedIds.slice(0, limit)) {
    try {
      await jobs.retry(jobId);
      retriedIds.push(jobId);
    } catch (failure) {
      if (!(failure instanceof Refusal) || GENERAL_REFUSALS.has(failure.code)) throw failure;
      refusals.push({ job_id: jobId, code: failure.code, message: failure.message });
    }
  }
  return { retried: retriedIds, refused: refusals, is_complete: failedIds.length <= limit };
}

/** Lists the ids of failed jobs, the newest first. @cost pages over all failed jobs of the kinds until the limit */
async function listFailedJobs(
  jobs: Pick<JobSystem, 'list'>,
  { kinds, job_ids: ids, since, limit }: JobRetryRequest,
): Promise<string[]> {
  const selectedIds = ids === undefined ? null : new Set(ids);
  const sinceMs = since === undefined ? -Infinity : Date.parse(since);
  const results: string[] = [];
  for (let pageEnd: string | undefined; ;) {
    const page = (await jobs.list({ kinds, statuses: ['failed'], limit: LIMITS.MAX_LISTED_JOBS, before: pageEnd }))
      .jobs;
    const failedJobs = page.filter(
      ({ finished_at: finishedAt }) => finishedAt !== null && Date.parse(finishedAt) >= sinceMs,
    );
    results.push(...failedJobs.map(({ job_id: jobId }) => jobId).filter((jobId) => selectedIds?.has(jobId) ?? true));
    pageEnd = page.at(-1)?.job_id;
    if (page.length < LIMITS.MAX_LISTED_JOBS || results.length >= limit) return results.slice(0, limit);
  }
}

/** Job in the form of a response. */
export interface JobView {
  /** Status of the job. Its `result` is null if the result is stored as bytes. */
  readonly status: JobStatus;
  /** Result as JSON bytes if the job succeeded and the result is too large to parse; otherwise null. */
  readonly resultBytes: ResultBytes | null;
}

export interface ResultBytes {
  /** Number of bytes; null if the bytes have not been written yet. */
  readonly length: number | null;
  /** Opens the bytes as a stream. @throws Refusal DOCUMENT_UNREADABLE */
  open(): Promise<ReadableStream<Uint8Array>>;
}

export interface JobResultSource {
  /**
   * Returns the result from the value or reference that is stored with the job. Returns null if the data was deleted.
   */
  written(reference: unknown): Promise<ResultBytes | null>;
  /** Converts bytes that an earlier release stored. If absent, the bytes are returned unchanged. */
  stored?(artifact: ArtifactRef): Promise<ResultBytes>;
}

export interface JobsService {
  list(query: JobQuery): Promise<JobCollection>;
  /**
   * Returns a job. If `waitSeconds` is set, waits for a change first. @throws Refusal JOB_NOT_FOUND,
   * DOCUMENT_UNREADABLE
   */
  read(jobId: string, options: { readonly waitSeconds: number; readonly signal: AbortSignal }): Promise<JobView>;
  /** Queues failed jobs again. @throws Refusal DRAINING, STORAGE_FULL */
  retry(order: JobRetryRequest): Promise<JobRetries>;
  /** Cancels a job. @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, STORAGE_FULL */
  cancel(jobId: string, by: Authorship): Promise<JobView>;
  /**
   * Yields every change of a job up to its final status. The first event is the current status, unless the client has
   * seen it. Ends when the caller returns the iterator.
   * @param lastSeen number of the last status that the client received; undefined if it received none
   * @param client client whose streams are counted; null if clients are not distinguished
   * @throws Refusal JOB_NOT_FOUND, DOCUMENT_UNREADABLE, OVERLOADED if too many clients listen, RATE_LIMITED when the
   * client has too many streams
   */
  follow(jobId: string, lastSeen: number | undefined, client: string | null): Promise<AsyncIterableIterator<JobEvent>>;
  /**
   * Yields the unfinished jobs, then null, and then for some seconds every change of any job.
   * @throws Refusal OVERLOADED if too many clients listen, RATE_LIMITED when the client has too many streams
   */
  followAll(seconds: number, client: string | null): Promise<AsyncIterableIterator<AnyJobEvent>>;
}

export interface JobsServiceTerms {
  /** Sources of results by job kind. They write a result when it is read. */
  readonly results?: Partial<Record<JobKindName, JobResultSource>> | undefined;
  /** Called for each job that a client cancels. If absent, nothing is called. */
  readonly onCancelled?: (jobId: string, by: Authorship) => Promise<void>;
  /** Aborted when the service stops. Long polls are then answered and event streams end. */
  readonly stopping: AbortSignal;
}

export function createJobsService(
  { jobs: system, artifacts }: Context,
  { stopping, onCancelled = async () => {}, results = {} }: JobsServiceTerms,
): JobsService {
  const admitFollower = createFollowers();
  setMaxListeners(0, stopping); // one listener per waiting client

  async function requireJob(jobId: string, jobs = limitJobs(system)): Promise<LocatedJob> {
    const match = await jobs.find(jobId);
    if (match === undefined)
      throw new Refusal('JOB_NOT_FOUND', `No job is stored under the id ${jobId}.`, { job_id: jobId });
    return match;
  }

  async function readView({ status, stored }: LocatedJob): Promise<JobView> {
    const { [status.kind]: source } = results;
    if (stored !== null && 'artifact' in stored) {
      const { artifact } = stored;
      const storedBytes = { length: artifact.bytes, open: () => artifacts.stream(artifact) };
      return { status, resultBytes: source?.stored === undefined ? storedBytes : await source.stored(artifact) };
    }
    const resultReference = stored === null ? status.result : stored.reference;
    const isWritten = status.status === 'succeeded' && source !== undefined;
    return { status, resultBytes: isWritten ? await source.written(resultReference) : null };
  }

  return {
    async list(query) {
      const { jobs, skipped, skipped_causes } = await limitJobs(system).list(query);
      return { jobs: [...jobs], skipped, skipped_causes: { ...skipped_causes } };
    },
    async read(jobId, { waitSeconds, signal }) {
      const jobs = limitJobs(system);
      const result = await requireJob(jobId, jobs);
      const { status } = result.status;
      if (waitSeconds === 0 || isTerminal(status)) return readView(result);
      await awaitChange({
        watch: (listener) => system.watch(jobId, listener),
        isChanged: async () => (await system.find(jobId))?.status.status !== status,
        milliseconds: waitSeconds * 1000,
        signals: [signal, stopping],
      });
      return readView(await requireJob(jobId, jobs));
    },
    retry: (order) => retryJobs(limitJobs(system), order),
    async cancel(jobId, authorship) {
      const jobs = limitJobs(system);
      const { status } = await requireJob(jobId, jobs);
      await jobs.cancel(jobId);
      if (!isTerminal(status.status)) await onCancelled(jobId, authorship);
      return readView(await requireJob(jobId, jobs));
    },
    async follow(jobId, lastSeen, client) {
      const jobs = limitJobs(system);
      await requireJob(jobId, jobs);
      return followJob(jobs, { jobId, seen: lastSeen, stopping, onEnd: admitFollower(client) });
    },
    followAll: async (seconds, client) =>
      followJobs(limitJobs(system), { seconds, stopping, onEnd: admitFollower(client) }),
  };
}

/**
 * Counts open streams.
 * @returns a function that admits one more stream; it returns the function that ends the stream
 */
function createFollowers(): (client: string | null) => () => void {
  let unfinishedCount = 0;
  const openBy = new Map<string, number>();
  const count = (client: string | null, change: 1 | -1): void => {
    unfinishedCount += change;
    if (client === null) return;
    const openCount = (openBy.get(client) ?? 0) + change;
    if (openCount === 0) openBy.delete(client);
    else openBy.set(client, openCount);
  };
  return (client) => {
    const ownCount = client === null ? 0 : (openBy.get(client) ?? 0);
    const [limit, ownLimit] = [LIMITS.MAX_EVENT_STREAMS, LIMITS.MAX_KEY_EVENT_STREAMS];
    if (ownCount >= ownLimit) {
      const detail = { streams: ownCount, limit: ownLimit };
      throw new Refusal('RATE_LIMITED', `The key has ${ownCount} event streams open (limit ${ownLimit}).`, detail);
    }
    if (unfinishedCount >= limit)
      throw new Refusal('OVERLOADED', `${unfinishedCount} event streams are open (limit ${limit}).`);
    count(client, 1);
    return () => count(client, -1);
  };
}

interface Wait {
  readonly watch: (listener: () => void) => () => void;
  readonly isChanged: () => Promise<boolean>;
  readonly milliseconds: number;
  readonly signals: readonly AbortSignal[];
}

/** Resolves when a change occurs, after `milliseconds`, or when a signal is aborted. */
function awaitChange({ watch, isChanged, milliseconds, signals }: Wait): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      unwatch();
      for (const signal of signals) signal.removeEventListener('abort', end);
      resolve();
    };
    const checkChange = (): void => void isChanged().then((hasChanged) => hasChanged && end(), end);
    const timer = setTimeout(end, milliseconds);
    const unwatch = watch(checkChange);
    checkChange(); // the status may have changed between the last check and the watch
    for (const signal of signals) signal.addEventListener('abort', end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}

/** Job whose result contains rows. The rows are stored in blocks. */
export interface RowsSource {
  readonly kind: 'sweep' | 'rerun' | 'study';
  readonly ident: string;
}

/** Block of rows to read. */
export interface RowsRequest extends RowsSource {
  readonly block: number;
}

/** Reads a block of the rows of a job, as JSON. @throws Refusal JOB_NOT_FOUND, VALIDATION_FAILED, DOCUMENT_UNREADABLE */
export async function readResultRows(
  { kind, ident, block }: RowsRequest,
  jobs: Pick<JobSystem, 'find'>,
  artifacts: Pick<ArtifactStore, 'read'>,
): Promise<Uint8Array<ArrayBuffer>> {
  const match = await jobs.find(`${kind}:${ident}`);
  const storedResult = match?.stored;
  const rows = storedResult != null && 'rows' in storedResult ? storedResult.rows : undefined;
  if (rows === undefined) throw createMissingRowsRefusal({ kind, ident }, match);
  const rowsBytes = await readResultBlock(rows, { kind, block }, artifacts);
  const head = JSON.stringify({ [`${kind}_id`]: ident, count: rows.count, block, blocks: rows.blocks.length });
  const bytes = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"rows":[`), rowsBytes, Buffer.from(']}')]);
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
}

function createMissingRowsRefusal({ kind, ident }: RowsSource, locatedJob: LocatedJob | undefined): Refusal {
  const reason =
    locatedJob === undefined
      ? `no ${kind} is stored under the id`
      : locatedJob.status.status === 'succeeded'
        ? 'an earlier version ran it, and its result has all rows'
        : `it is ${locatedJob.status.status} and has no result`;
  return new Refusal('JOB_NOT_FOUND', `The ${kind} ${ident} has no rows: ${reason}.`, { job_id: `${kind}:${ident}` });
}

/** Reads a block of rows. @throws Refusal VALIDATION_FAILED beyond the last block; DOCUMENT_UNREADABLE */
export async function readResultBlock(
  { artifact, blocks }: RowsInBlocks,
  { kind, block }: { readonly kind: string; readonly block: number },
  artifacts: Pick<ArtifactStore, 'read'>,
): Promise<Uint8Array> {
  const rowBlock = blocks[block];
  if (rowBlock === undefined)
    throw refuseWithFindings('query', [
      {
        severity: 'error',
        code: 'OUT_OF_RANGE',
        path: 'block',
        message: `The ${kind} has ${blocks.length} blocks, 0 to ${blocks.length - 1}; block is ${block}.`,
        value: block,
      },
    ]);
  const start = blocks.slice(0, block).reduce((sum, { bytes }) => sum + bytes, 0);
  const rowsBytes = await artifacts.read(artifact, { start, end: start + rowBlock.bytes });
  if (createHash('sha256').update(rowsBytes).digest('hex') !== rowBlock.sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', `Block ${block} of the rows is damaged.`);
  return rowsBytes;
}

export type RowAttempt = Attempt<PortableTaskName>;

/** Job with many items. Each item becomes one row of the result. */
export interface RowsOrder<E extends RowEntry> {
  readonly count: number;
  computeEntry(position: number, attempt: RowAttempt): Promise<E>;
  listFiles(entry: E): readonly ArtifactRef[];
}

export type RowsSummary = Pick<SumRowsInput, 'kind' | 'id' | 'total' | 'outcomes' | 'engineVersion'>;

export interface RowsInParts {
  /** Computes some parts. @param share share of the job's progress that these parts account for */
  readOutput<E extends RowEntry>(
    order: RowsOrder<E>,
    parts: readonly number[],
    { attempt, share }: { readonly attempt: RowAttempt; readonly share: number },
  ): Promise<PartOutput>;
  /** Computes all items; every node can take part. @returns the result, and the entries of the items in order */
  run<E extends RowEntry>(
    order: RowsOrder<E>,
    summary: RowsSummary,
    attempt: RowAttempt,
  ): Promise<{ readonly result: RowsResult; readonly entries: readonly E[] }>;
}

interface RowsResult {
  readonly artifact: ArtifactRef;
  readonly rows: RowsInBlocks;
}

/** Share of the progress that remains after all items are computed. */
const SUMMING = 0.02;

/** @returns functions that compute the items of a job in parts; each part writes its entries as JSON */
export function createRowsInParts({ artifacts, markets, workers }: Context): RowsInParts {
  const readOutput: RowsInParts['readOutput'] = async (order, parts, { attempt, share }) => {
    await markets.settled();
    const { positions } = divideEvenly(order.count);
    const count = parts.reduce((sum, part) => sum + positions(part).length, 0);
    const ownRowAttempt = toAlternative(attempt, share / count);
    const output = [];
    for (const part of parts) {
      const entries = [];
      for (const position of positions(part)) entries.push(await order.computeEntry(position, ownRowAttempt));
      output.push(entries);
    }
    const artifact = await attempt.write(Buffer.from(JSON.stringify(output)));
    return { artifact, files: output.flat().flatMap((entry) => order.listFiles(entry)) };
  };

  /** Returns the entries of all parts without duplicates. Deletes the files of duplicate entries. */
  async function readEntries<E extends RowEntry>(
    { listFiles }: RowsOrder<E>,
    writtenParts: readonly WrittenParts[],
    { drop }: Pick<RowAttempt, 'drop'>,
  ): Promise<readonly E[]> {
    const outputs: (readonly (readonly E[])[])[] = [];
    for (const { artifact } of writtenParts)
      outputs.push(JSON.parse(Buffer.from(await artifacts.read(artifact)).toString()) as E[][]); // a part wrote these entries
    const { first, others } = locateParts(writtenParts);
    const listEntries = (entryPositions: typeof first): E[] =>
      entryPositions.flatMap(({ output, at }) => outputs[output]![at]!);
    const unusedFiles = listEntries(others).flatMap(listFiles);
    if (unusedFiles.length > 0) await drop(unusedFiles.map(({ name }) => name));
    return listEntries(first);
  }

  return {
    readOutput,
    async run(order, summary, attempt) {
      const writtenParts = await attempt.inParts({
        count: divideEvenly(order.count).count,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        here: (part, share) => readOutput(order, [part], { attempt, share }),
      });
      const entries = await readEntries(order, writtenParts, attempt);
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const outputs = attempt.outputs(['view', 'rows']);
      const { view, rows } = await attempt.compute('sum-rows', { ...summary, files, outputs }, SUMMING);
      return { result: { artifact: view, rows }, entries };
    },
  };
}

/**
 * Returns the attempt for one item out of many. The item accounts for a share of the progress, and the job continues
 * afterwards.
 */
const toAlternative = (attempt: RowAttempt, share: number): RowAttempt => ({
  ...attempt,
  compute: (task, input, part = 1) => attempt.compute(task, input, part * share),
  computed: () => {},
});

export interface FileSubmission<P, I> extends Omit<Submission<P>, 'payload' | 'compared'> {
  readonly input: I;
  readonly createPayload: (input: I) => P;
  readonly select: (payload: P) => I | undefined;
}

/**
 * Submits a job whose input has a file. Files are compared by their content, so that equal requests are one job. A file
 * that no job has is removed.
 */
export async function submitWithFile<P, I extends { readonly file: ArtifactRef }>(
  { documents, jobs, artifacts }: Pick<Context, 'documents' | 'jobs' | 'artifacts'>,
  { input, createPayload, select, ...submission }: FileSubmission<P, I>,
): Promise<JobStatus> {
  const { kind } = submission;
  const payload = createPayload(input);
  const compared = createPayload({ ...input, file: { ...input.file, name: '' } });
  const removeFile = () => artifacts.remove([input.file.name]);
  let status: JobStatus;
  try {
    status = await jobs.submit({ ...submission, payload, compared });
  } catch (failure) {
    await removeFile();
    throw failure;
  }
  const stored = await documents.get('job-input', status.job_id);
  if (stored !== undefined && 'unreadable' in stored) return status;
  const storedPayload = stored && kind.decode((stored.body as Partial<StoredInput>).payload);
  if (stored === undefined || (storedPayload && select(storedPayload)?.file.name !== input.file.name))
    await removeFile();
  return status;
}

/** Part of the job system that finds and cancels jobs about a document. */
export type JobsAbout = Pick<Jobs, 'isLive' | 'cancel' | 'get' | 'ids'>;

/** Deleted indices and strategies, or deleted data stores. */
export interface DeletedSubjects {
  readonly of: JobSubject['of'];
  readonly ids: readonly string[];
}

/**
 * Returns the jobs that are deleted together with their subjects. The catalogue of kinds determines which jobs these
 * are.
 * @cost a read of every stored job of kinds whose requests name their subject
 */
async function findJobsAbout(
  jobs: JobsAbout,
  { of, ids }: DeletedSubjects,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const kindIds = new Map(ids.map((id) => [id, listKindsDeletedWith(of, 'ident').map((kind) => `${kind}:${id}`)]));
  const idsByKind = await Promise.all(listKindsDeletedWith(of, 'request').map((kind) => jobs.ids(kind)));
  for (const jobId of idsByKind.flat()) kindIds.get((await findSubject(jobs, jobId)) ?? '')?.push(jobId);
  return kindIds;
}

export async function cancelJobsAbout(jobs: JobsAbout, subjects: DeletedSubjects): Promise<void> {
  for (const jobIds of (await findJobsAbout(jobs, subjects)).values()) {
    for (const jobId of jobIds) if (await jobs.isLive(jobId)) await jobs.cancel(jobId);
  }
}

/**
 * Deletes all jobs about the subjects and the artifacts of these jobs. Must be called in the transaction that deletes
 * the subjects.
 * @returns the number of deleted jobs by subject id
 */
export async function deleteJobsAbout(
  tx: DocumentTransaction,
  jobs: JobsAbout,
  subjects: DeletedSubjects,
): Promise<ReadonlyMap<string, number>> {
  const deleteJob = async (jobId: string): Promise<boolean> => {
    await tx.delete('job-input', jobId);
    return tx.delete('job', jobId);
  };
  const removedCounts = new Map<string, number>();
  for (const [id, jobIds] of await findJobsAbout(jobs, subjects)) {
    let count = 0;
    for (const jobId of jobIds) if (await deleteJob(jobId)) count++;
    removedCounts.set(id, count);
  }
  return removedCounts;
}

/**
 * Checks that the index or strategy of some work exists. It may be deleted before the work starts or ends.
 * @param subject name of the work in a sentence: `backtest`
 * @throws Refusal INDEX_DELETED
 */
export async function assertNotDeleted(
  reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
  runId: string,
  subject: string,
): Promise<void> {
  if ((await reader.get('index', runId)) !== undefined || (await reader.get('strategy', runId)) !== undefined) return;
  throw new Refusal('INDEX_DELETED', `${runId} was deleted while its ${subject} waited or ran.`, { index_id: runId });
}

/**
 * Returns the index that the request of a stored job names. Returns undefined if the request names none, or the job is
 * unreadable.
 */
async function findSubject(jobs: JobsAbout, jobId: string): Promise<string | undefined> {
  try {
    const { request } = (await jobs.get(jobId)) ?? {};
    const { index_id: id } = (typeof request === 'object' && request !== null ? request : {}) as {
      readonly index_id?: unknown;
    };
    return typeof id === 'string' ? id : undefined;
  } catch (failure) {
    if (failure instanceof Refusal) return undefined;
    throw failure;
  }
}

/** Creates an id from the time in UTC and a random part: `{yyyymmddThhmmss}-{8 hex}`. */
export function createTimedId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}

import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { BacktestRecordCollection } from '#contract/analytics/record.js';
import type { RunMetrics, StoredRuns } from '#contract/runs.js';
import { RECORD_FORMAT, RECORD_SHAPE } from '#domain/backtest/record.js';
import { Refusal } from '#domain/base/refusals.js';
import { type RunDocument, RunListDocument } from '#domain/definition/runs.js';
import type { RunTextInput, StoredText } from '#jobs/tasks/runs.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  computeRunId,
  type DocumentLookup,
  type DocumentStore,
  findCause,
  readStoredBody,
  type UnreadableCause,
} from '#store/port.js';
import { readLogHead } from '#store/history/publication-log.js';
import type { Context, RunStates } from '../shared/context.js';
import { addUnreadable, countSkipped, type Precondition } from '../shared/documents.js';
import {
  assertHasRuns,
  assertUndamaged,
  createProvenance,
  createStoredRunId,
  findDamagedRuns,
  findRun,
  listEarlierFiles,
  readRun,
  readRunList,
  type RequestedRun,
  requireColumnsFile,
  requireRun,
} from '../shared/run-documents.js';
import { removeMarks, type StoredBytes } from '../shared/stamped-json.js';
import { createStoredState } from './plans.js';
import type { ViewMaker } from './views.js';

/**
 * Function that lists the latest runs by subject. A run is left out and counted if its document or its columns are
 * unreadable.
 */
export type RunList = (query: {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}) => Promise<BacktestRecordCollection>;

/** Number of runs whose definitions are compared in one turn of the event loop: at most 20 ms. */
const ROWS_PER_TURN = 32;

export function createRunList(
  documents: Pick<DocumentStore, 'list'>,
  artifacts: Pick<ArtifactStore, 'damaged'>,
  states: RunStates,
): RunList {
  /**
   * Returns the rows of a listing. After a change of definitions many runs must be compared again; other work can run
   * in between.
   */
  async function readRows(runs: readonly RunDocument[]): Promise<BacktestRecordCollection['backtests']> {
    const rows: BacktestRecordCollection['backtests'] = [];
    for (const run of runs) {
      rows.push({ index_id: run.run_id, run_at: run.run_at, ...(await createStoredState(states, run)) });
      if (rows.length % ROWS_PER_TURN === 0) await setImmediate();
    }
    return rows;
  }

  return async ({ limit, after }) => {
    const listing = await documents.list('run', readRun);
    const runs = listing.documents;
    const request = runs.filter(({ run_id }) => after === undefined || run_id > after).slice(0, limit ?? runs.length);
    const damagedRuns = await findDamagedRuns(artifacts, request);
    const backtests = await readRows(request.filter((run) => !damagedRuns.has(run)));
    return { backtests, ...addUnreadable(listing, damagedRuns.size) };
  };
}

export type RunTextName = RunTextInput['text'];

/** Result that an earlier version stored as JSON. */
export type StoredResultFile = NonNullable<RunDocument['artifacts']['result']>;

/**
 * Records and results of stored runs as JSON. The first read writes a text from the columns of its run. It also
 * upgrades a text that an earlier release stored as JSON. The file is kept until other files replace it. A reader holds
 * only a part of the file in memory, however slow it is.
 */
export interface RunTexts {
  /** Returns the record or result of a run. @throws Refusal DOCUMENT_UNREADABLE if a file of the run is missing or damaged */
  read(run: RunDocument, text: RunTextName): Promise<StoredBytes>;
  /** Returns a result in the form in which an earlier release stored it. @throws Refusal DOCUMENT_UNREADABLE */
  stored(result: StoredResultFile): Promise<StoredBytes>;
}

/** Maximum number of texts that are cached as files, and maximum total size in bytes. */
const CACHED_TEXTS_MAX = 32;
const CACHED_BYTES_MAX = 2 ** 30;

interface TextOrder {
  readonly etag: string;
  /** Approximate number of bytes of the text. */
  readonly bytes: number;
  input(): Promise<RunTextInput>;
}

export function createRunTexts({ artifacts, jobs }: Context): RunTexts {
  /** Files by etag, least recently read first. */
  const cachedTexts = new Map<string, Promise<ArtifactRef>>();
  const sizes = new Map<string, number>();

  const fetchFile = async (ref: Pick<ArtifactRef, 'name' | 'sha256'>) => ({
    path: await artifacts.file(ref),
    sha256: ref.sha256,
  });

  async function createInput(run: RunDocument, text: RunTextName): Promise<RunTextInput> {
    const { columns, record, result, plan } = run.artifacts;
    const previousFile = text === 'record' ? record : result;
    if (previousFile !== undefined) return { text, stored: await readStoredText(previousFile) };
    const source = {
      columns: await artifacts.file(columns),
      files: await Promise.all([columns, ...listEarlierFiles(run)].map(fetchFile)),
      stamp: { ...createProvenance(run), runAt: run.run_at ?? '', indexVersion: run.index_version ?? null },
    };
    // a run without a stored result has a stored plan
    return text === 'record' ? { ...source, text } : { ...source, text, plan: await fetchFile(plan!) };
  }

  async function readStoredText({ inset, ...file }: StoredResultFile): Promise<StoredText> {
    return { ...(await fetchFile(file)), ...(inset ? { inset: { ...(await fetchFile(inset)), at: inset.at } } : {}) };
  }

  /** Writes a text as a file. @throws Refusal STORAGE_FULL */
  async function write({ bytes, input }: TextOrder): Promise<ArtifactRef> {
    const name = await artifacts.claim(bytes);
    const path = await artifacts.file({ name });
    return { name, ...(await jobs.query('write-run-text', { ...(await input()), path })) };
  }

  async function removeOldTexts(): Promise<void> {
    const computeTotal = (): number => [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const removedNames: string[] = [];
    for (const [etag, file] of cachedTexts) {
      if (cachedTexts.size <= CACHED_TEXTS_MAX && computeTotal() <= CACHED_BYTES_MAX) break;
      if (!sizes.has(etag)) continue; // the text has not been written yet
      cachedTexts.delete(etag);
      sizes.delete(etag);
      removedNames.push((await file).name);
    }
    await artifacts.remove(removedNames);
  }

  async function cache(order: TextOrder): Promise<ArtifactRef> {
    const { etag } = order;
    const file = cachedTexts.get(etag) ?? write(order);
    cachedTexts.delete(etag);
    cachedTexts.set(etag, file);
    try {
      sizes.set(etag, (await file).bytes);
    } catch (failure) {
      if (cachedTexts.get(etag) === file) cachedTexts.delete(etag);
      throw failure;
    }
    return file;
  }

  /** Opens the file of a text. The open file can be read even if it is removed afterwards. */
  async function open(
    order: TextOrder,
  ): Promise<{ readonly length: number; readonly stream: ReadableStream<Uint8Array> }> {
    const file = await cache(order);
    try {
      return { length: file.bytes, stream: await artifacts.stream(file) };
    } catch {
      // The file was removed, truncated or changed, so it is generated again.
      cachedTexts.delete(order.etag);
      await artifacts.remove([file.name]);
      const cachedText = await cache(order);
      return { length: cachedText.bytes, stream: await artifacts.stream(cachedText) };
    }
  }

  async function readBytes(order: TextOrder): Promise<StoredBytes> {
    const { etag, input } = order;
    try {
      const { length, stream } = await open(order);
      await removeOldTexts();
      return { length, etag, open: async () => stream };
    } catch (failure) {
      if (!(failure instanceof Refusal && failure.code === 'STORAGE_FULL')) throw failure;
      // The disk is full, but stored data can still be read.
      const { bytes } = await jobs.query('run-text', await input());
      return { length: bytes.length, etag, open: async () => new Blob([bytes]).stream() };
    }
  }

  return {
    async read(run, text) {
      const files = [run.artifacts.columns, ...listEarlierFiles(run)];
      // This check is also made if the text already has a file, because a listing leaves out a damaged run.
      await assertUndamaged(artifacts, run);
      return readBytes({
        etag: text === 'record' ? computeRecordEtag(run) : computeResultEtag(run),
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
        input: () => createInput(run, text),
      });
    },
    stored: (result) =>
      readBytes({
        etag: formatStoredEtag(result),
        bytes: result.bytes + (result.inset?.bytes ?? 0),
        input: async () => ({ text: 'result', stored: await readStoredText(result) }),
      }),
  };
}

/** Returns the ETag of a run's result. The result need not be written for this. */
function computeResultEtag(run: RunDocument): string {
  const { result } = run.artifacts;
  return result === undefined
    ? hashValue(['result', computeRecordEtag(run), run.index_version ?? null])
    : formatStoredEtag(result);
}

const formatStoredEtag = ({ sha256, inset }: StoredResultFile): string =>
  hashValue(['stored result', sha256, inset?.sha256 ?? null]);

const hashValue = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/**
 * Returns the strong ETag of a run's record: a hash of all inputs on which its bytes depend. The record need not be
 * written for this.
 */
export function computeRecordEtag(run: RunDocument): string {
  const { record, columns } = run.artifacts;
  if (record) return hashValue([RECORD_FORMAT, RECORD_SHAPE, record.sha256]);
  const earlierDigests = listEarlierFiles(run).map(({ sha256 }) => sha256);
  return hashValue([
    RECORD_FORMAT,
    RECORD_SHAPE,
    columns.sha256,
    earlierDigests.length > 1 ? earlierDigests : (earlierDigests[0] ?? null),
    run.run_at,
    createProvenance(run),
  ]);
}

/** Checks that If-Match contains the ETag of the stored record. @throws Refusal RUN_NOT_FOUND, PRECONDITION_FAILED */
export function assertRecordNamed(
  runId: string,
  storedDocument: DocumentLookup,
  ifMatch: Precondition | undefined,
): void {
  if (storedDocument === undefined)
    throw new Refusal('RUN_NOT_FOUND', `${runId} has no stored run.`, { index_id: runId });
  if (ifMatch === undefined || ifMatch === '*') return;
  const run = readStoredBody(storedDocument, readRun);
  const etag = run && computeRecordEtag(run);
  if (etag !== undefined && ifMatch.some((givenEtag) => removeMarks(givenEtag) === etag)) return;
  throw new Refusal(
    'PRECONDITION_FAILED',
    `If-Match names another record than the stored one, whose etag is ${etag ?? 'unknown'}.`,
    { etag: etag ?? null },
  );
}

export interface StoredRunsQuery {
  readonly limit?: number | undefined;
  /** Id of a run. Only runs that are older than this one are listed. */
  readonly before?: string | undefined;
}

/** Number of rows that are computed at the same time. One row is little work for a thread. */
const ROW_CONCURRENCY = 8;

export function createStoredRuns({ documents, artifacts }: Context, maker: ViewMaker) {
  /**
   * Returns a run, or the reason why its document or a file with its columns is unreadable. Returns undefined if the
   * run was removed since it was listed.
   */
  async function readCheckedRun(requestedRun: RequestedRun): Promise<RunDocument | UnreadableCause | undefined> {
    try {
      const run = await requireRun(documents, requestedRun);
      return (await findDamagedRuns(artifacts, [run])).size > 0 ? 'unreadable' : run;
    } catch (failure) {
      if (!(failure instanceof Refusal) || !UNREADABLE.has(failure.code)) throw failure;
      return findCause(
        await documents.get('kept-run', createStoredRunId(requestedRun.subject, requestedRun.id!)),
        readRun,
      );
    }
  }

  async function readRow(
    run: RunDocument,
    list: RunListDocument,
    signal: AbortSignal,
  ): Promise<StoredRuns['runs'][number]> {
    const id = computeRunId(run);
    return {
      run_id: id,
      run_at: run.run_at,
      run_hash: run.run_hash,
      start: run.start,
      end: run.end,
      index_version: run.index_version ?? null,
      store_id: run.store_id ?? null,
      store_version: run.store_version ?? null,
      store_content_hash: run.store_content_hash,
      engine_version: run.engine_version,
      request: toRequest(run),
      metrics: (await readMetrics(run, signal).catch(ignoreUnreadable)) ?? null,
      published: list.published.includes(id),
    };
  }

  async function readMetrics(run: RunDocument, signal: AbortSignal): Promise<RunMetrics> {
    const { bytes } = await maker.readCached(
      { view: 'metrics', columns: await requireColumnsFile(artifacts, run) },
      signal,
    );
    return JSON.parse(new TextDecoder().decode(bytes)) as RunMetrics; // the view wrote this JSON
  }

  return {
    /** Lists runs, newest first. @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND for an unknown `before` */
    async list(subject: string, { limit, before }: StoredRunsQuery, signal: AbortSignal): Promise<StoredRuns> {
      await assertHasRuns(documents, subject);
      const list = await readRunList(documents, subject);
      const newestRun = await findRun(documents, subject);
      const skippedCauses = await listUnlistedCauses(documents, subject);
      const ids = [...(newestRun === undefined ? [] : [computeRunId(newestRun)]), ...list.earlier];
      const total = ids.length + skippedCauses.length;
      const from = before === undefined ? 0 : ids.indexOf(before) + 1;
      if (before !== undefined && from === 0) await requireRun(documents, { subject, id: before });
      const requestedIds = ids.slice(from, limit === undefined ? undefined : from + limit);
      const runs: StoredRuns['runs'] = [];
      for (let offset = 0; offset < requestedIds.length; offset += ROW_CONCURRENCY) {
        const batch = await Promise.all(
          requestedIds.slice(offset, offset + ROW_CONCURRENCY).map((id) => readCheckedRun({ subject, id })),
        );
        skippedCauses.push(...batch.filter((entry) => typeof entry === 'string'));
        const matchingRuns = batch.filter((run) => typeof run === 'object');
        runs.push(...(await Promise.all(matchingRuns.map((run) => readRow(run, list, signal)))));
      }
      const hasPublished = (await readLogHead(documents, subject)) !== undefined;
      return { runs, total, has_published: hasPublished, ...countSkipped(skippedCauses) };
    },
  };
}

/**
 * Returns the reasons why some runs are unreadable whose ids are unknown: the latest run, and earlier runs if their
 * list is lost.
 */
async function listUnlistedCauses(
  documents: Pick<DocumentStore, 'get' | 'ids'>,
  subject: string,
): Promise<UnreadableCause[]> {
  const newestCause = findCause(await documents.get('run', subject), readRun);
  const list = findCause(await documents.get('run-list', subject), (body) => RunListDocument.safeParse(body).data);
  if (list === undefined) return newestCause === undefined ? [] : [newestCause];
  const earlierIds = (await documents.ids('kept-run')).filter((id) => id.startsWith(createStoredRunId(subject, '')));
  return [...(newestCause === undefined ? [] : [newestCause]), ...earlierIds.map(() => list)];
}

const UNREADABLE: ReadonlySet<string> = new Set(['RUN_NOT_FOUND', 'DOCUMENT_UNREADABLE']);

/** Returns the request of a run. If the request named a data version, that version is included. */
function toRequest({ request, as_known_on: version }: RunDocument): unknown {
  return version === undefined ? request : { ...(request as object), as_known_on: version };
}

function ignoreUnreadable(failure: unknown): undefined {
  if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return undefined;
  throw failure;
}

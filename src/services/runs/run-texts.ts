import { createHash } from 'node:crypto';
import { RECORD_FORMAT } from '#domain/backtest/record/pack.js';
import { RECORD_SHAPE } from '#domain/backtest/record/schema.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { RunTextInput, StoredText } from '#jobs/tasks/runs.js';
import type { ArtifactRef, ArtifactStore, DocumentLookup } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import type { Precondition } from '../shared/preconditions.js';
import type { StoredBytes } from '../stored/stored-bytes.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { listEarlierFiles, createProvenance, readRun } from '../stored/run-documents.js';
import { removeMarks } from '../stored/stamped-json.js';

export interface RunTextsDependencies {
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
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

/** Text to write. */
interface TextOrder {
  readonly etag: string;
  /** Approximate number of bytes of the text. */
  readonly bytes: number;
  input(): Promise<RunTextInput>;
}

export function createRunTexts({ artifacts, jobs }: RunTextsDependencies): RunTexts {
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
  const run = readStored(storedDocument, readRun);
  const etag = run && computeRecordEtag(run);
  if (etag !== undefined && ifMatch.some((givenEtag) => removeMarks(givenEtag) === etag)) return;
  throw new Refusal(
    'PRECONDITION_FAILED',
    `If-Match names another record than the stored one, whose etag is ${etag ?? 'unknown'}.`,
    { etag: etag ?? null },
  );
}

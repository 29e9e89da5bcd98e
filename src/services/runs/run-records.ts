import { createHash } from 'node:crypto';
import { RECORD_FORMAT } from '#domain/backtest/record/pack.js';
import { RECORD_SHAPE } from '#domain/backtest/record/schema.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactRef, ArtifactStore, FoundDocument } from '#store/port.js';
import type { Precondition } from '../shared/preconditions.js';
import type { StoredBytes } from '../stored/stored-bytes.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { earlierFiles, provenanceOf, readRun } from '../stored/run-documents.js';
import { unmarked } from '../stored/stamped-json.js';

export interface RunRecordsDependencies {
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
}

/**
 * Records of stored runs as JSON. A record is written from its columns when it is first read, one that an earlier
 * version stored as JSON is upgraded then: into a file that is served until others take its place. Whoever reads, and
 * however slowly, holds a part of it in memory.
 */
export interface RunRecords {
  /** @throws Refusal DOCUMENT_UNREADABLE when a file of the run is gone or damaged */
  read(run: RunDocument): Promise<StoredBytes>;
}

/** Records cached as files: so many, and of so many bytes together. */
const CACHED_RECORDS_MAX = 32;
const CACHED_BYTES_MAX = 2 ** 30;

export function createRunRecords({ artifacts, jobs }: RunRecordsDependencies): RunRecords {
  /** Files by etag, the one read longest ago first. */
  const cached = new Map<string, Promise<ArtifactRef>>();
  const sizes = new Map<string, number>();

  async function inputOf(run: RunDocument) {
    const { columns, record } = run.artifacts;
    const fileOf = async (ref: ArtifactRef) => ({ path: await artifacts.file(ref), sha256: ref.sha256 });
    return {
      columns: await artifacts.file(columns),
      files: await Promise.all([columns, ...earlierFiles(run)].map(fileOf)),
      stamp: { ...provenanceOf(run), runAt: run.run_at ?? '' },
      ...(record ? { stored: await fileOf(record) } : {}),
    };
  }

  /** @throws Refusal STORAGE_FULL */
  async function write(run: RunDocument): Promise<ArtifactRef> {
    const name = await artifacts.claim(
      [run.artifacts.columns, ...earlierFiles(run)].reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const path = await artifacts.file({ name });
    return { name, ...(await jobs.query('write-record', { ...(await inputOf(run)), path })) };
  }

  async function makeRoom(): Promise<void> {
    const total = (): number => [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const removed: string[] = [];
    for (const [etag, file] of cached) {
      if (cached.size <= CACHED_RECORDS_MAX && total() <= CACHED_BYTES_MAX) break;
      if (!sizes.has(etag)) continue; // Not written yet.
      cached.delete(etag);
      sizes.delete(etag);
      removed.push((await file).name);
    }
    await artifacts.remove(removed);
  }

  async function cache(etag: string, run: RunDocument): Promise<ArtifactRef> {
    const file = cached.get(etag) ?? write(run);
    cached.delete(etag);
    cached.set(etag, file);
    try {
      sizes.set(etag, (await file).bytes);
    } catch (thrown) {
      if (cached.get(etag) === file) cached.delete(etag);
      throw thrown;
    }
    return file;
  }

  /** An open file stays readable when it is removed meanwhile. */
  async function open(
    etag: string,
    run: RunDocument,
  ): Promise<{ readonly length: number; readonly stream: ReadableStream<Uint8Array> }> {
    const file = await cache(etag, run);
    try {
      return { length: file.bytes, stream: await artifacts.stream(file) };
    } catch {
      // Somebody removed, cut or changed it: it can be made again.
      cached.delete(etag);
      await artifacts.remove([file.name]);
      const again = await cache(etag, run);
      return { length: again.bytes, stream: await artifacts.stream(again) };
    }
  }

  return {
    async read(run) {
      const etag = recordEtag(run);
      await assertUndamaged(artifacts, run); // Also where a file of the record is served: a listing leaves the run out.
      try {
        const { length, stream } = await open(etag, run);
        await makeRoom();
        return { length, etag, open: async () => stream };
      } catch (thrown) {
        if (!(thrown instanceof Refusal && thrown.code === 'STORAGE_FULL')) throw thrown;
        // On a full disk what is stored can still be read.
        const { bytes } = await jobs.query('run-record', await inputOf(run));
        return { length: bytes.length, etag, open: async () => new Blob([bytes]).stream() };
      }
    },
  };
}

/** Strong ETag of a run's record, known without writing it: everything that its bytes depend on. */
export function recordEtag(run: RunDocument): string {
  const { record, columns } = run.artifacts;
  if (record)
    return createHash('sha256')
      .update(JSON.stringify([RECORD_FORMAT, RECORD_SHAPE, record.sha256]))
      .digest('hex');
  const earlier = earlierFiles(run).map(({ sha256 }) => sha256);
  return createHash('sha256')
    .update(
      JSON.stringify([
        RECORD_FORMAT,
        RECORD_SHAPE,
        columns.sha256,
        earlier.length > 1 ? earlier : (earlier[0] ?? null),
        run.run_at,
        provenanceOf(run),
      ]),
    )
    .digest('hex');
}

/** @throws Refusal RUN_NOT_FOUND, PRECONDITION_FAILED when If-Match names another record than the stored one */
export function assertRecordNamed(runId: string, found: FoundDocument, ifMatch: Precondition | undefined): void {
  if (found === undefined) throw new Refusal('RUN_NOT_FOUND', `${runId} has no stored run.`, { index_id: runId });
  if (ifMatch === undefined || ifMatch === '*') return;
  const run = 'unreadable' in found ? undefined : readRun(found.body);
  const etag = run && recordEtag(run);
  if (etag !== undefined && ifMatch.some((named) => unmarked(named) === etag)) return;
  throw new Refusal(
    'PRECONDITION_FAILED',
    `If-Match names another record than the stored one, whose etag is ${etag ?? 'unknown'}.`,
    { etag: etag ?? null },
  );
}

import { createHash } from 'node:crypto';
import { RECORD_FORMAT } from '#domain/backtest/record-columns.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactStore } from '#store/artifacts.js';

export interface RunRecordsDependencies {
  readonly artifacts: ArtifactStore;
  readonly jobs: Pick<Jobs, 'query'>;
}

/** Records of stored runs as JSON: written from their columns when they are read. */
export interface RunRecords {
  /** @throws Refusal DOCUMENT_UNREADABLE when a file of the run is gone or damaged */
  read(run: RunDocument): Promise<Uint8Array<ArrayBuffer>>;
}

/** A record of at most so many bytes is kept until another is read: clients ask for the same one again. */
const KEPT_BYTES_MAX = 64 * 2 ** 20;

export function createRunRecords({ artifacts, jobs }: RunRecordsDependencies): RunRecords {
  let latest: { readonly etag: string; readonly bytes: Promise<Uint8Array<ArrayBuffer>> } | undefined;

  async function write({ artifacts: { columns }, run_at: runAt, run_hash: runHash, store_content_hash: storeContentHash, engine_version: engineVersion }: RunDocument) {
    const stamp = { runAt: runAt ?? '', runHash, storeContentHash, engineVersion };
    const { bytes } = await jobs.query('run-record', { columns: artifacts.path(columns), sha256: columns.sha256, stamp });
    return bytes;
  }

  return {
    async read(run) {
      const { record } = run.artifacts;
      if (record) return new Uint8Array(await artifacts.read(record));
      const etag = recordEtag(run);
      if (latest?.etag === etag) return latest.bytes;
      const reading = { etag, bytes: write(run) };
      latest = reading;
      const forget = (): void => {
        if (latest === reading) latest = undefined;
      };
      try {
        const bytes = await reading.bytes;
        if (bytes.length > KEPT_BYTES_MAX) forget();
        return bytes;
      } catch (refusal) {
        forget();
        throw refusal;
      }
    },
  };
}

/** Strong ETag of a run's record, known without writing it: everything that its bytes depend on. */
export function recordEtag({ artifacts: { record, columns }, run_at: runAt, run_hash: runHash, store_content_hash: storeContentHash, engine_version: engineVersion }: RunDocument): string {
  if (record) return record.sha256;
  return createHash('sha256').update(JSON.stringify([RECORD_FORMAT, columns.sha256, runAt, runHash, storeContentHash, engineVersion])).digest('hex');
}

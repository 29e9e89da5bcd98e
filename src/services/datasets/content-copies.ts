import type { DataCopy, DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { LIMITS } from '#domain/limits.js';
import { Refusal } from '#domain/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { HashedBytes, HashedFile } from '#jobs/tasks/files.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { servedMarket } from '#market/serving/served-markets.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';

export interface ContentCopiesDependencies {
  readonly artifacts: Pick<ArtifactStore, 'write' | 'file'>;
  readonly jobs: Pick<Jobs, 'query'>;
}

/**
 * Copies of the last contents of stores whose source others change: what was served can be had again when its source
 * has another content by the time that it is read.
 */
export interface ContentCopies {
  /**
   * A copy of a content; null where it is beyond `MAX_COPIED_CONTENT_BYTES` or was refused room: that is no reason not
   * to serve it.
   * @cost of deflating its panels, 10 ms a megabyte in a thread, and half of their bytes on disk
   */
  of(market: ServedMarket): Promise<DataCopy | null>;
  /** A copy with the change to a later content. @param forth null where it is not known @cost a new copy now and then */
  extended(copy: DataCopy | null, forth: HashedBytes | null, market: ServedMarket): Promise<DataCopy | null>;
  /** The content of the copy of a store; undefined where there is none, or it cannot be read. @cost of a load */
  restored(head: DataHistoryDocument, like: ServedMarket): Promise<ServedMarket | undefined>;
}

/** Changes after which a new copy is made: a quarter of days. */
const CHANGES_MAX = 64;

/** Bytes of changes beside those of the content that they begin with, after which a new copy is made. */
const CHANGES_SHARE_MAX = 0.5;

export function createContentCopies({ artifacts, jobs }: ContentCopiesDependencies): ContentCopies {
  async function copyOf(market: ServedMarket): Promise<DataCopy | null> {
    const bytes = market.handle.fields.reduce((sum, { values }) => sum + values.byteLength, 0);
    if (bytes > LIMITS.MAX_COPIED_CONTENT_BYTES) return null;
    return orNone(async () => {
      const copied = await jobs.query('content-copy', { market: market.handle });
      return { content: await artifacts.write(copied.bytes, copied.sha256), changes: [] };
    });
  }

  const fileOf = async (ref: ArtifactRef): Promise<HashedFile> => ({
    path: await artifacts.file(ref),
    sha256: ref.sha256,
  });

  return {
    of: copyOf,
    async extended(copy, forth, market) {
      const isLong =
        copy === null ||
        forth === null ||
        copy.changes.length >= CHANGES_MAX ||
        copy.changes.reduce((sum, { bytes }) => sum + bytes, forth.bytes.length) >
          CHANGES_SHARE_MAX * copy.content.bytes;
      if (isLong) return copyOf(market);
      const change = await artifacts.write(forth.bytes, forth.sha256);
      return { content: copy.content, changes: [...copy.changes, change] };
    },
    async restored({ copy, content_hash: contentHash, known_at: knownAt }, { identity }) {
      if (copy === null) return undefined;
      const { datasetId, adjustment, currency = null } = identity;
      const market = await orNone(async () => {
        const [content, changes] = [await fileOf(copy.content), await Promise.all(copy.changes.map(fileOf))];
        const input = { datasetId, adjustment, currency, content, changes, contentHash };
        const { handle } = await jobs.query('copied-market', input);
        return servedMarket(handle, knownAt);
      });
      return market ?? undefined;
    },
  };
}

async function orNone<T>(make: () => Promise<T>): Promise<T | null> {
  try {
    return await make();
  } catch (failure) {
    if (failure instanceof Refusal) return null;
    throw failure;
  }
}

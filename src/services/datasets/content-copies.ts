import type { DataCopy, DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { HashedBytes, HashedFile } from '#jobs/tasks/files.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { prepareServedMarket } from '#market/serving/served-markets.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';

export interface ContentCopiesDependencies {
  readonly artifacts: Pick<ArtifactStore, 'write' | 'file' | 'claim' | 'writeFile' | 'remove'>;
  readonly jobs: Pick<Jobs, 'query' | 'aside'>;
}

/**
 * Copies of the latest contents of stores. They are made for sources that other programs can change, so that the served
 * content remains available after its source has changed.
 */
export interface ContentCopies {
  /**
   * Copies a content. Returns null if the content exceeds `MAX_COPIED_CONTENT_BYTES`. If a signal is given, the copy is
   * made in the background while the process has no other work.
   * @throws Refusal STORAGE_FULL, OVERLOADED
   * @cost 3 to 10 ms per megabyte of panels in a thread of the heavy lane, in pieces of some tenths of a second; disk
   * space of one sixth to one half of the panels' bytes, twice that while a copy for a bucket is written; memory for
   * one piece
   */
  of(market: ServedMarket, signal?: AbortSignal): Promise<DataCopy | null>;
  /** Copies a content like `of`. Returns null if there is no disk space, because the content must be served anyway. */
  orNone(market: ServedMarket): Promise<DataCopy | null>;
  /**
   * Stores the change to a later content together with the copy. Returns null if the copy has too many changes or if
   * disk space is low.
   */
  change(copy: DataCopy | null, forth: HashedBytes | null): Promise<ArtifactRef | null>;
  /** Restores the content of a store from its copy. Returns undefined if there is no readable copy. @cost of a load */
  restored(head: DataHistoryDocument, like: Pick<ServedMarket, 'identity'>): Promise<ServedMarket | undefined>;
}

/** Number of changes after which a new copy is made: a quarter of a year with one change per day. */
const CHANGES_DUE = 64;
/**
 * Number of changes after which a copy is deleted if no new copy could be made. A restoration must apply every change.
 */
const CHANGES_MAX = 4 * CHANGES_DUE;

/** A new copy is made when the changes reach this share of the bytes of the copied content. */
const CHANGES_SHARE_DUE = 0.5;

/**
 * Maximum time in ms that one piece waits for other work. Under constant load, a copy of 32 pieces takes eight minutes.
 */
const COPY_TIMEOUT_MS = 15_000;

/** Approximate size of a copy relative to its content. */
const COPY_SIZE_RATIO = 0.5;

/** Returns true if a new copy is due. */
export function isCopyDue(copy: DataCopy | null): boolean {
  if (copy === null || copy.changes.length >= CHANGES_DUE) return true;
  const bytes = copy.changes.reduce((sum, change) => sum + change.bytes, 0);
  return bytes > CHANGES_SHARE_DUE * copy.content.bytes;
}

export function createContentCopies({ artifacts, jobs }: ContentCopiesDependencies): ContentCopies {
  async function createCopy(market: ServedMarket, signal?: AbortSignal): Promise<DataCopy | null> {
    const bytes = market.handle.fields.reduce((sum, { values }) => sum + values.byteLength, 0);
    if (bytes > LIMITS.MAX_COPIED_CONTENT_BYTES) return null;
    const name = await artifacts.claim(COPY_SIZE_RATIO * bytes);
    try {
      const path = await artifacts.file({ name });
      for (let from: number | null = 0; from !== null;) {
        const result: { readonly next: number | null } = await jobs.aside(
          'content-copy',
          { market: market.handle, from, path },
          signal,
          signal === undefined ? 0 : COPY_TIMEOUT_MS,
        ); // Other work runs between the pieces.
        from = result.next;
      }
      return { content: await artifacts.writeFile(path), changes: [] };
    } finally {
      await artifacts.remove([name]).catch(() => {}); // the garbage collector removes the artifact
    }
  }

  const fetchFile = async (ref: ArtifactRef): Promise<HashedFile> => ({
    path: await artifacts.file(ref),
    sha256: ref.sha256,
  });

  return {
    of: createCopy,
    orNone: (market) => ignoreRefusal(() => createCopy(market)),
    async change(copy, forwardChange) {
      if (forwardChange === null || (copy?.changes.length ?? 0) >= CHANGES_MAX) return null;
      return ignoreRefusal(() => artifacts.write(forwardChange.bytes, forwardChange.sha256));
    },
    async restored({ copy, content_hash: contentHash, known_at: knownAt }, { identity }) {
      if (copy === null) return undefined;
      const { datasetId, adjustment, currency = null } = identity;
      const market = await ignoreRefusal(async () => {
        const [content, changes] = [await fetchFile(copy.content), await Promise.all(copy.changes.map(fetchFile))];
        const input = { datasetId, adjustment, currency, content, changes, contentHash };
        const { handle } = await jobs.query('copied-market', input);
        return prepareServedMarket(handle, knownAt);
      });
      return market ?? undefined;
    },
  };
}

async function ignoreRefusal<T>(createValue: () => Promise<T>): Promise<T | null> {
  try {
    return await createValue();
  } catch (failure) {
    if (failure instanceof Refusal) return null;
    throw failure;
  }
}

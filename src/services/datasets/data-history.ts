import {
  DataHistoryDocument,
  type DataCopy,
  type DataSource,
  type DataVersionDocument,
} from '#domain/documents/data-version-document.js';
import { NO_REQUEST, type Authorship } from '#domain/documents/version-document.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import { numberedId, ownerOf } from '#store/document-id.js';
import type { ArtifactRef, DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';

type Reader = Pick<DocumentReader, 'get'>;

/** A content that is to be served, and how that before it is made from it. */
export interface PreparedVersion {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly source: DataSource;
  /** Number of the version that the change goes back to; null where it was not computed. */
  readonly previous: number | null;
  readonly change: ArtifactRef | null;
  readonly rows: ChangeCounts | null;
  /** How this content is made from that before it, which a copy is made of; null where none is. */
  readonly forth: ArtifactRef | null;
  readonly knownAt: string;
}

/** A content that is not in the files of its store any more. */
export interface PreservedContent {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly copy: DataCopy;
}

/** Adds a content to the history of its store, in the transaction that serves it. @param rows rows of all of it */
export async function recordDataVersion(
  tx: DocumentTransaction,
  prepared: PreparedVersion,
  rows: number,
): Promise<void> {
  const { datasetId, contentHash, source, previous, forth, knownAt } = prepared;
  const head = await historyOf(tx, datasetId);
  if (head?.content_hash === contentHash) return;
  const version = (head?.latest ?? 0) + 1;
  const isChained = head !== undefined && head.latest === previous && prepared.change !== null;
  const counts = prepared.rows ?? { added: rows, changed: 0, removed: 0 };
  // Versions are in the order of their times, whatever the clock does.
  const known_at = head !== undefined && head.known_at > knownAt ? head.known_at : knownAt;
  const { author, note, requestId } = tx.authorship?.() ?? NO_REQUEST;
  await tx.put('data-version', numberedId(datasetId, version), {
    version,
    content_hash: contentHash,
    known_at,
    source,
    rows_added: counts.added,
    rows_changed: counts.changed,
    rows_removed: counts.removed,
    author,
    note,
    request_id: requestId,
    change: isChained ? prepared.change : null,
  } satisfies DataVersionDocument);
  await tx.put('data-history', datasetId, {
    latest: version,
    content_hash: contentHash,
    known_at,
    readable_from: isChained ? head.readable_from : version,
    copy: isChained && forth !== null ? extended(head.copy, forth) : null,
  } satisfies DataHistoryDocument);
}

/** A copy with one more change. */
function extended(copy: DataCopy | null, change: ArtifactRef): DataCopy | null {
  return copy === null ? null : { content: copy.content, changes: [...copy.changes, change] };
}

/** Makes a copy that of a store. @returns false where its history ends with another content by now */
export async function recordCopy(
  tx: DocumentTransaction,
  { datasetId, contentHash, copy }: PreservedContent,
): Promise<boolean> {
  const head = await historyOf(tx, datasetId);
  if (head?.content_hash !== contentHash) return false;
  await tx.put('data-history', datasetId, { ...head, copy } satisfies DataHistoryDocument);
  return true;
}

/** Versions that one transaction forgets: some ten milliseconds. */
export const FORGOTTEN_AT_ONCE = 256;

/** Forgets the contents of a store that is deleted. @returns number of the last version that `forgetLeft` has to forget */
export async function forgetDataVersions(tx: DocumentTransaction, datasetId: string): Promise<number> {
  const last = (await historyOf(tx, datasetId))?.latest ?? 0;
  await tx.delete('data-history', datasetId);
  return forgetLeft(tx, datasetId, last);
}

/**
 * Forgets the latest of the versions that a deleted store left. One of a store that has its id by now stays: its
 * versions begin at 1 again.
 * @param last the last one that may be left @returns the last one that is left then; 0 where none is
 */
export async function forgetLeft(tx: DocumentTransaction, datasetId: string, last: number): Promise<number> {
  const first = await firstLeft(tx, datasetId);
  if (first > last) return 0;
  const until = Math.max(first - 1, last - FORGOTTEN_AT_ONCE);
  for (let version = last; version > until; version--) await tx.delete('data-version', numberedId(datasetId, version));
  return until >= first ? until : 0;
}

/** Number of the first version that no store has; none where it cannot be known: the head of a store is lost. */
async function firstLeft(tx: DocumentTransaction, datasetId: string): Promise<number> {
  if ((await tx.get('data-history', datasetId)) === undefined)
    return (await tx.get('store', datasetId)) === undefined ? 1 : Infinity;
  return ((await historyOf(tx, datasetId))?.latest ?? Infinity) + 1;
}

/** Forgets what deleted stores left, where a deletion was cut off. @cost a listing of the ids of all versions */
export async function forgetLeftovers(documents: DocumentStore): Promise<void> {
  const last = new Map<string, number>();
  for (const id of await documents.ids('data-version')) {
    const datasetId = ownerOf(id);
    last.set(datasetId, Number(id.slice(datasetId.length + 1))); // Ids are in the order of their numbers.
  }
  for (const [datasetId, number] of last)
    if (((await historyOf(documents, datasetId))?.latest ?? 0) < number) await forgetAll(documents, datasetId, number);
}

/** Forgets what is left of a deleted store, in as many transactions as that takes. */
export async function forgetAll(
  documents: DocumentStore,
  datasetId: string,
  last: number,
  by?: Authorship,
): Promise<void> {
  for (let left = last; left > 0;) {
    const until = left;
    left = await documents.transaction((tx) => forgetLeft(tx, datasetId, until), { by });
  }
}

/** The last version of a store; undefined where it has none. */
export async function historyOf(reader: Reader, datasetId: string): Promise<DataHistoryDocument | undefined> {
  const stored = await reader.get('data-history', datasetId);
  return stored === undefined || 'unreadable' in stored ? undefined : DataHistoryDocument.safeParse(stored.body).data;
}

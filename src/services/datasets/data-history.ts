import {
  DataHistoryDocument,
  type DataCopy,
  type DataSource,
  type DataVersionDocument,
} from '#domain/documents/data-version-document.js';
import { NO_REQUEST } from '#domain/documents/version-document.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import { numberedId } from '#store/document-id.js';
import type { ArtifactRef, DocumentReader, DocumentTransaction } from '#store/port.js';

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

/** Forgets the contents of a store that is deleted. */
export async function forgetDataVersions(tx: DocumentTransaction, datasetId: string): Promise<void> {
  const head = await historyOf(tx, datasetId);
  for (let version = 1; version <= (head?.latest ?? 0); version++)
    await tx.delete('data-version', numberedId(datasetId, version));
  await tx.delete('data-history', datasetId);
}

/** The last version of a store; undefined where it has none. */
export async function historyOf(reader: Reader, datasetId: string): Promise<DataHistoryDocument | undefined> {
  const stored = await reader.get('data-history', datasetId);
  return stored === undefined || 'unreadable' in stored ? undefined : DataHistoryDocument.safeParse(stored.body).data;
}

import {
  DataHistoryDocument,
  DataVersionDocument,
  ForgottenHistory,
  type DataCopy,
  type DataSource,
} from '#domain/documents/data-version-document.js';
import { NO_REQUEST, type Authorship } from '#domain/documents/version-document.js';
import type { ChangeCounts } from '#market/versions/change-counts.js';
import { formatNumberedId, parseNumber, getOwner } from '#store/document-id.js';
import type { ArtifactRef, DocumentReader, DocumentStore, DocumentTransaction } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';

type Reader = Pick<DocumentReader, 'get'>;

/** Content that will be served, and the change from it back to the previous content. */
export interface PreparedVersion {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly source: DataSource;
  /** Version to which the change leads back; null if no change was computed. */
  readonly previous: number | null;
  readonly change: ArtifactRef | null;
  readonly rows: ChangeCounts | null;
  /** Change from the previous content to this content. A copy needs it. Null if there is no such change. */
  readonly forth: ArtifactRef | null;
  readonly knownAt: string;
}

/** Content that the files of its store no longer contain. */
export interface PreservedContent {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly copy: DataCopy;
}

/**
 * Adds a content to the history of its store. Must be called in the transaction that makes the content the served one.
 * @param rows total number of rows of the content
 */
export async function recordDataVersion(
  tx: DocumentTransaction,
  preparedVersion: PreparedVersion,
  rows: number,
): Promise<void> {
  const { datasetId, contentHash, source, previous, forth, knownAt } = preparedVersion;
  const head = await readHistory(tx, datasetId);
  if (head?.content_hash === contentHash) return;
  // The version numbers of a deleted store are not used again, so `as_known_on: 3` always has one meaning.
  const deletedVersion = await readForgottenVersion(tx, datasetId);
  const version = (head?.latest ?? deletedVersion) + 1;
  const isChained = head !== undefined && head.latest === previous && preparedVersion.change !== null;
  const counts = preparedVersion.rows ?? { added: rows, changed: 0, removed: 0 };
  // A later version never has an earlier time, whatever the clock says.
  const known_at = head !== undefined && head.known_at > knownAt ? head.known_at : knownAt;
  const { author, note, requestId } = tx.authorship?.() ?? NO_REQUEST;
  await tx.put('data-version', formatNumberedId(datasetId, version), {
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
    change: isChained ? preparedVersion.change : null,
  } satisfies DataVersionDocument);
  await tx.put('data-history', datasetId, {
    latest: version,
    content_hash: contentHash,
    known_at,
    readable_from: isChained ? head.readable_from : version,
    copy: isChained && forth !== null ? extendCopy(head.copy, forth) : null,
    ...(deletedVersion === 0 ? {} : { forgotten: deletedVersion }),
  } satisfies DataHistoryDocument);
}

/** Returns a copy with an additional change. */
function extendCopy(copy: DataCopy | null, change: ArtifactRef): DataCopy | null {
  return copy === null ? null : { content: copy.content, changes: [...copy.changes, change] };
}

/**
 * Stores which copy has the content of a store. @returns false if the history of the store now ends with another
 * content
 */
export async function recordCopy(
  tx: DocumentTransaction,
  { datasetId, contentHash, copy }: PreservedContent,
): Promise<boolean> {
  const head = await readHistory(tx, datasetId);
  if (head?.content_hash !== contentHash) return false;
  await tx.put('data-history', datasetId, { ...head, copy } satisfies DataHistoryDocument);
  return true;
}

/** Maximum number of versions that one transaction deletes. This takes about ten milliseconds. */
export const DELETED_PER_TRANSACTION = 256;

/**
 * Deletes the contents of a store that is being deleted. @returns number of the last version that
 * `deleteRemainingVersions` must still delete
 */
export async function deleteDataVersions(tx: DocumentTransaction, datasetId: string): Promise<number> {
  const latestVersion = (await readHistory(tx, datasetId))?.latest ?? (await readForgottenVersion(tx, datasetId));
  if (latestVersion === 0) return 0;
  await tx.put('data-history', datasetId, { forgotten: latestVersion } satisfies ForgottenHistory);
  return deleteRemainingVersions(tx, datasetId, await tx.lastNumber('data-version', datasetId));
}

/**
 * Deletes versions that a deleted store left behind, latest first. If a new store has the same id, its versions have
 * greater numbers and remain.
 * @param last last version that may remain @returns the last version that remains; 0 if none remains
 */
export async function deleteRemainingVersions(
  tx: DocumentTransaction,
  datasetId: string,
  last: number,
): Promise<number> {
  let remainingVersion = Math.min(last, await readForgottenVersion(tx, datasetId));
  for (let count = 0; count < DELETED_PER_TRANSACTION; count++, remainingVersion--)
    // version numbers are consecutive
    if (remainingVersion === 0 || !(await tx.delete('data-version', formatNumberedId(datasetId, remainingVersion))))
      return 0;
  return remainingVersion;
}

/** Returns the highest version number that belongs to earlier stores with this id; 0 if there were none. */
async function readForgottenVersion(reader: Reader, datasetId: string): Promise<number> {
  const storedDocument = await reader.get('data-history', datasetId);
  return (
    (parseStored(storedDocument, DataHistoryDocument) ?? parseStored(storedDocument, ForgottenHistory))?.forgotten ?? 0
  );
}

/**
 * Deletes versions of deleted stores that remain because a deletion was interrupted. @cost a listing of the ids of all
 * versions
 */
export async function deleteLeftovers(documents: DocumentStore): Promise<void> {
  const last = new Map<string, number>();
  for (const id of await documents.ids('data-version')) {
    const datasetId = getOwner(id);
    if (parseNumber(id) <= (await readForgottenVersion(documents, datasetId))) last.set(datasetId, parseNumber(id)); // ids in ascending order
  }
  for (const [datasetId, number] of last) await deleteVersions(documents, datasetId, number);
}

/** Deletes the remaining versions of a deleted store. Uses as many transactions as it needs. */
export async function deleteVersions(
  documents: DocumentStore,
  datasetId: string,
  last: number,
  authorship?: Authorship,
): Promise<void> {
  for (let remainingVersion = last; remainingVersion > 0;) {
    const batchEnd = remainingVersion;
    remainingVersion = await documents.transaction((tx) => deleteRemainingVersions(tx, datasetId, batchEnd), {
      by: authorship,
    });
  }
}

/** Returns the number of the first version of a store. It follows the versions of earlier stores with the same id. */
export const getFirst = (head: DataHistoryDocument | undefined): number => (head?.forgotten ?? 0) + 1;

/** Returns the history of a store; undefined if it has none. */
export async function readHistory(reader: Reader, datasetId: string): Promise<DataHistoryDocument | undefined> {
  const storedDocument = await reader.get('data-history', datasetId);
  return parseStored(storedDocument, DataHistoryDocument);
}

/**
 * Returns the hashes of the contents that a store has served. Returns null if some versions are unknown, for example
 * for a store that was served before versions existed.
 * @cost a read per version
 */
export async function listContents(reader: Reader, datasetId: string): Promise<ReadonlySet<string> | null> {
  const head = await readHistory(reader, datasetId);
  const contentHashes = new Set<string>();
  if (head === undefined) return (await readForgottenVersion(reader, datasetId)) > 0 ? contentHashes : null;
  for (let version = getFirst(head); version <= head.latest; version++) {
    const storedDocument = await reader.get('data-version', formatNumberedId(datasetId, version));
    const document = parseStored(storedDocument, DataVersionDocument);
    if (document === undefined) return null;
    contentHashes.add(document.content_hash);
  }
  return contentHashes;
}

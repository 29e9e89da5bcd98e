import { DataVersionDocument, type DataHistoryDocument } from '#domain/documents/data-version-document.js';
import { PublicationBatch } from '#domain/documents/publication-document.js';
import { formatNumberedId } from '#store/document-id.js';
import type { DocumentKind, DocumentTransaction } from '#store/port.js';
import { parseStored, readStored } from '#store/read-stored.js';
import { readRun } from '../stored/run-documents.js';
import { DELETED_PER_TRANSACTION, readHistory } from '../stored/data-history.js';
import { readDataset } from '../stored/dataset-documents.js';

/**
 * Removes old contents of a store beyond the number to keep, but keeps their metadata. Each content is reconstructed
 * from the next one. Therefore the oldest content that a stored run or a published close uses is kept, with all later
 * contents. Removes up to `DELETED_PER_TRANSACTION` contents, oldest first.
 * @returns true if there are more contents to drop
 * @cost of a read of every stored run and published close, if there is something to drop
 */
export async function purgeDataVersions(tx: DocumentTransaction, datasetId: string): Promise<boolean> {
  const storedDocument = await tx.get('store', datasetId);
  const dataset = readStored(storedDocument, readDataset);
  const head = await readHistory(tx, datasetId);
  if (head === undefined || dataset?.versions_kept == null) return false;
  const firstKept = head.latest - dataset.versions_kept + 1;
  if (firstKept <= head.readable_from) return false;
  const last = await findFirstReferencedVersion(tx, { datasetId, head, before: firstKept });
  if (last <= head.readable_from) return false;
  const firstVersion = Math.min(last, head.readable_from + DELETED_PER_TRANSACTION);
  for (let version = head.readable_from + 1; version <= firstVersion; version++) {
    const document = await readVersion(tx, datasetId, version);
    if (document !== undefined)
      await tx.put('data-version', formatNumberedId(datasetId, version), { ...document, change: null });
  }
  await tx.put('data-history', datasetId, { ...head, readable_from: firstVersion } satisfies DataHistoryDocument);
  return firstVersion < last;
}

interface Span {
  readonly datasetId: string;
  readonly head: DataHistoryDocument;
  /** First version that is kept. All later versions are kept as well. */
  readonly before: number;
}

/**
 * Returns the oldest version that a document uses. If no document uses a version, returns the first version to keep.
 */
async function findFirstReferencedVersion(tx: DocumentTransaction, { datasetId, head, before }: Span): Promise<number> {
  const versions = new Map<string, number>();
  for (let version = before - 1; version >= head.readable_from; version--) {
    const document = await readVersion(tx, datasetId, version);
    if (document !== undefined) versions.set(document.content_hash, version);
  }
  let firstReference = before;
  const addReference = (hash: string | null): void => {
    firstReference = Math.min(firstReference, (hash === null ? undefined : versions.get(hash)) ?? before);
  };
  for (const kind of ['run', 'kept-run'] as const)
    for await (const body of readBodies(tx, kind)) {
      const run = readRun(body);
      if (run?.store_id !== datasetId) continue;
      // Such a run used every earlier content for its decisions.
      if ((run.request as { readonly as_known?: unknown }).as_known !== undefined) return head.readable_from;
      addReference(run.store_content_hash);
    }
  for await (const body of readBodies(tx, 'publication'))
    for (const entry of PublicationBatch.safeParse(body).data?.entries ?? []) addReference(entry.data_hash);
  return firstReference;
}

async function* readBodies(tx: DocumentTransaction, kind: DocumentKind): AsyncGenerator<unknown> {
  for (const id of await tx.ids(kind)) {
    const storedDocument = await tx.get(kind, id);
    if (storedDocument !== undefined && !('unreadable' in storedDocument)) yield storedDocument.body;
  }
}

async function readVersion(
  tx: DocumentTransaction,
  datasetId: string,
  version: number,
): Promise<DataVersionDocument | undefined> {
  const storedDocument = await tx.get('data-version', formatNumberedId(datasetId, version));
  return parseStored(storedDocument, DataVersionDocument);
}

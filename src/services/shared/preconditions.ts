import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentTransaction, DocumentKind, StoredDocument, UnreadableDocument } from '#store/port.js';

/**
 * Condition of a client on the stored document. The document must have one of these etags; with `*`, it only has to
 * exist.
 */
export type Precondition = readonly string[] | '*';

/**
 * Refuses a write if the stored document does not meet its precondition. Called inside the transaction that writes, so
 * that no other write can occur between the check and the change:
 *
 * await documents.transaction((tx) => { assertPrecondition(tx, 'index', id, options.ifMatch); return tx.put('index',
 * id, body); });
 *
 * @throws Refusal PRECONDITION_FAILED with the stored etag in `detail.etag`, null if nothing readable is stored
 */
export async function assertPrecondition(
  tx: Pick<DocumentTransaction, 'get'>,
  kind: DocumentKind,
  id: string,
  ifMatch: Precondition | undefined,
): Promise<void> {
  if (ifMatch === undefined) return;
  const etag = findEtag(await tx.get(kind, id));
  if (ifMatch === '*' ? etag !== null : etag !== null && ifMatch.includes(etag)) return;
  const stateText =
    etag === null ? 'nothing readable is stored under the id' : `the stored document has the etag ${etag}`;
  const expectedEtags = ifMatch === '*' ? 'any' : ifMatch.join(', ') || 'none';
  throw new Refusal('PRECONDITION_FAILED', `If-Match names ${expectedEtags}, but ${stateText}.`, { etag });
}

function findEtag(storedDocument: StoredDocument | UnreadableDocument | undefined): string | null {
  return storedDocument !== undefined && 'etag' in storedDocument ? storedDocument.etag : null;
}

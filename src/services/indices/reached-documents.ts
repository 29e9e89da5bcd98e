import type { IndexDocument } from '#domain/documents/index-document.js';
import { listNamedIndices } from '#domain/documents/named-indices.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DocumentReader } from '#store/port.js';
import { reachDocuments } from '../stored/stored-indices.js';
import { addStoredParts } from './stored-parts.js';

/**
 * Returns a document and all documents that it refers to, by id: through universes and through derivations. Watchlists
 * are replaced by their securities.
 * @throws Refusal VALIDATION_FAILED if a referenced document was deleted
 */
export async function resolveReached(
  reader: Pick<DocumentReader, 'get'>,
  document: IndexDocument,
): Promise<Record<string, IndexDocument>> {
  const {
    documents,
    missing: [first],
  } = await reachDocuments(reader, document);
  if (first !== undefined) throw refuseWithFindings('index document', [createMissingReference(first.at, first.next)]);
  const entries: (readonly [string, IndexDocument])[] = [];
  for (const reachedDocument of documents)
    entries.push([reachedDocument.id, await addStoredParts(reader, reachedDocument)]);
  return Object.fromEntries(entries); // `fromEntries` makes every id an own key, including __proto__
}

function createMissingReference(document: IndexDocument, next: string): Finding {
  const message = `The index ${document.id} refers to ${next}, which is not stored.`;
  const path = listNamedIndices(document).find(({ id }) => id === next)!.path; // the reference was read from this path
  return { severity: 'error', code: 'UNKNOWN_INDEX', path, message, value: next };
}

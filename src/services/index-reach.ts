import { IndexDocument, isDerivedDocument } from '#domain/documents/index-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusal.js';
import type { DocumentStore, DocumentTransaction } from '#store/documents.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get'>;

/** A stored index document. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
export function requireIndexDocument(reader: Reader, indexId: string): IndexDocument {
  const stored = reader.get('index', indexId);
  if (stored === undefined) throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
  const parsed = 'unreadable' in stored ? undefined : IndexDocument.safeParse(stored.body);
  if (!parsed?.success) throw new Refusal('DOCUMENT_UNREADABLE', `The index ${indexId} cannot be read; it can still be deleted.`);
  return parsed.data;
}

/**
 * A document and every stored one it reaches through its universe or derivation, by id.
 * @throws Refusal VALIDATION_FAILED when one of them is missing, cannot be read, or reaches itself
 */
export function reachedDocuments(reader: Reader, document: IndexDocument): Record<string, IndexDocument> {
  const reached = new Map<string, IndexDocument>();
  const visit = (next: IndexDocument, trail: readonly string[]): void => {
    reached.set(next.id, next);
    const reference = referenceOf(next);
    if (reference === undefined) return;
    if ([...trail, next.id].includes(reference.id)) {
      throw refuseWithFindings('index document', [
        { severity: 'error', code: 'CIRCULAR_REFERENCE', message: `The index ${reference.id} reaches itself through ${[...trail, next.id].join(', ')}.`, path: reference.path },
      ]);
    }
    if (!reached.has(reference.id)) visit(referredDocument(reader, reference), [...trail, next.id]);
  };
  visit(document, []);
  return Object.fromEntries([...reached].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

interface Reference {
  readonly id: string;
  readonly path: string;
}

function referenceOf(document: IndexDocument): Reference | undefined {
  if (isDerivedDocument(document)) return { id: document.derivation.source_index_id, path: 'derivation.source_index_id' };
  const { universe } = document;
  return universe?.kind === 'index' && typeof universe.id === 'string' ? { id: universe.id, path: 'universe.id' } : undefined;
}

function referredDocument(reader: Reader, { id, path }: Reference): IndexDocument {
  const stored = reader.get('index', id);
  const parsed = stored === undefined || 'unreadable' in stored ? undefined : IndexDocument.safeParse(stored.body);
  if (parsed?.success) return parsed.data;
  const message = stored === undefined ? `No index is stored under the id ${id}.` : `The index ${id} cannot be read.`;
  throw refuseWithFindings('index document', [{ severity: 'error', code: 'UNKNOWN_INDEX', message, path, value: id }]);
}

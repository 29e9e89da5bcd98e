import type { IndexDocument } from '#domain/documents/index-document.js';
import { isDerivedDocument } from '#domain/documents/index-document.js';
import { readIndex } from '#domain/documents/validate-index.js';
import { Refusal } from '#domain/refusal.js';
import type { DocumentStore, DocumentTransaction, StoredDocument } from '#store/documents.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get' | 'ids'>;

/** A stored definition with the etag of its document. */
export interface StoredIndex {
  readonly document: IndexDocument;
  readonly etag: string;
}

/** @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
export function requireIndex(reader: Pick<Reader, 'get'>, indexId: string): StoredIndex {
  const stored = reader.get('index', indexId);
  if (stored === undefined) throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
  const document = 'unreadable' in stored ? undefined : readIndex(stored.body);
  if (document === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The index ${indexId} cannot be read; it can still be deleted.`, { index_id: indexId });
  return { document, etag: (stored as StoredDocument).etag }; // readable, as its document was
}

/** A stored definition, undefined when there is none that can be read. */
export function findIndex(reader: Pick<Reader, 'get'>, indexId: string): IndexDocument | undefined {
  const stored = reader.get('index', indexId);
  return stored === undefined || 'unreadable' in stored ? undefined : readIndex(stored.body);
}

/** Ids of the indices derived from one, directly, in code-point order. @cost reads every stored index */
export function childrenOf(reader: Reader, indexId: string): string[] {
  return reader.ids('index').filter((id) => {
    const document = findIndex(reader, id);
    return document !== undefined && isDerivedDocument(document) && document.derivation.source_index_id === indexId;
  });
}

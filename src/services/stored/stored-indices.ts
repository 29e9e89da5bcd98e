import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  listSources,
} from '#domain/documents/index-document.js';
import { listTexts } from '#domain/documents/amended-texts.js';
import { listReferences } from '#domain/checks/validate-reference.js';
import { readIndex } from '#domain/checks/validate-index.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore, DocumentTransaction, StoredDocument } from '#store/port.js';
import { readStored } from '#store/read-stored.js';

type Reader = Pick<DocumentStore | DocumentTransaction, 'get' | 'ids'>;

/** Stored definition with the etag of its document. */
export interface StoredIndex {
  readonly document: IndexDocument;
  readonly etag: string;
}

/** Returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireIndex(reader: Pick<Reader, 'get'>, indexId: string): Promise<StoredIndex> {
  const storedDocument = await reader.get('index', indexId);
  if (storedDocument === undefined)
    throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
  const document = readStored(storedDocument, readIndex);
  if (document === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The index ${indexId} cannot be read; it can still be deleted.`, {
      index_id: indexId,
    });
  return { document, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

/** Returns a stored definition. Returns undefined if it is not stored or is unreadable. */
export async function findIndex(reader: Pick<Reader, 'get'>, indexId: string): Promise<IndexDocument | undefined> {
  const storedDocument = await reader.get('index', indexId);
  return readStored(storedDocument, readIndex);
}

/** Definition and all definitions that it refers to, directly or through others: by universes and by derivations. */
export interface ReachedDocuments {
  /** Distinct definitions, the definition itself first. */
  readonly documents: readonly IndexDocument[];
  /** References to indices that are not stored. */
  readonly missing: readonly { readonly at: IndexDocument; readonly next: string }[];
}

/** Reads all definitions that a definition refers to, directly or through others. @cost a read of each */
export async function reachDocuments(
  reader: Pick<Reader, 'get'>,
  definition: IndexDocument,
): Promise<ReachedDocuments> {
  const reachedDocuments = new Map<string, IndexDocument>();
  const missingReferences: { at: IndexDocument; next: string }[] = [];
  const reachParents = async (document: IndexDocument): Promise<void> => {
    reachedDocuments.set(document.id, document);
    for (const next of listReferences(document)) {
      if (reachedDocuments.has(next)) continue;
      const foundIndex = await findIndex(reader, next);
      if (foundIndex === undefined) missingReferences.push({ at: document, next });
      else await reachParents(foundIndex);
    }
  };
  await reachParents(definition);
  return { documents: [...reachedDocuments.values()], missing: missingReferences };
}

/**
 * Returns the sources of all derived indices and overlays by their ids, in code-point order, and the ids of all stored
 * indices. An amendment may name further sources.
 * @cost reads every stored index
 */
export async function readSources(reader: Reader): Promise<{
  readonly stored: ReadonlySet<string>;
  readonly sourcesOf: ReadonlyMap<string, readonly string[]>;
}> {
  const stored = await reader.ids('index');
  const sourcesOf = new Map<string, readonly string[]>();
  for (const id of stored) {
    const document = await findIndex(reader, id);
    if (document === undefined) continue;
    const sources = new Set(listTexts(document).flatMap(({ document: text }) => listSourcesOf(text)));
    if (sources.size > 0) sourcesOf.set(id, [...sources]);
  }
  return { stored: new Set(stored), sourcesOf };
}

function listSourcesOf(document: IndexDocument): readonly string[] {
  if (isOverlayDocument(document)) return listSources(document);
  return isDerivedDocument(document) ? [document.derivation.source_index_id] : [];
}

/**
 * Function that returns a stored definition by its id. It returns undefined if the definition is not stored or is
 * unreadable.
 */
export type IndexLookup = (indexId: string) => IndexDocument | undefined;

/** Access to stored definitions for synchronous functions. */
export interface StoredIndices {
  /**
   * Calls a function on indices and returns its result. Reads every definition that the function looks up.
   * @param ask must have no effects: it is called again whenever it looked up ids that had not been read
   */
  answer<T>(ask: (indexOf: IndexLookup) => T): Promise<T>;
}

/** Creates a reader for one request or transaction. It reads each definition once. */
export function createStoredIndices(reader: Pick<Reader, 'get'>): StoredIndices {
  const documentsById = new Map<string, IndexDocument | undefined>();
  return {
    async answer(ask) {
      for (;;) {
        const unreadIds = new Set<string>();
        const answer = ask((id) => {
          if (!documentsById.has(id)) unreadIds.add(id);
          return documentsById.get(id);
        });
        if (unreadIds.size === 0) return answer;
        for (const id of unreadIds) documentsById.set(id, await findIndex(reader, id));
      }
    },
  };
}

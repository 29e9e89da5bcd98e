import type { Authorship } from '#domain/documents/version-document.js';
import { MISSING_CODES } from '#domain/documents/named-documents.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentKind, DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { assertPrecondition, type Precondition } from './preconditions.js';

export interface PageQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

export interface StoredEntry<D> {
  readonly document: D;
  readonly etag: string;
  readonly updatedAt: string;
}

/** Documents of one kind. Each is read, written and removed as a whole. */
export interface StoredFamily<D> {
  /** Returns a document. @throws the not-found refusal of the kind, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredEntry<D>>;
  /** Returns a page of readable documents in the order of their ids. `show` converts each document. */
  page<T>({ limit, after }: PageQuery, show: (id: string) => Promise<T>): Promise<StoredPage<T>>;
  /** Creates or replaces a document. @throws Refusal PRECONDITION_FAILED */
  put(id: string, document: D, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /** Removes a document. @throws the not-found refusal of the kind, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

type Skipped = Omit<Awaited<ReturnType<DocumentStore['list']>>, 'documents'>;

export interface StoredPage<T> extends Skipped {
  readonly items: T[];
}

interface Family<D> {
  readonly kind: DocumentKind;
  /** Noun for a document in messages. Example: the word watchlist gives `the watchlist desk`. */
  readonly word: string;
  read(body: unknown): D | undefined;
}

export function openStoredFamily<D extends object>(
  documents: DocumentStore,
  { kind, word, read }: Family<D>,
): StoredFamily<D> {
  // MISSING_CODES has a code for each kind of this family
  const createNotFound = (id: string) =>
    new Refusal(MISSING_CODES.get(kind)!, `No ${word} is stored under the id ${id}.`);
  return {
    async get(id) {
      const storedDocument = await documents.get(kind, id);
      if (storedDocument === undefined) throw createNotFound(id);
      const document = readStored(storedDocument, read);
      if ('unreadable' in storedDocument || document === undefined)
        throw new Refusal('DOCUMENT_UNREADABLE', `The ${word} ${id} cannot be read; it can still be deleted.`);
      return { document, etag: storedDocument.etag, updatedAt: storedDocument.updatedAt };
    },
    async page({ limit, after }, toEntry) {
      const ids = new Set((await documents.ids(kind)).filter((id) => after === undefined || id > after));
      const { documents: readableEntries, ...skipped } = await documents.list(kind, (body, id) => read(body) && { id });
      const page = readableEntries.filter(({ id }) => ids.has(id)).slice(0, limit);
      return { items: await Promise.all(page.map(({ id }) => toEntry(id))), ...skipped };
    },
    async put(id, document, ifMatch, authorship) {
      const write = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, kind, id, ifMatch);
        await tx.put(kind, id, document);
      };
      await documents.transaction(write, { by: authorship });
    },
    async remove(id, ifMatch, authorship) {
      if ((await documents.get(kind, id)) === undefined) throw createNotFound(id);
      const deleteDocument = async (tx: DocumentTransaction): Promise<void> => {
        await assertPrecondition(tx, kind, id, ifMatch);
        await tx.delete(kind, id);
      };
      await documents.transaction(deleteDocument, { by: authorship });
    },
  };
}

import { Buffer } from 'node:buffer';
import { webcrypto } from 'node:crypto';
import type { Finding } from '#domain/base/findings.js';
import { Refusal } from '#domain/base/refusals.js';
import { MISSING_CODES } from '#domain/definition/reach.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type ArtifactRef,
  type ArtifactStore,
  type DocumentKind,
  type DocumentStore,
  type DocumentTransaction,
  type Listing,
  readStoredBody,
  type StoredDocument,
  type UnreadableCause,
  type UnreadableDocument,
} from '#store/port.js';
import { mapInTurns } from '#store/reach.js';

/** Checks that a body has no id, or the same id as its path. @throws Refusal ID_MISMATCH */
export function assertIdOfPath(inPath: string, body: Readonly<Record<string, unknown>>, field = 'id'): void {
  const id = body[field];
  if (typeof id !== 'string' || id === inPath) return;
  const message = `The ${field} ${id} in the body is not the id ${inPath} in the path.`;
  throw new Refusal('ID_MISMATCH', message, {
    findings: [{ severity: 'error', code: 'ID_MISMATCH', path: field, message, value: id }],
  });
}

/** States that a new document has the id of a stored one. @param noun noun of such a document with its article */
export const formatTakenId = (noun: string, id: string): string =>
  `${noun} is already stored under the id ${id}. Choose another id, or replace the ${noun.replace(/^An? /, '')}.`;

/**
 * Returns a finding if a document of the same kind already has the id of a new document. @param name noun of such a
 * document
 */
export async function listTakenIdFindings(
  tx: Pick<DocumentTransaction, 'get'>,
  { kind, name, id }: { readonly kind: DocumentKind; readonly name: string; readonly id: unknown },
): Promise<readonly Finding[]> {
  if (typeof id !== 'string' || (await tx.get(kind, id)) === undefined) return [];
  const message = formatTakenId(name, id);
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}

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

/** Numbers of stored documents that a listing leaves out, in total and by cause. */
export interface Skipped {
  skipped: number;
  skipped_causes: Record<UnreadableCause, number>;
}

export function addUnreadable(
  { skipped, skipped_causes: causes }: Pick<Listing<unknown>, 'skipped' | 'skipped_causes'>,
  unreadableCount: number,
): Skipped {
  return {
    skipped: skipped + unreadableCount,
    skipped_causes: { ...causes, unreadable: causes.unreadable + unreadableCount },
  };
}

export function countSkipped(causes: readonly UnreadableCause[]): Skipped {
  const count = (cause: UnreadableCause): number =>
    causes.filter((unreadableCause) => unreadableCause === cause).length;
  return {
    skipped: causes.length,
    skipped_causes: { unreadable: count('unreadable'), invalid: count('invalid'), unsupported: count('unsupported') },
  };
}

export function sumSkipped(...listings: readonly Pick<Listing<unknown>, 'skipped' | 'skipped_causes'>[]): Skipped {
  const sum = countSkipped([]);
  for (const { skipped, skipped_causes: causes } of listings) {
    sum.skipped += skipped;
    for (const cause of ['unreadable', 'invalid', 'unsupported'] as const) sum.skipped_causes[cause] += causes[cause];
  }
  return sum;
}

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
  page<T>({ limit, after }: PageQuery, show: (id: string, entry: StoredEntry<D>) => Promise<T>): Promise<StoredPage<T>>;
  /** Creates or replaces a document. @throws Refusal PRECONDITION_FAILED */
  put(id: string, document: D, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
  /** Removes a document. @throws the not-found refusal of the kind, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

type SkippedDocument = Omit<Awaited<ReturnType<DocumentStore['list']>>, 'documents'>;

export interface StoredPage<T> extends SkippedDocument {
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
      const document = readStoredBody(storedDocument, read);
      if ('unreadable' in storedDocument || document === undefined)
        throw new Refusal('DOCUMENT_UNREADABLE', `The ${word} ${id} cannot be read; it can still be deleted.`);
      return { document, etag: storedDocument.etag, updatedAt: storedDocument.updatedAt };
    },
    async page<T>({ limit, after }: PageQuery, show: (id: string, entry: StoredEntry<D>) => Promise<T>) {
      const { documents: entries, ...skipped } = await documents.list(kind, (body, id, { etag, updatedAt }) => {
        const document = read(body);
        return document && { id, entry: { document, etag, updatedAt } };
      });
      const page = entries.filter(({ id }) => after === undefined || id > after).slice(0, limit);
      return { items: await mapInTurns(page, ({ id, entry }) => show(id, entry)), ...skipped };
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

/** Hashes bytes outside the event loop and writes them as an artifact. @throws the refusals of `ArtifactStore.write` */
export async function writeHashed(artifacts: Pick<ArtifactStore, 'write'>, bytes: Uint8Array): Promise<ArtifactRef> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return artifacts.write(bytes, Buffer.from(digest).toString('hex'));
}

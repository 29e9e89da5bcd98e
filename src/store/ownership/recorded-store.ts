import type { DocumentReader, DocumentTransaction } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** Record of a database about its artifact store. */
export interface RecordedStore {
  readonly store_id: string;
  /** True after the marker file has been written to the artifact store. It is never created again afterwards. */
  readonly is_marked: boolean;
  /** Ownership of the store. It is absent until a process has acquired it, as in databases of version 0.2.0. */
  readonly ownership?: RecordedOwnership | undefined;
}

/**
 * Lease on an artifact store. Its token changes in the store and in this record, so that a copy of the database becomes
 * outdated.
 */
export interface RecordedOwnership {
  /** Token in the marker since the last renewal. */
  readonly token: string | null;
  /** Pending token; null between renewals. */
  readonly next: string | null;
  /** Earlier tokens, newest first. A delayed write may restore one of them. */
  readonly earlier: readonly string[];
  /** Process that renews the lease. */
  readonly holder: string;
}

const DOCUMENT_KIND = 'artifact-store';
const DOCUMENT_ID = 'shared';

/** Returns the record. Returns undefined if there is none. @throws StartRefusal 78 if it is unreadable */
export async function readRecordedStore(documents: Pick<DocumentReader, 'get'>): Promise<RecordedStore | undefined> {
  const storedDocument = await documents.get(DOCUMENT_KIND, DOCUMENT_ID);
  if (storedDocument === undefined) return undefined;
  const { store_id, is_marked, ownership } = (
    'unreadable' in storedDocument ? {} : storedDocument.body
  ) as Partial<RecordedStore>; // written only by `recordStore`
  if (typeof store_id !== 'string' || typeof is_marked !== 'boolean')
    throw createMismatchRefusal('The record of the results storage in the database cannot be read.');
  return { store_id, is_marked, ownership };
}

export async function recordStore(
  tx: Pick<DocumentTransaction, 'put'>,
  { ownership, ...store }: RecordedStore,
): Promise<void> {
  await tx.put(DOCUMENT_KIND, DOCUMENT_ID, { ...store, ...(ownership && { ownership }) });
}

export const createMismatchRefusal = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);

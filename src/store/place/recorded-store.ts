import type { DocumentReader, DocumentTransaction } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** What a database says of its place for artifacts. */
export interface RecordedStore {
  readonly store_id: string;
  /** Whether the place has its marker: from then on it is never made again. */
  readonly is_marked: boolean;
  /** Absent until a process has taken the ownership, as in databases of version 0.2.0. */
  readonly ownership?: RecordedOwnership | undefined;
}

/** The lease on a place: its token changes in the place and here, so that a copy of the database is left behind. */
export interface RecordedOwnership {
  /** In the place since the last renewal. */
  readonly token: string | null;
  /** On the way to the place; null between renewals. */
  readonly next: string | null;
  /** Earlier tokens, newest first: a delayed write may bring one back. */
  readonly earlier: readonly string[];
  /** Process that renews. */
  readonly holder: string;
}

const KIND = 'artifact-store';
const ID = 'shared';

/** @throws StartRefusal 78 when the record cannot be read */
export async function recordedStore(documents: Pick<DocumentReader, 'get'>): Promise<RecordedStore | undefined> {
  const found = await documents.get(KIND, ID);
  if (found === undefined) return undefined;
  const { store_id, is_marked, ownership } = ('unreadable' in found ? {} : found.body) as Partial<RecordedStore>; // Written below alone.
  if (typeof store_id !== 'string' || typeof is_marked !== 'boolean')
    throw misfit('What the database says of its place for results cannot be read.');
  return { store_id, is_marked, ownership };
}

export async function recordStore(
  tx: Pick<DocumentTransaction, 'put'>,
  { ownership, ...store }: RecordedStore,
): Promise<void> {
  await tx.put(KIND, ID, { ...store, ...(ownership && { ownership }) });
}

export const misfit = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);

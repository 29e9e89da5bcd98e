import { isUnavailable } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { Clock } from './clock.js';

export interface PatientDocumentsOptions {
  readonly documents: DocumentStore;
  readonly clock: Pick<Clock, 'after'>;
  /** Whether nobody waits any more: a read that cannot be made is refused then. */
  readonly isOver: () => boolean;
}

/** How long a database that cannot be read is left alone. */
const AGAIN_MS = 500;

/**
 * Documents as work reads them that has run for long: a read while the database is away waits until it is back, and what
 * was computed before it stays. Whether the work still counts is asked when it ends.
 */
export function patientDocuments({ documents, clock, isOver }: PatientDocumentsOptions): DocumentStore {
  async function waiting<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (thrown) {
        if (!isUnavailable(thrown) || isOver()) throw thrown;
      }
      await new Promise<void>((resolve) => void clock.after(AGAIN_MS, resolve));
    }
  }

  return {
    ...documents,
    get: (kind, id) => waiting(() => documents.get(kind, id)),
    ids: (kind) => waiting(() => documents.ids(kind)),
    lastNumber: (kind, owner) => waiting(() => documents.lastNumber(kind, owner)),
    revision: (kind) => waiting(() => documents.revision(kind)),
    list: (kind, readBody) => waiting(() => documents.list(kind, readBody)),
  };
}

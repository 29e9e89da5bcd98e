import { isUnavailable } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import type { Clock } from './clock.js';

export interface PatientDocumentsOptions {
  readonly documents: DocumentStore;
  readonly clock: Pick<Clock, 'after'>;
  /** Returns true once no caller waits. A read that fails then throws a refusal. */
  readonly isOver: () => boolean;
}

/** Delay before another attempt to read the database. */
const RETRY_DELAY_MS = 500;

/**
 * Wraps documents for long work. A read waits while the database is unavailable, so that computed results are not lost.
 * The end of the work checks whether its result is still needed.
 */
export function createPatientDocuments({ documents, clock, isOver }: PatientDocumentsOptions): DocumentStore {
  async function readPatiently<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await read();
      } catch (thrown) {
        if (!isUnavailable(thrown) || isOver()) throw thrown;
      }
      await new Promise<void>((resolve) => void clock.after(RETRY_DELAY_MS, resolve));
    }
  }

  return {
    ...documents,
    get: (kind, id) => readPatiently(() => documents.get(kind, id)),
    ids: (kind) => readPatiently(() => documents.ids(kind)),
    lastNumber: (kind, owner) => readPatiently(() => documents.lastNumber(kind, owner)),
    numbers: (kind, owner, query) => readPatiently(() => documents.numbers(kind, owner, query)),
    revision: (kind) => readPatiently(() => documents.revision(kind)),
    list: (kind, readBody) => readPatiently(() => documents.list(kind, readBody)),
  };
}

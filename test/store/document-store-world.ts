import { afterEach } from 'vitest';
import type { DocumentEngine, DocumentEngineOptions, DocumentsReader, StoredDocument } from '#store/port.js';

/** Data of an engine that a contract test opens, reopens and discards. */
export interface OpenedStore {
  readonly store: DocumentEngine;
  /** Closes the store and opens it again on the same data with the same options. */
  reopen(): Promise<DocumentEngine>;
  /** Opens the documents as another process does. */
  reader(): Promise<DocumentsReader>;
  /** Opens the store of another process on the same data, for an engine that serves several; closed by `discard`. */
  beside?(): Promise<DocumentEngine>;
  /** Closes every store and removes the data. */
  discard(): Promise<void>;
}

export type OpenStore = (options: DocumentEngineOptions) => Promise<OpenedStore>;

/** Opens stores that are discarded after the test. */
export interface Stores {
  open(options?: DocumentEngineOptions): Promise<OpenedStore>;
}

export function createStores(open: OpenStore): Stores {
  const opened: OpenedStore[] = [];
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.discard();
  });
  return {
    async open(options = {}) {
      const store = await open(options);
      opened.push(store);
      return store;
    },
  };
}

/** Returns the body of a document that must exist. */
export function bodyOf<T>(found: unknown): T {
  return (found as StoredDocument).body as T;
}

/** Compares by code points; UTF-16, which `sort` uses, orders differently beyond the basic plane. */
export function computeByCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

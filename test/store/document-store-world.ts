import { afterEach } from 'vitest';
import type { DocumentEngine, DocumentEngineOptions, DocumentsReader, StoredDocument } from '#store/port.js';

/** Data of an engine. A test opens it, opens it again and discards it. */
export interface OpenedStore {
  readonly store: DocumentEngine;
  /** Closes the store and opens it again on the same data with the same options. */
  reopen(): Promise<DocumentEngine>;
  /** Opens the documents for reading, as another process would. */
  reader(): Promise<DocumentsReader>;
  /** Opens the store as another process would, if the engine serves several processes. `discard` closes it. */
  beside?(): Promise<DocumentEngine>;
  /** Closes all stores and deletes the data. */
  discard(): Promise<void>;
}

export type OpenStore = (options: DocumentEngineOptions) => Promise<OpenedStore>;

/** Functions that open stores. Every store is discarded after the test. */
export interface Stores {
  open(options?: DocumentEngineOptions): Promise<OpenedStore>;
}

export function createStores(open: OpenStore): Stores {
  const openedStores: OpenedStore[] = [];
  afterEach(async () => {
    for (const store of openedStores.splice(0)) await store.discard();
  });
  return {
    async open(options = {}) {
      const store = await open(options);
      openedStores.push(store);
      return store;
    },
  };
}

/** Returns the body of a document. @throws Error if the document does not exist */
export function readBody<T>(document: unknown): T {
  return (document as StoredDocument).body as T;
}

/**
 * Compares strings by code points. `sort` compares UTF-16 units, which have another order beyond the basic multilingual
 * plane.
 */
export function computeByCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

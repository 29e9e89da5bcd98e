import type { FoundDocument, StoredDocument } from '../port.js';

/** Maximum bytes of stored values whose documents are cached. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** Maximum size of a cached document. */
const DOCUMENT_BYTES = 256 * 1024;
/** Share of a full cache that is kept when it evicts: a search for the oldest entry passes deleted ones. */
const STAYING = 7 / 8;

/**
 * Cache of documents that were read twice, by key: verified, parsed and frozen. A commit that changes one drops it,
 * after which one read caches it again. A document read once leaves only its key, so that a walk over many documents
 * neither fills the cache nor costs much. Only this process writes the documents of a home, so no entry becomes stale.
 */
export interface DocumentCache {
  /** Returns the document of a key; reads and opens the stored value if it is not cached. */
  find(key: string, read: () => Buffer | undefined, open: (value: Buffer) => FoundDocument): FoundDocument;
  /** Drops the keys that a commit wrote or deleted. */
  drop(keys: Iterable<string>): void;
}

interface Entry {
  readonly document: StoredDocument;
  readonly bytes: number;
}

/** @param bytesMax of stored values; the least recently read documents are evicted first */
export function createDocumentCache(bytesMax: number = CACHE_BYTES): DocumentCache {
  const entries = createRecency<Entry>(bytesMax);
  const readOnce = createRecency<{ readonly bytes: number }>(bytesMax);

  return {
    find(key, read, open) {
      const known = entries.touch(key);
      if (known !== undefined) return known.document;
      const value = read();
      if (value === undefined) return undefined;
      const result = open(value);
      if (result === undefined || 'unreadable' in result || value.length > Math.min(DOCUMENT_BYTES, bytesMax))
        return result;
      const bytes = value.length;
      if (readOnce.remove(key)) entries.add(key, { document: deepFreeze(result), bytes });
      else readOnce.add(key, { bytes });
      return result;
    },
    drop(keys) {
      for (const key of keys) {
        const known = entries.touch(key);
        entries.remove(key);
        readOnce.remove(key);
        if (known !== undefined) readOnce.add(key, { bytes: known.bytes }); // a frequently read document will be read again
      }
    },
  };
}

interface Recency<T> {
  /** Returns the value of a key and makes it the most recent. */
  touch(key: string): T | undefined;
  add(key: string, value: T): void;
  /** @returns true if it existed */
  remove(key: string): boolean;
}

/** Keeps the most recent values by key, at most `bytesMax` in total. */
function createRecency<T extends { readonly bytes: number }>(bytesMax: number): Recency<T> {
  const values = new Map<string, T>(); // the least recent first
  let held = 0;

  function remove(key: string): boolean {
    const value = values.get(key);
    if (value === undefined) return false;
    values.delete(key);
    held -= value.bytes;
    return true;
  }

  function makeRoom(): void {
    for (const oldest of values.keys()) {
      if (held <= bytesMax * STAYING) break;
      remove(oldest);
    }
  }

  return {
    touch(key) {
      const value = values.get(key);
      if (value === undefined) return undefined;
      values.delete(key);
      values.set(key, value);
      return value;
    },
    add(key, value) {
      values.set(key, value);
      held += value.bytes;
      if (held > bytesMax) makeRoom();
    },
    remove,
  };
}

/** Freezes a JSON value, so that a change of a shared value throws. The depth is that of a stored document. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // A parsed value has no inherited members, and `for in` allocates no list of keys.
  for (const name in value) {
    const member = value[name];
    if (typeof member === 'object') deepFreeze(member);
  }
  return Object.freeze(value);
}

import type { DocumentLookup, StoredDocument } from '../port.js';

/** Maximum total size of the stored values of cached documents, in bytes. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** Maximum size of a cached document, in bytes. */
const DOCUMENT_BYTES = 256 * 1024;
/**
 * Share of a full cache that stays when entries are evicted. Several entries are evicted at once, because the search
 * for the oldest entry also passes deleted entries.
 */
const RETAINED_SHARE = 7 / 8;

/**
 * Cache of documents that were read at least twice, by key. They are verified, parsed and frozen. A commit that changes
 * a document removes it from the cache, and one read then caches it again. For a document that was read once, only the
 * key is stored, so that a walk over many documents neither fills the cache nor costs much. Only this process writes
 * the documents of a home, so that no entry becomes outdated.
 */
export interface DocumentCache {
  /** Returns the document of a key. If it is not cached, reads and opens the stored value. */
  find(key: string, read: () => Buffer | undefined, open: (value: Buffer) => DocumentLookup): DocumentLookup;
  /** Removes the keys that a commit has written or deleted. */
  drop(keys: Iterable<string>): void;
}

interface Entry {
  readonly document: StoredDocument;
  readonly bytes: number;
}

/**
 * Creates a cache. @param bytesMax limit of stored values. The documents whose last read is oldest are evicted first
 */
export function createDocumentCache(bytesMax: number = CACHE_BYTES): DocumentCache {
  const entries = createRecency<Entry>(bytesMax);
  const singleReads = createRecency<{ readonly bytes: number }>(bytesMax);

  return {
    find(key, read, open) {
      const entry = entries.touch(key);
      if (entry !== undefined) return entry.document;
      const value = read();
      if (value === undefined) return undefined;
      const result = open(value);
      if (result === undefined || 'unreadable' in result || value.length > Math.min(DOCUMENT_BYTES, bytesMax))
        return result;
      const bytes = value.length;
      if (singleReads.remove(key)) entries.add(key, { document: deepFreeze(result), bytes });
      else singleReads.add(key, { bytes });
      return result;
    },
    drop(keys) {
      for (const key of keys) {
        const entry = entries.touch(key);
        entries.remove(key);
        singleReads.remove(key);
        if (entry !== undefined) singleReads.add(key, { bytes: entry.bytes }); // a frequently read document will be read again
      }
    },
  };
}

interface Recency<T> {
  /** Returns the value of a key and marks it as the most recent. */
  touch(key: string): T | undefined;
  add(key: string, value: T): void;
  /** @returns true if the key existed */
  remove(key: string): boolean;
}

/** Creates a map that keeps the most recent values by key, at most `bytesMax` in total. */
function createRecency<T extends { readonly bytes: number }>(bytesMax: number): Recency<T> {
  const values = new Map<string, T>(); // least recent first
  let heldBytes = 0;

  function remove(key: string): boolean {
    const value = values.get(key);
    if (value === undefined) return false;
    values.delete(key);
    heldBytes -= value.bytes;
    return true;
  }

  function evict(): void {
    for (const oldest of values.keys()) {
      if (heldBytes <= bytesMax * RETAINED_SHARE) break;
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
      heldBytes += value.bytes;
      if (heldBytes > bytesMax) evict();
    },
    remove,
  };
}

/**
 * Freezes a JSON value, so that a change of a shared value throws. The limit on the depth of a stored document also
 * limits the recursion.
 */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // A parsed value has no inherited members, and `for in` allocates no list of keys.
  for (const name in value) {
    const member = value[name];
    if (typeof member === 'object') deepFreeze(member);
  }
  return Object.freeze(value);
}

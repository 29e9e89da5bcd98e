import type { FoundDocument, StoredDocument } from '../port.js';

/** Bytes of stored values whose documents stay in memory. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** A larger document is read each time. */
const DOCUMENT_BYTES = 256 * 1024;
/** Share of a full cache that stays when it makes room: a search for the oldest entry passes those deleted before it. */
const STAYING = 7 / 8;

/**
 * Documents that were read twice, by key: verified and parsed, frozen, dropped by the commit that changes them, after
 * which one read is enough. A document read once leaves only its key, so that a walk over more documents than fit neither fills the cache nor pays
 * for it. Only this process writes the documents of a home, so nothing else can make an entry untrue.
 */
export interface DocumentCache {
  /** The document of a key; the stored value is read and opened when the cache lacks it. */
  find(key: string, read: () => Buffer | undefined, open: (value: Buffer) => FoundDocument): FoundDocument;
  /** Drops what a commit wrote or deleted. */
  drop(keys: Iterable<string>): void;
}

interface Entry {
  readonly document: StoredDocument;
  readonly bytes: number;
}

/** @param bytesMax of stored values; the least recently read documents leave first */
export function createDocumentCache(bytesMax: number = CACHE_BYTES): DocumentCache {
  const entries = createRecency<Entry>(bytesMax);
  const readOnce = createRecency<{ readonly bytes: number }>(bytesMax);

  return {
    find(key, read, open) {
      const known = entries.touch(key);
      if (known !== undefined) return known.document;
      const value = read();
      if (value === undefined) return undefined;
      const found = open(value);
      if (found === undefined || 'unreadable' in found || value.length > Math.min(DOCUMENT_BYTES, bytesMax))
        return found;
      const bytes = value.length;
      if (readOnce.remove(key)) entries.add(key, { document: deepFreeze(found), bytes });
      else readOnce.add(key, { bytes });
      return found;
    },
    drop(keys) {
      for (const key of keys) {
        const known = entries.touch(key);
        entries.remove(key);
        readOnce.remove(key);
        if (known !== undefined) readOnce.add(key, { bytes: known.bytes }); // What was read often will be again.
      }
    },
  };
}

interface Recency<T> {
  /** What is under a key, from now on the most recent. */
  touch(key: string): T | undefined;
  add(key: string, value: T): void;
  /** @returns whether it was there */
  remove(key: string): boolean;
}

/** Values by key, the most recent of them: no more than `bytesMax` in all. */
function createRecency<T extends { readonly bytes: number }>(bytesMax: number): Recency<T> {
  const values = new Map<string, T>(); // The least recent first.
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

/** Freezes a JSON value: whoever changes what others read gets an error. The depth is that of a stored document. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // A parsed value has no inherited members, and `for in` makes no list of them.
  for (const name in value) {
    const member = value[name];
    if (typeof member === 'object') deepFreeze(member);
  }
  return Object.freeze(value);
}

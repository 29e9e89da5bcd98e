import type { FoundDocument, StoredDocument } from '../port.js';

/** Bytes of stored values whose documents stay in memory. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** A larger document is read each time. */
const DOCUMENT_BYTES = 256 * 1024;
/** Share of a full cache that stays when it makes room: a search for the oldest entry passes those deleted before it. */
const STAYING = 7 / 8;

/**
 * Documents as they were last read, by key: verified and parsed once, frozen, dropped by the commit that changes them.
 * Only this process writes the documents of a home, so nothing else can make an entry untrue.
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
  const entries = new Map<string, Entry>(); // The least recently read first.
  let held = 0;

  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    held -= entry.bytes;
  }

  function makeRoom(): void {
    for (const oldest of entries.keys()) {
      if (held <= bytesMax * STAYING) break;
      remove(oldest);
    }
  }

  return {
    find(key, read, open) {
      const known = entries.get(key);
      if (known !== undefined) {
        entries.delete(key);
        entries.set(key, known);
        return known.document;
      }
      const value = read();
      if (value === undefined) return undefined;
      const found = open(value);
      if (found === undefined || 'unreadable' in found || value.length > Math.min(DOCUMENT_BYTES, bytesMax))
        return found;
      entries.set(key, { document: deepFreeze(found), bytes: value.length });
      held += value.length;
      if (held > bytesMax) makeRoom();
      return found;
    },
    drop(keys) {
      for (const key of keys) remove(key);
    },
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

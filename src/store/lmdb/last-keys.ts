import type { CommitWrites } from './commit-queue.js';

/** Maximum number of owners with a cached last key, about a hundred bytes each. */
const OWNERS_MAX = 4096;

/**
 * Cache of the last keys of owners with numbered documents (`createNumberedRange`), as of the last commit. Each write
 * of a document with versions needs the last key, and a look-up in the tree takes as long as a write. Only this process
 * writes the documents of a home.
 */
export interface LastKeys {
  /** Returns the last key of an owner. @param start prefix of the owner's keys before the number */
  find(start: string, end: string): string | undefined;
  /** Updates the cache after a commit. */
  follow(writes: CommitWrites): void;
}

/** Creates the cache. @param read looks up a key in the tree */
export function createLastKeys(read: (start: string, end: string) => string | undefined): LastKeys {
  const keyByStart = new Map<string, string | undefined>();
  return {
    find(start, end) {
      if (keyByStart.has(start)) return keyByStart.get(start);
      const key = read(start, end);
      if (keyByStart.size === OWNERS_MAX) keyByStart.clear();
      keyByStart.set(start, key);
      return key;
    },
    follow(writes) {
      for (const [key, value] of writes) {
        const start = key.slice(0, key.lastIndexOf('/') + 1);
        if (!keyByStart.has(start)) continue;
        const last = keyByStart.get(start);
        if (value === null) keyByStart.delete(start);
        else if (last === undefined || key > last) keyByStart.set(start, key);
      }
    },
  };
}

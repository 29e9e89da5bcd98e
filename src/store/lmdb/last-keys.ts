import type { Writes } from './commit-queue.js';

/** Owners whose last key stays in memory: some hundred bytes each. */
const OWNERS_MAX = 4096;

/**
 * Last keys of numbered owners (`numberedRange`), as the last commit left them. Each write of a versioned document asks,
 * and looking them up in the tree takes as long as a write does. Only this process writes the documents of a home.
 */
export interface LastKeys {
  /** @param start of the range of an owner: what its keys have before their number */
  find(start: string, end: string): string | undefined;
  /** Takes in what a commit wrote. */
  follow(writes: Writes): void;
}

/** @param read looks it up */
export function createLastKeys(read: (start: string, end: string) => string | undefined): LastKeys {
  const known = new Map<string, string | undefined>();
  return {
    find(start, end) {
      if (known.has(start)) return known.get(start);
      const key = read(start, end);
      if (known.size === OWNERS_MAX) known.clear();
      known.set(start, key);
      return key;
    },
    follow(writes) {
      for (const [key, value] of writes) {
        const start = key.slice(0, key.lastIndexOf('/') + 1);
        if (!known.has(start)) continue;
        const last = known.get(start);
        if (value === null) known.delete(start);
        else if (last === undefined || key > last) known.set(start, key);
      }
    },
  };
}

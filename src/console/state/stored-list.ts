import { type ReadonlySignal, signal } from '@preact/signals';

/** A list that is stored in this browser. */
export interface StoredList<T> {
  readonly items: ReadonlySignal<readonly T[]>;
  set(items: readonly T[]): void;
}

/**
 * Creates a list that is stored in this browser.
 * @param most maximum number of items; if there are more, the oldest are removed
 */
export function createStoredList<T>(storageKey: string, most: number): StoredList<T> {
  const items = signal<readonly T[]>(load(storageKey));
  // Reloads the list after a change in another tab.
  addEventListener('storage', ({ key }) => {
    if (key === storageKey) items.value = load(storageKey);
  });
  return {
    items,
    set(next) {
      items.value = next.slice(-most);
      localStorage.setItem(storageKey, JSON.stringify(items.peek()));
    },
  };
}

function load<T>(storageKey: string): readonly T[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(all) ? (all as T[]) : []; // only this function writes the list
  } catch {
    return [];
  }
}

interface Visit {
  /** Path with the data store that was chosen, if any. */
  readonly address: string;
  readonly text: string;
}

const RECENT_MAX = 30;

const { items, set } = createStoredList<Visit>('divisor.visits', RECENT_MAX);

/** Visited pages, newest last. */
export const recentVisits = items;

/** Adds a visit. It replaces an earlier visit of the same page, also with another data store. */
export function addVisit(visit: Visit): void {
  set([...items.peek().filter((other) => getVisitedPath(other) !== getVisitedPath(visit)), visit]);
}

export const getVisitedPath = ({ address }: Visit): string => address.replace(/\?.*/, '');

const INDEX_PAGE = /^\/console\/indices\/([^/?]+)/;

/** Returns the id whose page was visited last. If none was visited, returns the first id. */
export function findLastVisit(ids: readonly string[]): string | undefined {
  const seenIds = items.peek().flatMap(({ address }) => INDEX_PAGE.exec(address)?.[1] ?? []);
  return seenIds.map(decodeURIComponent).findLast((id) => ids.includes(id)) ?? ids[0];
}

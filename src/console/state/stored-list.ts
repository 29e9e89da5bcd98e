import { signal, type ReadonlySignal } from '@preact/signals';

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

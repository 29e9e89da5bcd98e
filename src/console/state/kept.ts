import { signal, type ReadonlySignal } from '@preact/signals';

/** A list that is stored in this browser. */
export interface StoredList<T> {
  readonly items: ReadonlySignal<readonly T[]>;
  set(items: readonly T[]): void;
}

/**
 * Creates a list that is stored in this browser.
 * @param most maximum number of items; the oldest items are dropped
 */
export function createStoredList<T>(place: string, most: number): StoredList<T> {
  const items = signal<readonly T[]>(load(place));
  // Reloads the list after a change in another tab.
  addEventListener('storage', ({ key }) => {
    if (key === place) items.value = load(place);
  });
  return {
    items,
    set(next) {
      items.value = next.slice(-most);
      localStorage.setItem(place, JSON.stringify(items.peek()));
    },
  };
}

function load<T>(place: string): readonly T[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(place) ?? '[]');
    return Array.isArray(all) ? (all as T[]) : []; // only this function writes the list
  } catch {
    return [];
  }
}

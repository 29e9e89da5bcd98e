import { signal, type ReadonlySignal } from '@preact/signals';

/** A list that this browser remembers. */
export interface KeptList<T> {
  readonly items: ReadonlySignal<readonly T[]>;
  set(items: readonly T[]): void;
}

/** @param most maximum number of items; the first ones are dropped */
export function createStoredList<T>(place: string, most: number): KeptList<T> {
  const items = signal<readonly T[]>(load(place));
  // Another tab changed it.
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
    return Array.isArray(all) ? (all as T[]) : []; // Written by this list.
  } catch {
    return [];
  }
}

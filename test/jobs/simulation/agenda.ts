/** Future events. They are sorted by time and then by the order in which they were added. */
export interface Agenda {
  now(): number;
  isEmpty(): boolean;
  /** Adds an event. @returns a function that removes the event */
  add(delayMs: number, run: () => void): () => void;
  /** Advances time to the next event and runs it. @returns false if there is no event */
  runNext(): boolean;
}

export function createAgenda(): Agenda {
  let now = 0;
  let count = 0;
  const entries: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    isEmpty: () => entries.length === 0,
    add(delayMs, run) {
      const entry = { at: now + delayMs, order: count++, run };
      const position = entries.findLastIndex(({ at }) => at <= entry.at) + 1;
      entries.splice(position, 0, entry);
      return () => {
        const index = entries.indexOf(entry);
        if (index >= 0) entries.splice(index, 1);
      };
    },
    runNext() {
      const entry = entries.shift();
      if (entry === undefined) return false;
      now = entry.at;
      entry.run();
      return true;
    },
  };
}

/** One write that a client tried on one document, and what it heard of it. */
export interface Write {
  /** The content of the document afterwards; null for a deletion. Values of one document are all different. */
  readonly value: string | null;
  readonly startMs: number;
  /** Time of the acknowledgement; null when none came, so that nobody knows whether it happened. */
  ackMs: number | null;
}

/**
 * The requests of clients for each document, and whether a value found afterwards can be explained: some order of the writes
 * that respects what was acknowledged before what was begun must end with it (a linearisable register).
 */
export interface History {
  begin(key: string, value: string | null): Write;
  /** The server said that the write did not happen. */
  withdraw(key: string, write: Write): void;
  readonly keys: readonly string[];
  readonly acknowledged: number;
  /** Undefined when `found` can be the last of the writes, otherwise what is wrong. Forgets all but what was found. */
  settle(key: string, found: string | null): string | undefined;
}

export function createHistory(now: () => number): History {
  const writes = new Map<string, Write[]>();
  let settled = 0;
  const acknowledgedIn = (list: readonly Write[]): number =>
    list.filter(({ ackMs, startMs }) => ackMs !== null && startMs > 0).length;
  return {
    begin(key, value) {
      const write: Write = { value, startMs: now(), ackMs: null };
      writes.set(key, [...(writes.get(key) ?? []), write]);
      return write;
    },
    withdraw(key, write) {
      writes.set(
        key,
        (writes.get(key) ?? []).filter((other) => other !== write),
      );
    },
    get keys() {
      return [...writes.keys()];
    },
    get acknowledged() {
      return settled + [...writes.values()].reduce((sum, list) => sum + acknowledgedIn(list), 0);
    },
    settle(key, found) {
      const list = writes.get(key) ?? [];
      settled += acknowledgedIn(list);
      // Before the first write there was nothing; the value found last time is first in the list.
      const candidates: Write[] = [{ value: null, startMs: -1, ackMs: -1 }, ...list];
      const explained = candidates.some(
        (write) => write.value === found && !list.some((other) => isAfter(other, write)),
      );
      writes.set(key, [{ value: found, startMs: 0, ackMs: 0 }]);
      if (explained) return undefined;
      const last = list.filter(({ ackMs }) => ackMs !== null).at(-1);
      return `${key} holds ${found ?? 'nothing'}; the last acknowledged write was ${last?.value ?? 'a deletion'} of ${list.length} writes`;
    },
  };
}

/** Tests that the other write certainly came later: it was acknowledged, and begun only after this one had been. */
function isAfter(other: Write, write: Write): boolean {
  return other.ackMs !== null && write.ackMs !== null && other.startMs > write.ackMs;
}

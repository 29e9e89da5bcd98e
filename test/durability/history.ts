/** One write of a client to one document, with its outcome as far as the client knows it. */
export interface Write {
  /** Content of the document afterwards; null for a deletion. Values of one document are unique. */
  readonly value: string | null;
  readonly startMs: number;
  /** Time of the acknowledgement; null if none was received: the write may or may not have happened. */
  ackMs: number | null;
}

/**
 * Records the requests of clients for each document, and determines if a later value can be explained: there must be an
 * order of the writes, compatible with the times of requests and acknowledgements, that ends with it (a linearisable
 * register).
 */
export interface History {
  begin(key: string, value: string | null): Write;
  /** Records that the server reported the write as not performed. */
  withdraw(key: string, write: Write): void;
  readonly keys: readonly string[];
  readonly acknowledged: number;
  /**
   * Returns undefined if `found` can be the last of the writes, otherwise the error. Forgets all writes but `found`.
   */
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
      // Before the first write there is no value; the value found last time is first in the list.
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

/**
 * Returns true if the other write is certainly later: it was acknowledged, and it began after this one had been
 * acknowledged.
 */
function isAfter(other: Write, write: Write): boolean {
  return other.ackMs !== null && write.ackMs !== null && other.startMs > write.ackMs;
}

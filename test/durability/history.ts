/** A client's write to one document, with its outcome as far as the client knows. */
export interface Write {
  /** Content of the document after the write; null for a deletion. Values of a document are unique. */
  readonly value: string | null;
  readonly startMs: number;
  /** Time of the acknowledgement; null without an acknowledgement: the write may or may not have been performed. */
  ackMs: number | null;
}

/**
 * Records the writes of clients to each document, and determines whether a value found later can be explained (a
 * linearisable register): an order of the writes must exist that is compatible with the times of requests and
 * acknowledgements and ends with this value.
 */
export interface History {
  begin(key: string, value: string | null): Write;
  /** Records that the server reported a write as not performed. */
  withdraw(key: string, write: Write): void;
  readonly keys: readonly string[];
  readonly acknowledged: number;
  /**
   * Returns undefined if `value` can be the value of the last write, otherwise an error message. Forgets all writes
   * except `value`.
   */
  settle(key: string, value: string | null): string | undefined;
}

export function createHistory(now: () => number): History {
  const writes = new Map<string, Write[]>();
  let settledCount = 0;
  const countAcknowledged = (list: readonly Write[]): number =>
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
      return settledCount + [...writes.values()].reduce((sum, list) => sum + countAcknowledged(list), 0);
    },
    settle(key, value) {
      const list = writes.get(key) ?? [];
      settledCount += countAcknowledged(list);
      // There is no value before the first write; the value found by the previous check is first in the list.
      const candidates: Write[] = [{ value: null, startMs: -1, ackMs: -1 }, ...list];
      const isExplained = candidates.some(
        (write) => write.value === value && !list.some((other) => isAfter(other, write)),
      );
      writes.set(key, [{ value, startMs: 0, ackMs: 0 }]);
      if (isExplained) return undefined;
      const last = list.filter(({ ackMs }) => ackMs !== null).at(-1);
      return `${key} holds ${value ?? 'nothing'}; the last acknowledged write was ${last?.value ?? 'a deletion'} of ${list.length} writes`;
    },
  };
}

/**
 * Returns true if the other write is certainly later: it began after `write` had been acknowledged, and was
 * acknowledged itself.
 */
function isAfter(other: Write, write: Write): boolean {
  return other.ackMs !== null && write.ackMs !== null && other.startMs > write.ackMs;
}

/** A write of a client to one document, with the outcome that the client knows. */
export interface Write {
  /**
   * Content of the document after the write; null if the write deletes it. No two writes to a document have the same
   * value.
   */
  readonly value: string | null;
  readonly startMs: number;
  /** Time of the acknowledgement. Null if there is none; then the write may or may not have been performed. */
  ackMs: number | null;
}

/**
 * Records the writes of clients to each document. Determines whether the writes explain a value that is found later:
 * the document must behave like a linearisable register. So there must be an order of the writes that ends with this
 * value and is compatible with the times of requests and acknowledgements.
 */
export interface History {
  begin(key: string, value: string | null): Write;
  /** Records that the server reported a write as not performed. */
  withdraw(key: string, write: Write): void;
  readonly keys: readonly string[];
  readonly acknowledged: number;
  /**
   * Returns undefined if the last write can have left `value`, otherwise an error message. Forgets all writes except
   * `value`.
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
      // Before the first write there is no value. Later, the first element is the value that the previous check found.
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
 * Returns true if the other write is certainly later. It must have begun after `write` was acknowledged, and it must be
 * acknowledged itself.
 */
function isAfter(other: Write, write: Write): boolean {
  return other.ackMs !== null && write.ackMs !== null && other.startMs > write.ackMs;
}

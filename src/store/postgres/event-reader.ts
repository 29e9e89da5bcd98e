import type { CommitEvent } from '#domain/documents/commit-events.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Database } from './database.js';

/**
 * Reader of the events of other processes. Events are notifications and not state. During a long outage of the
 * database, events are lost.
 */
export interface EventReader extends Pick<PiggybackedEvents, 'due'> {
  stop(): Promise<void>;
}

/** Reads of events as part of another statement. */
export interface PiggybackedEvents {
  /** Returns the next read that is due. Returns undefined if the last read is recent. */
  due(): EventReading | undefined;
}

/** Parameters and receiver of one read of events. */
export interface EventReading {
  /** Oldest transaction with events that may be unread. */
  readonly horizon: string;
  /** Id of this process. Its own events are omitted. */
  readonly node: string;
  /** Accepts the events that a read found. Of two concurrent reads, the later one is ignored. */
  take(found: EventsFound): void;
}

export interface EventsFound {
  /** Transaction id from which the next read begins: the oldest transaction that was still running at this read. */
  readonly horizon: string;
  readonly ids: readonly string[];
  /** Events as JSON. */
  readonly events: readonly string[];
}

export interface EventReaderOptions {
  readonly schema: string;
  /** Id of this process. Its own events are omitted. */
  readonly node: string;
  /** Maximum time between two reads. */
  readonly readMs?: number | undefined;
  readonly onEvents: (events: readonly CommitEvent[]) => void;
}

/**
 * Interval between reads in ms. Reads are used, because with NOTIFY all commits of the cluster would wait for each
 * other.
 */
const READ_MS = 500;

/**
 * Opens the reader. A row becomes visible when its transaction commits, and not when its id was assigned. A read
 * therefore begins at the oldest transaction that was running during the previous read. It omits events that the
 * previous read returned.
 */
export async function openEventReader(database: Database, options: EventReaderOptions): Promise<EventReader> {
  const { schema, node, readMs = READ_MS, onEvents } = options;
  const [start] = await database.query<{ readonly horizon: string }>(
    'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon',
    [],
  );
  let horizon = start!.horizon; // exactly one row
  let knownIds: ReadonlySet<string> = new Set();
  let count = 0;
  let readAtMs = performance.now();
  let lastRead = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function startReading(): EventReading {
    const countAtStart = count;
    return {
      horizon,
      node,
      take(eventsFound) {
        // If another read from the same starting point has been accepted, this one is ignored. The next read finds the
        // events that are missing.
        if (countAtStart !== count || isStopped) return;
        count++;
        readAtMs = performance.now();
        horizon = eventsFound.horizon;
        const newEvents = eventsFound.events.filter((_, i) => !knownIds.has(eventsFound.ids[i]!)); // there is one id per event
        knownIds = new Set(eventsFound.ids);
        onEvents(newEvents.map((event) => JSON.parse(event) as CommitEvent)); // written by `commit`
      },
    };
  }

  async function read(): Promise<void> {
    const ownEventReading = startReading();
    const [found] = await database.query<{ [M in keyof EventsFound]: EventsFound[M] | null }>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, array_agg(id::text ORDER BY id) AS ids,
          array_agg(event ORDER BY id) AS events FROM ${schema}.events WHERE transaction >= $1::xid8 AND node <> $2`,
      [ownEventReading.horizon, node],
    );
    const { horizon, ids, events } = found!; // exactly one row
    ownEventReading.take({ horizon: horizon!, ids: ids ?? [], events: events ?? [] });
  }

  function readLater(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      const leftMs = readAtMs + readMs - performance.now();
      if (leftMs > 0) readLater(leftMs);
      else
        lastRead = read()
          .catch(assertPassing)
          .finally(() => readLater(readMs));
    }, ms);
    timer.unref();
  }
  readLater(readMs);

  return {
    due: () => (performance.now() - readAtMs < readMs / 2 ? undefined : startReading()),
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await lastRead;
    },
  };
}

/** Ignores a temporary failure, because the next read begins at the same transaction. */
function assertPassing(thrown: unknown): void {
  if (!(thrown instanceof Refusal)) throw thrown;
}

import type { CommitEvent } from '#domain/documents/commit-events.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Database } from './database.js';

/** Reads what other processes publish. Notices, not state: those of a long absence of the database are gone. */
export interface EventReader extends Pick<RiddenEvents, 'due'> {
  stop(): Promise<void>;
}

/** Events that another statement may read along. */
export interface RiddenEvents {
  /** What is to be read now; undefined while the last reading is recent. */
  due(): EventReading | undefined;
}

/** One reading. */
export interface EventReading {
  /** Oldest transaction whose events may be unheard. */
  readonly horizon: string;
  /** This process, whose own events are left out. */
  readonly node: string;
  /** Takes in what it has found; of two readings at once the later one counts for nothing. */
  take(found: FoundEvents): void;
}

export interface FoundEvents {
  /** Where the next reading begins. */
  readonly horizon: string;
  readonly ids: readonly string[];
  /** Each as JSON. */
  readonly events: readonly string[];
}

export interface EventReaderOptions {
  readonly schema: string;
  /** Of this process, whose own events are left out. */
  readonly node: string;
  /** Longest time between two readings. */
  readonly readMs?: number | undefined;
  readonly onEvents: (events: readonly CommitEvent[]) => void;
}

/** NOTIFY would serialise the commits of the whole cluster. */
const READ_MS = 500;

/**
 * A row appears when its transaction commits, not when its id was given out. A reading therefore begins at the oldest
 * transaction that was under way at the one before, and leaves out what that one had already.
 */
export async function openEventReader(database: Database, options: EventReaderOptions): Promise<EventReader> {
  const { schema, node, readMs = READ_MS, onEvents } = options;
  const [start] = await database.query<{ readonly horizon: string }>(
    'SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon',
    [],
  );
  let horizon = start!.horizon; // One row always.
  let known: ReadonlySet<string> = new Set();
  let count = 0;
  let readAtMs = performance.now();
  let reading = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function next(): EventReading {
    const own = count;
    return {
      horizon,
      node,
      take(found) {
        // Another reading from the same horizon has been taken in: the next one finds what that one had not.
        if (own !== count || isStopped) return;
        count++;
        readAtMs = performance.now();
        horizon = found.horizon;
        const news = found.events.filter((_, i) => !known.has(found.ids[i]!)); // One id for each.
        known = new Set(found.ids);
        onEvents(news.map((event) => JSON.parse(event) as CommitEvent)); // As `commit` wrote it.
      },
    };
  }

  async function read(): Promise<void> {
    const own = next();
    const [found] = await database.query<{ [M in keyof FoundEvents]: FoundEvents[M] | null }>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, array_agg(id::text ORDER BY id) AS ids,
          array_agg(event ORDER BY id) AS events FROM ${schema}.events WHERE transaction >= $1::xid8 AND node <> $2`,
      [own.horizon, node],
    );
    const { horizon, ids, events } = found!; // One row always.
    own.take({ horizon: horizon!, ids: ids ?? [], events: events ?? [] });
  }

  function readLater(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      const leftMs = readAtMs + readMs - performance.now();
      if (leftMs > 0) readLater(leftMs);
      else
        reading = read()
          .catch(assertPassing)
          .finally(() => readLater(readMs));
    }, ms);
    timer.unref();
  }
  readLater(readMs);

  return {
    due: () => (performance.now() - readAtMs < readMs / 2 ? undefined : next()),
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await reading;
    },
  };
}

/** The next reading goes on where one that could not be made would have begun. */
function assertPassing(thrown: unknown): void {
  if (!(thrown instanceof Refusal)) throw thrown;
}

import type { CommitEvent } from '#domain/commit-events.js';
import { Refusal } from '#domain/refusal.js';
import type { Database } from './database.js';

/** Reads what other processes publish. Notices, not state: those of a long absence of the database are gone. */
export interface EventReader {
  stop(): Promise<void>;
}

export interface EventReaderOptions {
  readonly schema: string;
  /** Of this process, whose own events are left out. */
  readonly node: string;
  readonly onEvents: (events: readonly CommitEvent[]) => void;
}

/** Time between two readings; NOTIFY would serialise the commits of the whole cluster. */
const READ_MS = 500;

interface EventRow {
  readonly horizon: string;
  /** Null in a row that only says the horizon. */
  readonly id: string | null;
  readonly event: string;
}

/**
 * A row appears when its transaction commits, not when its id was given out. A reading therefore begins at the oldest
 * transaction that was under way at the one before, and leaves out what that one had already.
 */
export async function openEventReader(database: Database, options: EventReaderOptions): Promise<EventReader> {
  const { schema, node, onEvents } = options;
  const [start] = await database.query<EventRow>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon', []);
  let horizon = start!.horizon; // One row always.
  let known = new Set<string | null>();
  let reading = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function read(): Promise<void> {
    const rows = await database.query<EventRow>(
      `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, e.id, e.event FROM (SELECT 1) AS one
        LEFT JOIN ${schema}.events AS e ON e.transaction >= $1::xid8 AND e.node <> $2 ORDER BY e.id`,
      [horizon, node],
    );
    const news = rows.filter(({ id }) => id !== null && !known.has(id));
    horizon = rows[0]!.horizon; // One row at least.
    known = new Set(rows.map(({ id }) => id));
    onEvents(news.map(({ event }) => JSON.parse(event) as CommitEvent)); // As `commit` wrote it.
  }

  function readLater(): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      reading = read().catch(assertPassing).finally(readLater);
    }, READ_MS);
    timer.unref();
  }
  readLater();

  return {
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

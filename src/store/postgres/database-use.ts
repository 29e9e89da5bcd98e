import type { Client } from 'pg';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { connect } from './connect.js';
import { createLine } from './line.js';

/** The right to work on a database, alone or beside others that do not ask to be alone. */
export interface DatabaseUse {
  /** Sends a text to every process that shares the database, at once. @throws as `pg` does */
  publish(text: string): Promise<void>;
  /** Calls for every text that any process sends; those of an interruption are lost. */
  subscribe(listener: (text: string) => void): void;
  /** Why the database does not answer, in a sentence; undefined while it does. */
  fault(): string | undefined;
  release(): Promise<void>;
}

export interface DatabaseUseOptions {
  readonly url: string;
  readonly schema: string;
  /** Whether others may work on it: their artifacts lie where this process finds them. */
  readonly isShared: boolean;
  /** Whether documents are moved from it or into it: nobody may work on it meanwhile. */
  readonly isMove?: boolean;
}

/** How often the connection that holds the right is asked whether it lives. */
const ASK_MS = 2000;
const ANSWER_MS = 10_000;
/** The question takes a millisecond; whoever waits for so long is not answered. */
const SILENT_MS = 3000;

/**
 * Takes a database. Without a place for artifacts that machines share, results lie in one home, so its process has to be
 * alone. The right ends with its connection: a process that has to be alone ends when it is lost; one that shares takes
 * it again.
 *
 * @param onLost receives why the right to be alone is gone
 * @throws StartRefusal 75 when another process has it, or stands in the way
 */
export async function takeUse(options: DatabaseUseOptions, onLost: (cause: unknown) => void): Promise<DatabaseUse> {
  const { isShared } = options;
  const listeners = new Set<(text: string) => void>();
  const hear = (text: string): void => listeners.forEach((call) => call(text));
  let client = await connected(options, hear);
  /** Statements of the connection: it takes one at a time. */
  const statements = createLine();
  let isOver = false;
  let askedMs: number | undefined;
  let isLost = false;

  async function ask(): Promise<void> {
    try {
      await statements.take(() => client.query('SELECT 1'));
      isLost = false;
    } catch (cause) {
      if (isOver) return;
      isLost = true;
      if (isShared) return again();
      isOver = true;
      onLost(new Error('The connection that held the database is lost.', { cause }));
    }
  }

  /** A database that cannot be had now is asked for at the next time. */
  async function again(): Promise<void> {
    await client.end().catch(() => {}); // It has gone by itself.
    const next = await connected(options, hear).catch(() => undefined);
    isLost = next === undefined;
    client = next ?? client;
    if (isOver) await client.end().catch(() => {});
  }

  const asking = setInterval(() => {
    if (askedMs !== undefined || isOver) return;
    askedMs = performance.now();
    void ask().finally(() => (askedMs = undefined));
  }, ASK_MS);
  asking.unref();
  return {
    async publish(text) {
      await statements.take(() => client.query('SELECT pg_notify($1, $2)', [channelOf(options), text]));
    },
    subscribe: (listener) => void listeners.add(listener),
    fault() {
      if (isLost) return 'The database cannot be reached.';
      const silentMs = askedMs === undefined ? 0 : performance.now() - askedMs;
      return silentMs > SILENT_MS ? `The database has not answered for ${Math.round(silentMs / 1000)} s.` : undefined;
    },
    async release() {
      isOver = true;
      clearInterval(asking);
      await client.end().catch(() => {}); // It has gone by itself.
    },
  };
}

/** A connection that holds the right. @throws StartRefusal 75, 78, and as `pg` does */
async function connected(options: DatabaseUseOptions, hear: (text: string) => void): Promise<Client> {
  const { url, schema, isShared } = options;
  const client = await connect(url, { query_timeout: ANSWER_MS });
  try {
    const take = isShared ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
    const { rows } = await client.query<{ readonly is_taken: boolean }>(`SELECT ${take}(hashtext($1)) AS is_taken`, [
      `${schema} service`,
    ]);
    if (rows[0]?.is_taken !== true) throw new StartRefusal(EXIT_TEMPORARY, inTheWay(options));
    client.on('notification', ({ payload }) => payload !== undefined && hear(payload));
    if (isShared) await client.query(`LISTEN ${client.escapeIdentifier(channelOf(options))}`);
    return client;
  } catch (thrown) {
    await client.end().catch(() => {}); // It has gone by itself.
    throw thrown;
  }
}

const channelOf = ({ schema }: DatabaseUseOptions): string => `${schema}_cancelled`;

function inTheWay({ isShared, isMove }: DatabaseUseOptions): string {
  if (isMove === true) return 'Services or commands work on the database: stop the services first.';
  return isShared
    ? 'Another process has the database for itself: a service without --artifacts, which has to stop first, or a restore or copy, which has to end first.'
    : 'Another process serves the database, or a restore or copy is under way; several services need --artifacts.';
}

import type { Client } from 'pg';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { connect, runOnClient } from './connect.js';
import { createWorkQueue } from './line.js';

/** Lock on a database, exclusive or shared. */
export interface DatabaseUse {
  /** Sends a text immediately to every process that shares the database. @throws the error of `pg` */
  publish(text: string): Promise<void>;
  /** Listens to the texts of all processes. Texts that are sent during an interruption of the connection are lost. */
  subscribe(listener: (text: string) => void): void;
  /** Returns the reason why the database does not answer, as a sentence. Returns undefined if it answers. */
  fault(): string | undefined;
  release(): Promise<void>;
}

export interface DatabaseUseOptions {
  readonly url: string;
  readonly schema: string;
  /** True if other processes may use the database. All of them must share an artifact store. */
  readonly isShared: boolean;
  /** True if documents are moved from or into the database. No other process may use it then. */
  readonly isMove?: boolean;
}

/** Interval between checks of the connection that holds the lock. */
const ASK_MS = 2000;
const ANSWER_MS = 10_000;
/** Time without an answer after which the database counts as unavailable. A check takes a millisecond. */
const SILENT_MS = 3000;

/**
 * Acquires the lock on a database. Without a shared artifact store, results are in one home folder, so that its process
 * needs exclusive use. The lock ends with its connection. A process with an exclusive lock ends when the lock is lost;
 * a process with a shared lock acquires it again.
 * @param onLost called with the reason when exclusive use is lost
 * @throws StartRefusal 75 if another process holds a conflicting lock
 */
export async function takeUse(options: DatabaseUseOptions, onLost: (cause: unknown) => void): Promise<DatabaseUse> {
  const { isShared } = options;
  const listeners = new Set<(text: string) => void>();
  const notifyListeners = (text: string): void => listeners.forEach((call) => call(text));
  let client = await connectWithRight(options, notifyListeners);
  /** Queue of the statements of the connection, which run one at a time. */
  const statements = createWorkQueue();
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
      if (isShared) return retryLater();
      isOver = true;
      onLost(new Error('The connection that held the database is lost.', { cause }));
    }
  }

  /** Reconnects. If the database is unavailable, the next check retries. */
  async function retryLater(): Promise<void> {
    await client.end().catch(() => {}); // the connection is already gone
    const next = await connectWithRight(options, notifyListeners).catch(() => undefined);
    isLost = next === undefined;
    client = next ?? client;
    if (isOver) await client.end().catch(() => {});
  }

  const probeTimer = setInterval(() => {
    if (askedMs !== undefined || isOver) return;
    askedMs = performance.now();
    void ask().finally(() => (askedMs = undefined));
  }, ASK_MS);
  probeTimer.unref();
  return {
    async publish(text) {
      await statements.take(() => client.query('SELECT pg_notify($1, $2)', [getChannel(options), text]));
    },
    subscribe: (listener) => void listeners.add(listener),
    fault() {
      if (isLost) return 'The database cannot be reached.';
      const silentMs = askedMs === undefined ? 0 : performance.now() - askedMs;
      return silentMs > SILENT_MS ? `The database has not answered for ${Math.round(silentMs / 1000)} s.` : undefined;
    },
    async release() {
      isOver = true;
      clearInterval(probeTimer);
      await client.end().catch(() => {}); // the connection is already gone
    },
  };
}

/** Opens a connection that holds the lock. @throws StartRefusal 75, 78 */
async function connectWithRight(options: DatabaseUseOptions, hear: (text: string) => void): Promise<Client> {
  const { url, schema, isShared } = options;
  const client = await connect(url, { query_timeout: ANSWER_MS });
  try {
    const lockFunction = isShared ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock';
    const { rows } = await runOnClient(client, () =>
      client.query<{ readonly is_taken: boolean }>(`SELECT ${lockFunction}(hashtext($1)) AS is_taken`, [
        `${schema} service`,
      ]),
    );
    if (rows[0]?.is_taken !== true) throw new StartRefusal(EXIT_TEMPORARY, describeObstacle(options));
    client.on('notification', ({ payload }) => payload !== undefined && hear(payload));
    if (isShared)
      await runOnClient(client, () => client.query(`LISTEN ${client.escapeIdentifier(getChannel(options))}`));
    return client;
  } catch (thrown) {
    await client.end().catch(() => {}); // the connection is already gone
    throw thrown;
  }
}

const getChannel = ({ schema }: DatabaseUseOptions): string => `${schema}_cancelled`;

function describeObstacle({ isShared, isMove }: DatabaseUseOptions): string {
  if (isMove === true) return 'Services or commands use the database: stop the services first.';
  return isShared
    ? 'Another process uses the database exclusively: a service without --artifacts, which must stop first, or a restore or copy, which must end first.'
    : 'Another process serves the database, or a restore or copy is running; several services require --artifacts.';
}

import pg from 'pg';
import type { Client } from 'pg';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { createClientOptions, createRefusal as createStatementRefusal, findSqlState } from './database.js';

/**
 * Opens a connection.
 * @throws StartRefusal 78 if the server rejects the credentials or its certificate is rejected, so that retries are
 * useless; 75 if it is unavailable
 */
export async function connect(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...createClientOptions(url), ...options });
  client.on('error', () => {}); // the pending or the next query reports the error
  try {
    await client.connect();
    return client;
  } catch (cause) {
    await client.end().catch(() => {}); // the client was never connected
    throw createRefusal(cause, client);
  }
}

/**
 * Runs statements of a connection outside the pool. A connection that ends or does not answer is a temporary fault, as
 * it is for statements of the pool.
 * @throws StartRefusal 75, and whatever `work` throws for another reason
 */
export async function runOnClient<T>({ host, port }: pg.Client, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const isOther = thrown instanceof StartRefusal || thrown instanceof Refusal || isDefect(thrown);
    const refusal = isOther ? thrown : createStatementRefusal(thrown);
    if (!isStoreUnavailable(refusal)) throw thrown;
    const { message } = thrown as Error;
    const sentence = `The database at ${formatAddress(host, port)} (--database, DATABASE_URL) stopped answering: ${message.replace(/\.$/, '')}.`;
    throw new StartRefusal(EXIT_TEMPORARY, sentence, { cause: thrown });
  }
}

/** Returns true for an error of the program. The driver and the network report plain errors. */
const isDefect = (thrown: unknown): boolean =>
  thrown instanceof TypeError || thrown instanceof RangeError || thrown instanceof ReferenceError;

const formatAddress = (host: string, port: number): string => (host.startsWith('/') ? host : `${host}:${port}`);

/** SQLSTATEs of failed authorisation, of a missing database, and of a missing right. */
const REFUSED_STATE = /^(28|3D000|42501)/;
const REFUSED_CERTIFICATE = /CERT|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/;
/** Error messages of the driver for a missing password and for a server without TLS. */
const REFUSED_MESSAGE = /^SASL:|does not support SSL/;

function createRefusal(cause: unknown, { host, port }: pg.Client): StartRefusal {
  const { code, message } = cause as NodeJS.ErrnoException;
  const state = findSqlState(cause);
  const address = formatAddress(host, port);
  if (state === undefined && REFUSED_CERTIFICATE.test(code ?? ''))
    return new StartRefusal(
      EXIT_CONFIGURATION,
      `The certificate of the database at ${address} is refused: ${message} (${code}).`,
      { cause },
    );
  const isRefused = state === undefined ? REFUSED_MESSAGE.test(message) : REFUSED_STATE.test(state);
  if (isRefused)
    return new StartRefusal(EXIT_CONFIGURATION, `The database at ${address} refuses the connection: ${message}.`, {
      cause,
    });
  // The message of a server contains no password. For a network failure, the code is sufficient.
  const explanation = state === undefined ? (code ?? message) : message;
  return new StartRefusal(
    EXIT_TEMPORARY,
    `The database at ${address} (--database, DATABASE_URL) cannot be reached: ${explanation}.`,
    { cause },
  );
}

/** Queue that runs one task at a time, in the order of arrival. */
interface WorkQueue {
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when all queued work has ended, successfully or not. */
  idle(): Promise<void>;
}

export function createWorkQueue(): WorkQueue {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      const next = last.then(work);
      last = next.catch(() => undefined);
      return next;
    },
    idle: async () => void (await last),
  };
}

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

interface DatabaseUseOptions {
  readonly url: string;
  readonly schema: string;
  /** True if other processes may use the database. All of them must share an artifact store. */
  readonly isShared: boolean;
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

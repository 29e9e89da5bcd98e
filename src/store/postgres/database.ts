import { readFileSync } from 'node:fs';
import pg from 'pg';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import { findUrlFault, toDriverUrl, URL_FILES } from './database-url.js';

/** Circuit breaker. It rejects statements at once while the server does not answer. */
interface CircuitBreaker {
  /**
   * Runs a statement.
   * @throws Refusal STORE_UNAVAILABLE at once while the breaker is open; the error of `onSilence` if the breaker opens
   * during the statement
   */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  readonly isOpen: boolean;
  close(): void;
}

interface CircuitBreakerDependencies {
  /** Probes the server on a separate connection. @returns true if it answered */
  readonly probe: () => Promise<boolean>;
  /** Creates the refusal of pending statements when the breaker opens. The statements may have succeeded. */
  readonly onSilence: () => Refusal;
  /** Called when the breaker opens and when it closes. */
  readonly onChange?: ((isOpen: boolean) => void) | undefined;
}

/**
 * Duration of a tick. Time without an answer is counted in ticks and not by the clock: a process that was paused, or
 * whose event loop was busy, has not yet read the answers of the server.
 */
const TICK_MS = 250;
/** Number of ticks without an answer to a pending statement. Afterwards, the server is probed. */
const SUSPECT_TICKS = 3;
/** Number of ticks without an answer after which the breaker opens: 1.5 s. Statements take milliseconds. */
const SILENT_TICKS = 6;
/** Number of ticks between the end of a probe of an open breaker and the next probe. */
const PROBE_TICKS = 2;

export function createCircuitBreaker({ probe, onSilence, onChange }: CircuitBreakerDependencies): CircuitBreaker {
  const waitingControllers = new Set<AbortController>();
  let silentTicks = 0;
  let isOpen = false;
  let isProbing = false;
  let timer: NodeJS.Timeout | undefined;

  function recordAnswer(): void {
    silentTicks = 0;
    if (!isOpen) return;
    isOpen = false;
    onChange?.(false);
  }

  function advanceTick(): void {
    silentTicks++;
    if (!isOpen && waitingControllers.size === 0) return stop();
    if (!isOpen && silentTicks >= SILENT_TICKS) open();
    const isDue = isOpen ? silentTicks >= PROBE_TICKS : silentTicks >= SUSPECT_TICKS;
    if (isDue && !isProbing) void ask();
  }

  function open(): void {
    isOpen = true;
    silentTicks = 0;
    onChange?.(true);
    for (const controller of waitingControllers) controller.abort();
  }

  async function ask(): Promise<void> {
    isProbing = true;
    const isAlive = await probe().catch(() => false);
    isProbing = false;
    if (isAlive) recordAnswer();
    else if (isOpen) silentTicks = 0;
  }

  function keepTicking(): void {
    if (timer !== undefined) return;
    silentTicks = 0;
    timer = setInterval(advanceTick, TICK_MS);
    timer.unref();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    async run(work) {
      if (isOpen) throw new Refusal('STORE_UNAVAILABLE', 'The database does not answer.');
      const endController = new AbortController();
      waitingControllers.add(endController);
      keepTicking();
      const silence = new Promise<never>((_, reject) => {
        endController.signal.addEventListener('abort', () => reject(onSilence()), { once: true });
      });
      try {
        const answer = await Promise.race([work(endController.signal), silence]);
        recordAnswer();
        return answer;
      } catch (thrown) {
        if (!isStoreUnavailable(thrown)) recordAnswer(); // a refusal by the server is also an answer
        throw thrown;
      } finally {
        waitingControllers.delete(endController);
      }
    },
    get isOpen() {
      return isOpen;
    },
    close: stop,
  };
}

export interface Database {
  /**
   * Runs one statement as a transaction.
   * @throws Refusal STORE_UNAVAILABLE, STORAGE_FULL; a DatabaseError for any other error of the server
   */
  query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<readonly R[]>;
  /** Waits for pending statements, then closes the connections. */
  close(): Promise<void>;
  /** Returns true while statements are rejected because the server does not answer. */
  isSilent(): boolean;
  connections(): { readonly open: number; readonly idle: number; readonly waiting: number };
  /** Sets the listener for the duration of each statement, including the wait for a connection. */
  onStatement(call: (seconds: number, isAnswered: boolean) => void): void;
}

interface DatabaseOptions {
  /** libpq connection URL, including `sslmode` and `sslrootcert`. */
  readonly url: string;
  /**
   * True if the URL is that of a pooler in transaction mode. It permits neither prepared statements nor session
   * settings.
   */
  readonly isPooled?: boolean;
  readonly connectionsMax?: number;
  /** Prepares a new connection before its first statement. */
  readonly prepare?: (client: pg.ClientBase) => Promise<void>;
  /** Called when statements are first rejected because the server does not answer. Called again when it answers. */
  readonly onSilence?: ((isSilent: boolean) => void) | undefined;
}

/**
 * Default maximum number of connections. Statements take milliseconds, so that more connections shorten waits only
 * under heavy load.
 */
const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5000;
/**
 * Maximum idle time of a connection. A new connection plans every statement again, which takes longer than an empty
 * job.
 */
const IDLE_MS = 60_000;
/** Statement timeout of the server. Statements take longer only if the server or the network has a problem. */
const STATEMENT_MS = 30_000;
/** Timeout of the client. It is later than that of the server, so that the outcome is known. */
const ANSWER_MS = 35_000;
/**
 * Timeouts of statements that requests wait for. They are longer than a lease, which must survive a short interruption.
 */
const REQUEST_TIMEOUTS = { statement_timeout: 15_000, query_timeout: 18_000 };

/**
 * Planner settings. All statements find rows by keys or small sets. Each has one generic plan, because custom plans
 * cost more than they save. No statement benefits from JIT compilation.
 */
const PLANNING_OPTIONS = '-c plan_cache_mode=force_generic_plan -c jit=off';

/**
 * Returns the settings of every connection. They include timeouts of the client and of the server. @throws StartRefusal
 * 78
 */
export function createClientOptions(url: string): pg.ClientConfig {
  assertUrl(url);
  return {
    connectionString: toDriverUrl(url),
    application_name: 'divisor',
    options: PLANNING_OPTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: ANSWER_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    keepAlive: true,
  };
}

/**
 * Returns the settings of a connection to a pooler. It accepts no session settings, so that only the client has
 * timeouts.
 */
function createPoolerOptions(url: string): pg.ClientConfig {
  const { connectionString, application_name, connectionTimeoutMillis, keepAlive } = createClientOptions(url);
  const { query_timeout } = REQUEST_TIMEOUTS;
  return { connectionString, application_name, connectionTimeoutMillis, keepAlive, query_timeout };
}

export function openDatabase({
  url,
  isPooled = false,
  connectionsMax = CONNECTIONS_MAX,
  prepare,
  onSilence,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...(isPooled ? createPoolerOptions(url) : { ...createClientOptions(url), ...REQUEST_TIMEOUTS }),
    max: connectionsMax,
    idleTimeoutMillis: IDLE_MS,
    ...(prepare && !isPooled && { onConnect: prepare }),
  });
  // If a connection breaks while it is idle, the pool replaces it. A connection in use fails its query.
  pool.on('error', () => {});
  const breaker = createCircuitBreaker({
    probe: () => answersProbe(isPooled ? createPoolerOptions(url) : createClientOptions(url)),
    onSilence: () => new UnknownOutcomeError('STORE_UNAVAILABLE', 'The database does not answer.'),
    onChange: onSilence,
  });
  let observe: (seconds: number, isAnswered: boolean) => void = () => {};
  const runningQueries = new Set<Promise<unknown>>();
  /** Names of prepared statements by text; the program has a few dozen statements. */
  const statementNames = new Map<string, string>();

  function getName(text: string): string {
    const name = statementNames.get(text) ?? `divisor_${statementNames.size + 1}`;
    statementNames.set(text, name);
    return name;
  }

  async function observeDuration<T>(work: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const computeSeconds = (): number => (performance.now() - startMs) / 1000;
    try {
      const answer = await work();
      observe(computeSeconds(), true);
      return answer;
    } catch (thrown) {
      observe(computeSeconds(), !isStoreUnavailable(thrown)); // a refusal by the server is also an answer
      throw thrown;
    }
  }

  /** Runs a statement on a connection of the pool. @param silence aborts when the server no longer answers */
  async function ask<R extends pg.QueryResultRow>(
    { text, values }: Statement,
    silence: AbortSignal,
  ): Promise<readonly R[]> {
    const client = await pool.connect().catch((cause: unknown) => {
      throw createUnavailableRefusal(cause);
    });
    if (silence.aborted) {
      client.release();
      throw createUnavailableRefusal(undefined);
    }
    const ignore = (): void => {}; // the query reports the error too
    client.on('error', ignore);
    let isReleased = false;
    const release = (isBroken: boolean): void => {
      if (isReleased) return;
      isReleased = true;
      client.off('error', ignore);
      if (isBroken) client.on('error', () => {}); // the connection ends when the server answers
      client.release(isBroken);
    };
    const giveUp = (): void => release(true);
    silence.addEventListener('abort', giveUp, { once: true });
    let isBroken = false;
    try {
      return (await client.query<R>({ ...(!isPooled && { name: getName(text) }), text, values: [...values] })).rows;
    } catch (cause) {
      isBroken = isLost(cause);
      throw createRefusal(cause);
    } finally {
      silence.removeEventListener('abort', giveUp);
      release(isBroken);
    }
  }

  return {
    query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]) {
      const pendingAnswer = observeDuration(() => breaker.run((silence) => ask<R>({ text, values }, silence)));
      runningQueries.add(pendingAnswer);
      return pendingAnswer.finally(() => runningQueries.delete(pendingAnswer));
    },
    isSilent: () => breaker.isOpen,
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    onStatement: (call) => void (observe = call),
    async close() {
      await Promise.allSettled(runningQueries);
      breaker.close();
      if (!pool.ended) await pool.end();
    },
  };
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Maximum wait for the answer of the server to a probe. */
const PROBE_MS = 1000;

/** Returns true if the server answers a new connection, even with an error. */
async function answersProbe(options: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: PROBE_MS, query_timeout: PROBE_MS });
  client.on('error', () => {}); // the query reports the error too
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch (thrown) {
    return findSqlState(thrown) !== undefined;
  } finally {
    void client.end().catch(() => {}); // a silent server does not answer the termination
  }
}

/** Thrown if the statement may or may not have succeeded. */
export class UnknownOutcomeError extends Refusal {}

/**
 * Checks the URL and its files. @throws StartRefusal 78. Its message does not contain the URL, which may contain a
 * password
 */
function assertUrl(url: string): void {
  const fault = findUrlFault(url);
  if (fault !== undefined) throw new StartRefusal(EXIT_CONFIGURATION, `The address of the database ${fault}.`);
  const parameters = new URL(url).searchParams;
  for (const name of URL_FILES) {
    const path = parameters.get(name);
    if (path !== null) assertReadable(path, name);
  }
}

function assertReadable(path: string, name: string): void {
  try {
    readFileSync(path); // the driver also reads it synchronously
  } catch (cause) {
    const errorCode = (cause as NodeJS.ErrnoException).code;
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The file ${path}, ${name} in the address of the database, cannot be read: ${errorCode}.`,
      { cause },
    );
  }
}

const createUnavailableRefusal = (cause: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', 'The database cannot be reached.', null, { cause });

/** Returns the SQLSTATE of an error from the server. */
export const findSqlState = (thrown: unknown): string | undefined =>
  thrown instanceof pg.DatabaseError ? thrown.code : undefined;

/** SQLSTATEs of connection failures and of shutdowns of the server. */
const LOST_CONNECTION = /^(08|57P)/;

function isLost(thrown: unknown): boolean {
  const state = findSqlState(thrown);
  return state === undefined || LOST_CONNECTION.test(state);
}

/** SQLSTATE classes of temporary conditions: insufficient resources, operator intervention, a standby server. */
const UNAVAILABLE_STATE = /^(53|57|25006)/;
const DISK_FULL = '53100';

/** Returns the refusal for a failed statement, or the error itself if the statement is at fault. */
export function createRefusal(cause: unknown): unknown {
  if (isLost(cause))
    return new UnknownOutcomeError('STORE_UNAVAILABLE', 'The database did not answer.', null, { cause });
  const sqlState = findSqlState(cause)!; // `isLost` has checked that the server sent a code
  if (sqlState === DISK_FULL) return new Refusal('STORAGE_FULL', 'The disk of the database is full.', null, { cause });
  return UNAVAILABLE_STATE.test(sqlState) ? createUnavailableRefusal(cause) : cause;
}

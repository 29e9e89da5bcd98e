import { readFileSync } from 'node:fs';
import pg from 'pg';
import { isUnavailable, Refusal } from '#domain/refusals/refusal.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import { createCircuitBreaker } from './circuit-breaker.js';
import { databaseUrlFault, driverUrl, URL_FILES } from './database-url.js';

/** Connections to one database. */
export interface Database {
  /**
   * One statement, a transaction of its own.
   * @throws Refusal STORE_UNAVAILABLE, STORAGE_FULL; a DatabaseError for anything else that the server refused
   */
  query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<readonly R[]>;
  /** Waits for what is under way, then closes the connections. */
  close(): Promise<void>;
  /** Whether statements are refused because the server says nothing. */
  isSilent(): boolean;
  /** Connections that are open, those of them that nobody uses, and statements that wait for one. */
  connections(): { readonly open: number; readonly idle: number; readonly waiting: number };
  /** Calls for each statement with its time, the wait for a connection included. */
  onStatement(call: (seconds: number, isAnswered: boolean) => void): void;
}

export interface DatabaseOptions {
  /** Connection URL as libpq reads it, `sslmode` and `sslrootcert` included. */
  readonly url: string;
  /**
   * Whether it is the address of a pooler in transaction mode: a statement finds neither parsed statements nor settings
   * of its session.
   */
  readonly isPooled?: boolean;
  /** Connections at a time. */
  readonly connectionsMax?: number;
  /** Makes a new connection ready before its first statement. */
  readonly prepare?: (client: pg.ClientBase) => Promise<void>;
  /** Called when statements begin to be refused because the server says nothing, and when it is heard of again. */
  readonly onSilence?: ((isSilent: boolean) => void) | undefined;
}

/** Each statement takes milliseconds: more connections make waiting shorter only under heavy load. */
const CONNECTIONS_MAX = 10;
const CONNECT_MS = 5000;
/** A new connection plans every statement again, which takes longer than a job of nothing. */
const IDLE_MS = 60_000;
/** No statement takes longer unless the server or the network is in trouble. */
const STATEMENT_MS = 30_000;
/** The server ends its statements first, so that their outcome is known. */
const ANSWER_MS = 35_000;
/** Of statements that requests wait for; longer than a lease, whose end a short interruption does not bring. */
const POOLED = { statement_timeout: 15_000, query_timeout: 18_000 };

/**
 * A statement has one plan, whatever its values: each finds rows by their keys or by what is small, so that a plan of its
 * own costs more than it saves. None is worth being compiled.
 */
const PLANNING = '-c plan_cache_mode=force_generic_plan -c jit=off';

/** Settings of every connection; a stalled one is given up by either side. @throws StartRefusal 78 */
export function clientOptions(url: string): pg.ClientConfig {
  assertUrl(url);
  return {
    connectionString: driverUrl(url),
    application_name: 'divisor',
    options: PLANNING,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: ANSWER_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    keepAlive: true,
  };
}

/** Settings of a connection by a pooler, which accepts none of a session: the client alone gives up a stalled statement. */
function poolerOptions(url: string): pg.ClientConfig {
  const { connectionString, application_name, connectionTimeoutMillis, keepAlive } = clientOptions(url);
  const { query_timeout } = POOLED;
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
    ...(isPooled ? poolerOptions(url) : { ...clientOptions(url), ...POOLED }),
    max: connectionsMax,
    idleTimeoutMillis: IDLE_MS,
    ...(prepare && !isPooled && { onConnect: prepare }),
  });
  // A connection that broke while nobody used it is replaced by the pool; one in use fails its query.
  pool.on('error', () => {});
  const breaker = createCircuitBreaker({
    probe: () => givesSign(isPooled ? poolerOptions(url) : clientOptions(url)),
    onSilence: () => new OutcomeUnknown('STORE_UNAVAILABLE', 'The database does not answer.'),
    onChange: onSilence,
  });
  let observe: (seconds: number, isAnswered: boolean) => void = () => {};
  const underWay = new Set<Promise<unknown>>();
  /** Names under which connections keep what they have parsed; the program has a few dozen statements. */
  const names = new Map<string, string>();

  function nameOf(text: string): string {
    const name = names.get(text) ?? `divisor_${names.size + 1}`;
    names.set(text, name);
    return name;
  }

  async function timed<T>(work: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    const seconds = (): number => (performance.now() - startMs) / 1000;
    try {
      const answer = await work();
      observe(seconds(), true);
      return answer;
    } catch (thrown) {
      observe(seconds(), !isUnavailable(thrown)); // A refusal of the server is an answer.
      throw thrown;
    }
  }

  /** @param silence aborted when the server is given up */
  async function ask<R extends pg.QueryResultRow>(
    { text, values }: Statement,
    silence: AbortSignal,
  ): Promise<readonly R[]> {
    const client = await pool.connect().catch((cause: unknown) => {
      throw unavailable(cause);
    });
    if (silence.aborted) {
      client.release();
      throw unavailable(undefined);
    }
    const ignore = (): void => {}; // Told by the query as well.
    client.on('error', ignore);
    let isReleased = false;
    const release = (isBroken: boolean): void => {
      if (isReleased) return;
      isReleased = true;
      client.off('error', ignore);
      if (isBroken) client.on('error', () => {}); // It ends when the server is heard of.
      client.release(isBroken);
    };
    const giveUp = (): void => release(true);
    silence.addEventListener('abort', giveUp, { once: true });
    let isBroken = false;
    try {
      return (await client.query<R>({ ...(!isPooled && { name: nameOf(text) }), text, values: [...values] })).rows;
    } catch (cause) {
      isBroken = isLost(cause);
      throw refusalOf(cause);
    } finally {
      silence.removeEventListener('abort', giveUp);
      release(isBroken);
    }
  }

  return {
    query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]) {
      const asked = timed(() => breaker.run((silence) => ask<R>({ text, values }, silence)));
      underWay.add(asked);
      return asked.finally(() => underWay.delete(asked));
    },
    isSilent: () => breaker.isOpen,
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    onStatement: (call) => void (observe = call),
    async close() {
      await Promise.allSettled(underWay);
      breaker.close();
      if (!pool.ended) await pool.end();
    },
  };
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Longest wait for a sign of life of a server that says nothing. */
const SIGN_MS = 1000;

/** Whether a server answers a new connection, be it with a refusal. */
async function givesSign(options: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...options, connectionTimeoutMillis: SIGN_MS, query_timeout: SIGN_MS });
  client.on('error', () => {}); // Told by the query as well.
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch (thrown) {
    return stateOf(thrown) !== undefined;
  } finally {
    void client.end().catch(() => {}); // A silent server answers no goodbye.
  }
}

/** The statement may or may not have come to pass. */
export class OutcomeUnknown extends Refusal {}

/** @throws StartRefusal 78, without a word of the URL, which may hold a password */
function assertUrl(url: string): void {
  const fault = databaseUrlFault(url);
  if (fault !== undefined) throw new StartRefusal(EXIT_CONFIGURATION, `The address of the database ${fault}.`);
  const parameters = new URL(url).searchParams;
  for (const name of URL_FILES) {
    const path = parameters.get(name);
    if (path !== null) assertReadable(path, name);
  }
}

function assertReadable(path: string, name: string): void {
  try {
    readFileSync(path); // As the driver does.
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code;
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The file ${path}, ${name} in the address of the database, cannot be read: ${why}.`,
      { cause },
    );
  }
}

const unavailable = (cause: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', 'The database cannot be reached.', null, { cause });

/** SQLSTATE of an error that the server sent. */
export const stateOf = (thrown: unknown): string | undefined =>
  thrown instanceof pg.DatabaseError ? thrown.code : undefined;

/** Connection exceptions, and shutdowns of the server. */
const LOST = /^(08|57P)/;

function isLost(thrown: unknown): boolean {
  const state = stateOf(thrown);
  return state === undefined || LOST.test(state);
}

/** Classes of SQLSTATE that say the server cannot take it now: resources, an operator's stop, a standby. */
const UNAVAILABLE = /^(53|57|25006)/;
const DISK_FULL = '53100';

function refusalOf(cause: unknown): unknown {
  if (isLost(cause)) return new OutcomeUnknown('STORE_UNAVAILABLE', 'The database did not answer.', null, { cause });
  const state = stateOf(cause)!; // The server sent it.
  if (state === DISK_FULL) return new Refusal('STORAGE_FULL', 'The disk of the database is full.', null, { cause });
  return UNAVAILABLE.test(state) ? unavailable(cause) : cause;
}

import { readFileSync } from 'node:fs';
import pg from 'pg';
import { Refusal } from '#domain/refusals/refusal.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
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
}

export interface DatabaseOptions {
  /** Connection URL as libpq reads it, `sslmode` and `sslrootcert` included. */
  readonly url: string;
  /** Connections at a time. */
  readonly connectionsMax?: number;
  /** Makes a new connection ready before its first statement. */
  readonly prepare?: (client: pg.ClientBase) => Promise<void>;
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

export function openDatabase({ url, connectionsMax = CONNECTIONS_MAX, prepare }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...clientOptions(url),
    ...POOLED,
    max: connectionsMax,
    idleTimeoutMillis: IDLE_MS,
    ...(prepare && { onConnect: prepare }),
  });
  // A connection that broke while nobody used it is replaced by the pool; one in use fails its query.
  pool.on('error', () => {});
  const underWay = new Set<Promise<unknown>>();
  /** Names under which connections keep what they have parsed; the program has a few dozen statements. */
  const names = new Map<string, string>();

  function nameOf(text: string): string {
    const name = names.get(text) ?? `divisor_${names.size + 1}`;
    names.set(text, name);
    return name;
  }

  async function ask<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<readonly R[]> {
    const client = await pool.connect().catch((cause: unknown) => {
      throw unavailable(cause);
    });
    const ignore = (): void => {}; // Told by the query as well.
    client.on('error', ignore);
    let isBroken = false;
    try {
      return (await client.query<R>({ name: nameOf(text), text, values: [...values] })).rows;
    } catch (cause) {
      isBroken = isLost(cause);
      throw refusalOf(cause);
    } finally {
      client.off('error', ignore);
      client.release(isBroken);
    }
  }

  return {
    query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]) {
      const asked = ask<R>(text, values);
      underWay.add(asked);
      return asked.finally(() => underWay.delete(asked));
    },
    async close() {
      await Promise.allSettled(underWay);
      if (!pool.ended) await pool.end();
    },
  };
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

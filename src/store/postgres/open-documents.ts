import type { Client } from 'pg';
import type { DocumentEngineOptions } from '../port.js';
import { connect, runOnClient } from './connect.js';
import { assertClock, openDatabaseClock, type DatabaseClock } from './database-clock.js';
import { openDatabase, type Database } from './database.js';
import { openPostgresDocuments, type PostgresDocuments } from './document-store.js';
import { assertGranted, assertMigrated, migrate, SCHEMA, type Migration } from './migrate.js';
import { assertWhole } from './move-mark.js';
import { createPreparation } from './preparation.js';
import type { DatabaseIdentity } from '../access/store-id.js';
import { takeUse, type DatabaseUse } from './database-use.js';

/** Location of documents outside the home. */
export interface DatabaseTarget {
  readonly url: string;
  /** URL of a pooler in transaction mode for statements. The lock on the database does not use it. */
  readonly pooler?: string | undefined;
  /** Schema of the tables; tests use other schemas. */
  readonly schema?: string;
  /** True to create or migrate the tables first. */
  readonly migrate?: boolean;
  /** True if other processes also use the database. All of them must share an artifact store. */
  readonly isShared?: boolean;
  /** Direction of a restore or copy. It needs exclusive use, and a target may be incomplete. */
  readonly moves?: 'from' | 'into' | undefined;
  /** Maximum delay of the events of other processes, ms. */
  readonly readMs?: number;
}

export interface DatabaseEngineOptions extends DocumentEngineOptions {
  readonly place: DatabaseTarget;
  readonly onFailure: (cause: unknown) => void;
}

/** Document engine with its connections. The job queue uses the same connections. */
export interface DatabaseDocuments extends PostgresDocuments {
  readonly database: Database;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
  readonly identity: DatabaseIdentity;
  /** Clock of the database, which dates records. */
  readonly clock: DatabaseClock;
  /** Returns the reason why the database does not answer, as a sentence. Returns undefined if it answers. */
  readonly fault: DatabaseUse['fault'];
  /** Notifications of cancelled jobs. Present if other processes may run them. */
  readonly cancellations?: Pick<DatabaseUse, 'publish' | 'subscribe'>;
}

/** Interval between reads of the database clock, ms. */
const MEASUREMENT_INTERVAL_MS = 30_000;

/**
 * Opens the documents of a database with its connections. The use is exclusive unless the database is shared.
 * @throws StartRefusal 75 if the database is unavailable, another process uses it exclusively or the clocks differ too
 * much; 78 if the schema does not match or a restore or copy into the database is incomplete
 */
export async function openDatabaseDocuments({ place, ...options }: DatabaseEngineOptions): Promise<DatabaseDocuments> {
  const { url, schema = SCHEMA } = place;
  const identity = await runWithClient(url, async (client) => {
    if (place.migrate === true) await migrate(client, schema);
    else await assertMigrated(client, schema);
    await assertGranted(client, schema);
    return readIdentity(client);
  });
  const useOptions = { url, schema, isShared: place.isShared === true, isMove: place.moves !== undefined };
  const alone = await takeUse(useOptions, options.onFailure);
  const { pooler } = place;
  const database = openDatabase({
    url: pooler ?? url,
    isPooled: pooler !== undefined,
    prepare: createPreparation(`"${schema}"`),
  });
  try {
    const clock = await openDatabaseClock({ ask: () => readTime(database) });
    await clock.measure(); // later statements of a connection are faster
    assertClock(clock);
    // A copy gives documents their own times.
    const { now = clock.now } = options;
    const documents = await openPostgresDocuments({ ...options, now, database, schema, readMs: place.readMs });
    // A read that failed is repeated at the next interval.
    const measureTimer = setInterval(() => void clock.measure().catch(() => {}), MEASUREMENT_INTERVAL_MS).unref();
    if (place.moves !== 'into')
      await assertWhole(documents).catch(async (thrown: unknown) => {
        await documents.close();
        throw thrown;
      });
    return {
      ...documents,
      database,
      schema: `"${schema}"`,
      identity,
      clock,
      fault: () => alone.fault() ?? (database.isSilent() ? 'The database does not answer.' : undefined),
      ...(useOptions.isShared ? { cancellations: alone } : {}),
      async close() {
        clearInterval(measureTimer);
        await documents.close();
        await database.close();
        await alone.release();
      },
    };
  } catch (thrown) {
    await database.close();
    await alone.release();
    throw thrown;
  }
}

async function readTime(database: Database): Promise<number> {
  const [row] = await database.query<{ readonly ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    [],
  );
  return row!.ms; // exactly one row
}

/** Returns the name of a database and the identifier of its server. Both distinguish it from a copy by pg_dump. */
async function readIdentity(client: Client): Promise<DatabaseIdentity> {
  const identityRows = await client.query<{ database: string; may_read: boolean }>(
    `SELECT current_database() AS database, has_function_privilege('pg_control_system()', 'EXECUTE') AS may_read`,
  );
  const { database, may_read: mayRead } = identityRows.rows[0]!; // exactly one row
  if (!mayRead) return { system: null, database };
  const { rows } = await client.query<{ system: string }>(
    'SELECT system_identifier::text AS system FROM pg_control_system()',
  );
  return { system: rows[0]!.system, database };
}

/** Creates or migrates the tables of a database. @throws StartRefusal 75, 78 */
export function migrateDatabase({ url, schema = SCHEMA }: DatabaseTarget): Promise<Migration> {
  return runWithClient(url, (client) => migrate(client, schema));
}

/** Runs a function with a separate connection. @throws StartRefusal 75, 78 if it cannot connect, 75 if the connection ends */
export async function runWithClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(url);
  try {
    return await runOnClient(client, () => work(client));
  } finally {
    await client.end().catch(() => {}); // the connection may be gone
  }
}

import { Buffer } from 'node:buffer';
import type { Client, QueryResultRow } from 'pg';
import type { DatabaseIdentity } from '../artifacts/durable-files.js';
import {
  DOCUMENT_KINDS,
  type DocumentEngineOptions,
  type DocumentEntry,
  type DocumentsReader,
  type DocumentStore,
} from '../port.js';
import { connect, createWorkQueue, type DatabaseUse, runOnClient, takeUse } from './connections.js';
import { assertClock, type DatabaseClock, openDatabaseClock } from './database-clock.js';
import { type Database, openDatabase } from './database.js';
import { readListing, openPostgresDocuments, type PostgresDocuments } from './document-store.js';
import {
  assertGranted,
  assertMigrated,
  assertWhole,
  MARK_ID,
  MARK_KIND,
  migrate,
  type Migration,
  refuseIncompleteMove,
  SCHEMA,
} from './migrate.js';
import { COLUMNS, createRows, type DocumentRow, openRow } from './rows.js';
import { createPreparation } from './schema.js';
import { convertDocuments } from '../stored-forms.js';

type EntryRow = DocumentRow & { readonly artifacts: readonly string[] };

/** Number of rows fetched at a time. */
const PAGE_ROWS = 500;

/**
 * Opens documents for reading only, on a separate connection.
 * @throws StartRefusal 75, 78, and the error of `pg`; 78 also if a restore or copy into the database is incomplete
 */
export async function openPostgresReader(url: string, schema: string = SCHEMA): Promise<DocumentsReader> {
  const client = await connect(url);
  const table = `${client.escapeIdentifier(schema)}.documents`;

  const { rowCount } = await client.query(`SELECT FROM ${table} WHERE kind = $1 AND id = $2`, [MARK_KIND, MARK_ID]);
  if (rowCount !== 0) {
    await client.end();
    throw refuseIncompleteMove();
  }
  return {
    async *entries() {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      try {
        await client.query(`DECLARE stored CURSOR FOR SELECT artifacts, ${COLUMNS} FROM ${table} ORDER BY kind, id`);
        for (;;) {
          const { rows } = await client.query<EntryRow>(`FETCH ${PAGE_ROWS} FROM stored`);
          if (rows.length === 0) break;
          yield* rows.map(createEntry);
        }
      } finally {
        await client.query('ROLLBACK');
      }
    },
    async entry(key) {
      const { rows } = await client.query<EntryRow>(
        `SELECT artifacts, ${COLUMNS} FROM ${table} WHERE kind = $1 AND id = $2`,
        [key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1)],
      );
      return rows[0] && createEntry(rows[0]);
    },
    close: () => client.end(),
  };
}

function createEntry(row: EntryRow): DocumentEntry {
  const result = openRow(row);
  const isReadable = !('unreadable' in result);
  return {
    key: `${row.kind}/${row.id}`,
    kind: DOCUMENT_KINDS.find((kind) => kind === row.kind),
    id: row.id,
    bytes: Buffer.byteLength(row.body),
    unreadable: isReadable ? undefined : result.unreadable,
    body: isReadable ? result.body : undefined,
    artifactNames: row.artifacts,
  };
}

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

/**
 * Creates or migrates the tables of a database, and converts documents of earlier releases, while services use them.
 * @returns versions of the schema, and number of converted documents
 * @throws StartRefusal 75, 78
 */
export async function migrateDatabase({
  url,
  schema = SCHEMA,
}: DatabaseTarget): Promise<Migration & { readonly converted: number }> {
  const migration = await runWithClient(url, (client) => migrate(client, schema));
  const database = openDatabase({ url, isPooled: false, prepare: createPreparation(`"${schema}"`) });
  try {
    const onFailure = (cause: unknown): never => {
      throw cause;
    };
    const documents = await openPostgresDocuments({ onFailure, database, schema });
    try {
      return { ...migration, converted: await convertDocuments(documents) };
    } finally {
      await documents.close();
    }
  } finally {
    await database.close();
  }
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

/** Snapshot of the documents, independent of concurrent writes. */
interface DocumentSnapshot extends Pick<DocumentStore, 'ids' | 'get' | 'list'> {
  close(): Promise<void>;
}

/**
 * Opens a snapshot. @throws StartRefusal 75, 78, and the error of `pg`; 78 also while a restore or copy into the
 * database is incomplete
 */
export async function openSnapshot(url: string, schema: string = SCHEMA): Promise<DocumentSnapshot> {
  const client = await connect(url, { idle_in_transaction_session_timeout: 0 });
  /** Queue of reads. A connection runs one statement at a time. */
  const statements = createWorkQueue();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const database: Pick<Database, 'query'> = {
    query: <R extends QueryResultRow>(text: string, values: readonly unknown[]) =>
      statements.take(async () => (await client.query<R>(text, [...values])).rows),
  };
  const rows = createRows(database, client.escapeIdentifier(schema));
  const get: DocumentSnapshot['get'] = async (kind, id) => {
    const row = await rows.row(kind, id);
    return row && openRow(row);
  };
  await assertWhole({ get }).catch(async (thrown: unknown) => {
    await client.end();
    throw thrown;
  });
  return {
    ids: rows.ids,
    get,
    list: async (kind, readBody) => readListing(await rows.rows(kind), readBody),
    close: () => client.end(),
  };
}

import type { QueryResultRow } from 'pg';
import { connect } from './connect.js';
import type { Database } from './database.js';
import { createListing } from './document-store.js';
import { createWorkQueue } from './line.js';
import { SCHEMA } from './migrate.js';
import { assertWhole } from './move-mark.js';
import { createRows, openRow } from './rows.js';
import type { DocumentStore } from '../port.js';

/** Snapshot of the documents, independent of concurrent writes. */
export interface DocumentSnapshot extends Pick<DocumentStore, 'ids' | 'get' | 'list'> {
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
    list: async (kind, readBody) => createListing(await rows.rows(kind), readBody),
    close: () => client.end(),
  };
}

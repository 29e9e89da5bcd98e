import { Buffer } from 'node:buffer';
import { DOCUMENT_KINDS } from '../document-kinds.js';
import type { DocumentsReader, StoredEntry } from '../port.js';
import { connect } from './connect.js';
import { SCHEMA } from './migrate.js';
import { MARK_ID, MARK_KIND, refuseIncompleteMove } from './move-mark.js';
import { COLUMNS, openRow, type DocumentRow } from './rows.js';

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

function createEntry(row: EntryRow): StoredEntry {
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

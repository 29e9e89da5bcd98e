import type { DocumentEngine, DocumentReader } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import type { Database } from './database.js';

/**
 * Kind of the mark. The record of the artifact store has the same kind. It is not a document of a tenant, and is never
 * copied.
 */
export const MARK_KIND = 'artifact-store';
export const MARK_ID = 'move';

/** Number of rows that one statement deletes. */
const PAGE_ROWS = 5000;

/** Database that a restore or copy writes into. */
interface MarkedDatabase {
  readonly documents: DocumentEngine;
  readonly database: Pick<Database, 'query'>;
  /** Schema of the tables, as a quoted identifier. */
  readonly schema: string;
}

/** Checks that a database is complete. @throws StartRefusal 78 while a restore or a copy into it is incomplete */
export async function assertWhole(documents: Pick<DocumentReader, 'get'>): Promise<void> {
  if (await isMarked(documents)) throw refuseIncompleteMove();
}

export const isMarked = async (documents: Pick<DocumentReader, 'get'>): Promise<boolean> =>
  (await documents.get(MARK_KIND, MARK_ID)) !== undefined;

export const refuseIncompleteMove = (): StartRefusal =>
  new StartRefusal(
    EXIT_CONFIGURATION,
    'A restore or copy into the database is incomplete; run `divisor restore` or `divisor copy` again.',
  );

/** Marks a database as incomplete, before the first document is written into it. */
export const markMove = ({ documents }: Pick<MarkedDatabase, 'documents'>): Promise<unknown> =>
  documents.transaction((tx) => tx.put(MARK_KIND, MARK_ID, { at: new Date().toISOString() }));

/** Removes the mark, in the last commit of a restore or copy. */
export const unmarkMove = ({ documents }: Pick<MarkedDatabase, 'documents'>): Promise<unknown> =>
  documents.transaction((tx) => tx.delete(MARK_KIND, MARK_ID));

/** Deletes the documents of an interrupted restore or copy, except the mark and the record of the artifact store. */
export async function clear({ database, schema }: Omit<MarkedDatabase, 'documents'>): Promise<void> {
  for (;;) {
    const deletedRows = await database.query<{ readonly count: number }>(
      `WITH gone AS (DELETE FROM ${schema}.documents WHERE (kind, id) IN (
          SELECT kind, id FROM ${schema}.documents WHERE kind <> $1 LIMIT ${PAGE_ROWS}) RETURNING kind, id),
        queue AS (DELETE FROM ${schema}.jobs WHERE job_id IN (SELECT id FROM gone WHERE kind = 'job'))
        SELECT count(*)::int AS count FROM gone`,
      [MARK_KIND],
    );
    if (deletedRows[0]!.count === 0) return; // exactly one row
  }
}

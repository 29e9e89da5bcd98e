import { hash } from 'node:crypto';
import type { ClientBase, QueryResult } from 'pg';
import { formatSeal } from './sealed-commit.js';

interface Key {
  readonly kind: string;
  readonly id: string;
}

/** Number of rows that one statement seals. */
const BATCH_ROWS = 1000;

/**
 * Seals the documents of earlier releases in batches, while services keep running. If a commit writes a document
 * meanwhile, it seals the document itself.
 * @param schema quoted identifier
 */
export async function sealDocuments(client: ClientBase, schema: string): Promise<void> {
  let last: Key | undefined = { kind: '', id: '' };
  while (last !== undefined) {
    const { rows }: QueryResult<Key> = await client.query<Key>(
      `WITH unsealed AS (
          SELECT kind, id FROM ${schema}.documents WHERE (kind, id) > ($1, $2) AND seal IS NULL
            ORDER BY kind, id LIMIT ${BATCH_ROWS} FOR UPDATE SKIP LOCKED
        ), sealed AS (
          UPDATE ${schema}.documents AS d SET seal = ${formatSeal({ kind: 'd.kind', id: 'd.id', etag: 'd.etag' })}
            FROM unsealed AS u WHERE d.kind = u.kind AND d.id = u.id
        ) SELECT kind, id FROM unsealed ORDER BY kind DESC, id DESC LIMIT 1`,
      [last.kind, last.id],
    );
    last = rows[0];
  }
}

/** Returns the seal of a document, computed like `formatSeal`. */
export function sealOfDocument(kind: string, id: string, etag: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${kind}/${id}`), etag]), 'hex');
}

import { hash } from 'node:crypto';
import {
  createNumberedRange,
  type DocumentKind,
  formatTimestamp,
  SCHEMA_VERSION,
  type StoredDocument,
  type UnreadableDocument,
} from '../port.js';
import type { Database } from './database.js';
import { sealOfDocument } from './seals.js';

export interface DocumentRow {
  readonly kind: string;
  readonly id: string;
  /** Version as decimal digits. It is text, because the column is a bigint. */
  readonly version: string;
  readonly schema: number;
  readonly etag: Buffer;
  /** Seal over key and ETag. It is null in a row of an earlier release that no migration has sealed yet. */
  readonly seal: Buffer | null;
  readonly updated_at: Date;
  readonly body: string;
}

/** Reads of the documents table, each in one snapshot. */
export interface DocumentRows {
  row(kind: DocumentKind, id: string): Promise<DocumentRow | undefined>;
  /**
   * Runs several reads in one round trip. @param reads only a few, because each combination is a separate prepared
   * statement
   */
  several(reads: readonly RowQuery[]): Promise<readonly (DocumentRow | undefined)[]>;
  /** Returns the version of a document; undefined if there is none. */
  version(kind: DocumentKind, id: string): Promise<string | undefined>;
  /** Lists rows by id, ascending. */
  rows(kind: DocumentKind): Promise<readonly DocumentRow[]>;
  /** Lists ids in code-point order. */
  ids(kind: DocumentKind): Promise<readonly string[]>;
  /** Lists ids between two bounds, both exclusive, in descending order. */
  idsBetween(kind: DocumentKind, range: IdRange): Promise<readonly string[]>;
  revision(kind: DocumentKind): Promise<number>;
  artifacts(): Promise<ReadonlySet<string>>;
  artifactsAmong(names: readonly string[]): Promise<ReadonlySet<string>>;
}

interface IdRange {
  readonly from: string;
  readonly until: string;
  readonly limit: number;
}

export interface DocumentKey {
  readonly kind: DocumentKind;
  readonly id: string;
}

/** Read of a document, or of the last document of a numbered owner, without its body. */
export type RowQuery = DocumentKey | { readonly kind: DocumentKind; readonly owner: string };

export const COLUMNS = 'kind, id, version, schema, etag, seal, updated_at, body';
const HEADING_COLUMNS = "kind, id, version, schema, etag, seal, updated_at, '' AS body";

export function createRows(database: Pick<Database, 'query'>, schema: string): DocumentRows {
  return {
    async row(kind, id) {
      const [row] = await database.query<DocumentRow>(
        `SELECT ${COLUMNS} FROM ${schema}.documents WHERE kind = $1 AND id = $2`,
        [kind, id],
      );
      return row;
    },
    async several(reads) {
      const values: string[] = [];
      const addParameter = (value: string): string => `$${values.push(value)}`;
      const selections = reads.map((rowQuery, place) =>
        formatSelection(rowQuery, { place, bindValue: addParameter, table: `${schema}.documents` }),
      );
      const result = await database.query<DocumentRow & { readonly place: number }>(
        selections.join(' UNION ALL '),
        values,
      );
      return reads.map((_, place) => result.find((row) => row.place === place));
    },
    async version(kind, id) {
      const [row] = await database.query<Pick<DocumentRow, 'version'>>(
        `SELECT version FROM ${schema}.documents WHERE kind = $1 AND id = $2`,
        [kind, id],
      );
      return row?.version;
    },
    rows: (kind) => database.query(`SELECT ${COLUMNS} FROM ${schema}.documents WHERE kind = $1 ORDER BY id`, [kind]),
    async ids(kind) {
      const rows = await database.query<Pick<DocumentRow, 'id'>>(
        `SELECT id FROM ${schema}.documents WHERE kind = $1 ORDER BY id`,
        [kind],
      );
      return rows.map(({ id }) => id);
    },
    async idsBetween(kind, { from, until, limit }) {
      const rows = await database.query<Pick<DocumentRow, 'id'>>(
        `SELECT id FROM ${schema}.documents WHERE kind = $1 AND id > $2 AND id < $3 ORDER BY id DESC LIMIT $4`,
        [kind, from, until, limit],
      );
      return rows.map(({ id }) => id);
    },
    revision: createRevisions(database, schema),
    async artifacts() {
      const rows = await database.query<{ readonly name: string }>(
        `SELECT DISTINCT unnest(artifacts) AS name FROM ${schema}.documents WHERE artifacts <> '{}'`,
        [],
      );
      return new Set(rows.map(({ name }) => name));
    },
    async artifactsAmong(names) {
      const rows = await database.query<{ readonly name: string }>(
        `SELECT DISTINCT name FROM ${schema}.documents, unnest(artifacts) AS name
          WHERE artifacts && $1::text[] AND artifacts <> '{}' AND name = ANY($1::text[])`,
        [names],
      );
      return new Set(rows.map(({ name }) => name));
    },
  };
}

interface SelectionTerms {
  readonly place: number;
  /** Adds a value as a parameter and returns its placeholder. */
  readonly bindValue: (value: string) => string;
  readonly table: string;
}

function formatSelection(rowQuery: RowQuery, { place, bindValue, table }: SelectionTerms): string {
  const kind = bindValue(rowQuery.kind);
  if ('id' in rowQuery)
    return `(SELECT ${place} AS place, ${COLUMNS} FROM ${table} WHERE kind = ${kind} AND id = ${bindValue(rowQuery.id)})`;
  const { from, until } = createNumberedRange(rowQuery.owner);
  const range = `kind = ${kind} AND id > ${bindValue(from)} AND id < ${bindValue(until)}`;
  return `(SELECT ${place} AS place, ${HEADING_COLUMNS} FROM ${table} WHERE ${range} ORDER BY id DESC LIMIT 1)`;
}

/**
 * Creates the reader of revisions. Reads that are requested in the same turn share one statement, because each
 * statement is a round trip.
 */
function createRevisions(database: Pick<Database, 'query'>, schema: string): DocumentRows['revision'] {
  let pendingSums: { readonly kinds: DocumentKind[]; readonly sums: Promise<ReadonlyMap<string, number>> } | undefined;

  async function read(kinds: readonly DocumentKind[]): Promise<ReadonlyMap<string, number>> {
    pendingSums = undefined;
    const rows = await database.query<{ readonly kind: string; readonly sum: string }>(
      `SELECT kind, sum(count) AS sum FROM ${schema}.changes WHERE kind = ANY($1) GROUP BY kind`,
      [kinds],
    );
    return new Map(rows.map(({ kind, sum }) => [kind, Number(sum)]));
  }

  return async (kind) => {
    if (pendingSums === undefined) {
      const kinds: DocumentKind[] = [];
      pendingSums = { kinds, sums: Promise.resolve(kinds).then(read) };
    }
    pendingSums.kinds.push(kind);
    return (await pendingSums.sums).get(kind) ?? 0;
  };
}

function isUnderItsKey({ kind, id, etag, seal }: DocumentRow): boolean {
  return seal === null || sealOfDocument(kind, id, etag) === seal.toString('hex');
}

export function openRow(row: DocumentRow): StoredDocument | UnreadableDocument {
  const { id, schema, etag, updated_at: updatedAt, body } = row;
  if (hash('sha256', body, 'hex') !== etag.toString('hex') || !isUnderItsKey(row))
    return { id, unreadable: 'unreadable' };
  if (schema > SCHEMA_VERSION) return { id, unreadable: 'unsupported' };
  try {
    const timestamp = formatTimestamp(updatedAt.getTime());
    return { id, body: JSON.parse(body), etag: etag.toString('hex'), updatedAt: timestamp };
  } catch {
    return { id, unreadable: 'unreadable' }; // text that is not JSON was written by another program
  }
}

import type { ClientBase } from 'pg';
import type { DocumentEngine, DocumentReader } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';
import { type Database, findSqlState } from './database.js';
import { FIRST_PROTOCOL, listSchemaObjects, listSteps, PROTOCOL } from './schema.js';
import { sealDocuments } from './seals.js';

/** Schema of the tables of a cluster; tests use other schemas. */
export const SCHEMA = 'divisor';

export interface Migration {
  /** Previous version of the schema; 0 if there was none. */
  readonly from: number;
  readonly to: number;
}

/** Version of a schema, and the minimum version that a program must support to use it. */
interface SchemaVersion {
  readonly number: number;
  readonly least: number;
}

/**
 * Creates the schema, or migrates it to the version of this program. One process does this at a time, in one
 * transaction. Documents of earlier versions are sealed afterwards, while services run.
 * @throws StartRefusal 78 if the database is too old, not UTF-8, or has a newer schema
 */
export async function migrate(client: ClientBase, schema: string = SCHEMA): Promise<Migration> {
  await assertFit(client);
  const name = client.escapeIdentifier(schema);
  const from = await upgradeUnlessDone(client, schema);
  await sealDocuments(client, name);
  return { from, to: PROTOCOL };
}

/**
 * Migrates the schema. If the role is not the owner, only checks that no migration is needed. @returns the previous
 * version of the schema
 */
async function upgradeUnlessDone(client: ClientBase, schema: string): Promise<number> {
  try {
    const result = await readSchemaVersion(client, schema);
    return result?.number === PROTOCOL ? PROTOCOL : await upgrade(client, schema);
  } catch (thrown) {
    if (findSqlState(thrown) !== INSUFFICIENT_PRIVILEGE) throw thrown;
    const { role, owner } = await readRoles(client, schema);
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The role ${role} may not create or change the tables of Divisor: run divisor migrate as ${owner}, the owner.`,
      { cause: thrown },
    );
  }
}

/** SQLSTATE of a missing right. */
export const INSUFFICIENT_PRIVILEGE = '42501';

/** Returns the connected role and the owner of the schema. If there is no schema, returns the owner of the database. */
async function readRoles(
  client: ClientBase,
  schema: string,
): Promise<{ readonly role: string; readonly owner: string }> {
  const { rows } = await client.query<{ readonly role: string; readonly owner: string }>(
    `SELECT current_user AS role, pg_get_userbyid(coalesce(
        (SELECT nspowner FROM pg_namespace WHERE nspname = $1),
        (SELECT datdba FROM pg_database WHERE datname = current_database()))) AS owner`,
    [schema],
  );
  return rows[0]!; // exactly one row
}

/** Migrates the schema. @returns the previous version of the schema */
async function upgrade(client: ClientBase, schema: string): Promise<number> {
  const name = client.escapeIdentifier(schema);
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`${schema} migration`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${name}`);
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${name}.protocol (number int PRIMARY KEY, least int NOT NULL, at timestamptz NOT NULL)`,
    );
    const result = await readNumbers(client, name);
    if (result !== undefined && result.number > PROTOCOL) throw createNewerRefusal(result.number);
    const from = result?.number ?? 0;
    if (from > 0 && from < FIRST_PROTOCOL) throw createOlderRefusal(from);
    for (const [i, step] of listSteps(name).entries())
      if (from === 0 || FIRST_PROTOCOL + i > from) await client.query(step);
    if (from < PROTOCOL) await client.query(`INSERT INTO ${name}.protocol VALUES ($1, 1, now())`, [PROTOCOL]);
    await client.query('COMMIT');
    return from;
  } catch (thrown) {
    await client.query('ROLLBACK');
    throw thrown;
  }
}

/**
 * Checks that this program supports the existing schema.
 * @throws StartRefusal 78 if there is no schema, it is older, or it requires a newer program
 */
export async function assertMigrated(client: ClientBase, schema: string = SCHEMA): Promise<void> {
  const result = await readSchemaVersion(client, schema).catch(async (thrown: unknown) => {
    throw findSqlState(thrown) === INSUFFICIENT_PRIVILEGE
      ? await createGrantRefusal(client, schema, 'SELECT on protocol')
      : thrown;
  });
  if (result === undefined)
    throw new StartRefusal(EXIT_CONFIGURATION, 'The database has no tables of Divisor: run divisor migrate.');
  if (result.least > PROTOCOL) throw createNewerRefusal(result.number);
  if (result.number < FIRST_PROTOCOL) throw createOlderRefusal(result.number);
  if (result.number < PROTOCOL) {
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The database has schema ${result.number}; this version needs ${PROTOCOL}: run divisor migrate.`,
    );
  }
}

/**
 * Checks that a role has the rights that this program needs.
 * @throws StartRefusal 78 with the missing rights
 */
export async function assertGranted(client: ClientBase, schema: string = SCHEMA): Promise<void> {
  // Skips a newer schema, which may contain objects that this program does not use.
  if ((await readSchemaVersion(client, schema))?.number !== PROTOCOL) return;
  const { rows } = await client.query<{ readonly lacking: string }>(
    `SELECT privilege || ' on ' || string_agg(name, ', ' ORDER BY name) AS lacking FROM (
        SELECT privilege, relname::text AS name
          FROM pg_class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS privilege
          WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname = ANY($2)
            AND NOT has_table_privilege(pg_class.oid, privilege)
        UNION ALL SELECT 'USAGE', relname::text FROM pg_class
          WHERE relnamespace = $1::regnamespace AND relname = ANY($2)
            AND CASE relkind WHEN 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') ELSE false END
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i')
        UNION ALL SELECT 'EXECUTE', proname::text FROM pg_proc
          WHERE pronamespace = $1::regnamespace AND proname = ANY($2) AND NOT has_function_privilege(pg_proc.oid, 'EXECUTE')
      ) AS each GROUP BY privilege ORDER BY privilege`,
    [client.escapeIdentifier(schema), listSchemaObjects()],
  );
  if (rows.length > 0) throw await createGrantRefusal(client, schema, rows.map(({ lacking }) => lacking).join('; '));
}

async function createGrantRefusal(client: ClientBase, schema: string, lacking: string): Promise<StartRefusal> {
  const { role, owner } = await readRoles(client, schema);
  return new StartRefusal(
    EXIT_CONFIGURATION,
    `The role ${role} lacks rights in the schema ${schema}, which ${owner} can grant: ${lacking}. See the page Operation of the guide.`,
  );
}

/** Returns the version of a schema. Returns undefined if there is none. @throws the error of `pg` */
async function readSchemaVersion(client: ClientBase, schema: string): Promise<SchemaVersion | undefined> {
  const name = client.escapeIdentifier(schema);
  const { rows } = await client.query<{ readonly is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [`${name}.protocol`],
  );
  return rows[0]?.is_there === true ? readNumbers(client, name) : undefined;
}

async function readNumbers(client: ClientBase, name: string): Promise<SchemaVersion | undefined> {
  const { rows } = await client.query<SchemaVersion>(
    `SELECT number, least FROM ${name}.protocol ORDER BY number DESC LIMIT 1`,
  );
  return rows[0];
}

/** Last release that migrates a schema before `FIRST_PROTOCOL`. */
const LAST_WITH_OLDER_STEPS = '0.10.0';

function createOlderRefusal(number: number): StartRefusal {
  return new StartRefusal(
    EXIT_CONFIGURATION,
    `The database has schema ${number}, of a release before 0.5.0; this version migrates schemas from ${FIRST_PROTOCOL}: run divisor migrate of release ${LAST_WITH_OLDER_STEPS} first.`,
  );
}

function createNewerRefusal(number: number): StartRefusal {
  return new StartRefusal(
    EXIT_CONFIGURATION,
    `The database has schema ${number}; this version supports ${PROTOCOL}: a newer version is required.`,
  );
}

/** Minimum major version of PostgreSQL. It is the oldest one in the tests. */
const VERSION_MIN = 15;

async function assertFit(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ readonly version: number; readonly encoding: string }>(
    "SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding",
  );
  const { version, encoding } = rows[0]!; // exactly one row
  if (version < VERSION_MIN)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `PostgreSQL ${version} is too old: ${VERSION_MIN} or later is required.`,
    );
  if (encoding !== 'UTF8')
    throw new StartRefusal(EXIT_CONFIGURATION, `The database is encoded in ${encoding}: UTF8 is required.`);
}

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

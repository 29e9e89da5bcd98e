import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Database, openDatabase } from '#store/postgres/database.js';
import { migrate } from '#store/postgres/migrate.js';
import { hasPostgresql, startPostgresql } from './postgresql-server.js';

export { hasPostgresql };

/**
 * Folder with a certificate for localhost and its key, and with another authority. The key of the authority that issued
 * the certificate was discarded.
 */
export const TLS_FOLDER = 'test/postgresql/tls';

/**
 * Returns the URL of the only server of this run of all tests. The first caller starts it. It does not sync to disk,
 * because separate servers test durability.
 */
export async function openSharedPostgresql(): Promise<string> {
  const runFolder = process.env['TEST_RUN_FOLDER']!; // set before the first test
  const folder = join(runFolder, 'postgresql');
  const url = join(runFolder, 'postgresql.url');
  chmodSync(runFolder, 0o755);
  try {
    mkdirSync(folder);
    const server = await startPostgresql({
      folder,
      outlives: true,
      settings: ['-c', 'max_connections=200'],
      tls: TLS_FOLDER,
    });
    writeFileSync(`${url}.new`, server.url);
    renameSync(`${url}.new`, url);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  while (!existsSync(url)) await new Promise((resolve) => setTimeout(resolve, 20)); // another process is starting the server
  return readFileSync(url, 'utf8');
}

/** A new schema in the shared server. */
export interface TestSchema {
  readonly schema: string;
  readonly url: string;
  readonly database: Database;
  /** Opens more connections, as another process would. `drop` closes them. */
  another(): Database;
  /** Runs a statement in which `$schema` stands for the name of the schema. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

export async function openTestSchema(): Promise<TestSchema> {
  const url = await openSharedPostgresql();
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const client = new Client(url);
  await client.connect();
  await migrate(client, schema);
  const databases: Database[] = [];
  const openAnotherDatabase = (): Database => {
    const database = openDatabase({ url, connectionsMax: 4 });
    databases.push(database);
    return database;
  };
  return {
    schema,
    url,
    database: openAnotherDatabase(),
    another: openAnotherDatabase,
    query: async (sql) => (await client.query(sql.replaceAll('$schema', schema))).rows,
    async drop() {
      for (const database of databases) await database.close();
      await client.query(`DROP SCHEMA ${schema} CASCADE`);
      await client.end();
    },
  };
}

/** A new database in the shared server. It has the environment variables that commands need. */
export interface TestDatabase {
  readonly url: string;
  /** Name of the database and of a role that is removed with the database. */
  readonly name: string;
  drop(): Promise<void>;
}

export async function openTestDatabase(): Promise<TestDatabase> {
  const server = new URL(await openSharedPostgresql());
  const name = `test_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string): Promise<void> => {
    const client = new Client(server.href);
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await run(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    async drop() {
      await run(`DROP DATABASE ${name} WITH (FORCE)`);
      await run(`DROP ROLE IF EXISTS ${name}`);
    },
  };
}

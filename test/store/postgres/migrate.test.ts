import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { assertGranted, assertMigrated, migrate } from '#store/postgres/migrate.js';
import { DOCUMENT_KINDS } from '#store/port.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { makeLeastRole } from '../../postgresql/least-role.js';
import { hasPostgresql, openTestSchema, openSharedPostgresql } from '../../postgresql/shared-postgresql.js';

describe.skipIf(!hasPostgresql)('the schema', () => {
  test('is created once by concurrent starts, and creating it again changes nothing', async () => {
    const url = await openSharedPostgresql();
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new Client(url);
        await client.connect();
        return client;
      }),
    );
    const result = await Promise.all(clients.map((client) => migrate(client, 'made_at_once')));
    expect(result.map(({ from }) => from).toSorted((a, b) => a - b)).toEqual([0, PROTOCOL, PROTOCOL]);
    await clients[0]!.query('DROP SCHEMA made_at_once CASCADE');
    for (const client of clients) await client.end();
  });

  test('that is absent or requires a newer program is refused; one with additions is not', async () => {
    const world = await openTestSchema();
    const client = new Client(world.url);
    await client.connect();
    await assertMigrated(client, world.schema);
    await expect(assertMigrated(client, 'absent')).rejects.toThrow('run divisor migrate');
    await world.query(`INSERT INTO $schema.protocol VALUES (${PROTOCOL + 1}, 1, now())`);
    await assertMigrated(client, world.schema);
    await expect(migrate(client, world.schema)).rejects.toMatchObject({ exitStatus: 78 });
    await world.query(`INSERT INTO $schema.protocol VALUES (${PROTOCOL + 2}, ${PROTOCOL + 1}, now())`);
    await expect(assertMigrated(client, world.schema)).rejects.toMatchObject({ exitStatus: 78 });
    await client.end();
    await world.drop();
  });

  test('of a release before 0.5.0 is refused with the release that migrates it, and is not changed', async () => {
    const world = await openTestSchema();
    const client = new Client(world.url);
    await client.connect();
    await world.query('DELETE FROM $schema.protocol');
    await world.query('INSERT INTO $schema.protocol VALUES (8, 1, now())');
    const refusal = {
      exitStatus: 78,
      message:
        'The database has schema 8, of a release before 0.5.0; this version migrates schemas from 9: run divisor migrate of release 0.10.0 first.',
    };
    await expect(migrate(client, world.schema)).rejects.toMatchObject(refusal);
    await expect(assertMigrated(client, world.schema)).rejects.toMatchObject(refusal);
    expect(await world.query('SELECT number FROM $schema.protocol')).toEqual([{ number: 8 }]);
    await client.end();
    await world.drop();
  });

  test('gets the seals that an interrupted migration did not write; a row under another key or with another body is not served', async () => {
    const world = await openTestSchema();
    const client = new Client(world.url);
    await client.connect();
    const database = openDatabase({ url: world.url });
    const store = await openPostgresDocuments({ database, schema: world.schema });
    for (const id of ['first', 'second', 'third']) await store.transaction((tx) => tx.put('index', id, { id }));
    await world.query('UPDATE $schema.documents SET seal = NULL');
    expect(await migrate(client, world.schema)).toEqual({ from: PROTOCOL, to: PROTOCOL });
    expect(await world.query('SELECT count(seal)::int AS sealed FROM $schema.documents')).toEqual([{ sealed: 3 }]);
    for (const id of ['first', 'second', 'third']) expect(await store.get('index', id)).toMatchObject({ body: { id } });
    await world.query(`UPDATE $schema.documents SET id = 'moved' WHERE id = 'first'`);
    await world.query(
      `UPDATE $schema.documents AS d SET body = o.body, etag = o.etag, seal = o.seal FROM $schema.documents AS o
        WHERE d.id = 'second' AND o.id = 'third'`,
    );
    for (const id of ['moved', 'second'])
      expect(await store.get('index', id)).toEqual({ id, unreadable: 'unreadable' });
    expect(await store.get('index', 'third')).toMatchObject({ body: { id: 'third' } });
    await store.close();
    await database.close();
    await client.end();
    await world.drop();
  });

  test('finds the name of an artifact by a few pages of its index, however many were added since the last vacuum', async () => {
    const world = await openTestSchema();
    await world.query(
      `INSERT INTO $schema.documents (kind, id, version, schema, etag, updated_at, body, artifacts)
        SELECT 'run', i, 1, 1, '', now(), '{}', ARRAY[md5(i::text) || '.art'] FROM generate_series(1, 5000) AS i`,
    );
    const [row] = await world.query(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)
        SELECT FROM $schema.documents WHERE artifacts @> ARRAY[md5('1') || '.art'] AND artifacts <> '{}'`,
    );
    const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Readonly<Record<string, number>> }];
    expect(plan['Actual Rows']).toBe(1);
    expect(plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!).toBeLessThan(10); // dozens of blocks if index entries were pending
    await world.drop();
  });

  test('serves a role that owns nothing and may only read and write its tables', async () => {
    const world = await openTestSchema();
    const role = `role_of_${world.schema}`;
    const owner = new Client(world.url);
    await owner.connect();
    const url = await makeLeastRole(owner, { ...world, role });
    await owner.end();
    const database = openDatabase({ url });
    const store = await openPostgresDocuments({ database, schema: world.schema });
    await store.transaction(async (tx) => {
      await tx.put('index', 'a', { n: 1 });
      tx.publish({ type: 'run-stored', run_id: 'a' });
    });
    expect(await store.get('index', 'a')).toMatchObject({ body: { n: 1 } });
    await store.transaction((tx) => tx.delete('index', 'a'));
    await database.query(`SELECT ${world.schema}.tidy_1()`, []);
    await expect(database.query(`DROP TABLE ${world.schema}.documents`, [])).rejects.toMatchObject({ code: '42501' });
    await store.close();
    await database.close();
    await world.query(`DROP OWNED BY ${role}`);
    await world.query(`DROP ROLE ${role}`);
    await world.drop();
  });

  test('is checked by a role that owns nothing; missing privileges are reported in one sentence, with the owner', async () => {
    const world = await openTestSchema();
    const role = `role_of_${world.schema}`;
    const owner = new Client(world.url);
    await owner.connect();
    const client = new Client(await makeLeastRole(owner, { ...world, role }));
    await client.connect();
    const { username } = new URL(world.url);
    const createRefusal = (message: string) => ({ exitStatus: 78, message });
    const describeMissingRights = (label: string) =>
      createRefusal(
        `The role ${role} lacks rights in the schema ${world.schema}, which ${username} can grant: ${label}. See the page Operation of the guide.`,
      );
    expect(await migrate(client, world.schema)).toEqual({ from: PROTOCOL, to: PROTOCOL });
    await assertGranted(client, world.schema);
    // The role must not get access to other tables of the operator in the schema.
    await world.query('CREATE TABLE $schema.kept (id serial); CREATE SEQUENCE $schema.kept_sequence');
    await world.query(`CREATE FUNCTION $schema.kept_function() RETURNS int LANGUAGE sql AS 'SELECT 1'`);
    await world.query('REVOKE ALL ON FUNCTION $schema.kept_function FROM PUBLIC');
    await assertGranted(client, world.schema);

    await world.query(`REVOKE INSERT, DELETE ON $schema.jobs, $schema.documents FROM ${role}`);
    await expect(assertGranted(client, world.schema)).rejects.toMatchObject(
      describeMissingRights('DELETE on documents, jobs; INSERT on documents, jobs'),
    );
    await world.query(`REVOKE ALL ON SCHEMA $schema FROM ${role}`);
    await expect(assertMigrated(client, world.schema)).rejects.toMatchObject(
      describeMissingRights('SELECT on protocol'),
    );
    await world.query(`GRANT USAGE ON SCHEMA $schema TO ${role}`);
    await world.query(`UPDATE $schema.protocol SET number = 1 WHERE number = ${PROTOCOL}`);
    const oldRefusal = createRefusal(
      `The role ${role} may not create or change the tables of Divisor: run divisor migrate as ${username}, the owner.`,
    );
    await expect(migrate(client, world.schema)).rejects.toMatchObject(oldRefusal);

    await client.end();
    await world.query(`DROP OWNED BY ${role}`);
    await world.query(`DROP ROLE ${role}`);
    await owner.end();
    await world.drop();
  });

  test('of another tenant in the same database contains nothing of the first, and is inaccessible to its role', async () => {
    const [ownSchema, otherSchema] = await Promise.all([openTestSchema(), openTestSchema()]);
    const role = `role_of_${ownSchema.schema}`;
    const owner = new Client(ownSchema.url);
    await owner.connect();
    const url = await makeLeastRole(owner, { ...ownSchema, role });
    await owner.end();
    const database = openDatabase({ url });
    const neighbour = otherSchema.another();
    const store = await openPostgresDocuments({ database, schema: ownSchema.schema });
    const neighbourDocuments = await openPostgresDocuments({ database: neighbour, schema: otherSchema.schema });
    const heardEvents: unknown[] = [];
    neighbourDocuments.subscribe('run-stored', (event) => void heardEvents.push(event));
    for (const kind of DOCUMENT_KINDS) await store.transaction((tx) => tx.put(kind, 'a', { kind }));
    await store.transaction(async (tx) => tx.publish({ type: 'run-stored', run_id: 'a' }));
    for (const kind of DOCUMENT_KINDS) expect([kind, await neighbourDocuments.ids(kind)]).toEqual([kind, []]);
    expect(await neighbourDocuments.revision('index')).toBe(0);
    await neighbourDocuments.transaction((tx) => tx.delete('index', 'a'));
    expect(await store.get('index', 'a')).toMatchObject({ body: { kind: 'index' } });
    const tables = ['protocol', 'documents', 'changes', 'events', 'jobs', 'nodes', 'parts'];
    for (const table of tables) {
      const read = database.query(`SELECT FROM ${otherSchema.schema}.${table}`, []);
      await expect(read, table).rejects.toMatchObject({ code: '42501' });
    }
    expect(await neighbour.query(`SELECT FROM ${otherSchema.schema}.events`, [])).toHaveLength(0);
    expect(heardEvents).toEqual([]);
    for (const resource of [store, neighbourDocuments, database]) await resource.close();
    await ownSchema.query(`DROP OWNED BY ${role}`);
    await ownSchema.query(`DROP ROLE ${role}`);
    for (const schema of [ownSchema, otherSchema]) await schema.drop();
  });
});

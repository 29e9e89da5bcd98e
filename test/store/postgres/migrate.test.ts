import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { assertMigrated, migrate } from '#store/postgres/migrate.js';
import { DOCUMENT_KINDS } from '#store/port.js';
import { PROTOCOL } from '#store/postgres/schema.js';
import { makeLeastRole } from '../../postgresql/least-role.js';
import { hasPostgresql, openTestSchema, sharedPostgresql } from '../../postgresql/shared-postgresql.js';

describe.skipIf(!hasPostgresql)('the schema', () => {
  test('is made once, however many make it at once, and made again changes nothing', async () => {
    const url = await sharedPostgresql();
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new Client(url);
        await client.connect();
        return client;
      }),
    );
    const made = await Promise.all(clients.map((client) => migrate(client, 'made_at_once')));
    expect(made.map(({ from }) => from).toSorted((a, b) => a - b)).toEqual([0, PROTOCOL, PROTOCOL]);
    await clients[0]!.query('DROP SCHEMA made_at_once CASCADE');
    for (const client of clients) await client.end();
  });

  test('that is absent or asks for a newer program is refused; one that only has more is not', async () => {
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

  test('of another tenant in the same database has nothing of the first, and is closed to its role', async () => {
    const [own, other] = await Promise.all([openTestSchema(), openTestSchema()]);
    const role = `role_of_${own.schema}`;
    const owner = new Client(own.url);
    await owner.connect();
    const url = await makeLeastRole(owner, { ...own, role });
    await owner.end();
    const database = openDatabase({ url });
    const neighbour = other.another();
    const store = await openPostgresDocuments({ database, schema: own.schema });
    const beside = await openPostgresDocuments({ database: neighbour, schema: other.schema });
    const heard: unknown[] = [];
    beside.subscribe('run-stored', (event) => void heard.push(event));
    for (const kind of DOCUMENT_KINDS) await store.transaction((tx) => tx.put(kind, 'a', { kind }));
    await store.transaction(async (tx) => tx.publish({ type: 'run-stored', run_id: 'a' }));
    for (const kind of DOCUMENT_KINDS) expect([kind, await beside.ids(kind)]).toEqual([kind, []]);
    expect(await beside.revision('index')).toBe(0);
    await beside.transaction((tx) => tx.delete('index', 'a'));
    expect(await store.get('index', 'a')).toMatchObject({ body: { kind: 'index' } });
    const tables = ['protocol', 'documents', 'changes', 'events', 'jobs', 'nodes', 'parts'];
    for (const table of tables) {
      const read = database.query(`SELECT FROM ${other.schema}.${table}`, []);
      await expect(read, table).rejects.toMatchObject({ code: '42501' });
    }
    expect(await neighbour.query(`SELECT FROM ${other.schema}.events`, [])).toHaveLength(0);
    expect(heard).toEqual([]);
    for (const each of [store, beside, database]) await each.close();
    await own.query(`DROP OWNED BY ${role}`);
    await own.query(`DROP ROLE ${role}`);
    for (const each of [own, other]) await each.drop();
  });
});

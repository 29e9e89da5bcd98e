import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import type { StoredDocument } from '#store/port.js';
import { openDatabase } from '#store/postgres/database.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { openCuttingProxy } from '../../postgresql/cutting-proxy.js';
import { hasPostgresql, openTestSchema } from '../../postgresql/shared-postgresql.js';

describe.skipIf(!hasPostgresql)('a commit with a lost answer', () => {
  test('happens once, whether or not the server had it', async () => {
    const world = await openTestSchema();
    const proxy = await openCuttingProxy(world.url);
    const database = openDatabase({ url: proxy.url });
    const store = await openPostgresDocuments({ database, schema: world.schema });
    const heardEvents: string[] = [];
    store.subscribe('run-stored', ({ run_id: id }) => heardEvents.push(id));
    await store.transaction((tx) => tx.put('run', 'count', { n: 0 }));
    for (let n = 0; n < 8; n++) {
      proxy.cutNext('run-stored', n % 2 === 0 ? 'before' : 'after');
      await store.transaction(async (tx) => {
        const { body } = (await tx.get('run', 'count')) as StoredDocument;
        await tx.put('run', 'count', { n: (body as { readonly n: number }).n + 1 });
        tx.publish({ type: 'run-stored', run_id: String(n) });
      });
    }
    expect([proxy.cutCount, await store.get('run', 'count')]).toMatchObject([8, { body: { n: 8 } }]);
    expect(heardEvents).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    const events = await world.query('SELECT event FROM $schema.events ORDER BY id');
    expect(events).toHaveLength(8);
    await store.close();
    await database.close();
    await proxy.close();
    await world.drop();
  });

  test('cannot take effect once it was found missing', async () => {
    const world = await openTestSchema();
    const emptyObjects = Array.from({ length: 5 }, () => "'{}'").join(', ');
    const formatLateCommit = (token: string) =>
      `SELECT $schema.commit_3('${token}', '${token}', now(), ${emptyObjects}, '{run}', '{a}', '{1}', '{"{}"}', '{""}', '{}', '{}', '{}', NULL, false)`;
    const token = '00000000-0000-4000-8000-000000000001';
    // Has the same effect as the query for the outcome.
    await world.query(`INSERT INTO $schema.changes (kind, token) VALUES ('run', '${token}')`);
    await expect(world.query(formatLateCommit(token))).rejects.toMatchObject({ code: '23505' });
    expect(await world.query('SELECT id FROM $schema.documents')).toEqual([]);
    await world.drop();
  });
});

describe.skipIf(!hasPostgresql)('a database that cannot be reached', () => {
  test('refuses reads and writes as unavailable, without its password', async () => {
    const world = await openTestSchema();
    const proxy = await openCuttingProxy(world.url);
    const database = openDatabase({ url: proxy.url });
    const store = await openPostgresDocuments({ database, schema: world.schema });
    await proxy.close();
    const catchRefusal = async (work: Promise<unknown>) => (await work.catch((thrown: unknown) => thrown)) as Refusal;
    const refusals = [
      await catchRefusal(store.get('index', 'a')),
      await catchRefusal(store.transaction((tx) => tx.put('index', 'a', {}))),
    ];
    expect(refusals.map(({ code }) => code)).toEqual(['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
    expect(refusals.map(String).join()).not.toContain(new URL(world.url).password);
    await store.close();
    await database.close();
    await world.drop();
  });
});

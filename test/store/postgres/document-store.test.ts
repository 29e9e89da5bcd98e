import { describe, expect, test } from 'vitest';
import type { DocumentEngine, DocumentStore } from '#store/port.js';
import { openPostgresDocuments } from '#store/postgres/document-store.js';
import { openPostgresReader } from '#store/postgres/open-documents.js';
import { measureSharedSizes, watchSharedSizes } from '#store/postgres/shared-sizes.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';
import { describeDocumentStore } from '../document-store-contract.js';
import { readBody } from '../document-store-world.js';

if (hasPostgresql) {
  describeDocumentStore(
    'documents in PostgreSQL',
    async (options) => {
      const world = await openTestSchema();
      let store = await openPostgresDocuments({ ...world, ...options });
      const otherEngines: DocumentEngine[] = [];
      return {
        store,
        async reopen() {
          await store.close();
          store = await openPostgresDocuments({ ...world, ...options });
          return store;
        },
        reader: () => openPostgresReader(world.url, world.schema),
        async beside() {
          const other = await openPostgresDocuments({ ...world, database: world.another() });
          otherEngines.push(other);
          return other;
        },
        async discard() {
          for (const engine of [store, ...otherEngines]) await engine.close();
          await world.drop();
        },
      };
    },
    { servesProcesses: true },
  );
}

async function addStores(
  count: number,
  run: (stores: readonly DocumentStore[], world: TestSchema) => Promise<void>,
): Promise<void> {
  const world = await openTestSchema();
  const stores = await Promise.all(
    Array.from({ length: count }, () => openPostgresDocuments({ ...world, database: world.another() })),
  );
  try {
    await run(stores, world);
  } finally {
    for (const store of stores) await store.close();
    await world.drop();
  }
}

const readNumber = (document: unknown): number => readBody<{ readonly n: number }>(document).n;

describe.skipIf(!hasPostgresql)('several processes on one PostgreSQL', () => {
  test('never both decide on data that the other changes', async () => {
    await addStores(2, async (stores) => {
      for (let round = 0; round < 10; round++) {
        await stores[0]!.transaction(async (tx) => {
          for (const id of ['a', 'b']) await tx.put('index', id, { n: 1 });
        });
        // Sets a document to 0 if the other one is 1. So one of the two must remain 1.
        const deactivateIfOtherActive = (store: DocumentStore, id: string, otherId: string) =>
          store.transaction(async (tx) => {
            if (readNumber(await tx.get('index', otherId)) === 1) await tx.put('index', id, { n: 0 });
          });
        await Promise.all([
          deactivateIfOtherActive(stores[0]!, 'a', 'b'),
          deactivateIfOtherActive(stores[1]!, 'b', 'a'),
        ]);
        const remainingValues = await Promise.all(
          ['a', 'b'].map(async (id) => readNumber(await stores[0]!.get('index', id))),
        );
        expect(remainingValues[0]! + remainingValues[1]!).toBe(1);
      }
    });
  });

  test('never both create a document because that of the other is absent, by id or in a list', async () => {
    await addStores(2, async (stores) => {
      const createIfAbsent = (store: DocumentStore, id: string) =>
        store.transaction(async (tx) => {
          if ((await tx.ids('watchlist')).length === 0) await tx.put('watchlist', id, {});
        });
      await Promise.all(stores.map((store, i) => createIfAbsent(store, `w${i}`)));
      expect(await stores[0]!.ids('watchlist')).toHaveLength(1);
      const claim = (store: DocumentStore, n: number) =>
        store.transaction(async (tx) => {
          if ((await tx.get('index', 'only')) !== undefined) return false;
          await tx.put('index', 'only', { n });
          return true;
        });
      const claimOutcomes = await Promise.all(Array.from({ length: 10 }, (_, n) => claim(stores[n % 2]!, n)));
      expect(claimOutcomes.filter(Boolean)).toHaveLength(1);
    });
  });
});

describe.skipIf(!hasPostgresql)('a damaged row', () => {
  test('is never returned and counted by its cause; a newer one is unsupported', async () => {
    await addStores(1, async ([store], { query }) => {
      await store!.transaction(async (tx) => {
        for (const id of ['flipped', 'newer', 'whole']) await tx.put('index', id, { id });
      });
      await query(`UPDATE $schema.documents SET body = replace(body, 'flipped', 'flopped') WHERE id = 'flipped'`);
      await query(`UPDATE $schema.documents SET schema = 99 WHERE id = 'newer'`);
      expect(await store!.get('index', 'flipped')).toEqual({ id: 'flipped', unreadable: 'unreadable' });
      const { documents, skipped_causes: causes } = await store!.list('index', (body) => body);
      expect([documents, causes]).toEqual([[{ id: 'whole' }], { unreadable: 1, unsupported: 1, invalid: 0 }]);
    });
  });
});

describe.skipIf(!hasPostgresql)('the sizes of a cluster', () => {
  test('count each result that documents name once, also one within another', async () => {
    await addStores(1, async ([store], { query }) => {
      const createRef = (name: string, bytes: number) => ({
        name: `${name.repeat(32)}.art`,
        bytes,
        sha256: '0'.repeat(64),
      });
      const inset = { at: 3, ...createRef('b', 20) };
      await store!.transaction(async (tx) => {
        await tx.put('index', 'one', { deep: [{ files: [createRef('a', 1), { ...createRef('c', 300), inset }] }] });
        await tx.put('index', 'same', { file: createRef('a', 1), inner: createRef('b', 20) });
        await tx.put('index', 'text', { note: JSON.stringify(createRef('d', 4000)), '\u0000': '\u0000' });
        await tx.put('index', 'none', { bytes: 50_000, name: 'a name' });
        await tx.put('index', 'large', { file: createRef('e', 6e9) });
      });
      const sizes = await measureSharedSizes(query, '$schema');
      // A mention in a note does not count as a reference to a result.
      expect(sizes).toEqual({ databaseBytes: expect.any(Number), results: 4, resultBytes: 1 + 20 + 300 + 6e9 });
      const [row] = await query('SELECT pg_database_size(current_database())::float8 AS bytes');
      expect(sizes.databaseBytes).toBeCloseTo(Number(row!['bytes']), -7);
    });
  });

  test('are measured again after ten minutes in the background, and omitted if unavailable', async () => {
    let now = 0;
    let looks = 0;
    const result = { databaseBytes: 1, results: 2, resultBytes: 3 };
    const failSecondLook = async () => (++looks === 2 ? Promise.reject(new Error('away')) : result);
    const readSizes = watchSharedSizes(failSecondLook, () => now);
    const waitForTurn = () => new Promise((resolve) => setImmediate(resolve));
    expect(readSizes()).toBeUndefined();
    await waitForTurn();
    now = 600_000;
    expect([readSizes(), looks]).toEqual([result, 1]);
    now = 600_001;
    expect([readSizes(), looks]).toEqual([result, 2]);
    await waitForTurn();
    expect([readSizes(), looks]).toEqual([undefined, 2]);
  });
});

describe.skipIf(!hasPostgresql)('cleaning up', () => {
  test('keeps revisions and deletes old events', async () => {
    await addStores(1, async ([store], { query }) => {
      for (const n of [1, 2, 3])
        await store!.transaction(async (tx) => {
          await tx.put('index', 'a', { n });
          tx.publish({ type: 'run-stored', run_id: 'a' });
        });
      const revision = await store!.revision('index');
      for (const table of ['changes', 'events']) await query(`UPDATE $schema.${table} SET at = at - interval '1 day'`);
      await query('SELECT $schema.tidy_1()');
      expect(await store!.revision('index')).toBe(revision);
      const [counts] = await query(
        'SELECT (SELECT count(*)::int FROM $schema.changes) AS changes, (SELECT count(*)::int FROM $schema.events) AS events',
      );
      expect(counts).toEqual({ changes: 2, events: 0 });
    });
  });
});

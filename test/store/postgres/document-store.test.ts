import { describe, expect, test } from 'vitest';
import type { CommitEvent } from '#domain/commit-events.js';
import type { DocumentStore, StoredDocument } from '#store/port.js';
import { openPostgresDocuments, type PostgresStoreOptions } from '#store/postgres/document-store.js';
import { hasPostgresql, openTestSchema, type TestSchema } from '../../postgresql/shared-postgresql.js';
import { describeDocumentStore } from '../document-store-contract.js';

if (hasPostgresql) {
  describeDocumentStore('documents in PostgreSQL', async () => {
    const world = await openTestSchema();
    let store = await openPostgresDocuments(world);
    return {
      store,
      async reopen() {
        await store.close();
        store = await openPostgresDocuments(world);
        return store;
      },
      async discard() {
        await store.close();
        await world.drop();
      },
    };
  });
}

/** Runs a test with stores of as many processes on the same documents. */
async function withStores(
  count: number,
  run: (stores: readonly DocumentStore[], world: TestSchema) => Promise<void>,
  options: Partial<PostgresStoreOptions> = {},
): Promise<void> {
  const world = await openTestSchema();
  const stores = await Promise.all(
    Array.from({ length: count }, () => openPostgresDocuments({ ...world, ...options })),
  );
  try {
    await run(stores, world);
  } finally {
    for (const store of stores) await store.close();
    await world.drop();
  }
}

const numberOf = (found: unknown): number => ((found as StoredDocument).body as { readonly n: number }).n;

describe.skipIf(!hasPostgresql)('several processes on one PostgreSQL', () => {
  test('lose no update of each other', async () => {
    await withStores(3, async (stores) => {
      await stores[0]!.transaction((tx) => tx.put('index', 'count', { n: 0 }));
      const raise = (store: DocumentStore) =>
        store.transaction(
          async (tx) => void (await tx.put('index', 'count', { n: numberOf(await tx.get('index', 'count')) + 1 })),
        );
      await Promise.all(Array.from({ length: 60 }, (_, i) => raise(stores[i % 3]!)));
      expect(numberOf(await stores[1]!.get('index', 'count'))).toBe(60);
    });
  });

  test('read on one what another has acknowledged, with its revision', async () => {
    await withStores(2, async ([one, other]) => {
      for (let n = 0; n < 20; n++) {
        const before = await other!.revision('index');
        await one!.transaction((tx) => tx.put('index', 'a', { n }));
        expect(numberOf(await other!.get('index', 'a'))).toBe(n);
        expect(await other!.revision('index')).toBeGreaterThan(before);
      }
    });
  });

  test('never both decide by what the other changes', async () => {
    await withStores(2, async (stores) => {
      for (let round = 0; round < 10; round++) {
        await stores[0]!.transaction(async (tx) => {
          for (const id of ['a', 'b']) await tx.put('index', id, { n: 1 });
        });
        // Each may give up its own as long as the other is there: one of the two has to stay.
        const giveUp = (store: DocumentStore, own: string, other: string) =>
          store.transaction(async (tx) => {
            if (numberOf(await tx.get('index', other)) === 1) await tx.put('index', own, { n: 0 });
          });
        await Promise.all([giveUp(stores[0]!, 'a', 'b'), giveUp(stores[1]!, 'b', 'a')]);
        const left = await Promise.all(['a', 'b'].map(async (id) => numberOf(await stores[0]!.get('index', id))));
        expect(left[0]! + left[1]!).toBe(1);
      }
    });
  });

  test('never both create by the absence of what the other creates, by id or by the list', async () => {
    await withStores(2, async (stores) => {
      const createAlone = (store: DocumentStore, id: string) =>
        store.transaction(async (tx) => {
          if ((await tx.ids('watchlist')).length === 0) await tx.put('watchlist', id, {});
        });
      await Promise.all(stores.map((store, i) => createAlone(store, `w${i}`)));
      expect(await stores[0]!.ids('watchlist')).toHaveLength(1);
      const claim = (store: DocumentStore, n: number) =>
        store.transaction(async (tx) => {
          if ((await tx.get('index', 'only')) !== undefined) return false;
          await tx.put('index', 'only', { n });
          return true;
        });
      const won = await Promise.all(Array.from({ length: 10 }, (_, n) => claim(stores[n % 2]!, n)));
      expect(won.filter(Boolean)).toHaveLength(1);
    });
  });

  test('hear the events of each other once, in the order of the commits', async () => {
    await withStores(2, async ([one, other]) => {
      const heard: string[] = [];
      const ids = Array.from({ length: 30 }, (_, i) => `r${i}`);
      const all = new Promise<void>((resolve) => {
        other!.subscribe('run-stored', ({ run_id: id }: CommitEvent<'run-stored'>) => {
          heard.push(id);
          if (id === ids.at(-1)) resolve();
        });
      });
      for (const id of ids)
        await one!.transaction(async (tx) => {
          await tx.put('run', id, {});
          tx.publish({ type: 'run-stored', run_id: id });
        });
      await all;
      expect(heard).toEqual(ids);
    });
  });

  test('report an artifact that lost its last document, and no other', async () => {
    const dropped: string[] = [];
    const artifact = (digit: string) => ({ name: `${digit.repeat(32)}.art`, bytes: 1, sha256: '' });
    await withStores(
      1,
      async ([store]) => {
        await store!.transaction(async (tx) => {
          await tx.put('run', 'a', { one: artifact('1'), two: artifact('2') });
          await tx.put('run', 'b', { two: artifact('2') });
        });
        await store!.transaction((tx) => tx.put('run', 'a', { three: artifact('3') }));
        expect(dropped).toEqual([artifact('1').name]);
        await store!.transaction((tx) => tx.delete('run', 'b'));
        expect(dropped).toEqual([artifact('1').name, artifact('2').name]);
      },
      { onUnreferenced: (names) => dropped.push(...names) },
    );
  });
});

describe.skipIf(!hasPostgresql)('a damaged row', () => {
  test('is never served and counted by its cause; a newer one is unsupported', async () => {
    await withStores(1, async ([store], { query }) => {
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

describe.skipIf(!hasPostgresql)('tidying', () => {
  test('keeps revisions as they are and forgets old events', async () => {
    await withStores(1, async ([store], { query }) => {
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

import { describe, expect, test } from 'vitest';
import { DOCUMENT_KINDS, type DocumentEntry } from '#store/port.js';
import type { Stores } from './document-store-world.js';

export function describeLifeTime(stores: Stores): void {
  describe('a store', () => {
    test('keeps documents of every kind over a restart', async () => {
      const { store, reopen } = await stores.open();
      await store.transaction(async (tx) => {
        for (const kind of DOCUMENT_KINDS) await tx.put(kind, 'a', { kind });
      });
      const after = await reopen();
      for (const kind of DOCUMENT_KINDS) expect(await after.get(kind, 'a')).toMatchObject({ body: { kind } });
    });

    test('ends pending operations when it is closed', async () => {
      const { store, reopen } = await stores.open();
      const ids = Array.from({ length: 20 }, (_, n) => `d${String(n).padStart(2, '0')}`);
      const writes = ids.map((id) => store.transaction((tx) => tx.put('index', id, {})));
      const [outcomes] = await Promise.all([Promise.allSettled(writes), store.close()]);
      expect(outcomes.map(({ status }) => status)).toEqual(ids.map(() => 'fulfilled'));
      expect(await (await reopen()).ids('index')).toEqual(ids);
    });

    test('accepts no write, answers no read and reports nothing once it is closed, however often', async () => {
      const { store } = await stores.open();
      const heardEvents: string[] = [];
      store.subscribe('run-stored', ({ run_id: id }) => heardEvents.push(id));
      await store.transaction((tx) => tx.put('index', 'a', {}));
      await store.close();
      await store.close();
      let ranCount = 0;
      for (const call of [
        () => store.get('index', 'a'),
        () => store.get('index', ''),
        () => store.ids('index'),
        () => store.list('index', (body) => body),
        () => store.revision('index'),
        () => store.transaction((tx) => tx.get('index', 'a')),
        () =>
          store.transaction(async (tx) => {
            ranCount++;
            tx.publish({ type: 'run-stored', run_id: 'a' });
            await tx.put('index', 'b', {});
          }),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect([ranCount, heardEvents]).toEqual([0, []]);
    });

    test('is read by another process with all its documents', async () => {
      const { store, reader: openReader } = await stores.open();
      const artifact = { name: `${'1'.repeat(32)}.art`, bytes: 1, sha256: '1'.repeat(64) };
      await store.transaction(async (tx) => {
        await tx.put('index', 'a', { n: 1 });
        await tx.put('run', 'a', { result: artifact });
      });
      const reader = await openReader();
      try {
        const entries: DocumentEntry[] = [];
        for await (const entry of reader.entries()) entries.push(entry);
        const findEntryOfKind = (kind: string) => entries.find((entry) => entry.kind === kind)!;
        expect(entries).toHaveLength(2);
        expect(findEntryOfKind('index')).toMatchObject({
          id: 'a',
          body: { n: 1 },
          unreadable: undefined,
          artifactNames: [],
        });
        expect(findEntryOfKind('run')).toMatchObject({
          id: 'a',
          body: { result: artifact },
          artifactNames: [artifact.name],
        });
        for (const entry of entries) {
          expect(entry.bytes).toBeGreaterThanOrEqual(JSON.stringify(entry.body).length);
          expect(await reader.entry(entry.key)).toEqual(entry);
        }
        await store.transaction(async (tx) => {
          await tx.put('index', 'a', { n: 2 });
          await tx.delete('run', 'a');
        });
        expect(await reader.entry(findEntryOfKind('index').key)).toMatchObject({ body: { n: 2 } });
        expect(await reader.entry(findEntryOfKind('run').key)).toBeUndefined();
      } finally {
        await reader.close();
      }
    });
  });
}

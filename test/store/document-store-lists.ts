import { describe, expect, test } from 'vitest';
import type { DocumentStore } from '#store/port.js';
import { HOSTILE_IDS } from './document-store-documents.js';
import { readBody, computeByCodePoint, type Stores } from './document-store-world.js';

export function describeLists(stores: Stores): void {
  describe('a list', () => {
    test('has ids in code-point order and separates kinds', async () => {
      const { store } = await stores.open();
      await store.transaction(async (tx) => {
        for (const id of ['b', 'B', 'a-1', 'a', '_', '9']) await tx.put('index', id, {});
        await tx.put('run', 'c', {});
        await tx.put('job', 'backtest:a', {});
        await tx.put('job-input', 'backtest:b', {});
      });
      expect(await store.ids('index')).toEqual(['9', 'B', '_', 'a', 'a-1', 'b']);
      expect(await store.ids('job')).toEqual(['backtest:a']);
      expect(await store.ids('job-input')).toEqual(['backtest:b']);
      expect(await store.ids('strategy')).toEqual([]);
    });

    test('has one order of ids for ids, documents and a transaction that adds documents', async () => {
      const { store, reopen } = await stores.open();
      const [earlyIds, lateIds] = [
        HOSTILE_IDS.filter((_, i) => i % 2 === 0),
        HOSTILE_IDS.filter((_, i) => i % 2 === 1),
      ];
      await store.transaction(async (tx) => {
        for (const id of earlyIds) await tx.put('index', id, {});
      });
      const expected = HOSTILE_IDS.toSorted(computeByCodePoint);
      const transactionRead = await store.transaction(async (tx) => {
        for (const id of lateIds) await tx.put('index', id, {});
        return tx.ids('index');
      });
      expect(transactionRead).toEqual(expected);
      const listStored = async (of: DocumentStore) => [
        await of.ids('index'),
        (await of.list('index', (_, id) => id)).documents,
      ];
      expect(await listStored(store)).toEqual([expected, expected]);
      expect(await listStored(await reopen())).toEqual([expected, expected]);
    });

    test('counts a document that its reader refuses as invalid', async () => {
      const { store } = await stores.open();
      await store.transaction(async (tx) => {
        await tx.put('index', 'good', { n: 1 });
        await tx.put('index', 'bad', { n: 'one' });
      });
      const read = (body: unknown): number | undefined => {
        const { n } = body as { n: unknown };
        return typeof n === 'number' ? n : undefined;
      };
      expect(await store.list('index', read)).toEqual({
        documents: [1],
        skipped: 1,
        skipped_causes: { unreadable: 0, invalid: 1, unsupported: 0 },
      });
    });

    test('is complete and in order when it is long', async () => {
      const { store } = await stores.open();
      const ids = Array.from({ length: 3000 }, (_, i) => `d${i}`);
      await store.transaction(async (tx) => {
        for (const id of ids) await tx.put('run', id, { id });
      });
      expect(await store.ids('run')).toEqual(ids.toSorted());
      const listing = await store.list('run', (body) => (body as { id: string }).id);
      expect(listing).toMatchObject({ documents: ids.toSorted(), skipped: 0 });
    });

    test('has all of a commit or nothing, while others write', async () => {
      const { store } = await stores.open();
      const sides = ['left', 'right'];
      const writes = Array.from({ length: 100 }, (_, n) =>
        store.transaction(async (tx) => {
          for (const id of sides) await tx.put('index', id, { n });
        }),
      );
      const lists: Promise<void>[] = [];
      for (const write of writes) {
        await write;
        lists.push(
          store
            .list('index', (body) => (body as { n: number }).n)
            .then(({ documents: [left, right] }) => expect(left).toBe(right)),
        );
      }
      await Promise.all(lists);
    });

    test('is of one moment, although its documents are read in several turns', async () => {
      const { store } = await stores.open();
      const ids = Array.from({ length: 12 }, (_, i) => `d${String(i).padStart(2, '0')}`);
      const writeAll = (n: number) =>
        store.transaction(async (tx) => {
          for (const id of ids) await tx.put('index', id, { n });
          await (n % 2 === 0 ? tx.put('index', 'even', { n }) : tx.delete('index', 'even'));
        });
      await writeAll(0);
      const readSlowly = (body: unknown): number => {
        const endMs = performance.now() + 3;
        while (performance.now() < endMs);
        return (body as { n: number }).n;
      };
      const end = new AbortController();
      const writes = (async () => {
        for (let n = 1; !end.signal.aborted; n++) await writeAll(n);
      })();
      for (let i = 0; i < 5; i++) {
        const { documents } = await store.list('index', readSlowly);
        const [n] = documents;
        expect(documents).toEqual(Array.from({ length: ids.length + (n! % 2 === 0 ? 1 : 0) }, () => n));
      }
      end.abort();
      await writes;
    });

    test('has every write acknowledged before it, and no other', async () => {
      const { store } = await stores.open();
      for (let n = 0; n < 40; n++) {
        const id = `d${n % 7}`;
        await store.transaction<unknown>((tx) => (n % 5 === 4 ? tx.delete('index', id) : tx.put('index', id, { n })));
        const document = await store.get('index', id);
        const ids = await store.ids('index');
        const { documents } = await store.list('index', (body) => (body as { n: number }).n);
        expect(ids.includes(id)).toBe(n % 5 !== 4);
        expect(documents.includes(n)).toBe(n % 5 !== 4);
        if (n % 5 === 4) expect(document).toBeUndefined();
        else expect(readBody(document)).toEqual({ n });
      }
    });
  });
}

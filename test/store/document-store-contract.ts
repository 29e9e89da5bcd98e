import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { Refusal } from '#domain/refusal.js';
import type { DocumentStore, StoredDocument } from '#store/port.js';

/** A store that a contract test may open, reopen and forget. */
export interface OpenedStore {
  readonly store: DocumentStore;
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<DocumentStore>;
  /** Closes the store and removes its data. */
  discard(): Promise<void>;
}

/** What every document store promises, whatever engine is below: run against each. */
export function describeDocumentStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    const opened: OpenedStore[] = [];
    const openStore = async (): Promise<OpenedStore> => {
      const store = await open();
      opened.push(store);
      return store;
    };
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.discard();
    });

    test('gives back what was put, with the SHA-256 of its canonical JSON as etag', async () => {
      const { store } = await openStore();
      const etag = await store.transaction((tx) => tx.put('index', 'GOLD4', { name: 'Golden four', id: 'GOLD4' }));
      // printf '{"id":"GOLD4","name":"Golden four"}' | sha256sum
      expect(etag).toBe('55af3f7edaf1ce1239588dfca0c19821d5a9f775e80266e30c4a01ee8b982a93');
      expect(await store.get('index', 'GOLD4')).toMatchObject({
        id: 'GOLD4',
        body: { id: 'GOLD4', name: 'Golden four' },
        etag,
      });
    });

    test('gives equal documents equal etags whatever the order of their keys', async () => {
      const { store } = await openStore();
      const [a, b] = await store.transaction(async (tx) => [
        await tx.put('index', 'a', { x: 1, y: [2] }),
        await tx.put('index', 'b', { y: [2], x: 1 }),
      ]);
      expect(a).toBe(b);
    });

    test('keeps documents over a restart', async () => {
      const { store, reopen } = await openStore();
      await store.transaction((tx) => tx.put('index', 'a', { value: 1 }));
      expect(await (await reopen()).get('index', 'a')).toMatchObject({ body: { value: 1 } });
    });

    test('has another revision of a kind once a write of it is acknowledged, and of no other kind', async () => {
      const { store } = await openStore();
      const revisions = () => Promise.all([store.revision('index'), store.revision('strategy')]);
      const [index, strategy] = await revisions();
      await store.transaction((tx) => tx.put('index', 'a', { value: 1 }));
      const [written] = await revisions();
      expect(written).toBeGreaterThan(index);
      await store.transaction((tx) => tx.delete('index', 'a'));
      const [deleted] = await revisions();
      expect(deleted).toBeGreaterThan(written);
      await store.transaction((tx) => tx.get('index', 'b'));
      expect(await revisions()).toEqual([deleted, strategy]);
    });

    test('keeps ids of a prototype apart from everything else', async () => {
      const { store } = await openStore();
      expect(await store.get('index', '__proto__')).toBeUndefined();
      expect(await store.get('index', 'constructor')).toBeUndefined();
      await store.transaction((tx) => tx.put('index', '__proto__', { value: 1 }));
      expect(await store.get('index', '__proto__')).toMatchObject({ id: '__proto__', body: { value: 1 } });
      expect(await store.ids('index')).toEqual(['__proto__']);
    });

    test('has nothing under a name that can be no id, and takes nothing under it', async () => {
      const { store } = await openStore();
      for (const id of ['', 'a\u0000b', 'x'.repeat(2000)]) {
        expect(await store.get('index', id)).toBeUndefined();
        expect(await store.transaction((tx) => tx.delete('index', id))).toBe(false);
        await expect(store.transaction((tx) => tx.put('index', id, {}))).rejects.toThrow('not a document id');
      }
    });

    test('lists ids in code-point order and kinds apart', async () => {
      const { store } = await openStore();
      await store.transaction(async (tx) => {
        for (const id of ['b', 'B', 'a-1', 'a', '_', '9']) await tx.put('index', id, {});
        await tx.put('run', 'c', {});
        await tx.put('job', 'backtest:a', {});
        await tx.put('job-input', 'backtest:b', {});
      });
      expect(await store.ids('index')).toEqual(['9', 'B', '_', 'a', 'a-1', 'b']);
      expect(await store.ids('job')).toEqual(['backtest:a']);
    });

    test('counts a document that its reader refuses as invalid', async () => {
      const { store } = await openStore();
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

    test('writes nothing of a change that throws, and throws what it threw', async () => {
      const { store } = await openStore();
      await store.transaction((tx) => tx.put('index', 'a', { version: 1 }));
      const change = store.transaction(async (tx) => {
        await tx.put('index', 'a', { version: 2 });
        await tx.delete('index', 'a');
        await tx.put('index', 'b', {});
        throw new Refusal('INDEX_NOT_FOUND', 'changed its mind');
      });
      await expect(change).rejects.toMatchObject({ code: 'INDEX_NOT_FOUND' });
      expect(await store.get('index', 'a')).toMatchObject({ body: { version: 1 } });
      expect(await store.ids('index')).toEqual(['a']);
    });

    test('refuses a body that JSON cannot carry', async () => {
      const { store } = await openStore();
      await expect(store.transaction((tx) => tx.put('index', 'a', { value: Number.NaN }))).rejects.toThrow(
        'not a JSON number',
      );
      expect(await store.ids('index')).toEqual([]);
    });

    test('loses no update of transactions that read, wait a while and write', async () => {
      const { store } = await openStore();
      await store.transaction((tx) => tx.put('index', 'count', { n: 0 }));
      const raise = () =>
        store.transaction(async (tx) => {
          const { n } = ((await tx.get('index', 'count')) as StoredDocument).body as { readonly n: number };
          for (let turn = n % 3; turn >= 0; turn--) await Promise.resolve();
          await tx.put('index', 'count', { n: n + 1 });
          return n;
        });
      const seen = await Promise.all(Array.from({ length: 200 }, raise));
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n));
      expect(await store.get('index', 'count')).toMatchObject({ body: { n: 200 } });
    });

    test('shows a transaction its own writes and deletions', async () => {
      const { store } = await openStore();
      await store.transaction((tx) => tx.put('index', 'old', {}));
      await store.transaction(async (tx) => {
        expect(await tx.delete('index', 'old')).toBe(true);
        expect(await tx.delete('index', 'old')).toBe(false);
        await tx.put('index', 'new', { n: 1 });
        expect(await tx.get('index', 'old')).toBeUndefined();
        expect(await tx.get('index', 'new')).toMatchObject({ body: { n: 1 } });
        expect(await tx.ids('index')).toEqual(['new']);
      });
      expect(await store.ids('index')).toEqual(['new']);
    });

    test('loses no update of writers that come at once', async () => {
      const { store } = await openStore();
      await store.transaction((tx) => tx.put('index', 'count', { n: 0 }));
      const increment = () =>
        store.transaction(async (tx) => {
          const found = (await tx.get('index', 'count')) as { body: { n: number } };
          await tx.put('index', 'count', { n: found.body.n + 1 });
        });
      await Promise.all(Array.from({ length: 300 }, increment));
      expect(await store.get('index', 'count')).toMatchObject({ body: { n: 300 } });
    });

    test('agrees with a plain map after any sequence of transactions and restarts', async () => {
      const id = fc.constantFrom('a', 'b', '__proto__', 'c-1');
      const step = fc.oneof(
        fc.record({ put: id, value: fc.jsonValue({ maxDepth: 2 }), fails: fc.boolean() }),
        fc.record({ drop: id }),
        fc.record({ restart: fc.constant(true) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const { store: first, reopen } = await openStore();
          let store = first;
          const model = new Map<string, string>();
          for (const action of steps) {
            if ('restart' in action) {
              store = await reopen();
            } else if ('drop' in action) {
              expect(await store.transaction((tx) => tx.delete('index', action.drop))).toBe(model.delete(action.drop));
            } else {
              const change = store.transaction(async (tx) => {
                await tx.put('index', action.put, { value: action.value });
                if (action.fails) throw new Error('no');
              });
              await change.catch((thrown: Error) => expect(thrown.message).toBe('no'));
              if (!action.fails) model.set(action.put, JSON.stringify(withoutNegativeZero(action.value)));
            }
          }
          expect(await store.ids('index')).toEqual([...model.keys()].sort());
          for (const [key, text] of model)
            expect(await store.get('index', key)).toMatchObject({ body: { value: JSON.parse(text) } });
        }),
        { numRuns: 8 },
      );
    });

    test('publishes the events of a transaction once it is durable and before it resolves, in order of the commits', async () => {
      const { store } = await openStore();
      const heard: (readonly [string, boolean])[] = [];
      const looks: Promise<void>[] = [];
      const stop = store.subscribe('run-stored', ({ run_id: id }) => {
        looks.push(store.get('run', id).then((found) => void heard.push([id, found !== undefined])));
      });
      const ids = ['a', 'b', 'c', 'd'];
      const resolved = ids.map((id, i) =>
        store
          .transaction(async (tx) => {
            tx.publish({ type: 'run-stored', run_id: id });
            await tx.put('run', id, {});
            if (id === 'c') throw new Error('no');
          })
          .then(
            () => expect(looks.length).toBeGreaterThan(i === 3 ? 2 : i),
            () => undefined,
          ),
      );
      await Promise.all(resolved);
      await Promise.all(looks);
      expect(heard).toEqual([
        ['a', true],
        ['b', true],
        ['d', true],
      ]);
      stop();
      await store.transaction(async (tx) => tx.publish({ type: 'run-stored', run_id: 'e' }));
      expect(looks).toHaveLength(3);
    });

    test('takes no write and answers no read once it is closed', async () => {
      const { store } = await openStore();
      await store.close();
      for (const read of [store.get('index', 'a'), store.ids('index'), store.list('index', () => undefined)])
        await expect(read).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await expect(store.transaction((tx) => tx.put('index', 'a', {}))).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
    });
  });
}

/** JSON on the wire has no negative zero: it is written 0. */
function withoutNegativeZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

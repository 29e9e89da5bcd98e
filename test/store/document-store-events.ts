import { describe, expect, test } from 'vitest';
import { readBody, type Stores } from './document-store-world.js';

export function describeEvents(stores: Stores): void {
  describePublished(stores);
  describeRevisions(stores);
  describeArtifacts(stores);
}

function describePublished(stores: Stores): void {
  describe('an event', () => {
    test('arrives after its transaction is durable and before that resolves, in order of the commits', async () => {
      const { store } = await stores.open();
      const looks: Promise<readonly [string, boolean]>[] = [];
      const stop = store.subscribe('run-stored', ({ run_id: id }) => {
        looks.push(store.get('run', id).then((document) => [id, document !== undefined] as const));
      });
      const ids = ['a', 'b', 'c', 'd'];
      for (const id of ids) {
        const change = store.transaction(async (tx) => {
          tx.publish({ type: 'run-stored', run_id: id });
          await tx.put('run', id, {});
          if (id === 'c') throw new Error('no');
        });
        await change.catch(() => undefined);
        expect(looks).toHaveLength({ a: 1, b: 2, c: 2, d: 3 }[id]!);
      }
      expect(await Promise.all(looks)).toEqual([
        ['a', true],
        ['b', true],
        ['d', true],
      ]);
      stop();
      await store.transaction(async (tx) => tx.publish({ type: 'run-stored', run_id: 'e' }));
      expect(looks).toHaveLength(3);
    });

    test('arrives once, in order of the commits, from transactions that ran again after a conflict', async () => {
      const { store } = await stores.open();
      await store.transaction((tx) => tx.put('index', 'count', { n: 0 }));
      const heardEvents: string[] = [];
      store.subscribe('run-stored', ({ run_id: id }) => heardEvents.push(id));
      const resolvedIds: string[] = [];
      await Promise.all(
        Array.from({ length: 60 }, async () => {
          const n = await store.transaction(async (tx) => {
            const count = readBody<{ n: number }>(await tx.get('index', 'count')).n;
            for (const part of ['first', 'second']) tx.publish({ type: 'run-stored', run_id: `${count} ${part}` });
            await tx.put('index', 'count', { n: count + 1 });
            return count;
          });
          expect(heardEvents).toContain(`${n} second`);
          resolvedIds.push(String(n));
        }),
      );
      expect(heardEvents).toEqual(Array.from({ length: 60 }, (_, n) => [`${n} first`, `${n} second`]).flat());
      expect(new Set(resolvedIds).size).toBe(60);
    });

    test('reaches only the listeners of its type, all of them, also after one that throws', async () => {
      const failures: unknown[] = [];
      const { store } = await stores.open({ onFailure: (cause) => failures.push(cause) });
      const defect = new Error('a defect');
      const heardEvents: string[] = [];
      store.subscribe('run-stored', () => {
        throw defect;
      });
      store.subscribe('run-stored', ({ run_id: id }) => heardEvents.push(`run ${id}`));
      store.subscribe('folder-replaced', ({ store_id: id }) => heardEvents.push(`folder ${id}`));
      await store.transaction(async (tx) => {
        await tx.put('run', 'a', {});
        tx.publish({ type: 'run-stored', run_id: 'a' });
        tx.publish({ type: 'folder-replaced', store_id: 's', folder: '/data' });
      });
      expect(heardEvents).toEqual(['run a', 'folder s']);
      expect(failures).toEqual([defect]);
      await store.transaction((tx) => tx.put('run', 'b', {}));
      expect(await store.ids('run')).toEqual(['a', 'b']);
    });
  });
}

function describeRevisions(stores: Stores): void {
  describe('a revision', () => {
    test('of a kind changes once a write of it is acknowledged, and no other kind changes', async () => {
      const { store } = await stores.open();
      const readRevisions = () => Promise.all([store.revision('index'), store.revision('strategy')]);
      const [index, strategy] = await readRevisions();
      await store.transaction((tx) => tx.put('index', 'a', { value: 1 }));
      const [writtenRevision] = await readRevisions();
      expect(writtenRevision).toBeGreaterThan(index);
      await store.transaction((tx) => tx.delete('index', 'a'));
      const [deleted] = await readRevisions();
      expect(deleted).toBeGreaterThan(writtenRevision);
      await store.transaction((tx) => tx.get('index', 'b'));
      await store.transaction((tx) => tx.delete('index', 'b'));
      const failingWrite = store.transaction(async (tx) => {
        await tx.put('index', 'b', {});
        throw new Error('no');
      });
      await expect(failingWrite).rejects.toThrow('no');
      expect(await readRevisions()).toEqual([deleted, strategy]);
    });

    test('that is equal before and after a list guarantees its content', async () => {
      const { store } = await stores.open();
      const knownRevisions = new Map<number, string>();
      const writes = Array.from({ length: 40 }, (_, n) => store.transaction((tx) => tx.put('index', 'a', { n })));
      for (const write of writes) {
        await write;
        const before = await store.revision('index');
        const { documents } = await store.list('index', (body) => (body as { n: number }).n);
        if ((await store.revision('index')) !== before) continue;
        expect(knownRevisions.get(before) ?? String(documents)).toBe(String(documents));
        knownRevisions.set(before, String(documents));
      }
      expect(knownRevisions.size).toBeGreaterThan(0);
    });
  });
}

function describeArtifacts(stores: Stores): void {
  const createRef = (digit: string) => ({ name: `${digit.repeat(32)}.art`, bytes: 1, sha256: digit.repeat(64) });
  const listReferencedNames = async (store: { referencedArtifacts(): Promise<ReadonlySet<string>> }) =>
    [...(await store.referencedArtifacts())].sort();

  describe('artifacts that documents name', () => {
    test('are reported when their last document is deleted, also over restarts, and not before', async () => {
      const droppedNames: string[] = [];
      const { store: first, reopen } = await stores.open({ onUnreferenced: (gone) => void droppedNames.push(...gone) });
      await first.transaction(async (tx) => {
        await tx.put('run', 'a', { result: createRef('1'), columns: createRef('2') });
        await tx.put('job', 'backtest:a', { result: { artifact: createRef('1') } });
      });
      await first.transaction((tx) => tx.delete('job', 'backtest:a'));
      expect(droppedNames).toEqual([]);
      const store = await reopen();
      expect(await listReferencedNames(store)).toEqual([createRef('1').name, createRef('2').name]);
      expect([...(await store.referencedAmong([createRef('2').name, createRef('7').name]))]).toEqual([
        createRef('2').name,
      ]);
      await store.transaction((tx) => tx.put('run', 'a', { result: createRef('3'), columns: createRef('2') }));
      expect(droppedNames).toEqual([createRef('1').name]);
      expect(await listReferencedNames(store)).toEqual([createRef('2').name, createRef('3').name]);
      await store.transaction((tx) => tx.delete('run', 'a'));
      expect(droppedNames.toSorted()).toEqual([createRef('1').name, createRef('2').name, createRef('3').name]);
      expect(await listReferencedNames(store)).toEqual([]);
    });

    test('move between documents in one transaction without a report', async () => {
      const droppedNames: string[] = [];
      const { store } = await stores.open({ onUnreferenced: (gone) => void droppedNames.push(...gone) });
      await store.transaction((tx) => tx.put('run', 'a', { result: createRef('1') }));
      await store.transaction(async (tx) => {
        await tx.delete('run', 'a');
        await tx.put('run', 'b', { result: createRef('1') });
      });
      await store.transaction(async (tx) => {
        await tx.put('run', 'b', { result: createRef('2') });
        await tx.put('run', 'b', { result: createRef('1') });
      });
      const failingWrite = store.transaction(async (tx) => {
        await tx.delete('run', 'b');
        throw new Error('no');
      });
      await expect(failingWrite).rejects.toThrow('no');
      expect(droppedNames).toEqual([]);
      expect(await listReferencedNames(store)).toEqual([createRef('1').name]);
    });
  });
}

import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { type DocumentTransaction, formatNumberedId } from '#store/port.js';
import { seeded } from '../seeded.js';
import { readBody, type Stores } from './document-store-world.js';

export function describeTransactions(stores: Stores): void {
  describeWhole(stores);
  describeConcurrent(stores);
}

function describeWhole(stores: Stores): void {
  describe('a transaction', () => {
    test('that throws writes nothing, and throws the same error', async () => {
      const { store } = await stores.open();
      await store.transaction((tx) => tx.put('index', 'a', { version: 1 }));
      const refusal = new Refusal('INDEX_NOT_FOUND', 'changed its mind');
      const change = store.transaction(async (tx) => {
        await tx.put('index', 'a', { version: 2 });
        await tx.delete('index', 'a');
        await tx.put('index', 'b', {});
        throw refusal;
      });
      await expect(change).rejects.toBe(refusal);
      const atOnce = store.transaction(() => {
        throw refusal;
      });
      await expect(atOnce).rejects.toBe(refusal);
      expect(await store.get('index', 'a')).toMatchObject({ body: { version: 1 } });
      expect(await store.ids('index')).toEqual(['a']);
    });

    test('that throws leaves no trace in concurrent ones', async () => {
      const { store } = await stores.open();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 30 }, (_, n) =>
          store.transaction(async (tx) => {
            const count = (await tx.ids('index')).length;
            await tx.put('index', `d${n}`, { count });
            if (n % 3 === 0) throw new Error('no');
            return count;
          }),
        ),
      );
      const counts = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
      expect(await store.ids('index')).toHaveLength(20);
    });

    test('continues after a body that JSON cannot represent or an invalid id', async () => {
      const { store } = await stores.open();
      await store.transaction(async (tx) => {
        await tx.put('index', 'before', {});
        await expect(tx.put('index', 'a', { value: Number.NaN })).rejects.toThrow('not a JSON number');
        await expect(tx.put('index', '', {})).rejects.toThrow('not a document id');
        await tx.put('index', 'behind', {});
      });
      expect(await store.ids('index')).toEqual(['before', 'behind']);
      await expect(store.transaction((tx) => tx.put('index', 'a', { value: Infinity }))).rejects.toThrow(
        'not a JSON number',
      );
    });

    test('sees its own writes and deletions, the last of each', async () => {
      const { store } = await stores.open();
      await store.transaction((tx) => tx.put('index', 'old', {}));
      const result = await store.transaction(async (tx) => {
        expect(await tx.delete('index', 'old')).toBe(true);
        expect(await tx.delete('index', 'old')).toBe(false);
        await tx.put('index', 'new', { n: 1 });
        await tx.put('index', 'new', { n: 2 });
        await tx.put('index', 'short', {});
        await tx.delete('index', 'short');
        expect(await tx.get('index', 'old')).toBeUndefined();
        expect(await tx.get('index', 'new')).toMatchObject({ body: { n: 2 } });
        expect(await tx.ids('index')).toEqual(['new']);
        return 'done';
      });
      expect(result).toBe('done');
      expect(await store.ids('index')).toEqual(['new']);
      expect(await store.get('index', 'new')).toMatchObject({ body: { n: 2 } });
    });

    test('reads the last number of an owner, with its own writes and deletions', async () => {
      const { store } = await stores.open();
      const put = (tx: DocumentTransaction, owner: string, number: number) =>
        tx.put('version', formatNumberedId(owner, number), {});
      await store.transaction(async (tx) => {
        expect(await tx.lastNumber('version', 'a')).toBe(0);
        for (const number of [1, 2, 3]) await put(tx, 'a', number);
        await put(tx, 'a0', 7); // owners with adjacent ids
        await put(tx, 'a-', 9);
        expect(await tx.lastNumber('version', 'a')).toBe(3);
      });
      expect([await store.lastNumber('version', 'a'), await store.lastNumber('history', 'a')]).toEqual([3, 0]);
      const result = await store.transaction(async (tx) => {
        const before = await tx.lastNumber('version', 'a');
        for (const number of [3, 2]) await tx.delete('version', formatNumberedId('a', number));
        const numberBetween = await tx.lastNumber('version', 'a');
        await put(tx, 'a', 2);
        return [before, numberBetween, await tx.lastNumber('version', 'a')];
      });
      expect(result).toEqual([3, 1, 2]);
      expect(await store.lastNumber('version', 'a')).toBe(2);
    });

    test('lists the numbers of an owner, the highest first, in pages', async () => {
      const { store } = await stores.open();
      await store.transaction(async (tx) => {
        for (const number of [3, 1, 20_000, 2]) await tx.put('version', formatNumberedId('a', number), {});
        for (const otherId of ['a0', 'a-', 'a/b']) await tx.put('version', formatNumberedId(otherId, 7), {});
        await tx.put('history', formatNumberedId('a', 9), {});
      });
      const readNumbers = (below: number | undefined, limit: number) => store.numbers('version', 'a', { below, limit });
      expect(await readNumbers(undefined, 10)).toEqual([20_000, 3, 2, 1]);
      expect(await readNumbers(undefined, 2)).toEqual([20_000, 3]);
      expect(await readNumbers(3, 1)).toEqual([2]);
      expect(await readNumbers(1, 5)).toEqual([]);
      expect(await store.numbers('version', 'b', { limit: 5 })).toEqual([]);
    });

    test('gives each number once, however many transactions number concurrently', async () => {
      const { store } = await stores.open();
      const numbers = await Promise.all(
        Array.from({ length: 12 }, () =>
          store.transaction(async (tx) => {
            const number = (await tx.lastNumber('version', 'a')) + 1;
            await tx.put('version', formatNumberedId('a', number), {});
            return number;
          }),
        ),
      );
      expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    });

    test('accepts several concurrent calls', async () => {
      const { store } = await stores.open();
      const result = await store.transaction(async (tx) => {
        await Promise.all(Array.from({ length: 50 }, (_, n) => tx.put('index', `d${n}`, { n })));
        return Promise.all(Array.from({ length: 50 }, (_, n) => tx.get('index', `d${n}`)));
      });
      expect(result.map(readBody)).toEqual(Array.from({ length: 50 }, (_, n) => ({ n })));
    });

    test('that has ended accepts no more calls', async () => {
      const { store } = await stores.open();
      for (const fails of [false, true]) {
        let endedTransaction: DocumentTransaction | undefined;
        const change = store.transaction(async (tx) => {
          endedTransaction = tx;
          if (fails) throw new Error('no');
        });
        await change.catch(() => undefined);
        for (const lateCall of [
          () => endedTransaction!.put('index', 'late', {}),
          () => endedTransaction!.delete('index', 'late'),
          () => endedTransaction!.get('index', 'late'),
          () => endedTransaction!.ids('index'),
          async () => endedTransaction!.publish({ type: 'run-stored', run_id: 'late' }),
        ])
          await expect(lateCall()).rejects.toThrow('the transaction is over');
        await store.transaction((tx) => tx.put('index', 'next', {}));
        expect(await store.ids('index')).toEqual(['next']);
      }
    });

    test('may complete accepted work', async () => {
      const { store } = await stores.open();
      expect(await store.transaction(async (tx) => void (await tx.put('job', 'a', {})), { reserve: true })).toBe(
        undefined,
      );
      expect(await store.ids('job')).toEqual(['a']);
    });
  });
}

function describeConcurrent(stores: Stores): void {
  describe('concurrent transactions', () => {
    test('lose no update of transactions that read, wait and write', async () => {
      const { store } = await stores.open();
      await store.transaction((tx) => tx.put('index', 'count', { n: 0 }));
      const incrementCounter = () =>
        store.transaction(async (tx) => {
          const { n } = readBody<{ readonly n: number }>(await tx.get('index', 'count'));
          for (let turn = n % 3; turn >= 0; turn--) await Promise.resolve();
          await tx.put('index', 'count', { n: n + 1 });
          return n;
        });
      const seenCounts = await Promise.all(Array.from({ length: 80 }, incrementCounter));
      expect(seenCounts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, n) => n));
      expect(await store.get('index', 'count')).toMatchObject({ body: { n: 80 } });
    });

    test('create a document once when each checks its absence', async () => {
      const { store } = await stores.open();
      const create = (n: number) =>
        store.transaction(async (tx) => {
          if ((await tx.get('index', 'a')) !== undefined) throw new Refusal('INDEX_EXISTS', 'It is there.');
          await tx.put('index', 'a', { n });
          return n;
        });
      const outcomes = await Promise.allSettled(Array.from({ length: 25 }, (_, n) => create(n)));
      const createdDocuments = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(createdDocuments).toHaveLength(1);
      expect(readBody(await store.get('index', 'a'))).toEqual({ n: createdDocuments[0] });
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'INDEX_EXISTS' });
    });

    test('keep a limit for which each counts the documents', async () => {
      const { store } = await stores.open();
      const outcomes = await Promise.all(
        Array.from({ length: 25 }, (_, n) =>
          store.transaction(async (tx) => {
            if ((await tx.ids('key')).length >= 7) return false;
            await tx.put('key', `k${n}`, {});
            return true;
          }),
        ),
      );
      expect(outcomes.filter(Boolean)).toHaveLength(7);
      expect(await store.ids('key')).toHaveLength(7);
    });

    test('keep the condition that each checks on a document that the other one writes', async () => {
      const { store } = await stores.open();
      for (let round = 0; round < 10; round++) {
        await store.transaction(async (tx) => {
          for (const id of ['left', 'right']) await tx.put('index', id, { n: 1 });
        });
        await Promise.all(
          ['left', 'right'].map((side) =>
            store.transaction(async (tx) => {
              const bothDocuments = await Promise.all(['left', 'right'].map((id) => tx.get('index', id)));
              const sum = bothDocuments.reduce((total, document) => total + readBody<{ n: number }>(document).n, 0);
              if (sum > 1) await tx.put('index', side, { n: 0 });
            }),
          ),
        );
        const { documents } = await store.list('index', (body) => (body as { n: number }).n);
        expect(documents.toSorted()).toEqual([0, 1]);
      }
    });

    test('are serialisable, in an order that acknowledgements keep', async () => {
      const random = seeded(11);
      const { store } = await stores.open();
      const history = createHistory();
      const pick = (): string => `d${Math.floor(random() * 4)}`;
      for (let wave = 0; wave < 6; wave++) {
        await Promise.all(
          Array.from({ length: 12 }, async (_, n) => {
            const id = `t${wave}-${n}`;
            const [reads, writes] = [[pick(), pick(), pick()], random() < 0.3 ? [] : [pick(), pick()]];
            history.ended(
              wave,
              id,
              await store.transaction(async (tx) => {
                const seenValues = new Map<string, readonly string[]>();
                const readStoredNumber = async (document: string) => {
                  const storedDocument = await tx.get('index', document);
                  return storedDocument === undefined ? [] : readBody<string[]>(storedDocument);
                };
                for (const documentId of reads) seenValues.set(documentId, await readStoredNumber(documentId));
                for (const documentId of new Set(writes)) {
                  seenValues.set(documentId, await readStoredNumber(documentId));
                  await tx.put('index', documentId, [...seenValues.get(documentId)!, id]);
                }
                return { seen: seenValues, wrote: new Set(writes) };
              }),
            );
          }),
        );
      }
      const finalValues = new Map<string, readonly string[]>();
      for (const documentId of await store.ids('index'))
        finalValues.set(documentId, readBody(await store.get('index', documentId)));
      expect(history.contradictions(finalValues)).toEqual([]);
    });
  });
}

interface RecordedTransaction {
  readonly wave: number;
  readonly id: string;
  readonly seen: ReadonlyMap<string, readonly string[]>;
  readonly wrote: ReadonlySet<string>;
}

/**
 * Records transactions that append their names to documents, and what they read. The documents and the waves show which
 * transaction precedes which. The transactions are serialisable if this relation has no cycle.
 */
function createHistory(): {
  ended(wave: number, id: string, step: Pick<RecordedTransaction, 'seen' | 'wrote'>): void;
  contradictions(final: ReadonlyMap<string, readonly string[]>): string[];
} {
  const steps: RecordedTransaction[] = [];

  /** Returns true if the observations show that `a` must precede `b`. */
  function isBefore(
    a: RecordedTransaction,
    b: RecordedTransaction,
    final: ReadonlyMap<string, readonly string[]>,
  ): boolean {
    if (a.wave !== b.wave) return a.wave < b.wave;
    for (const [document, names] of final) {
      const [sawA, sawB] = [a.seen.get(document), b.seen.get(document)];
      if (sawB?.includes(a.id) === true) return true;
      if (sawA !== undefined && b.wrote.has(document) && sawA.length <= names.indexOf(b.id)) return true;
    }
    return false;
  }

  return {
    ended: (wave, id, step) => void steps.push({ wave, id, ...step }),
    contradictions(final) {
      const faults: string[] = [];
      for (const { id, seen, wrote } of steps) {
        for (const [document, names] of seen) {
          const prefixNames = (final.get(document) ?? []).slice(0, names.length);
          if (prefixNames.join() !== names.join()) faults.push(`${id} saw of ${document} what never was`);
        }
        for (const documentId of wrote)
          if (final.get(documentId)?.filter((name) => name === id).length !== 1)
            faults.push(`${documentId} lost ${id}`);
      }
      let remainingSteps = [...steps];
      while (remainingSteps.length > 0) {
        const first = remainingSteps.find(
          (step) => !remainingSteps.some((other) => other !== step && isBefore(other, step, final)),
        );
        if (first === undefined) return [...faults, `no order of ${remainingSteps.map(({ id }) => id).join(', ')}`];
        remainingSteps = remainingSteps.filter((step) => step !== first);
      }
      return faults;
    },
  };
}

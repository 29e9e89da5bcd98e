import { fc } from '../fast-check.js';
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toCanonicalJson } from '#domain/base/json.js';
import type { StoredDocument } from '#store/port.js';
import { IS_SOAK } from '../soak.js';
import { readBody, type Stores } from './document-store-world.js';

/** Valid ids. A careless key, pattern, path or statement would confuse them. */
export const HOSTILE_IDS = [
  '__proto__',
  'constructor',
  ' ',
  ' a',
  'a ',
  'a',
  'A',
  'a%',
  'a_',
  'a/b',
  '../a',
  "a'; DROP TABLE documents; --",
  'a"b\\c',
  '$1',
  '\u0001',
  'a\nb\t\u007f',
  '\u00e9', // a letter as one code point
  'e\u0301', // the same letter as two code points
  'NULL',
  '\ufffd',
  '\uffff',
  '\u{1f600}',
  'x'.repeat(512),
  '\u{1f600}'.repeat(128), // 512 bytes
];

/** Invalid ids: empty, with NUL, longer than 512 bytes, and with half a surrogate pair. */
const NO_IDS = ['', 'a\u0000b', 'x'.repeat(513), '\u{1f600}'.repeat(129), 'a\ud800', '\udc00'];

/** Bodies that would change if their column had another type than text. */
const HOSTILE_BODIES: readonly unknown[] = [
  { text: 'a\u0000b', '\u0000': 1 },
  { text: '\ud800', lone: 'a\udfffb', '\ud83d': 1 },
  { text: '\u2028\u2029\u{1f600}\\u0041\\"' },
  { large: 2 ** 53 + 2, huge: 1.7976931348623157e308, tiny: 5e-324, third: 1 / 3, sum: 0.1 + 0.2, whole: 1e21 },
  { b: 1, a: 2, 10: 3, 9: 4, '': 5 },
  [],
  [[[]], {}, null],
  'text',
  0,
  null,
  true,
];

export function describeDocuments(stores: Stores): void {
  describe('a document', () => {
    test('is returned as it was stored, with the SHA-256 of its canonical JSON as etag', async () => {
      const { store } = await stores.open();
      const etag = await store.transaction((tx) => tx.put('index', 'GOLD4', { name: 'Golden four', id: 'GOLD4' }));
      // ETag computed by: printf '{"id":"GOLD4","name":"Golden four"}' | sha256sum
      expect(etag).toBe('55af3f7edaf1ce1239588dfca0c19821d5a9f775e80266e30c4a01ee8b982a93');
      expect(await store.get('index', 'GOLD4')).toMatchObject({
        id: 'GOLD4',
        body: { id: 'GOLD4', name: 'Golden four' },
        etag,
      });
    });

    test('has the etag of an equal document whatever the order of their keys', async () => {
      const { store } = await stores.open();
      const [a, b] = await store.transaction(async (tx) => [
        await tx.put('index', 'a', { x: 1, y: [2] }),
        await tx.put('index', 'b', { y: [2], x: 1 }),
      ]);
      expect(a).toBe(b);
    });

    test('has the same body and etag for its transaction, after it, in a list and over a restart', async () => {
      const { store, reopen } = await stores.open();
      const transactionRead = await store.transaction(async (tx) => {
        for (const [i, body] of HOSTILE_BODIES.entries()) await tx.put('index', `b${i}`, body);
        return Promise.all(HOSTILE_BODIES.map((_, i) => tx.get('index', `b${i}`)));
      });
      const expected = HOSTILE_BODIES.map((body, i) => ({
        id: `b${i}`,
        body: JSON.parse(JSON.stringify(body)) as unknown,
        etag: createHash('sha256').update(toCanonicalJson(body)).digest('hex'),
      }));
      expect(transactionRead).toMatchObject(expected);
      expect(await Promise.all(expected.map(({ id }) => store.get('index', id)))).toEqual(transactionRead);
      const after = await reopen();
      expect(await Promise.all(expected.map(({ id }) => after.get('index', id)))).toEqual(transactionRead);
      const bodies = new Map(expected.map(({ id, body }) => [id, body]));
      const { documents } = await after.list('index', (body, id) => ({ id, body }));
      expect(new Map(documents.map(({ id, body }) => [id, body]))).toEqual(bodies);
    });

    test('does not change when the caller changes its copy', async () => {
      const { store } = await stores.open();
      const body = { list: [1] };
      await store.transaction(async (tx) => {
        await tx.put('index', 'a', body);
        body.list.push(2);
      });
      for (let reading = 0; reading < 3; reading++) {
        const { list } = readBody<{ list: number[] }>(await store.get('index', 'a'));
        expect(list).toEqual([1]);
        expect(readBody(await store.transaction((tx) => tx.get('index', 'a')))).toEqual({ list: [1] });
        try {
          list.push(3); // the body is frozen or a copy
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(TypeError);
        }
      }
    });

    test('may be large', async () => {
      const { store, reopen } = await stores.open();
      const body = { text: '0123456789abcdef'.repeat(2 ** 18), end: '\u{1f600}' };
      const etag = await store.transaction((tx) => tx.put('run', 'large', body));
      expect(etag).toBe(createHash('sha256').update(toCanonicalJson(body)).digest('hex'));
      expect(readBody(await store.get('run', 'large'))).toEqual(body);
      expect(readBody(await (await reopen()).get('run', 'large'))).toEqual(body);
    });

    test('is stored separately under any id, whatever its characters, and by kind', async () => {
      const { store, reopen } = await stores.open();
      await store.transaction(async (tx) => {
        for (const id of HOSTILE_IDS) {
          expect(await tx.get('index', id)).toBeUndefined();
          await tx.put('index', id, { of: id });
        }
      });
      const after = await reopen();
      for (const id of HOSTILE_IDS) {
        expect(await after.get('index', id)).toMatchObject({ id, body: { of: id } });
        expect(await after.get('run', id)).toBeUndefined();
      }
      const [deletedId, ...remainingIds] = HOSTILE_IDS;
      await after.transaction((tx) => tx.delete('index', deletedId!));
      expect(new Set(await after.ids('index'))).toEqual(new Set(remainingIds));
    });

    test('is not found under an invalid id, and cannot be stored under it', async () => {
      const { store } = await stores.open();
      await store.transaction((tx) => tx.put('index', '\ufffd', {})); // UTF-8 replaces half a surrogate pair by this character
      for (const id of NO_IDS) {
        expect(await store.get('index', id)).toBeUndefined();
        expect(await store.transaction((tx) => tx.get('index', id))).toBeUndefined();
        expect(await store.transaction((tx) => tx.delete('index', id))).toBe(false);
        await expect(store.transaction((tx) => tx.put('index', id, {}))).rejects.toThrow('not a document id');
      }
      expect(await store.ids('index')).toEqual(['\ufffd']);
    });

    test('has the time of its last write, whatever that changed', async () => {
      let now = Date.parse('2026-01-02T03:04:05.678Z');
      const { store, reopen } = await stores.open({ now: () => now });
      const readCreationTimes = async (of = store) =>
        Promise.all(['a', 'b'].map(async (id) => ((await of.get('index', id)) as StoredDocument).updatedAt));
      const first = '2026-01-02T03:04:05.678000+00:00';
      const transactionRead = await store.transaction(async (tx) => {
        for (const id of ['a', 'b']) await tx.put('index', id, { n: 1 });
        return tx.get('index', 'a');
      });
      expect(transactionRead).toMatchObject({ updatedAt: first });
      expect(await readCreationTimes()).toEqual([first, first]);
      now += 86_400_001;
      const second = '2026-01-03T03:04:05.679000+00:00';
      await store.transaction((tx) => tx.put('index', 'a', { n: 1 }));
      expect(await readCreationTimes()).toEqual([second, first]);
      now += 1;
      await store.transaction((tx) => tx.get('index', 'a'));
      await store
        .transaction(async (tx) => {
          await tx.put('index', 'b', { n: 2 });
          throw new Error('no');
        })
        .catch(() => undefined);
      expect(await readCreationTimes(await reopen())).toEqual([second, first]);
    });

    test('agrees with a plain map after any sequence of transactions and restarts', async () => {
      const id = fc.constantFrom('a', 'b', '__proto__', 'c-1');
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ put: id, value: fc.jsonValue({ maxDepth: 2 }), fails: fc.boolean() }) },
        { weight: 2, arbitrary: fc.record({ drop: id }) },
        { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const { store: first, reopen } = await stores.open();
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
              if (!action.fails) model.set(action.put, JSON.stringify(removeNegativeZero(action.value)));
            }
          }
          expect(await store.ids('index')).toEqual([...model.keys()].sort());
          for (const [key, text] of model)
            expect(await store.get('index', key)).toMatchObject({ body: { value: JSON.parse(text) } });
        }),
        { numRuns: IS_SOAK ? 100 : 5 },
      );
    });
  });
}

/** Replaces negative zeros by 0, as JSON writes them. */
function removeNegativeZero(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

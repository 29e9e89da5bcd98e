import { describe, expect, test } from 'vitest';
import { createDocumentCache } from '#store/lmdb/document-store.js';
import type { StoredDocument } from '#store/port.js';

const createDocument = (id: string, body: unknown = { id, list: [1] }): StoredDocument => ({
  id,
  body,
  etag: id,
  updatedAt: '2024-01-02T00:00:00.000Z',
});

/** Creates a cache of documents with the given sizes in bytes. It lists the keys that it reads. */
function createCountedStore(values: Record<string, number>) {
  const readKeys: string[] = [];
  const cache = createDocumentCache(100);
  const find = (key: string) =>
    cache.find(
      key,
      () => {
        readKeys.push(key);
        return values[key] === undefined ? undefined : Buffer.alloc(values[key]);
      },
      () => createDocument(key),
    );
  return { cache, find, read: readKeys };
}

describe('a cache of documents', () => {
  test('contains a document from its second reading on, and a version written by a commit from the first', () => {
    const { cache, find, read } = createCountedStore({ a: 10 });
    find('a');
    expect(find('a')).toBe(find('a'));
    expect(read).toEqual(['a', 'a']);
    cache.drop(['a', 'b']);
    for (let i = 0; i < 4; i++) find('a');
    expect(read).toEqual(['a', 'a', 'a']);
  });

  test('contains no more bytes than its limit: the least recently read are removed first', () => {
    const { find, read } = createCountedStore({ a: 40, b: 40, c: 40 });
    for (const key of ['a', 'a', 'b', 'b', 'a', 'c', 'c', 'a', 'b']) find(key);
    expect(read).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'b']);
  });

  test('is unchanged after a walk over more documents than it holds, however often', () => {
    const { find, read } = createCountedStore({
      a: 40,
      ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [i, 30])),
    });
    for (const key of ['a', 'a']) find(key);
    read.length = 0;
    for (let walk = 0; walk < 3; walk++) for (let i = 0; i < 9; i++) find(String(i));
    find('a');
    expect(read).toHaveLength(27);
  });

  test('does not hold a document larger than itself, an absent one or an unreadable one', () => {
    const { find, read } = createCountedStore({ large: 101 });
    for (const key of ['large', 'large', 'large', 'none', 'none', 'none']) find(key);
    expect(read).toEqual(['large', 'large', 'large', 'none', 'none', 'none']);
    const cache = createDocumentCache();
    let openedCount = 0;
    const open = () => (openedCount++, { id: 'x', unreadable: 'unreadable' as const });
    for (let i = 0; i < 3; i++) cache.find('x', () => Buffer.alloc(1), open);
    expect(openedCount).toBe(3);
  });

  test('returns immutable documents', () => {
    const { find } = createCountedStore({ a: 10 });
    find('a');
    const result = find('a') as StoredDocument;
    const body = result.body as { list: number[] };
    expect(() => body.list.push(2)).toThrow(TypeError);
  });
});

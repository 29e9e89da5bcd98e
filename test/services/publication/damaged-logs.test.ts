import { expect, test } from 'vitest';
import { NO_HASH, type PublicationEntry } from '#domain/definition/publication.js';
import { createPublications } from '#services/publication/publications.js';
import { type DocumentLookup, formatNumberedId } from '#store/port.js';
import { createTestContext } from '../context.js';

const createEntry = (seq: number): PublicationEntry => ({
  seq,
  index_id: 'EQ',
  date: `2024-03-0${seq}`,
  kind: 'close',
  price: 100,
  total: 100,
  net: 100,
  divisor: 1,
  composition_hash: NO_HASH,
  data_hash: null,
  index_version: null,
  engine: null,
  reason: null,
  at: '2024-04-01T00:00:00.000000+00:00',
  author: 'desk',
  previous: NO_HASH,
  hash: NO_HASH,
  key_id: 'key',
  signature: '',
});

/** Returns a published log of three batches without the lost batches. A damaged store contains such a log. */
function logWithout(...lost: readonly number[]) {
  const bodies = new Map<string, unknown>([['publication-head EQ', { seq: 3, hash: NO_HASH, batches: 3 }]]);
  for (const batch of [1, 2, 3].filter((one) => !lost.includes(one)))
    bodies.set(`publication ${formatNumberedId('EQ', batch)}`, { entries: [createEntry(batch)] });
  const get = (kind: string, id: string): Promise<DocumentLookup> => {
    const body = bodies.get(`${kind} ${id}`);
    return Promise.resolve(body === undefined ? undefined : { id, body, etag: '', updatedAt: '' });
  };
  const unused = {} as never;
  const { entries } = createPublications(createTestContext({ documents: { get } }), unused);
  return entries('EQ', {});
}

test.each([1, 2, 3])('a log without its batch %i is refused before any of it is sent', async (batch) => {
  await expect(logWithout(batch)).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE' });
  const seqs: number[] = [];
  for await (const entries of await logWithout()) seqs.push(...entries.map(({ seq }) => seq));
  expect(seqs).toEqual([1, 2, 3]);
});

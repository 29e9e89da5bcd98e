import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { assertPrecondition } from '#services/shared/documents.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';

test('of many writers that read the same document, one succeeds and the others are refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'preconditions-'));
  const documents = await openDocumentStore({ folder });
  try {
    const storedVersion = await documents.transaction((tx) => tx.put('index', 'a', { version: 0 }));
    const write = (version: number) =>
      documents.transaction(async (tx) => {
        await assertPrecondition(tx, 'index', 'a', [storedVersion]);
        return tx.put('index', 'a', { version });
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 64 }, (_, i) => write(i + 1)));
    const wonOutcomes = outcomes.filter(({ status }) => status === 'fulfilled');
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' && outcome.reason instanceof Refusal ? [outcome.reason.code] : [],
    );
    expect([wonOutcomes.length, new Set(codes), codes.length]).toEqual([1, new Set(['PRECONDITION_FAILED']), 63]);
  } finally {
    await documents.close();
    await rm(folder, { recursive: true });
  }
});

test('without a header every write passes; with one, a write to an absent document never does', async () => {
  const tx = { get: async () => undefined };
  await expect(assertPrecondition(tx, 'index', 'a', undefined)).resolves.toBeUndefined();
  await expect(assertPrecondition(tx, 'index', 'a', '*')).rejects.toThrow('nothing readable is stored');
  await expect(assertPrecondition(tx, 'index', 'a', ['x'])).rejects.toThrow('If-Match names x');
});

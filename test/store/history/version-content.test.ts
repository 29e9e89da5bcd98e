import { Buffer } from 'node:buffer';
import { deflateRawSync } from 'node:zlib';
import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { packContent, unpackContent } from '#store/history/version-content.js';

/** A definition of so many names. */
const definition = (names: number): string =>
  JSON.stringify({ id: 'CORE', identifiers: Array.from({ length: names }, (_, i) => `NAME${i}`) });

test('the content of a version is what was put in, whatever its length', async () => {
  const documents = fc.dictionary(fc.string(), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(documents, async (document) => {
      const text = JSON.stringify(document);
      expect(unpackContent(await packContent(text))).toBe(text);
    }),
    { numRuns: 50 },
  );
  for (const names of [0, 1, 200, 230, 5_000]) {
    const text = definition(names);
    expect(unpackContent(await packContent(text))).toBe(text);
  }
});

test('a content of more than 2 KiB takes less room than itself, a shorter one a third more', async () => {
  expect((await packContent(definition(100))).length).toBeLessThan(1.34 * definition(100).length);
  for (const names of [300, 5_000]) {
    const text = definition(names);
    expect((await packContent(text)).length).toBeLessThan(0.6 * text.length);
  }
});

test('a short content that an earlier service has deflated, or kept as it is, is read', () => {
  const text = definition(10);
  expect(unpackContent(text)).toBe(text);
  expect(unpackContent(deflateRawSync(text, { level: 1, memLevel: 5 }).toString('base64'))).toBe(text);
});

test('what is neither is told to be damaged', () => {
  expect(unpackContent(Buffer.from('neither').toString('base64'))).toBeUndefined();
});

import { Buffer } from 'node:buffer';
import { deflateRawSync } from 'node:zlib';
import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { packContent, unpackContent } from '#store/history/history.js';
import { createEqualIndex } from '../../equal-index.js';

/** Returns an index definition with a number of securities. */
const formatDefinition = (names: number): string =>
  JSON.stringify({ id: 'CORE', identifiers: Array.from({ length: names }, (_, i) => `NAME${i}`) });

test('the content of a version is returned unchanged, whatever its length', async () => {
  const documents = fc.dictionary(fc.string(), fc.jsonValue());
  await fc.assert(
    fc.asyncProperty(documents, async (document) => {
      const text = JSON.stringify(document);
      expect(unpackContent(await packContent(text))).toBe(text);
    }),
    { numRuns: 50 },
  );
  for (const names of [0, 1, 200, 230, 5_000]) {
    const text = formatDefinition(names);
    expect(unpackContent(await packContent(text))).toBe(text);
  }
});

test('texts of any characters, repeated or not, are returned unchanged', async () => {
  const characters = fc.createBinaryText({ maxLength: 20 });
  const repeatedText = fc.tuple(characters, fc.nat(40), characters).map(([a, n, b]) => a.repeat(n).slice(0, 1900) + b);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(characters, repeatedText), { maxLength: 4 }), async (parts) => {
      const text = JSON.stringify(parts).slice(0, 2047);
      const wholeText = Buffer.from(text).toString(); // a cut within a character is replaced by valid text
      expect(unpackContent(await packContent(wholeText))).toBe(wholeText);
    }),
    { numRuns: 40 },
  );
});

test('a content needs less space than itself: the common parts of short documents cost almost nothing', async () => {
  for (const names of [100, 300, 5_000]) {
    const text = formatDefinition(names);
    expect((await packContent(text)).length, `${names} names`).toBeLessThan(0.6 * text.length);
  }
  const document = IndexDocument.parse(
    createEqualIndex('CORE', { name: 'Core', base_date: '2020-01-02', rebalance: { frequency: 'quarterly' } }),
  );
  const text = JSON.stringify(document);
  expect((await packContent(text)).length).toBeLessThan(0.25 * text.length);
});

test('a short content that an earlier service has deflated is readable', () => {
  const text = formatDefinition(10);
  expect(unpackContent(deflateRawSync(text, { level: 1, memLevel: 5 }).toString('base64'))).toBe(text);
});

test('the first form of shortened contents remains readable: the dictionary never changes', () => {
  // A literal of six bytes, then a match of 24 bytes at distance 25, then the end of the dictionary.
  const end = '"derivation":null,"tags":[]}'.slice(-19, -1);
  const bytes = Buffer.from([0x6e, ...Buffer.from('{"a":0'), 25, 0x10, 0x7d]);
  expect(unpackContent(`~${bytes.toString('base64')}`)).toBe(`{"a":0${end}}`);
});

test('bytes that were never shortened are reported as damaged or read as text, never an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = unpackContent(`~${Buffer.from(bytes).toString('base64')}`);
      expect(['string', 'undefined']).toContain(typeof text);
    }),
  );
  expect(unpackContent('~')).toBeUndefined();
});

test('content in neither form is reported as damaged', () => {
  expect(unpackContent(Buffer.from('neither').toString('base64'))).toBeUndefined();
});

import { expect, test } from 'vitest';
import { shortenJson } from '#http/mcp/tools.js';
import { fc } from '../../fast-check.js';

test('a text never exceeds its limit, and is JSON if a list could be shortened', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.array(fc.double(), { maxLength: 400 }),
      fc.integer({ min: 200, max: 5000 }),
      (value, numbers, lengthMax) => {
        const { text, cuts } = shortenJson({ value, numbers }, lengthMax);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(lengthMax);
        if (cuts.every(({ path }) => path !== '')) JSON.parse(text);
        if (cuts.length === 0) expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ value, numbers })));
      },
    ),
  );
});

test('parallel lists keep the same positions: the first and the last', () => {
  const indexDays = Array.from({ length: 5000 }, (_, i) => `day ${i}`);
  const data = indexDays.map((_, i) => i);
  const { text, cuts } = shortenJson({ levels: { index: indexDays, data } }, 4000);
  const { levels } = JSON.parse(text) as { levels: { index: string[]; data: number[] } };
  expect(levels.index).toEqual(levels.data.map((i) => `day ${i}`));
  expect([levels.data[0], levels.data.at(-1)]).toEqual([0, 4999]);
  expect(cuts.map(({ path, total }) => [path, total])).toEqual([
    ['levels.index', 5000],
    ['levels.data', 5000],
  ]);
});

test('a long text and a long list of names are shortened as well', () => {
  const { text } = shortenJson({ text: 'x'.repeat(1_000_000), log: 'é'.repeat(100_000) }, 2000);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2000);
  const manyWeights = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`S${i}`, 1 / (i + 1)]));
  const body = JSON.parse(shortenJson({ weights: manyWeights }, 5000).text) as { weights: object };
  expect(Object.keys(body.weights).at(-1)).toBe('S9999');
});

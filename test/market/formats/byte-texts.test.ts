import { expect, test } from 'vitest';
import { createByteTexts } from '#market/formats/csv.js';

test('every spelling keeps its meaning however many there are, and is resolved once while the cache has space', () => {
  let count = 0;
  const findMeaning = createByteTexts((bytes, start, end) => {
    count += 1;
    return Number(Buffer.from(bytes.subarray(start, end)).toString());
  });
  const spellings = Array.from({ length: 60_000 }, (_, i) => Buffer.from(`x${i}`));
  const read = () => spellings.map((bytes) => findMeaning(bytes, 1, bytes.length));
  const expected = spellings.map((_, i) => i);
  expect(read()).toEqual(expected);
  expect(count).toBe(60_000);
  expect(read()).toEqual(expected);
  expect(count).toBeLessThan(80_000);
});

import { expect, test } from 'vitest';
import { markChange } from '#console/words/changes.js';

test('a changed sentence is marked by its changed words, and another sentence as a whole', () => {
  const [before, after] = ['It holds 30 securities of the market.', 'It holds 40 large securities of the market.'];
  expect(markChange(before, ['A cap applies.', after])).toEqual(['It holds ', '30 ', 'securities of the market.']);
  expect(markChange(after, [before])).toEqual(['It holds ', '40 large ', 'securities of the market.']);
  expect(markChange('A cap applies.', [before])).toEqual(['', 'A cap applies.', '']);
  expect(markChange('Every word is the same.', [])).toEqual(['', 'Every word is the same.', '']);
  // The words around a removal have no mark.
  expect(markChange('It is capped and tilted.', ['It is capped and often tilted.']).join('|')).toBe(
    'It is capped and ||tilted.',
  );
});

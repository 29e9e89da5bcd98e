import { expect, test } from 'vitest';
import { formatFirstNames } from '#console/words/quantities.js';

test('a short list is complete, and a longer one states the number of the other names', () => {
  expect(formatFirstNames([], 2)).toBe('');
  expect(formatFirstNames(['AAA', 'BBB'], 2)).toBe('AAA, BBB');
  expect(formatFirstNames(['AAA', 'BBB', 'CCC', 'DDD'], 2)).toBe('AAA, BBB and 2 more');
});

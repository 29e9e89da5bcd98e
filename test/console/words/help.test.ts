import { expect, test } from 'vitest';
import { helpOfChoice } from '#console/words/help.js';

const HELP =
  'Contents of the rows. `held`: names held, the largest first; `months`: a year a row; `literal`: the rows of `frame`.';

test('of help that lists choices the one that is chosen is said', () => {
  expect(helpOfChoice(HELP, 'months')).toBe('Contents of the rows. `months`: a year a row.');
  expect(helpOfChoice(HELP, 'held')).toBe('Contents of the rows. `held`: names held, the largest first.');
  expect([helpOfChoice(HELP, 'other'), helpOfChoice(HELP, undefined)]).toEqual([HELP, HELP]);
  expect(helpOfChoice('Of `one`, and more.', 'one')).toBe('Of `one`, and more.');
});

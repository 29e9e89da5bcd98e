import { expect, test } from 'vitest';
import { findChoiceHelp, formatFormHelp, writeNames } from '#console/words/form-fields.js';

const HELP =
  'Contents of the rows. `held`: names held, the largest first; `months`: a year a row; `literal`: the rows of `frame`.';

test('help with a list of choices describes the selected one', () => {
  expect(findChoiceHelp(HELP, 'months')).toBe('Contents of the rows. `months`: a year a row.');
  expect(findChoiceHelp(HELP, 'held')).toBe('Contents of the rows. `held`: names held, the largest first.');
  expect([findChoiceHelp(HELP, 'other'), findChoiceHelp(HELP, undefined)]).toEqual([HELP, HELP]);
  expect(findChoiceHelp('Of `one`, and more.', 'one')).toBe('Of `one`, and more.');
});

test('help of the API is adapted to a form', () => {
  expect(formatFormHelp('Data store of the index. Null: the active store.')).toBe(
    'Data store of the index. Empty: the served store.',
  );
  expect(formatFormHelp('Computed even if another store is active.')).toBe('Computed even if another store is served.');
  expect(formatFormHelp('True if dividends are reinvested.')).toBe('Yes if dividends are reinvested.');
  expect(formatFormHelp('True limits trades to whole shares.')).toBe('Limits trades to whole shares.');
});

test('names between backticks become the words of the form, and other names stay', () => {
  const words = new Map([
    ['cap', 'Cap'],
    ['ladder_caps', 'Caps in stages'],
  ]);
  expect(writeNames('`cap` and `ladder_caps` of `other`.', words)).toBe('Cap and Caps in stages of `other`.');
});

import { expect, test } from 'vitest';
import { suggestName, findNearestName } from '#base/text/nearest-name.js';

const COLUMNS = ['identifier', 'date', 'OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING'];

test.each([
  ['CLSOE', 'CLOSE'],
  ['Closs', 'CLOSE'],
  ['CLOSEE', 'CLOSE'],
  ['volumne', 'VOLUME'],
  ['Shares Outstanding', 'SHARES_OUTSTANDING'],
  ['dte', 'date'],
  ['indentifer', 'identifier'],
  ['LOE', 'LOW'],
])('%s is near %s', (written, meant) => {
  expect(findNearestName(written, COLUMNS)).toBe(meant);
  expect(suggestName(written, COLUMNS)).toBe(` Did you mean ${meant}?`);
});

test.each(['', 'PE', 'price', 'SECTOR', 'LAST_TRADE', 'x'.repeat(100)])('%s is similar to no name', (written) => {
  expect(findNearestName(written, COLUMNS)).toBeUndefined();
  expect(suggestName(written, COLUMNS)).toBe('');
});

test('a name with shortened or spelt-out words is found, a name with other words is not', () => {
  const classes = ['EqualWeight', 'InverseVolatilityWeight', 'MarketCapWeight'];
  expect(suggestName('InverseVolWeight', classes)).toBe(' Did you mean InverseVolatilityWeight?');
  expect(suggestName('MarketCapitalisationWeight', classes)).toBe(' Did you mean MarketCapWeight?');
  expect(suggestName('inverse_vol_weight', classes)).toBe(' Did you mean InverseVolatilityWeight?');
  expect(suggestName('InverseVarianceWeight', classes)).toBe('');
  expect(suggestName('IVWeight', classes)).toBe('');
});

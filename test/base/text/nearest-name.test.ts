import { expect, test } from 'vitest';
import { findNearestName, suggestName } from '#base/nearest-name.js';

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
])('%s is near %s', (text, expected) => {
  expect(findNearestName(text, COLUMNS)).toBe(expected);
  expect(suggestName(text, COLUMNS)).toBe(` Did you mean ${expected}?`);
});

test.each(['', 'PE', 'price', 'SECTOR', 'LAST_TRADE', 'x'.repeat(100)])('%s is similar to no name', (text) => {
  expect(findNearestName(text, COLUMNS)).toBeUndefined();
  expect(suggestName(text, COLUMNS)).toBe('');
});

test('a name with shortened or spelt-out words is found, a name with other words is not', () => {
  const classes = ['EqualWeight', 'InverseVolatilityWeight', 'MarketCapWeight'];
  expect(suggestName('InverseVolWeight', classes)).toBe(' Did you mean InverseVolatilityWeight?');
  expect(suggestName('MarketCapitalisationWeight', classes)).toBe(' Did you mean MarketCapWeight?');
  expect(suggestName('inverse_vol_weight', classes)).toBe(' Did you mean InverseVolatilityWeight?');
  expect(suggestName('InverseVarianceWeight', classes)).toBe('');
  expect(suggestName('IVWeight', classes)).toBe('');
});

test('a name without some of the letters of a single candidate is found', () => {
  const fields = ['CLOSE', 'FREE_FLOAT_MARKET_CAP', 'MARKET_CAP', 'SHARES_OUTSTANDING'];
  expect(suggestName('MKTCAP', fields)).toBe(' Did you mean MARKET_CAP?');
  expect(suggestName('SHRSOUTSTD', fields)).toBe(' Did you mean SHARES_OUTSTANDING?');
  expect(suggestName('MKTCAP', [...fields, 'MARKETS_CAP'])).toBe('');
  expect(suggestName('KTCAP', fields)).toBe('');
});

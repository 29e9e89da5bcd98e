import { expect, test } from 'vitest';
import { formatQuantity, formatTypedQuantity, parseQuantity } from '#console/words/quantities.js';

test('a quantity is parsed in its unit, and formatted so that it is parsed to the same value', () => {
  expect(parseQuantity('0.7%', 'fraction')).toBe(0.007);
  expect(parseQuantity('5%', 'bps')).toBeUndefined();
  expect(parseQuantity('1,250k', null)).toBe(1_250_000);
  expect(parseQuantity('0,05', 'fraction')).toBeUndefined();
  expect([
    formatQuantity(0.05, 'fraction'),
    formatQuantity(10, 'bps'),
    formatQuantity(100, null),
    formatQuantity(1.25, null),
  ]).toEqual(['5%', '10 bps', '100', '1.25']);
  for (const value of [0.05, 0.0125, 1, 0.999, 0, -0.02])
    expect(parseQuantity(formatQuantity(value, 'fraction'), 'fraction')).toBe(value);
});

test('a fraction is typed as a percentage, unless the percentage would round it', () => {
  const texts = [0.05, 0.007, -0.2, 1 / 3].map((value) => formatTypedQuantity(value, 'fraction'));
  expect(texts).toEqual(['5%', '0.7%', '-20%', '0.3333333333333333']);
  expect([formatTypedQuantity(0.2, 'fraction per year'), formatTypedQuantity(25, 'bp')]).toEqual(['20%', '25']);
});

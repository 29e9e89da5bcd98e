import { expect, test } from 'vitest';
import { formatNumber, formatShare } from '#domain/base/numbers.js';

test('thousands are grouped, decimals are not, and no digit is lost', () => {
  expect([1_000_000, 999, 1000, -12_345.678_9, 0.000_12, 1e21, 5e-7].map(formatNumber)).toEqual([
    '1,000,000',
    '999',
    '1,000',
    '-12,345.6789',
    '0.00012',
    '1e+21',
    '5e-7',
  ]);
});

test('a fraction is written as percent without the noise of binary multiplication', () => {
  // In floating point, 0.07 x 100 is 7.000000000000001 and 0.29 x 100 is 28.999999999999996.
  expect([0.07, 0.29, 1, 0.0125, 0, 12.5, 5e-7].map(formatShare)).toEqual([
    '7%',
    '29%',
    '100%',
    '1.25%',
    '0%',
    '1,250%',
    '0.00005%',
  ]);
});

import { expect, test } from 'vitest';
import { formatDatapoint } from '#console/words/datapoints.js';

test('a value has its unit: money of the index, shares, fractions; a value without a known unit is a number', () => {
  const texts = [
    ['MARKET_CAP, largest first', 1500],
    ['VALUE_TRADED', 345_995_138_062.8],
    ['VOLATILITY over 252 sessions', 0.2],
    ['VOLUME', 1234],
    ['CLOSE', 12.5],
    ['SECTOR', 'Energy'],
    ['BETA', null],
  ] as const;
  expect(texts.map(([datapoint, value]) => formatDatapoint(datapoint, value, 'USD'))).toEqual([
    '1,500 USD',
    '346B USD',
    '20.00%',
    '1,234 shares',
    '12.5000',
    'Energy',
    'missing',
  ]);
});

import { expect, test } from 'vitest';
import { formatDatapoint, writeDatapointNames } from '#console/words/datapoints.js';

test('a value has its unit: money of the index, shares, fractions; a value without a known unit is a number', () => {
  const texts = [
    ['MARKET_CAP, largest first', 1500],
    ['VALUE_TRADED', 345_995_138_062.8],
    ['median of VALUE_TRADED over 60 sessions at least 1,000,000', 2_265_898_713.58],
    ['count of CLOSE over 252 sessions', 252],
    ['VOLATILITY over 252 sessions', 0.2],
    ['VOLUME', 1234],
    ['CLOSE', 12.5],
    ['SECTOR', 'Energy'],
    ['BETA', null],
  ] as const;
  expect(texts.map(([datapoint, value]) => formatDatapoint(datapoint, value, 'USD'))).toEqual([
    '1,500 USD',
    '346B USD',
    '2.27B USD',
    '252',
    '20.00%',
    '1,234 shares',
    '12.5000',
    'Energy',
    'missing',
  ]);
});

test('names of datapoints are written as words, other capitals are kept', () => {
  expect(
    [
      'median of VALUE_TRADED over 60 sessions',
      'FREE_FLOAT_MARKET_CAP',
      'CLOSE at least 5 USD',
      'VOLATILITY over 252 sessions',
    ].map(writeDatapointNames),
  ).toEqual([
    'median of value traded over 60 sessions',
    'free-float market cap',
    'close at least 5 USD',
    'volatility over 252 sessions',
  ]);
});

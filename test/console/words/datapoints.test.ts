import { expect, test } from 'vitest';
import { formatDatapoint, formatReference, writeDatapointNames } from '#console/words/datapoints.js';

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

test('reference data has yields as percentages and amounts in the currency of the security', () => {
  const values = [
    ['EARNINGS_YIELD', 0.005167],
    ['RETURN_ON_EQUITY', -0.014792],
    ['BOOK_TO_PRICE', 0.381585],
    ['SALES', 619_262_000],
    ['NAME', 'Baddia Brands'],
  ] as const;
  expect(values.map(([name, value]) => formatReference(name, value, 'USD'))).toEqual([
    '0.52%',
    '−1.48%',
    '0.381585',
    '619,262,000 USD',
    'Baddia Brands',
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

import { expect, test } from 'vitest';
import { formatPrices } from '#domain/base/numbers.js';

test.each([
  [
    [130.48, 55.5],
    ['130.48', '55.50'],
  ],
  [
    [370.09, 168.4, 370],
    ['370.09', '168.40', '370.00'],
  ],
  [
    [1.2, 0.0123],
    ['1.2000', '0.0123'],
  ],
  [
    [1, 0],
    ['1.00000000', '0.00000000'],
  ],
])('the prices %j of a message have the same number of decimals', (prices, texts) => {
  expect(formatPrices(prices)).toEqual(texts);
});

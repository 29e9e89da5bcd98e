import { expect, test } from 'vitest';
import { selectCoding } from '#http/handler.js';

test.each([
  [undefined, null],
  ['', null],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0.2, gzip;q=0.8', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0, gzip;q=0', null],
  ['*', 'br'],
  ['*;q=0.5, br;q=0', 'gzip'],
  ['identity, br;q=0.5', null],
  ['identity;q=0.1, gzip;q=0.5', 'gzip'],
  ['deflate', null],
  ['br;q=nonsense', null],
  ['br ; q=1.0', 'br'],
])('a client that takes %j gets %j', (header, coding) => {
  expect(selectCoding(header)).toBe(coding);
});

import { expect, test } from 'vitest';
import { parsePastedPairs } from '#console/words/form-fields.js';

test('rows of a spreadsheet are securities and numbers; a heading and further columns are discarded', () => {
  const expected = [
    ['AAA', '10000'],
    ['BRK B', '2.5'],
  ];
  expect(parsePastedPairs('AAA\t10000\nBRK B\t2.5\n')).toEqual(expected);
  expect(parsePastedPairs('Name\tShares\tPrice\r\nAAA\t10 000\t5\r\nBRK B\t2.5\t7\r\n')).toEqual(expected);
  expect(parsePastedPairs('AAA;10000\nBRK B;2.5')).toEqual(expected);
  expect(parsePastedPairs('AAA 10000\nBRK B 2.5')).toEqual(expected);
});

test('a pasted identifier without a weight is a security', () => {
  expect([parsePastedPairs('AAA'), parsePastedPairs('BRK B'), parsePastedPairs('')]).toEqual([[], [], []]);
});

import { expect, test } from 'vitest';
import { NONE } from '#views/exports/batch.js';
import { createRowWriter } from '#views/exports/row-text.js';

test('what is null is a mark in whole numbers and no number in others: no number is taken for it', () => {
  const pieces: Uint8Array[] = [];
  const word = (text: string) => text;
  const writer = createRowWriter(
    { rowStart: '', separator: ',', rowEnd: '\n', none: 'null', date: word, text: word },
    { append: (piece) => void pieces.push(piece.slice()) },
  );
  writer.rows(
    [
      { name: 'count', type: 'count', values: Int32Array.of(7, NONE, -7) },
      { name: 'number', type: 'number', values: Float64Array.of(NONE, 1.5, NaN) },
    ],
    3,
  );
  writer.end();
  expect(Buffer.concat(pieces).toString()).toBe('7,-2147483648\nnull,1.5\n-7,null\n');
});

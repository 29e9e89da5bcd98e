import { describe, expect, test } from 'vitest';
import { computeSymmetricRankK } from '#kernels/algebra/products.js';
import { createSparseRows } from '#kernels/optimisation/program/metric.js';
import { seeded } from '../../../seeded.js';

const ROWS = 60;
const COLUMNS = 40;

/** Returns a matrix with a given share of non-zero entries. */
function createMatrix(share: number): Float64Array {
  const random = seeded(3);
  return Float64Array.from({ length: ROWS * COLUMNS }, () => (random() < share ? random() - 0.5 : 0));
}

const createVector = (length: number): Float64Array => Float64Array.from({ length }, (_, i) => Math.cos(i));

describe.each([
  ['few entries', 0.05, true],
  ['entries everywhere', 1, false],
])('a matrix with %s', (_, share, isSparse) => {
  const matrix = createMatrix(share);
  const rows = createSparseRows();
  rows.read(matrix, ROWS, COLUMNS);

  test('is sparse or dense by its entries', () => {
    expect(rows.isSparse()).toBe(isSparse);
  });

  test('has the products of its definition with a vector on either side, to the bit', () => {
    const [x, y] = [createVector(ROWS), createVector(COLUMNS)];
    for (const times of [1, -1] as const) {
      const out = y.slice();
      rows.addColumns(x, out, times);
      const expected = y.slice();
      for (let p = 0; p < ROWS; p++)
        for (let r = 0; r < COLUMNS; r++) expected[r]! += times * x[p]! * matrix[p * COLUMNS + r]!;
      expect(out).toEqual(expected);
    }
    for (let p = 0; p < ROWS; p++) {
      let expected = 7;
      for (let r = 0; r < COLUMNS; r++) expected -= matrix[p * COLUMNS + r]! * y[r]!;
      expect(rows.less(p, 7, y)).toBe(expected);
    }
  });
});

test('the products of a sparse matrix with itself are those of the kernel, to the bit', () => {
  const matrix = createMatrix(0.05);
  const rows = createSparseRows();
  rows.read(matrix, ROWS, COLUMNS);
  const out = new Float64Array(COLUMNS * COLUMNS).fill(9);
  rows.products(out);
  const expected = new Float64Array(COLUMNS * COLUMNS);
  computeSymmetricRankK(matrix, COLUMNS, expected);
  for (let i = 0; i < COLUMNS; i++)
    for (let j = 0; j <= i; j++) expect(out[i * COLUMNS + j]).toBe(expected[i * COLUMNS + j]);
});

test('another matrix replaces the previous one', () => {
  const rows = createSparseRows();
  rows.read(createMatrix(0.05), ROWS, COLUMNS);
  rows.read(Float64Array.of(2, 0, 0, 3), 2, 2);
  expect(rows.isSparse()).toBe(false);
  const out = new Float64Array(2);
  rows.addColumns(Float64Array.of(1, 1), out);
  expect(out).toEqual(Float64Array.of(2, 3));
});

import { describe, expect, test } from 'vitest';
import { addRows, computeRowValues } from '#kernels/optimisation/program/program.js';
import { seeded } from '../../../seeded.js';

const WIDTH = 7;
const ROWS = 11;
const random = seeded(5);
const matrix = Float64Array.from({ length: ROWS * WIDTH }, () => random() - 0.5);

describe.each([
  [0, 0],
  [0, 3],
  [0, 4],
  [2, 11],
  [0, 11],
])('rows %i to %i', (from, to) => {
  const range = { matrix, width: WIDTH, from, to };

  test('have the products of the definition with a vector, to the bit, and no others are written', () => {
    const x = Float64Array.from({ length: WIDTH }, (_, i) => Math.sin(i + 1));
    const out = new Float64Array(ROWS).fill(9);
    computeRowValues(range, x, out);
    for (let r = 0; r < ROWS; r++) {
      let total = 0;
      for (let i = 0; i < WIDTH; i++) total += matrix[r * WIDTH + i]! * x[i]!;
      expect(out[r]).toBe(r < from || r >= to ? 9 : total);
    }
  });

  test.each([1, 0])('are added with weights in their order, to the bit; weights times %i', (times) => {
    const weights = Float64Array.from({ length: ROWS }, (_, r) => (r === 5 ? 0 : times * Math.cos(r)));
    const out = new Float64Array(WIDTH).fill(3);
    addRows(range, weights, out);
    const expected = new Float64Array(WIDTH).fill(3);
    for (let r = from; r < to; r++)
      for (let i = 0; i < WIDTH; i++) expected[i]! += weights[r]! * matrix[r * WIDTH + i]!;
    expect(out).toEqual(expected);
  });
});

import { describe, expect, test } from 'vitest';
import {
  solveBackward,
  solveForward,
  solveForwardFour,
  solveForwardOfFour,
} from '#kernels/optimisation/factors/algebra.js';
import { seeded } from '../../../seeded.js';

/** Matrix orders around the blocks of four rows. */
const ORDERS = [1, 2, 3, 4, 5, 7, 8, 9, 21];

/** Number of unused rows after a factor. */
const SPARE_ROWS = 3;

function createFactor(n: number, stride: number): Float64Array {
  const random = seeded(n);
  const l = new Float64Array(n * stride).fill(NaN);
  for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) l[i * stride + j] = i === j ? 1 + random() : random() - 0.5;
  return l;
}

const createVector = (n: number, seed: number) => {
  const random = seeded(seed);
  return Float64Array.from({ length: n }, () => random() - 0.5);
};

describe('passes over a triangular factor', () => {
  test.each(ORDERS)('are bit-identical to passes over single rows, and invert the factor: order %d', (n) => {
    const stride = n + SPARE_ROWS;
    const l = createFactor(n, stride);
    const rightSide = createVector(n, 7);
    const forwards = rightSide.slice();
    solveForward(l, forwards, { n, stride });
    const backwards = rightSide.slice();
    solveBackward(l, backwards, { n, stride });
    // Each row has two sums, over even and odd positions. Both are accumulated and subtracted one after the other.
    const expected = rightSide.slice();
    for (let i = 0; i < n; i++) {
      let [even, odd] = [expected[i]!, 0];
      for (let j = 0; j < i; j++) {
        const term = l[i * stride + j]! * expected[j]!;
        if (j % 2 === 0) even -= term;
        else odd -= term;
      }
      expected[i] = (even + odd) / l[i * stride + i]!;
    }
    expect([...forwards]).toEqual([...expected]);
    const reversedSide = rightSide.slice();
    for (let i = n - 1; i >= 0; i--) {
      reversedSide[i]! /= l[i * stride + i]!;
      for (let j = 0; j < i; j++) reversedSide[j]! -= l[i * stride + j]! * reversedSide[i]!;
    }
    expect([...backwards]).toEqual([...reversedSide]);
    for (let i = 0; i < n; i++) {
      const [wholeResult, columnResult] = [0, 1].map((way) => {
        let total = 0;
        for (let j = 0; j < n; j++) {
          const entry = way === 0 ? [i, j] : [j, i];
          if (entry[1]! <= entry[0]!)
            total += l[entry[0]! * stride + entry[1]!]! * (way === 0 ? forwards[j]! : backwards[j]!);
        }
        return total;
      });
      expect(Math.abs(wholeResult! - rightSide[i]!)).toBeLessThan(1e-14);
      expect(Math.abs(columnResult! - rightSide[i]!)).toBeLessThan(1e-14);
    }
  });

  test.each(ORDERS)('process columns alike, one or four at once: order %d', (n) => {
    const l = createFactor(n, n);
    for (const from of [0, Math.floor(n / 2), n - 1]) {
      const columns = [1, 2, 3, 4].map((seed) => createVector(n, seed).fill(0, 0, from));
      const [a, b, c, d] = columns.map((column) => column.slice()) as [
        Float64Array,
        Float64Array,
        Float64Array,
        Float64Array,
      ];
      solveForwardFour(l, [a, b, c, d], { n, from });
      for (const [k, column] of columns.entries()) {
        const expected = column.slice();
        for (let i = from; i < n; i++) {
          for (let j = from; j < i; j++) expected[i]! -= l[i * n + j]! * expected[j]!;
          expected[i]! /= l[i * n + i]!;
        }
        solveForwardOfFour(l, column, { n, from });
        expect([...column]).toEqual([...expected]);
        expect([...[a, b, c, d][k]!]).toEqual([...expected]);
      }
    }
  });
});

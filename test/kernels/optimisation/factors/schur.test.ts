import { describe, expect, test } from 'vitest';
import { plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { factorSemidefinite, solveFactored } from '#kernels/optimisation/factors/schur.js';
import { seeded } from '../../../seeded.js';

const M = 150;
/** Indices of rows that are the sum of the two previous rows. */
const BLOCK_SIZES = new Set([5, 63, 64, 65, 128, 149]);

function createProducts(): Float64Array {
  const random = seeded(11);
  const rows: Float64Array[] = [];
  for (let r = 0; r < M; r++)
    rows.push(
      BLOCK_SIZES.has(r)
        ? rows[r - 1]!.map((value, k) => value + rows[r - 2]![k]!)
        : Float64Array.from({ length: 3 * M }, () => random() - 0.5),
    );
  return Float64Array.from({ length: M * M }, (_, e) => {
    const [a, b] = [rows[Math.floor(e / M)]!, rows[e % M]!];
    return a.reduce((sum, value, k) => sum + value * b[k]!, 0);
  });
}

describe('the factor of a semi-definite matrix', () => {
  test.each([
    ['row by row', undefined],
    ['panel by panel', plainAlgebra],
  ])('omits rows that repeat others and has the products of the rest: %s', (_, algebra) => {
    const s = createProducts();
    const [factor, skipped] = [s.slice(), new Uint8Array(M)];
    expect(factorSemidefinite(factor, M, skipped, { algebra })).toBe(BLOCK_SIZES.size);
    expect(new Set([...skipped.keys()].filter((r) => skipped[r] === 1))).toEqual(BLOCK_SIZES);
    for (let i = 0; i < M; i++)
      for (let j = 0; j <= i; j++) {
        let total = 0;
        for (let k = 0; k <= j; k++) total += factor[i * M + k]! * factor[j * M + k]!;
        if (!BLOCK_SIZES.has(j)) expect(total).toBeCloseTo(s[i * M + j]!, 9);
      }
    const right = Float64Array.from({ length: M }, (__, i) => Math.sin(i));
    const x = right.slice();
    solveFactored(factor, M, x, skipped);
    for (let i = 0; i < M; i++) {
      if (BLOCK_SIZES.has(i)) {
        expect(x[i]).toBe(0);
        continue;
      }
      let total = 0;
      for (let j = 0; j < M; j++) total += s[i * M + j]! * x[j]!;
      expect(Math.abs(total - right[i]!)).toBeLessThan(1e-6);
    }
  });
});

describe('a matrix with a narrow profile', () => {
  /** Some rows have entries in a few previous columns. One row has entries back to the first column. */
  const s = new Float64Array(M * M);
  for (let i = 0; i < M; i++) {
    for (let j = i === 90 ? 0 : Math.max(0, i - 3 - (i % 5)); j < i; j++) s[i * M + j] = Math.sin(i * j + 1);
    s[i * M + i] = 40 + i;
  }

  test.each([
    ['row by row', undefined],
    ['panel by panel', plainAlgebra],
  ])('has the products of its factor, and solves: %s', (_, algebra) => {
    const [factor, skipped] = [s.slice(), new Uint8Array(M)];
    expect(factorSemidefinite(factor, M, skipped, { algebra })).toBe(0);
    for (let i = 0; i < M; i++)
      for (let j = 0; j <= i; j++) {
        let total = 0;
        for (let k = 0; k <= j; k++) total += factor[i * M + k]! * factor[j * M + k]!;
        expect(Math.abs(total - s[i * M + j]!)).toBeLessThan(1e-12);
      }
    const right = Float64Array.from({ length: M }, (__, i) => Math.sin(i));
    const x = right.slice();
    solveFactored(factor, M, x, skipped);
    for (let i = 0; i < M; i++) {
      let total = 0;
      for (let j = 0; j < M; j++) total += s[Math.max(i, j) * M + Math.min(i, j)]! * x[j]!;
      expect(Math.abs(total - right[i]!)).toBeLessThan(1e-12);
    }
  });
});

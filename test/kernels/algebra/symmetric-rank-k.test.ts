import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeSymmetricRankK } from '#kernels/algebra/products.js';
import { KernelFault } from '#kernels/assert.js';
import { createMatrices } from '../arbitraries.js';

describe('symmetricRankK', () => {
  test('is the sum of the products of two columns, to the last bit', () => {
    fc.assert(
      fc.property(createMatrices(), ({ rows, columns, data }) => {
        const out = new Float64Array(columns * columns).fill(Number.NaN);
        computeSymmetricRankK(data, columns, out);
        for (let i = 0; i < columns; i++) {
          for (let j = 0; j < columns; j++) {
            let expected = 0;
            for (let t = 0; t < rows; t++) expected += data[t * columns + i]! * data[t * columns + j]!;
            expect(out[i * columns + j]! + 0).toBe(expected + 0);
          }
        }
      }),
    );
  });

  test('returns zeros for a panel without rows', () => {
    const out = new Float64Array(4).fill(7);
    computeSymmetricRankK(new Float64Array(0), 2, out);
    expect([...out]).toEqual([0, 0, 0, 0]);
  });

  test('refuses a ragged panel and a result of another size', () => {
    expect(() => computeSymmetricRankK(new Float64Array(5), 2, new Float64Array(4))).toThrow(KernelFault);
    expect(() => computeSymmetricRankK(new Float64Array(6), 2, new Float64Array(6))).toThrow(KernelFault);
  });
});

import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { factorCholesky } from '#kernels/algebra/linear-systems.js';
import { KernelFault } from '#kernels/assert.js';
import { positiveDefinite } from '../arbitraries.js';
import { expectClose } from '../closeness.js';
import { readGolden } from '../golden.js';

interface FactorCase {
  order: number;
  a: number[];
  cholesky: number[];
}

describe('cholesky', () => {
  test('agrees with LAPACK', () => {
    for (const { order, a, cholesky: expected } of readGolden<FactorCase[]>('factorisation')) {
      const out = Float64Array.from(a);
      expect(factorCholesky(out, order)).toBe(order);
      expectClose(keepLowerTriangle(out, order), expected, 1e-13);
    }
  });

  test('multiplies back to the matrix and does not change the upper triangle', () => {
    fc.assert(
      fc.property(positiveDefinite, ({ order, a }) => {
        const out = a.slice();
        expect(factorCholesky(out, order)).toBe(order);
        const product = new Float64Array(order * order);
        for (let i = 0; i < order; i++) {
          for (let j = 0; j < order; j++) {
            for (let k = 0; k <= Math.min(i, j); k++)
              product[i * order + j]! += out[i * order + k]! * out[j * order + k]!;
            if (j > i) expect(out[i * order + j]).toBe(a[i * order + j]);
          }
        }
        expectClose(product, a, 1e-14);
      }),
    );
  });

  test('reports the first pivot that is not positive', () => {
    expect(factorCholesky(Float64Array.of(1, 0, 0, 0, -1, 0, 0, 0, 1), 3)).toBe(1);
    expect(factorCholesky(Float64Array.of(1, 1, 1, 1), 2)).toBe(1); // singular, because two securities are identical
    expect(factorCholesky(Float64Array.of(Number.NaN), 1)).toBe(0);
    expect(factorCholesky(new Float64Array(0), 0)).toBe(0);
  });

  test('refuses a matrix of another order', () => {
    expect(() => factorCholesky(new Float64Array(5), 2)).toThrow(KernelFault);
  });
});

function keepLowerTriangle(a: Float64Array, order: number): Float64Array {
  return a.map((value, i) => (i % order > Math.floor(i / order) ? 0 : value));
}

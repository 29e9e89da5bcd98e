import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { computeSymmetricEigenvalues, decomposeSymmetric } from '#kernels/algebra/symmetric-eigen.js';
import { KernelFault } from '#kernels/assert.js';
import { createMatrices } from '../arbitraries.js';
import { expectClose } from '../closeness.js';
import { readGolden } from '../golden.js';

interface FactorCase {
  order: number;
  indefinite: number[];
  eigenvalues: number[];
}

describe('symmetricEigen', () => {
  test('agrees with LAPACK to 1e-12 of the largest', () => {
    for (const { order, indefinite, eigenvalues } of readGolden<FactorCase[]>('factorisation')) {
      const a = Float64Array.from(indefinite);
      const values = new Float64Array(order);
      expect(computeSymmetricEigenvalues(a, order, values)).toBe(true);
      expectClose(values, eigenvalues, 1e-12);
      expect(decomposeSymmetric(a, order, values, new Float64Array(order * order))).toBe(true);
      expectClose(values, eigenvalues, 1e-12);
    }
  });

  test('has orthonormal vectors that the matrix only scales', () => {
    fc.assert(
      fc.property(createMatrices({ rowsMax: 8, columnsMax: 8 }), ({ rows, columns, data }) => {
        const n = Math.min(rows, columns);
        const a = new Float64Array(n * n);
        for (let i = 0; i < n; i++)
          for (let j = 0; j < n; j++) a[i * n + j] = data[Math.max(i, j) * columns + Math.min(i, j)]!;
        const values = new Float64Array(n);
        const vectors = new Float64Array(n * n);
        expect(decomposeSymmetric(a, n, values, vectors)).toBe(true);
        for (let k = 0; k < n; k++) {
          if (k > 0) expect(values[k]!).toBeGreaterThanOrEqual(values[k - 1]!);
          const v = vectors.subarray(k * n, k * n + n);
          const stretchedVector = Float64Array.from({ length: n }, (_, i) =>
            v.reduce((total, x, j) => total + a[i * n + j]! * x, 0),
          );
          expectClose(
            stretchedVector,
            v.map((x) => values[k]! * x),
            1e-12,
            100,
          );
          for (let m = 0; m <= k; m++) {
            const product = v.reduce((total, x, j) => total + x * vectors[m * n + j]!, 0);
            expect(Math.abs(product - (m === k ? 1 : 0))).toBeLessThanOrEqual(1e-13);
          }
        }
      }),
    );
  });

  test('handles diagonal, zero and empty matrices, and repeated eigenvalues', () => {
    const values = new Float64Array(3);
    const vectors = new Float64Array(9);
    expect(decomposeSymmetric(Float64Array.of(3, 0, 0, 0, 1, 0, 0, 0, 2), 3, values, vectors)).toBe(true);
    expect([...values]).toEqual([1, 2, 3]);
    expect([...vectors]).toEqual([0, 1, 0, 0, 0, 1, 1, 0, 0]);
    expect(computeSymmetricEigenvalues(new Float64Array(9), 3, values)).toBe(true);
    expect([...values]).toEqual([0, 0, 0]);
    expect(computeSymmetricEigenvalues(Float64Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1), 3, values)).toBe(true);
    expectClose(values, [0, 0, 3], 1e-15);
    expect(computeSymmetricEigenvalues(new Float64Array(0), 0, new Float64Array(0))).toBe(true);
  });

  test('reports that NaN does not converge and refuses another order', () => {
    expect(computeSymmetricEigenvalues(Float64Array.of(Number.NaN, 1, 1, 1), 2, new Float64Array(2))).toBe(false);
    expect(() => computeSymmetricEigenvalues(new Float64Array(4), 2, new Float64Array(3))).toThrow(KernelFault);
    expect(() => decomposeSymmetric(new Float64Array(4), 2, new Float64Array(2), new Float64Array(3))).toThrow(
      KernelFault,
    );
  });
});

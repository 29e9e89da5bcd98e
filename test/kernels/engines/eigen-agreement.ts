import { expect, test } from 'vitest';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { expectEqual } from '../../equal.js';
import { expectClose } from '../closeness.js';
import { createRandomPanel, createRandomSymmetric } from './random-matrices.js';

/**
 * Compares the eigenvalues and eigenvectors of an engine with those of the definition, for matrices of several orders.
 */
export function testEigenAgreement(engine: Engine, orders: readonly number[]): void {
  test.each(orders)('finds the eigenvalues of order %i', (n) => {
    const a = createRandomSymmetric(n);
    const values = new Float64Array(n).fill(7);
    expect(engine.symmetricEigenvalues(a, n, values)).toBe(true);
    const expected = new Float64Array(n);
    plain.symmetricEigenvalues(a, n, expected);
    expectClose(values, expected, 1e-12);
    expectEqual(a, createRandomSymmetric(n));
  });

  test.each([...orders.filter((n) => n > 0), 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])(
    'finds the extreme eigenvalues of order %d',
    (kind) => {
      const n = Math.floor(kind);
      const a = kind === n ? createRandomSymmetric(n) : createDegenerate(n, kind - n < 0.15);
      const before = a.slice();
      const values = new Float64Array(n);
      plain.symmetricEigenvalues(a, n, values);
      const { smallest, largest } = engine.eigenvalueRange(a, n)!;
      expectClose([smallest, largest], [values[0]!, values[n - 1]!], 1e-13, Math.max(-values[0]!, values[n - 1]!));
      expectEqual(a, before);
    },
  );

  test('finds the extreme eigenvalues of a diagonal matrix, also equal ones and zeros, to the bit', () => {
    const computeExtremes = (...diagonal: readonly number[]) => {
      const n = diagonal.length;
      const a = new Float64Array(n * n);
      diagonal.forEach((value, i) => (a[i * (n + 1)] = value));
      const { smallest, largest } = engine.eigenvalueRange(a, n)!;
      return [smallest, largest];
    };
    expect(computeExtremes(0.1, 0.3, 0.2)).toEqual([0.1, 0.3]);
    expect(computeExtremes(0.7, 0.7, 0.7)).toEqual([0.7, 0.7]);
    expect(computeExtremes(0.7, 0)).toEqual([0, 0.7]);
    expect(computeExtremes(0, 0, 0)).toEqual([0, 0]);
    expect(computeExtremes(-2, -0.5)).toEqual([-2, -0.5]);
    expect(computeExtremes(1 / 3)).toEqual([1 / 3, 1 / 3]);
    expect(() => engine.eigenvalueRange(new Float64Array(3), 2)).toThrow();
  });

  test.each([...orders, 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])('finds orthonormal eigenvectors of order %d', (kind) => {
    const n = Math.floor(kind);
    const a = kind === n ? createRandomSymmetric(n) : createDegenerate(n, kind - n < 0.15);
    const values = new Float64Array(n);
    const vectors = new Float64Array(n * n);
    expect(engine.symmetricEigen(a, n, values, vectors)).toBe(true);
    const expected = new Float64Array(n);
    plain.symmetricEigenvalues(a, n, expected);
    expectClose(values, expected, 1e-12);
    const size = Math.max(...expected.map(Math.abs));
    const products = new Float64Array(n * n);
    plain.gemm({ rows: n, inner: n, columns: n, transposeB: true }, vectors, vectors, products);
    expectClose(
      products,
      Float64Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0)),
      1e-13,
    );
    plain.gemm({ rows: n, inner: n, columns: n }, vectors, a, products);
    expectClose(
      products,
      vectors.map((v, i) => v * values[Math.floor(i / n)]!),
      1e-13 * n,
      size,
    );
  });

  test.each([...orders, 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])(
    'finds the largest eigenpairs of order %d bit-identically to those among all',
    (kind) => {
      const n = Math.floor(kind);
      const a = kind === n ? createRandomSymmetric(n) : createDegenerate(n, kind - n < 0.15);
      const before = a.slice();
      const all = { values: new Float64Array(n), vectors: new Float64Array(n * n) };
      expect(engine.symmetricEigen(a, n, all.values, all.vectors)).toBe(true);
      for (const count of new Set([0, Math.min(1, n), Math.min(3, n), n >> 1, Math.max(0, n - 1), n])) {
        const values = new Float64Array(count).fill(Number.NaN);
        const vectors = new Float64Array(count * n).fill(Number.NaN);
        expect(engine.largestEigen(a, n, values, vectors)).toBe(true);
        expectEqual(values, all.values.subarray(n - count));
        expectEqual(vectors, all.vectors.subarray((n - count) * n));
      }
      expectEqual(a, before);
      expect(() => engine.largestEigen(a, n, new Float64Array(n + 1), new Float64Array((n + 1) * n))).toThrow();
      expect(() => engine.largestEigen(a, n, new Float64Array(n), new Float64Array(n * n + 1))).toThrow();
    },
  );

  test('does not change the matrix whose eigenpairs it finds', () => {
    engine.scope(() => {
      const a = engine.allocate(97 * 97);
      a.set(createRandomSymmetric(97));
      engine.symmetricEigenvalues(a, 97, new Float64Array(97));
      engine.symmetricEigen(a, 97, new Float64Array(97), new Float64Array(97 * 97));
      expectEqual(a, createRandomSymmetric(97));
    });
  });

  test('reports that NaN has no eigenvalues, and accepts entries of extreme size', () => {
    expect(engine.symmetricEigenvalues(Float64Array.of(Number.NaN, 0, 0, 1), 2, new Float64Array(2))).toBe(false);
    expect(engine.largestEigen(Float64Array.of(Number.NaN, 0, 0, 1), 2, new Float64Array(1), new Float64Array(2))).toBe(
      false,
    );
    const largest = [new Float64Array(1), new Float64Array(2)] as const;
    expect(engine.largestEigen(Float64Array.of(2e200, 1e200, 1e200, 2e200), 2, ...largest)).toBe(true);
    expectClose(largest[0], [3e200], 1e-15);
    expectClose(largest[1], [Math.SQRT1_2, Math.SQRT1_2], 1e-15);
    expect(engine.eigenvalueRange(Float64Array.of(Number.NaN, 0, 0, 1), 2)).toBeUndefined();
    expect(engine.eigenvalueRange(Float64Array.of(1, 0, 0, Number.NEGATIVE_INFINITY), 2)).toBeUndefined();
    for (const size of [1e-200, 1e200]) {
      const ends = engine.eigenvalueRange(Float64Array.of(2 * size, size, size, 2 * size), 2)!;
      expectClose([ends.smallest, ends.largest], [size, 3 * size], 1e-15);
      const values = new Float64Array(2);
      expect(engine.symmetricEigenvalues(Float64Array.of(2 * size, size, size, 2 * size), 2, values)).toBe(true);
      expectClose(values, [size, 3 * size], 1e-15);
    }
  });
}

/**
 * Returns a matrix with duplicated securities or of rank 10. Divide and conquer deflates its groups of equal
 * eigenvalues most.
 */
function createDegenerate(n: number, duplicated: boolean): Float64Array {
  const panel = createRandomPanel(duplicated ? 2 * n : 10, n, 8);
  if (duplicated) for (let i = 0; i < panel.length; i++) if (i % n >= n / 2) panel[i] = panel[i - Math.floor(n / 2)]!;
  const out = new Float64Array(n * n);
  plain.symmetricRankK(panel, n, out);
  return out;
}

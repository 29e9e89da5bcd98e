import { expect, test } from 'vitest';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { expectEqual } from '../../equal.js';
import { IS_SOAK } from '../../soak.js';
import { expectClose, expectCovariance } from '../closeness.js';
import { testEigenAgreement } from './eigen-agreement.js';
import { createRandomPanel, createRandomSymmetric, createRandomDefinite } from './random-matrices.js';

/**
 * Matrix orders that are equal to, near and far from the block sizes: the tile of 4, the solve block of 64, the factor
 * block of 128 and the depth of 192.
 */
const ORDERS = [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 63, 64, 65, 66, 127, 130, 193, 258];

/**
 * Matrix orders for engines that share blocks with an engine for which every order is tested. The soak tests all
 * orders.
 */
export const FEWER_ORDERS = IS_SOAK ? ORDERS : [2, 5, 9, 63, 66, 193];

const SQUARES = [
  [1, 1],
  [3, 1],
  [5, 2],
  [20, 3],
  [7, 4],
  [319, 5],
  [320, 9],
  [321, 30],
  [650, 67],
  [50, 131],
] as const;

const PRODUCTS = [
  [1, 1, 1],
  [2, 3, 5],
  [4, 4, 4],
  [5, 193, 6],
  [129, 20, 3],
  [3, 400, 195],
  [66, 67, 68],
] as const;

const MATRICES = [
  [1, 1],
  [2, 3],
  [4, 4],
  [5, 9],
  [67, 130],
] as const;

const PORTFOLIOS = [
  [1, 1],
  [2, 1],
  [30, 3],
  [61, 8],
  [200, 35],
] as const;

const PANELS = [
  [2, 1],
  [2, 2],
  [7, 3],
  [40, 8],
  [61, 33],
] as const;

const SELECTIONS = [
  [1, 1],
  [3, 2],
  [4, 5],
  [40, 8],
  [61, 33],
] as const;

/** Tests every operation of an engine against its definition. The arrays are created by the engine or by other code. */
export function testAgreement(engine: Engine, orders: readonly number[] = ORDERS): void {
  const copyToEngine = (array: Float64Array): Float64Array => {
    const copy = engine.allocate(array.length);
    copy.set(array);
    return copy;
  };
  const computeOnBoth = (
    length: number,
    work: (engine: Engine, out: Float64Array) => void,
  ): readonly [Float64Array, Float64Array] => {
    const expected = new Float64Array(length);
    const actual = new Float64Array(length).fill(7);
    work(plain, expected);
    work(engine, actual);
    return [actual, expected];
  };

  test.each(SQUARES)('multiplies a panel of %i x %i by itself', (rows, columns) => {
    const x = createRandomPanel(rows, columns);
    const [actual, expected] = computeOnBoth(columns * columns, (each, out) => each.symmetricRankK(x, columns, out));
    expectCovariance(actual, expected, columns, 1e-12);
    const transposedMatrix = actual.map((_, i) => actual[(i % columns) * columns + Math.floor(i / columns)]!);
    expectEqual(actual, transposedMatrix);
    engine.scope(() => {
      const out = engine.allocate(columns * columns);
      engine.symmetricRankK(copyToEngine(x), columns, out);
      expectEqual(out, actual);
    });
  });

  test.each(PRODUCTS)('multiplies %i x %i by %i columns, stored either way', (rows, inner, columns) => {
    const a = createRandomPanel(rows, inner, 5);
    const b = createRandomPanel(inner, columns, 6);
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) {
        const [actual, expected] = computeOnBoth(rows * columns, (each, out) =>
          each.gemm({ rows, inner, columns, transposeA, transposeB }, a, b, out),
        );
        expectClose(actual, expected, 1e-12);
      }
    }
  });

  test.each(MATRICES)('multiplies a matrix of %i x %i by vectors', (rows, columns) => {
    const a = createRandomPanel(rows, columns);
    const [product, expected] = computeOnBoth(rows, (each, out) => each.gemv(a, createRandomPanel(columns, 1), out));
    expectClose(product, expected, 1e-12);
    const [transposed, expectedTransposed] = computeOnBoth(columns, (each, out) =>
      each.gemvTransposed(a, createRandomPanel(rows, 1), out),
    );
    expectClose(transposed, expectedTransposed, 1e-12);
  });

  test.each(orders)('multiplies a symmetric matrix of order %i by a vector', (n) => {
    const [actual, expected] = computeOnBoth(n, (each, out) =>
      each.symv(createRandomSymmetric(n), createRandomPanel(n, 1), out),
    );
    expectClose(actual, expected, 1e-12);
  });

  test.each(orders)('factors and solves a matrix of order %i', (n) => {
    const a = createRandomDefinite(n);
    const [factor, expected] = computeOnBoth(n * n, (each, out) => {
      out.set(a);
      expect(each.cholesky(out, n)).toBe(n);
    });
    expectClose(factor, expected, 1e-12);
    for (const columns of [1, 2, 5, 66]) {
      const b = createRandomPanel(n, columns, 9);
      for (const solve of ['solveLower', 'solveLowerTransposed'] as const) {
        const [x, expectedX] = computeOnBoth(n * columns, (each, out) => {
          out.set(b);
          each[solve](expected, n, out);
        });
        expectClose(x, expectedX, 1e-9); // condition numbers reach 1e6
      }
    }
  });

  test.each([2, 5, 64, 130, 200])(
    'reports the pivot at which a matrix of order %i stops being positive definite',
    (n) => {
      const a = createRandomDefinite(n);
      const badPivot = n - 1;
      for (let j = 0; j < n; j++) a[badPivot * n + j] = a[j * n + badPivot] = a[j]!; // a duplicate of the first security
      a[badPivot * n + badPivot] = a[0]! * (1 - 1e-6);
      expect(engine.cholesky(a.slice(), n)).toBe(badPivot);
      a[Math.floor(n / 2) * (n + 1)] = -1;
      expect(engine.cholesky(a.slice(), n)).toBe(Math.floor(n / 2));
    },
  );

  testEigenAgreement(engine, orders);

  test.each([0, 1, 2, 3, 128, 129, 1000])('squares and sums %i values', (n) => {
    const x = createRandomPanel(n, 1);
    const [squares, expectedSquares] = computeOnBoth(n, (each, out) => each.square(x, out));
    expectEqual(squares, expectedSquares);
    expectClose(
      [engine.pairwiseSum(x)],
      [plain.pairwiseSum(x)],
      1e-12,
      x.reduce((total, value) => total + Math.abs(value), 1e-300),
    );
  });

  test.each(PANELS)(
    'centres the columns of a panel of %i x %i, weights its rows and sums squares, bit-identically to the definition',
    (rows, columns) => {
      const weights = Float64Array.from({ length: rows }, (_, t) => (2 * (t + 1)) / (rows * (rows + 1)));
      for (const rowWeights of [undefined, weights]) {
        const [all, expected] = computeOnBoth((rows + 2) * columns, (each, out) => {
          const panel = out.subarray(0, rows * columns);
          panel.set(createRandomPanel(rows, columns));
          const [means, squares] = [out.subarray(panel.length, panel.length + columns), out.subarray(-columns)];
          each.centreColumns(panel, { weights: rowWeights, factors: weights }, means, squares);
        });
        expectEqual(all, expected);
      }
      const shares = createRandomPanel(1, columns);
      const x = createRandomPanel(rows, columns);
      expect(engine.squaredRowSums(x, shares)).toBe(plain.squaredRowSums(x, shares));
      const [deviations, expectedDeviations] = computeOnBoth(columns, (each, out) =>
        each.columnDeviations(createRandomPanel(rows, columns), out),
      );
      expectEqual(deviations, expectedDeviations);
    },
  );

  test.each(PORTFOLIOS)(
    'finds percentiles of %i weighted values, bit-identically to the definition',
    (count, spread) => {
      const shares = Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9);
      const values = createRandomPanel(1, count, spread).map((value, i) => (i % 7 === 3 ? NaN : value ** spread));
      const weights = createRandomPanel(1, count, spread + 1);
      const [actual, expected] = computeOnBoth(2 + shares.length, (each, out) =>
        each.weightedPercentiles({ values, weights, count }, shares, out),
      );
      expectEqual(actual, expected);
    },
  );

  test.each(SELECTIONS)(
    'selects columns of a panel of %i x %i and centres them in groups, bit-identically to the definition',
    (rows, width) => {
      const columns = Int32Array.from({ length: Math.ceil(width * 0.8) }, (_, k) => (7 * k + 3) % width);
      const [takenColumns, expectedTaken] = computeOnBoth(rows * columns.length, (each, out) =>
        each.selectColumns(createRandomPanel(rows, width), { width, columns, less: 1 }, out),
      );
      expectEqual(takenColumns, expectedTaken);
      const groups = {
        groupAt: Int32Array.from(columns, (_, k) => (k * k) % Math.min(2, columns.length)),
        count: Math.min(2, columns.length),
      };
      const [means, expectedMeans] = computeOnBoth(rows * groups.count, (each, out) =>
        each.centreGroups(expectedTaken.slice(), groups, out),
      );
      expectEqual(means, expectedMeans);
      const [centred, expectedCentred] = computeOnBoth(expectedTaken.length, (each, out) => {
        out.set(expectedTaken);
        each.centreGroups(out, groups, new Float64Array(rows * groups.count));
      });
      expectEqual(centred, expectedCentred);
    },
  );

  test.each([1, 2, 3, 8, 33])('updates a symmetric matrix of order %i by an outer product', (n) => {
    const before = createRandomSymmetric(n).map((value, i) => (i % n < Math.floor(i / n) ? Number.NaN : value));
    const [actual, expected] = computeOnBoth(n * n, (each, out) => {
      out.set(before);
      each.rankOneUpdate(out, createRandomPanel(n, 1), { decay: 0.9, factor: -2 });
    });
    expectEqual(actual, expected);
  });
}

import { expect, test } from 'vitest';
import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine as plain } from '#kernels/engines/reference.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { expectEqual } from '../../equal.js';
import { IS_SOAK } from '../../soak.js';
import { expectClose, expectCovariance } from '../closeness.js';
import { randomPanel, randomSymmetric, randomDefinite } from './random-matrices.js';

/** Orders at, around and far from the tile of 4, the solve block of 64, the factor block of 128 and the depth of 192. */
const ORDERS = [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 63, 64, 65, 66, 127, 130, 193, 258];

/** For engines whose blocks are those of another that meets every order; in the soak all. */
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

/** Every operation of an engine against its plain definition, on arrays of its own and on foreign ones. */
export function testAgreement(engine: Engine, orders: readonly number[] = ORDERS): void {
  const own = (array: Float64Array): Float64Array => {
    const copy = engine.allocate(array.length);
    copy.set(array);
    return copy;
  };
  const outOf = (
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
    const x = randomPanel(rows, columns);
    const [actual, expected] = outOf(columns * columns, (each, out) => each.symmetricRankK(x, columns, out));
    expectCovariance(actual, expected, columns, 1e-12);
    const mirrored = actual.map((_, at) => actual[(at % columns) * columns + Math.floor(at / columns)]!);
    expectEqual(actual, mirrored);
    engine.scope(() => {
      const out = engine.allocate(columns * columns);
      engine.symmetricRankK(own(x), columns, out);
      expectEqual(out, actual);
    });
  });

  test.each(PRODUCTS)('multiplies %i x %i by %i columns, stored either way', (rows, inner, columns) => {
    const a = randomPanel(rows, inner, 5);
    const b = randomPanel(inner, columns, 6);
    for (const transposeA of [false, true]) {
      for (const transposeB of [false, true]) {
        const [actual, expected] = outOf(rows * columns, (each, out) =>
          each.gemm({ rows, inner, columns, transposeA, transposeB }, a, b, out),
        );
        expectClose(actual, expected, 1e-12);
      }
    }
  });

  test.each(MATRICES)('multiplies a matrix of %i x %i by vectors', (rows, columns) => {
    const a = randomPanel(rows, columns);
    const [product, expected] = outOf(rows, (each, out) => each.gemv(a, randomPanel(columns, 1), out));
    expectClose(product, expected, 1e-12);
    const [transposed, expectedTransposed] = outOf(columns, (each, out) =>
      each.gemvTransposed(a, randomPanel(rows, 1), out),
    );
    expectClose(transposed, expectedTransposed, 1e-12);
  });

  test.each(orders)('multiplies a symmetric matrix of order %i by a vector', (n) => {
    const [actual, expected] = outOf(n, (each, out) => each.symv(randomSymmetric(n), randomPanel(n, 1), out));
    expectClose(actual, expected, 1e-12);
  });

  test.each(orders)('factors and solves a matrix of order %i', (n) => {
    const a = randomDefinite(n);
    const [factor, expected] = outOf(n * n, (each, out) => {
      out.set(a);
      expect(each.cholesky(out, n)).toBe(n);
    });
    expectClose(factor, expected, 1e-12);
    for (const columns of [1, 2, 5, 66]) {
      const b = randomPanel(n, columns, 9);
      for (const solve of ['solveLower', 'solveLowerTransposed'] as const) {
        const [x, expectedX] = outOf(n * columns, (each, out) => {
          out.set(b);
          each[solve](expected, n, out);
        });
        expectClose(x, expectedX, 1e-9); // condition numbers reach 1e6
      }
    }
  });

  test.each([2, 5, 64, 130, 200])(
    'names the pivot at which a matrix of order %i stops being positive definite',
    (n) => {
      const a = randomDefinite(n);
      const bad = n - 1;
      for (let j = 0; j < n; j++) a[bad * n + j] = a[j * n + bad] = a[j]!; // a duplicate of the first name
      a[bad * n + bad] = a[0]! * (1 - 1e-6);
      expect(engine.cholesky(a.slice(), n)).toBe(bad);
      a[Math.floor(n / 2) * (n + 1)] = -1;
      expect(engine.cholesky(a.slice(), n)).toBe(Math.floor(n / 2));
    },
  );

  test.each(orders)('finds the eigenvalues of order %i', (n) => {
    const a = randomSymmetric(n);
    const [actual, expected] = outOf(n, (each, out) => expect(each.symmetricEigenvalues(a, n, out)).toBe(true));
    expectClose(actual, expected, 1e-12);
    expectEqual(a, randomSymmetric(n));
  });

  test.each([...orders.filter((n) => n > 0), 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])(
    'finds the ends of the eigenvalues of order %d',
    (kind) => {
      const n = Math.floor(kind);
      const a = kind === n ? randomSymmetric(n) : degenerate(n, kind - n < 0.15);
      const before = a.slice();
      const values = new Float64Array(n);
      plain.symmetricEigenvalues(a, n, values);
      const { smallest, largest } = engine.eigenvalueRange(a, n)!;
      expectClose([smallest, largest], [values[0]!, values[n - 1]!], 1e-13, Math.max(-values[0]!, values[n - 1]!));
      expectEqual(a, before);
    },
  );

  test('finds the ends of the eigenvalues of a diagonal, equal ones and zeros among them, to the bit', () => {
    const ends = (...diagonal: readonly number[]) => {
      const n = diagonal.length;
      const a = new Float64Array(n * n);
      diagonal.forEach((value, i) => (a[i * (n + 1)] = value));
      const { smallest, largest } = engine.eigenvalueRange(a, n)!;
      return [smallest, largest];
    };
    expect(ends(0.1, 0.3, 0.2)).toEqual([0.1, 0.3]);
    expect(ends(0.7, 0.7, 0.7)).toEqual([0.7, 0.7]);
    expect(ends(0.7, 0)).toEqual([0, 0.7]);
    expect(ends(0, 0, 0)).toEqual([0, 0]);
    expect(ends(-2, -0.5)).toEqual([-2, -0.5]);
    expect(ends(1 / 3)).toEqual([1 / 3, 1 / 3]);
    expect(() => engine.eigenvalueRange(new Float64Array(3), 2)).toThrow();
  });

  test.each([...orders, 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])('finds orthonormal eigenvectors of order %d', (kind) => {
    const n = Math.floor(kind);
    const a = kind === n ? randomSymmetric(n) : degenerate(n, kind - n < 0.15);
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
      Float64Array.from({ length: n * n }, (_, at) => (at % (n + 1) === 0 ? 1 : 0)),
      1e-13,
    );
    plain.gemm({ rows: n, inner: n, columns: n }, vectors, a, products);
    expectClose(
      products,
      vectors.map((v, at) => v * values[Math.floor(at / n)]!),
      1e-13 * n,
      size,
    );
  });

  test.each([...orders, 20.1, 20.2, 70.1, 70.2, 140.1, 140.2])(
    'finds the largest eigenpairs of order %d with the bits they have among all',
    (kind) => {
      const n = Math.floor(kind);
      const a = kind === n ? randomSymmetric(n) : degenerate(n, kind - n < 0.15);
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

  test('leaves the matrix whose eigenpairs it finds as it was', () => {
    engine.scope(() => {
      const a = own(randomSymmetric(97));
      engine.symmetricEigenvalues(a, 97, new Float64Array(97));
      engine.symmetricEigen(a, 97, new Float64Array(97), new Float64Array(97 * 97));
      expectEqual(a, randomSymmetric(97));
    });
  });

  test('says that NaN has no eigenvalues, and takes entries of extreme size', () => {
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

  test.each([0, 1, 2, 3, 128, 129, 1000])('squares, scales and sums %i values', (n) => {
    const x = randomPanel(n, 1);
    const [squares, expectedSquares] = outOf(n, (each, out) => each.square(x, out));
    expectEqual(squares, expectedSquares);
    const [scaled, expectedScaled] = outOf(3 * n, (each, out) => {
      out.set(randomPanel(3, n));
      if (n > 0) each.scaleRows(out, n, Float64Array.of(0.5, 0, 2));
    });
    expectEqual(scaled, expectedScaled);
    expectClose(
      [engine.pairwiseSum(x)],
      [plain.pairwiseSum(x)],
      1e-12,
      x.reduce((total, value) => total + Math.abs(value), 1e-300),
    );
  });

  test.each(PANELS)(
    'centres the columns of a panel of %i x %i and sums their squares, with the bits of the definition',
    (rows, columns) => {
      const weights = Float64Array.from({ length: rows }, (_, t) => (2 * (t + 1)) / (rows * (rows + 1)));
      for (const weighted of [undefined, weights]) {
        const [centred, expectedCentred] = outOf(rows * columns, (each, out) => {
          out.set(randomPanel(rows, columns));
          each.centreColumns(out, weighted, new Float64Array(columns));
        });
        expectEqual(centred, expectedCentred);
        const [means, expectedMeans] = outOf(columns, (each, out) =>
          each.centreColumns(randomPanel(rows, columns), weighted, out),
        );
        expectEqual(means, expectedMeans);
      }
      const [squares, expectedSquares] = outOf(columns, (each, out) =>
        each.columnSquares(randomPanel(rows, columns), out),
      );
      expectEqual(squares, expectedSquares);
      const [deviations, expectedDeviations] = outOf(columns, (each, out) =>
        each.columnDeviations(randomPanel(rows, columns), out),
      );
      expectEqual(deviations, expectedDeviations);
    },
  );

  test.each(PORTFOLIOS)('finds percentiles of %i weighted values, with the bits of the definition', (count, spread) => {
    const shares = Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9);
    const values = randomPanel(1, count, spread).map((value, i) => (i % 7 === 3 ? NaN : value ** spread));
    const weights = randomPanel(1, count, spread + 1);
    const [actual, expected] = outOf(2 + shares.length, (each, out) =>
      each.weightedPercentiles({ values, weights, count }, shares, out),
    );
    expectEqual(actual, expected);
  });

  test.each(SELECTIONS)(
    'takes columns of a panel of %i x %i and centres them in groups, with the bits of the definition',
    (rows, width) => {
      const columns = Int32Array.from({ length: Math.ceil(width * 0.8) }, (_, k) => (7 * k + 3) % width);
      const [taken, expectedTaken] = outOf(rows * columns.length, (each, out) =>
        each.selectColumns(randomPanel(rows, width), { width, columns, less: 1 }, out),
      );
      expectEqual(taken, expectedTaken);
      const groups = {
        groupAt: Int32Array.from(columns, (_, k) => (k * k) % Math.min(2, columns.length)),
        count: Math.min(2, columns.length),
      };
      const [means, expectedMeans] = outOf(rows * groups.count, (each, out) =>
        each.centreGroups(expectedTaken.slice(), groups, out),
      );
      expectEqual(means, expectedMeans);
      const [centred, expectedCentred] = outOf(expectedTaken.length, (each, out) => {
        out.set(expectedTaken);
        each.centreGroups(out, groups, new Float64Array(rows * groups.count));
      });
      expectEqual(centred, expectedCentred);
    },
  );

  test.each([1, 2, 3, 8, 33])('updates a symmetric matrix of order %i by an outer product', (n) => {
    const before = randomSymmetric(n).map((value, at) => (at % n < Math.floor(at / n) ? Number.NaN : value));
    const [actual, expected] = outOf(n * n, (each, out) => {
      out.set(before);
      each.rankOneUpdate(out, randomPanel(n, 1), { decay: 0.9, factor: -2 });
    });
    expectEqual(actual, expected);
  });

  test.each(PORTFOLIOS)('follows the value of a portfolio over %i sessions of %i names', (sessions, assets) => {
    const prices = randomPanel(sessions, assets, 11).map((value) => 5 + Math.abs(value));
    const rebalances = Int32Array.from({ length: Math.ceil(sessions / 13) }, (_, r) => r * 13);
    const random = counterRandom({ seed: 4, stream: 0 });
    const weights = Float64Array.from({ length: rebalances.length * assets }, () => random.uniform() / assets); // part stays in cash
    const [actual, expected] = outOf(sessions, (each, out) =>
      each.navPath({ prices, assets, rebalances, weights }, out),
    );
    expectClose(actual, expected, 1e-12);
  });
}

/** Duplicated names, or rank 10: clusters of equal eigenvalues, where divide and conquer deflates most. */
function degenerate(n: number, duplicated: boolean): Float64Array {
  const panel = randomPanel(duplicated ? 2 * n : 10, n, 8);
  if (duplicated)
    for (let at = 0; at < panel.length; at++) if (at % n >= n / 2) panel[at] = panel[at - Math.floor(n / 2)]!;
  const out = new Float64Array(n * n);
  plain.symmetricRankK(panel, n, out);
  return out;
}

import type { DenseAlgebra } from './algebra.js';

/**
 * Minimum ratio of a pivot to its diagonal entry. If the ratio is smaller, the row depends linearly on earlier rows.
 */
const PIVOT_MIN = 1e-12;

/** Number of columns that are factored between two matrix products. */
const PANEL_WIDTH = 64;

/** Minimum order for which matrix products dominate the cost. */
const PRODUCTS_MIN = 2 * PANEL_WIDTH;

type ProductAlgebra = Pick<DenseAlgebra, 'symmetricRankK' | 'room' | 'scope'>;

interface SchurOptions {
  /** Minimum ratio of a pivot to its diagonal entry. A smaller pivot counts as zero. */
  readonly repeated?: number;
  /** Engine for large matrix products. */
  readonly algebra?: ProductAlgebra | undefined;
}

/**
 * Computes the Cholesky factor of a symmetric positive semi-definite matrix S in place, and omits rows that depend
 * linearly on earlier rows.
 *
 * @param s        [m x m] row-major; the lower triangle is read and overwritten.
 * @param m        Order.
 * @param skipped  Set to 1 for omitted rows, [m].
 * @returns        Number of omitted rows.
 * @cost           m^3 / 6 multiply-adds.
 */
export function factorSemidefinite(
  s: Float64Array,
  m: number,
  skipped: Uint8Array,
  { repeated = PIVOT_MIN, algebra }: SchurOptions = {},
): number {
  const diagonal = Float64Array.from({ length: m }, (_, i) => s[i * m + i]!);
  const matrix: Matrix = { s, m, skipped, diagonal, firsts: findFirstEntries(s, m) };
  if (algebra === undefined || m < PRODUCTS_MIN) return factorPanel(matrix, 0, m, repeated);
  let count = 0;
  for (let from = 0; from < m; from += PANEL_WIDTH) {
    const to = Math.min(from + PANEL_WIDTH, m);
    count += factorPanel(matrix, from, to, repeated);
    if (to < m) subtractProducts(algebra, matrix, from, to);
  }
  return count;
}

interface Matrix {
  readonly s: Float64Array;
  readonly m: number;
  readonly skipped: Uint8Array;
  /** Diagonal before the factorisation, [m]. */
  readonly diagonal: Float64Array;
  /** Position of the first nonzero entry of each row, [m]; the entries of the factor before it are zero as well. */
  readonly firsts: Int32Array;
}

/** Returns the position of the first nonzero entry of each row. @cost number of zeros before these entries */
function findFirstEntries(s: Float64Array, m: number): Int32Array {
  const firsts = new Int32Array(m);
  for (let i = 0; i < m; i++) {
    let k = 0;
    while (k < i && s[i * m + k] === 0) k++;
    firsts[i] = k;
  }
  return firsts;
}

/**
 * Factors a panel of columns from which all earlier columns have been subtracted. @returns the number of omitted rows
 */
function factorPanel({ s, m, skipped, diagonal, firsts }: Matrix, from: number, to: number, repeated: number): number {
  let count = 0;
  for (let i = from; i < m; i++) {
    const row = i * m;
    const begin = Math.max(from, firsts[i]!);
    for (let j = begin; j < Math.min(i, to); j++) {
      if (skipped[j] === 1) {
        s[row + j] = 0;
        continue;
      }
      // Computes two sums at a time, so that each addition depends only on the previous term of the same sum.
      const otherRow = j * m;
      let first = s[row + j]!;
      let second = 0;
      // Begins at an even distance from `from`, so that each of the two sums has the same terms wherever it begins.
      let k = Math.max(begin, firsts[j]!);
      k -= (k - from) % 2;
      for (; k + 1 < j; k += 2) {
        first -= s[row + k]! * s[otherRow + k]!;
        second -= s[row + k + 1]! * s[otherRow + k + 1]!;
      }
      if (k < j) first -= s[row + k]! * s[otherRow + k]!;
      s[row + j] = (first + second) / s[otherRow + j]!;
    }
    if (i >= to) continue;
    let pivot = s[row + i]!;
    for (let k = begin; k < i; k++) pivot -= s[row + k]! * s[row + k]!;
    skipped[i] = pivot > repeated * diagonal[i]! ? 0 : 1;
    count += skipped[i]!;
    s[row + i] = skipped[i] === 1 ? 0 : Math.sqrt(pivot);
  }
  return count;
}

/** Subtracts the products of a panel of columns from all later columns. */
function subtractProducts(algebra: ProductAlgebra, { s, m, firsts }: Matrix, from: number, to: number): void {
  const touchedRows = Int32Array.from(firsts.keys()).filter((i) => i >= to && firsts[i]! < to);
  const touchedCount = touchedRows.length;
  if (touchedCount === 0) return;
  algebra.scope(() => {
    const panel = algebra.room((to - from) * touchedCount);
    for (let i = 0; i < touchedCount; i++)
      for (let k = from; k < to; k++) panel[(k - from) * touchedCount + i] = s[touchedRows[i]! * m + k]!;
    const products = algebra.room(touchedCount * touchedCount);
    algebra.symmetricRankK(panel, touchedCount, products);
    for (let i = 0; i < touchedCount; i++)
      for (let j = 0; j <= i; j++) s[touchedRows[i]! * m + touchedRows[j]!]! -= products[i * touchedCount + j]!;
  });
}

/** Solves with the factor, in place: zero for omitted rows. */
export function solveFactored(s: Float64Array, m: number, r: Float64Array, skipped: Uint8Array): void {
  const firsts = findFirstEntries(s, m);
  for (let i = 0; i < m; i++) {
    if (skipped[i] === 1) {
      r[i] = 0;
      continue;
    }
    let total = r[i]!;
    for (let k = firsts[i]!; k < i; k++) total -= s[i * m + k]! * r[k]!;
    r[i] = total / s[i * m + i]!;
  }
  for (let i = m - 1; i >= 0; i--) {
    if (skipped[i] === 1) continue;
    let total = r[i]!;
    for (let k = i + 1; k < m; k++) if (firsts[k]! <= i) total -= s[k * m + i]! * r[k]!;
    r[i] = total / s[i * m + i]!;
  }
}

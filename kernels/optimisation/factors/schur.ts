/** Pivots below this share of their own diagonal entry belong to rows that repeat others. */
const REPEATED = 1e-12;

/**
 * Cholesky factor of a symmetric positive semi-definite S, in place, leaving out rows that depend on earlier ones.
 *
 * @param s        [m x m] row-major; the lower triangle is read and overwritten.
 * @param m        Order.
 * @param skipped  [m], becomes 1 for the rows left out.
 * @param repeated Share of its own diagonal entry below which a pivot counts as zero.
 * @returns        Number of rows left out.
 * @cost           m^3 / 6 multiply-adds.
 */
export function factorSemidefinite(s: Float64Array, m: number, skipped: Uint8Array, repeated = REPEATED): number {
  let count = 0;
  for (let i = 0; i < m; i++) {
    const row = i * m;
    const own = s[row + i]!;
    for (let j = 0; j < i; j++) {
      if (skipped[j] === 1) {
        s[row + j] = 0;
        continue;
      }
      // Two sums at a time: each waits for its own last term only.
      const other = j * m;
      let first = s[row + j]!;
      let second = 0;
      let k = 0;
      for (; k + 1 < j; k += 2) {
        first -= s[row + k]! * s[other + k]!;
        second -= s[row + k + 1]! * s[other + k + 1]!;
      }
      if (k < j) first -= s[row + k]! * s[other + k]!;
      s[row + j] = (first + second) / s[other + j]!;
    }
    let pivot = own;
    for (let k = 0; k < i; k++) pivot -= s[row + k]! * s[row + k]!;
    skipped[i] = pivot > repeated * own ? 0 : 1;
    count += skipped[i]!;
    s[row + i] = skipped[i] === 1 ? 0 : Math.sqrt(pivot);
  }
  return count;
}

/** Solves with the factor, in place: zero for the rows left out. */
export function solveFactored(s: Float64Array, m: number, r: Float64Array, skipped: Uint8Array): void {
  for (let i = 0; i < m; i++) {
    if (skipped[i] === 1) {
      r[i] = 0;
      continue;
    }
    let total = r[i]!;
    for (let k = 0; k < i; k++) total -= s[i * m + k]! * r[k]!;
    r[i] = total / s[i * m + i]!;
  }
  for (let i = m - 1; i >= 0; i--) {
    if (skipped[i] === 1) continue;
    let total = r[i]!;
    for (let k = i + 1; k < m; k++) total -= s[k * m + i]! * r[k]!;
    r[i] = total / s[i * m + i]!;
  }
}

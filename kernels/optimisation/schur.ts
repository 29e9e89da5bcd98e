/** Pivots below this share of the largest diagonal entry belong to rows that repeat others. */
const PIVOT_SHARE = 1e-12;

/**
 * Solves S y = r for a symmetric positive semi-definite S, in place, leaving out rows that depend on earlier ones.
 *
 * @param s        [m x m] row-major, symmetric; its lower triangle is overwritten by the factor.
 * @param m        Order.
 * @param r        [m], becomes y: nought for the rows left out.
 * @param skipped  [m], 1 for the rows left out.
 * @returns        Number of rows left out.
 * @cost           m^3 / 6 multiply-adds.
 */
export function solveSemidefinite(s: Float64Array, m: number, r: Float64Array, skipped: Uint8Array): number {
  const count = factorSemidefinite(s, m, skipped);
  solveFactored(s, m, r, skipped);
  return count;
}

/** The factor alone: see `solveSemidefinite`. Each pivot is judged against its own diagonal entry. */
export function factorSemidefinite(s: Float64Array, m: number, skipped: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < m; i++) {
    const row = i * m;
    const own = s[row + i]!;
    for (let j = 0; j < i; j++) {
      if (skipped[j] === 1) {
        s[row + j] = 0;
        continue;
      }
      let total = s[row + j]!;
      for (let k = 0; k < j; k++) total -= s[row + k]! * s[j * m + k]!;
      s[row + j] = total / s[j * m + j]!;
    }
    let pivot = own;
    for (let k = 0; k < i; k++) pivot -= s[row + k]! * s[row + k]!;
    skipped[i] = pivot > PIVOT_SHARE * own ? 0 : 1;
    count += skipped[i]!;
    s[row + i] = skipped[i] === 1 ? 0 : Math.sqrt(pivot);
  }
  return count;
}

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

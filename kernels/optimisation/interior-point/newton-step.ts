import type { Work } from './work.js';
import { computeFoldedSteps } from './fold-steps.js';
import { computeLowerConstant, computeSideSlack, computeUpperConstant } from './row-sides.js';

/** Computes the steps of all pairs from dx and the changes of the multipliers. */
export function computePairSteps(work: Work): void {
  const {
    program,
    free,
    f,
    pairs,
    at,
    dx,
    change,
    columnRows,
    columnCount: c,
    rowResidual,
    rowScale,
    fold,
    kept,
  } = work;
  const { kinks, norms } = program;
  const { on, s, z, ds, dz, target } = pairs;
  const m = kept.length;
  const computeDualStep = (k: number) => {
    dz[k] = (target[k]! - z[k]! * ds[k]!) / s[k]!;
  };
  for (let p = 0; p < f; p++) {
    if (on[at.lower + p] === 1) {
      ds[at.lower + p] = dx[p]! + work.lowerResidual[p]!;
      computeDualStep(at.lower + p);
    }
    if (on[at.upper + p] === 1) {
      ds[at.upper + p] = -dx[p]! + work.upperResidual[p]!;
      computeDualStep(at.upper + p);
    }
  }
  if (fold !== null) computeFoldedSteps(work, fold, setSideStep);
  const moves = new Float64Array(c);
  columnRows.addColumns(dx, moves);
  for (let column = 0; column < m; column++) {
    const r = kept[column]!;
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) continue;
    const move = moves[column]!;
    const value = rowResidual[r]! * rowScale[r]!;
    // The step of the wider side follows from dx. The step of the narrower side follows from the multiplier of the row,
    // because a slack near zero would magnify rounding errors.
    const upperSlack = on[u] === 1 ? computeSideSlack(on, s, z, u, at.rowOver + r) : 0;
    const lowerSlack = on[l] === 1 ? computeSideSlack(on, s, z, l, at.rowUnder + r) : 0;
    let upperTerm = 0;
    let lowerTerm = 0;
    if (lowerSlack > upperSlack) {
      lowerTerm = on[u] === 1 ? (-move - computeLowerConstant(work, r, value)) / lowerSlack : -change[column]!;
      upperTerm = change[column]! + lowerTerm;
    } else {
      upperTerm = on[l] === 1 ? (move - computeUpperConstant(work, r, value)) / upperSlack : change[column]!;
      lowerTerm = upperTerm - change[column]!;
    }
    if (on[u] === 1) setSideStep(u, at.rowOver + r, upperTerm);
    if (on[l] === 1) setSideStep(l, at.rowUnder + r, lowerTerm);
  }
  for (let k = 0; k < kinks.length; k++) {
    const { left, right, limit } = kinks[k]!;
    const dl = limit === null ? 0 : change[m + k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const r = at.right + k * f + p;
      const i = free[p]!;
      const a = z[l]! / s[l]!;
      const b = z[r]! / s[r]!;
      const dt = (target[l]! / s[l]! + target[r]! / s[r]! + (left[i]! * a + right[i]! * b) * dx[p]! - dl) / (a + b);
      ds[l] = dt - left[i]! * dx[p]!;
      ds[r] = dt - right[i]! * dx[p]!;
      computeDualStep(l);
      computeDualStep(r);
    }
    if (limit !== null) setSideStep(at.limit + k, at.limitOver + k, dl);
  }
  for (let q = 0; q < norms.length; q++) {
    const side = at.norm + q;
    dz[side] = change[m + kinks.length + q]!;
    ds[side] = (target[side]! - s[side]! * dz[side]!) / z[side]!;
  }

  /** Sets the steps of a side and of the excess that softens it. Their duals change in opposite directions. */
  function setSideStep(side: number, soft: number, step: number): void {
    dz[side] = step;
    ds[side] = (target[side]! - s[side]! * step) / z[side]!;
    if (on[soft] === 0) return;
    dz[soft] = -step;
    ds[soft] = (target[soft]! + s[soft]! * step) / z[soft]!;
  }
}

export function advance(work: Work, length: number): void {
  const { program, free, f, pairs, at, x, y, t, dx, change, columnOf, lowerResidual, upperResidual } = work;
  const { on, s, z, ds, dz } = pairs;
  const { rows, kinks, lower, upper } = program;
  for (let k = 0; k < pairs.count; k++) {
    if (on[k] === 0) continue;
    s[k]! += length * ds[k]!;
    z[k]! += length * dz[k]!;
  }
  for (let p = 0; p < f; p++) {
    const i = free[p]!;
    x[i]! += length * dx[p]!;
    lowerResidual[p]! *= 1 - length;
    upperResidual[p]! *= 1 - length;
    if (on[at.lower + p] === 1 && lowerResidual[p] === 0) s[at.lower + p] = Math.max(x[i]! - lower[i]!, 1e-300);
    if (on[at.upper + p] === 1 && upperResidual[p] === 0) s[at.upper + p] = Math.max(upper[i]! - x[i]!, 1e-300);
  }
  for (let r = 0; r < rows.count; r++) {
    const [u, l] = [at.rowUpper + r, at.rowLower + r];
    if (on[u] === 0 && on[l] === 0) y[r] = rows.lower[r] === rows.upper[r] ? y[r]! + length * change[columnOf[r]!]! : 0;
    else y[r] = (on[u] === 1 ? z[u]! : 0) - (on[l] === 1 ? z[l]! : 0);
  }
  for (let k = 0; k < kinks.length; k++) {
    const kink = kinks[k]!;
    for (let p = 0; p < f; p++) {
      const l = at.left + k * f + p;
      if (on[l] === 0) continue;
      const i = free[p]!;
      const step = x[i]! - kink.at[i]!;
      t[k * f + p] = s[l]! + kink.left[i]! * step;
    }
  }
}

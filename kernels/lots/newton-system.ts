import { factorCholesky } from '../algebra/cholesky.js';
import { solveTriangles } from './dense-products.js';
import {
  computeRowReach,
  createReducedMatrices,
  fillFactorBlock,
  fillRowBlock,
  FUNCTIONAL_COUNT,
  invertBlocks,
  type ReducedMatrices,
} from './reduced-matrices.js';
import type { Relaxation } from './relaxation.js';

/**
 * Newton system of an interior-point step, reduced to factors and rows.
 *
 * K dz + A'B xi + R' dy = -g        K = diag(z) + A' diag(e) A, one block per security
 *   B'A dz - xi / kappa = 0           kappa = 2 (aversion + multiplier of the variance limit)
 *   R dz - diag(v) dy - tax dt = -r
 *   tax' dy = s
 *
 * A sums the trades of each security. A block is a diagonal plus a rank-one matrix, so K is inverted in one pass over
 * the trades. The order of the remaining matrix is the number of factors plus the number of rows.
 */
export interface NewtonSystem {
  /**
   * @param curvature e [n] @param barrier z [trades] @param slack v [rows] @param variance gradient of the variance row
   *   in w, empty without a limit
   */
  factor(point: {
    readonly kappa: number;
    readonly curvature: Float64Array;
    readonly barrier: Float64Array;
    readonly slack: Float64Array;
    readonly variance: Float64Array;
  }): boolean;
  /** Solves for dz, dy and dt. @returns dt */
  solve(terms: {
    readonly gradient: Float64Array;
    readonly residual: Float64Array;
    readonly sum: number;
    readonly dz: Float64Array;
    readonly dy: Float64Array;
  }): number;
}

/**
 * Creates the Newton system of a convex form. @param hasVariance true if the last row is the variance limit, to whose
 * gradient each factor contributes
 */
export function createNewtonSystem(
  relaxation: Relaxation,
  { hasVariance }: { readonly hasVariance: boolean },
): NewtonSystem {
  const matrices = createReducedMatrices(relaxation, hasVariance);
  const { m, order, matrix, rowWeights } = matrices;
  const { n, k } = relaxation.program;
  const taxIndicator = relaxation.rows.map(({ tax }) => tax as number);
  if (hasVariance) taxIndicator.push(0);
  const [x, border, common] = [new Float64Array(order), new Float64Array(order), new Float64Array(n)];
  let borderDot = 0;
  return {
    factor({ kappa, curvature, barrier, slack, variance }) {
      if (hasVariance) rowWeights[m - 1] = variance;
      invertBlocks(matrices, curvature, barrier);
      computeRowReach(matrices);
      fillFactorBlock(matrices, kappa);
      fillRowBlock(matrices, slack);
      if (factorCholesky(matrix, order) !== order) return false;
      border.fill(0);
      for (let j = 0; j < m; j++) border[k + j] = taxIndicator[j]!;
      solveTriangles(matrix, order, border);
      borderDot = 0;
      for (let j = 0; j < m; j++) borderDot += taxIndicator[j]! * border[k + j]!;
      return borderDot > 0;
    },
    solve({ gradient, residual, sum, dz, dy }) {
      const totals = applyInverse(matrices, { gradient, dz, common });
      reduce(matrices, { residual, totals, common, x });
      solveTriangles(matrix, order, x);
      let dot = 0;
      for (let j = 0; j < m; j++) dot += taxIndicator[j]! * x[k + j]!;
      const dt = (dot - sum) / borderDot;
      for (let f = 0; f < order; f++) x[f]! -= border[f]! * dt;
      for (let j = 0; j < m; j++) dy[j] = x[k + j]!;
      spreadStep(matrices, { x, common, dz });
      return dt;
    },
  };
}

/** Writes K^-1 g to `dz` and its sums by security to `common`. @returns the functionals of K^-1 g */
function applyInverse(
  { relaxation, inverse, sums, shrink }: ReducedMatrices,
  {
    gradient,
    dz,
    common,
  }: { readonly gradient: Float64Array; readonly dz: Float64Array; readonly common: Float64Array },
): readonly [number, number, number] {
  const { n } = relaxation.program;
  const { start, sign, short, long, cost } = relaxation.trades;
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  for (let i = 0; i < n; i++) {
    let total = 0;
    for (let j = start[i]!; j < start[i + 1]!; j++) total += sign[j]! * inverse[j]! * gradient[j]!;
    const shrunkTotal = shrink[i]! * total;
    common[i] = total - shrunkTotal * sums[i]!;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const value = inverse[j]! * (gradient[j]! - sign[j]! * shrunkTotal);
      dz[j] = value;
      s0 += short[j]! * value;
      s1 += long[j]! * value;
      s2 += cost[j]! * value;
    }
  }
  return [s0, s1, s2];
}

/** Computes the right-hand side of the reduced system in `x`. */
function reduce(
  { relaxation, m, rowWeights, coefficients }: ReducedMatrices,
  {
    residual,
    totals: [s0, s1, s2],
    common,
    x,
  }: {
    readonly residual: Float64Array;
    readonly totals: readonly [number, number, number];
    readonly common: Float64Array;
    readonly x: Float64Array;
  },
): void {
  const { n, k, loadings } = relaxation.program;
  const scaledFactors = x.subarray(0, k);
  scaledFactors.fill(0);
  for (let i = 0; i < n; i++) {
    const value = common[i]!;
    if (value === 0) continue;
    for (let f = 0; f < k; f++) scaledFactors[f]! += loadings[i * k + f]! * value;
  }
  for (let f = 0; f < k; f++) x[f] = -x[f]!;
  for (let j = 0; j < m; j++) {
    const [a, b, c] = coefficients[j]!;
    let value = a * s0 + b * s1 + c * s2;
    const weights = rowWeights[j];
    if (weights) for (let i = 0; i < n; i++) value += weights[i]! * common[i]!;
    x[k + j] = residual[j]! - value;
  }
}

/** Computes dz = -(K^-1 g + K^-1 (A'B xi + R' dy)), given K^-1 g in `dz`. */
function spreadStep(
  { relaxation, m, inverse, shrink, rowWeights, coefficients }: ReducedMatrices,
  { x, common, dz }: { readonly x: Float64Array; readonly common: Float64Array; readonly dz: Float64Array },
): void {
  const { n, k, loadings } = relaxation.program;
  const { start, sign, short, long, cost } = relaxation.trades;
  const totals = [0, 0, 0];
  for (let j = 0; j < m; j++) for (let q = 0; q < FUNCTIONAL_COUNT; q++) totals[q]! += coefficients[j]![q]! * x[k + j]!;
  common.fill(0);
  for (let j = 0; j < m; j++) {
    const weights = rowWeights[j];
    const multiplierStep = x[k + j]!;
    if (weights && multiplierStep !== 0) for (let i = 0; i < n; i++) common[i]! += multiplierStep * weights[i]!;
  }
  const [t0, t1, t2] = totals as [number, number, number];
  for (let i = 0; i < n; i++) {
    let value = common[i]!;
    for (let f = 0; f < k; f++) value += loadings[i * k + f]! * x[f]!;
    let total = 0;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const slope = sign[j]! * value + t0 * short[j]! + t1 * long[j]! + t2 * cost[j]!;
      total += sign[j]! * inverse[j]! * slope;
    }
    const correction = shrink[i]! * total;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const slope = sign[j]! * value + t0 * short[j]! + t1 * long[j]! + t2 * cost[j]!;
      dz[j] = -(dz[j]! + inverse[j]! * (slope - sign[j]! * correction));
    }
  }
}

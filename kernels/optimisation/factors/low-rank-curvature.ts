import type { DenseAlgebra } from './algebra.js';
import type { FactorMetric } from '../program/metric.js';
import { addLoaded, scaleRows, subtractLoaded } from './low-rank-passes.js';
import { solveWith } from './column-solves.js';

/** Low-rank form of a curvature H = D + L L' with L = sqrt(scale) loadings. */
export interface LowRankForm {
  /** Factors H. @returns true if it is positive definite */
  factor(metric: FactorMetric, scale: number, diagonal: Float64Array, free: Int32Array, count: number): boolean;
  /** Computes b := H^-1 b, b [count x columns] row-major. */
  solve(b: Float64Array, columns: number): void;
}

/** @source Woodbury (1950), Inverting modified matrices */
export function createLowRankForm(algebra: DenseAlgebra): LowRankForm {
  let inner = new Float64Array(0);
  let scaledLoadings = new Float64Array(0);
  let roots = new Float64Array(0);
  let scores = new Float64Array(0);
  let [order, k] = [0, 0];
  return {
    factor(metric, scale, diagonal, free, count) {
      [order, k] = [count, metric.factors];
      if (inner.length < k * k) inner = new Float64Array(k * k);
      if (scaledLoadings.length < count * k) scaledLoadings = new Float64Array(count * k);
      if (roots.length < count) roots = new Float64Array(count);
      for (let p = 0; p < count; p++) {
        const i = free[p]!;
        const weight = scale * metric.specific[i]! + diagonal[i]!;
        if (!(weight > 0)) return false;
        roots[p] = Math.sqrt(1 / weight);
        const root = Math.sqrt(scale / weight);
        for (let f = 0; f < k; f++) scaledLoadings[p * k + f] = metric.loadings[i * k + f]! * root;
      }
      const gram = inner.subarray(0, k * k);
      algebra.symmetricRankK(scaledLoadings.subarray(0, count * k), k, gram);
      for (let f = 0; f < k; f++) gram[f * k + f]! += 1;
      return algebra.cholesky(gram, k) === k;
    },
    /** Computes b := D^-1 b - D^-1/2 S (I + S'S)^-1 S' D^-1/2 b with S = D^-1/2 L, by Woodbury's identity. */
    solve(b, columns) {
      if (scores.length < k * columns) scores = new Float64Array(k * columns);
      const blockScores = scores.subarray(0, k * columns).fill(0);
      const shape = { loadings: scaledLoadings, rows: order, factors: k, columns };
      scaleRows(b, roots, order, columns);
      addLoaded(shape, b, blockScores);
      solveWith(algebra, inner.subarray(0, k * k), k, blockScores, columns);
      subtractLoaded(shape, blockScores, b);
      scaleRows(b, roots, order, columns);
    },
  };
}

import { createWeights, type RawWeights, type WeightingRefusal } from '../weighting-class.js';

/** Solved weight below which a security counts as not held. The solver is not more accurate. */
const WEIGHT_MIN = 1e-9;

export interface SolvedWeights {
  /** Weights by covered security. */
  readonly weights: Float64Array;
  /** Position of each covered security among the selected securities. */
  readonly positions: ArrayLike<number>;
  /** Number of selected securities. */
  readonly count: number;
  /** Covariance of the covered securities, [n x n]. */
  readonly covariance: Float64Array;
}

/** Expands the weights of the covered securities to all selected securities. The others get no weight. */
export function expandSolved({ weights, positions, count, covariance }: SolvedWeights): RawWeights {
  const values = new Float64Array(count);
  weights.forEach((weight, k) => {
    if (weight >= WEIGHT_MIN) values[positions[k]!] = weight;
  });
  return createWeights(values, (position) => {
    const n = weights.length;
    const solvedPosition = Array.from(positions).indexOf(position);
    let variance = 0;
    let marginal = 0;
    let heldCount = 0;
    for (let k = 0; k < n; k++) {
      let product = 0;
      for (let j = 0; j < n; j++) product += covariance[k * n + j]! * weights[j]!;
      variance += weights[k]! * product;
      if (k === solvedPosition) marginal = product;
      if (weights[k]! >= WEIGHT_MIN) heldCount++;
    }
    return { variance, marginal: solvedPosition < 0 ? null : marginal, count: heldCount };
  });
}

export function refuseSolver(what: string): WeightingRefusal {
  return {
    kind: 'refused',
    code: 'SOLVER_FAILED',
    finding: { code: 'NO_WEIGHT_DATA', message: `The ${what} could not be solved.`, path: 'params' },
  };
}

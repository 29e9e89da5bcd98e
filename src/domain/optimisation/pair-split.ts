import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { splitCovariance, type SplitState } from '#kernels/optimisation/choices/split-covariance.js';
import type { Count } from '#kernels/optimisation/choices/counted-cone.js';
import {
  createDenseMetric,
  computeMetricDiagonal,
  createMetricMatrix,
  multiplyMetric,
} from '#kernels/optimisation/program/metric.js';
import { computeFixedSum, findLargestShare } from './move-costs.js';
import type { CardinalityProgram } from './share-relaxation.js';

/**
 * Program in which the covariance of some pairs of securities is removed, with the variances to split off its
 * covariance.
 */
export interface PairSplit {
  readonly counted: CardinalityProgram;
  /** [N] */
  readonly split: Float64Array;
  /** Initial shares of the relaxation, [N]. */
  readonly shares: Float64Array;
  readonly state: SplitState;
}

/**
 * Returns the split for given decisions, [N], after a number of further iterations. Returns undefined if there is none.
 */
export type PairSplitter = (decisions: Uint8Array, iterations: number, from?: SplitState) => PairSplit | undefined;

/**
 * Minimum share of an undecided security. It can be small, because the split already allows for securities that the
 * relaxation drops.
 */
export const SHARE_MIN = 1e-4;

/** Number of bisection steps for the fraction of a split that leaves the remainder convex. */
const BISECTION_STEPS = 15;

/**
 * Curvature along the sum of the weights, as a multiple of the mean variance. The sum is fixed, so this curvature
 * changes no value. With it, the remainder need not be convex in that direction.
 */
const SUM_CURVATURE = 1000;

/**
 * Creates programs with a lower objective and better bounds over choices of securities. If all weights are long, their
 * products are at least zero. Without the covariance of some pairs, more of the variances can then be split off.
 * @returns undefined unless every weight is long and their sum is fixed
 * @cost a decomposition into eigenpairs in each iteration
 */
export function createPairSplitter(algebra: DenseAlgebra, counted: CardinalityProgram): PairSplitter | undefined {
  const { program } = counted;
  const { n, curvature, linear, centre } = program;
  const metric = program.metric!; // a counted program has a metric
  const sum = computeFixedSum(program.rows, n);
  if (sum === undefined || !(sum > 0) || program.lower.some((bound) => bound < 0)) return undefined;
  const matrix = createMetricMatrix(metric);
  const toCentre = new Float64Array(n);
  multiplyMetric(metric, centre, toCentre);
  const slopes = toCentre.map((slope, i) => linear[i]! / curvature - slope);
  const quadratic = { n, matrix, linear: slopes, sum, counts: selectDisjointCounts(counted) };
  const sumCurvature =
    (SUM_CURVATURE * computeMetricDiagonal(metric).reduce((total, variance) => total + variance, 0)) / n;
  return (decisions, iterations, from) => {
    const covarianceSplit = splitCovariance(algebra, quadratic, decisions, iterations, from);
    if (covarianceSplit === undefined) return undefined;
    const { pairs, diagonal, state } = covarianceSplit;
    const share = findConvexFraction(state.open, pairs, diagonal);
    const pairShares = pairs.map((part) => share * part);
    return {
      counted: removePairs(state.open, pairShares),
      split: diagonal.map((part) => share * part),
      shares: covarianceSplit.shares.map((part) => Math.max(SHARE_MIN, part)),
      state,
    };
  };

  /** Subtracts parts from the covariance of undecided securities. All other securities keep only their variance. */
  function subtractParts(open: Int32Array, parts: Float64Array, share: number, rest: Float64Array): void {
    rest.fill(0);
    for (let i = 0; i < n; i++) rest[i * n + i] = matrix[i * n + i]!;
    for (const i of open)
      for (const j of open) rest[i * n + j] = matrix[i * n + j]! + sumCurvature - share * parts[i * n + j]!;
  }

  /** Returns the largest fraction of the parts that can be subtracted while the covariance stays positive definite. */
  function findConvexFraction(open: Int32Array, pairs: Float64Array, diagonal: Float64Array): number {
    const isConvex = (share: number) =>
      algebra.scope(() => {
        const restMatrix = algebra.room(n * n);
        subtractParts(open, pairs, share, restMatrix);
        for (const i of open) restMatrix[i * n + i]! -= share * diagonal[i]!;
        return algebra.cholesky(restMatrix, n) === n;
      });
    return (isConvex(1) ? 1 : findLargestShare(isConvex, BISECTION_STEPS)) * (1 - 1e-9);
  }

  /**
   * Subtracts x'Nx = (x - c)'N(x - c) + 2 c'Nx - c'Nc from the quadratic term. The covariance with securities without a
   * weight moves to the linear term.
   */
  function removePairs(open: Int32Array, pairs: Float64Array): CardinalityProgram {
    const pairMetric = createDenseMetric(pairs, n);
    const product = new Float64Array(n);
    multiplyMetric(pairMetric, centre, product);
    const isOpen = new Uint8Array(n);
    for (const i of open) isOpen[i] = 1;
    const outsideProduct = new Float64Array(n);
    multiplyMetric(
      metric,
      centre.map((weight, i) => (isOpen[i] === 1 ? 0 : weight)),
      outsideProduct,
    );
    const restMatrix = new Float64Array(n * n);
    subtractParts(open, pairs, 1, restMatrix);
    const excess = open.reduce((left, i) => left - centre[i]!, sum!);
    const pairProduct = new Float64Array(n);
    return {
      ...counted,
      valueAt(weights) {
        multiplyMetric(pairMetric, weights, pairProduct);
        let square = 0;
        let total = 0;
        for (const i of open) {
          square += pairProduct[i]! * weights[i]!;
          total += weights[i]! - centre[i]!;
        }
        return counted.valueAt(weights) + (curvature / 2) * (sumCurvature * (total * total - excess * excess) - square);
      },
      program: {
        ...program,
        // Bounds are finite. Otherwise a security without a split part would have no curvature that limits its weight.
        upper: program.upper.map((bound) => Math.min(bound, sum!)),
        metric: createDenseMetric(restMatrix, n),
        norms: program.norms.map((norm) => (norm.metric === 'metric' ? { ...norm, metric } : norm)),
        linear: linear.map((slope, i) =>
          isOpen[i] === 1 ? slope - curvature * (product[i]! + outsideProduct[i]!) : slope,
        ),
      },
    };
  }
}

/** Returns count rows without common members. If two rows share a security, only the first is returned. */
function selectDisjointCounts({ counts }: CardinalityProgram): Count[] {
  const pairedMembers = new Set<number>();
  return counts.filter(({ members }) => {
    const isApart = members.every((i) => !pairedMembers.has(i));
    if (isApart) for (const i of members) pairedMembers.add(i);
    return isApart;
  });
}

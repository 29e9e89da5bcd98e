import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeMetricDiagonal, createMetricMatrix, type Metric } from '#kernels/optimisation/program/metric.js';
import type { Rows } from '#kernels/optimisation/program/program.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import type { Problem } from './problem.js';
import { computeCorrelation } from './goals/correlation.js';
import type { ConvexSolution } from './solve-convex.js';

/** Lower bounds on how much the value of a relaxation increases through a decision on a security, [N] each. */
export interface Moves {
  /** Increase from dropping a security. */
  readonly drop: Float64Array;
  /** Increase from holding a security with at least the minimum weight. */
  readonly hold: Float64Array;
  /** Parts of `drop` and `hold` that may be summed over securities. */
  readonly dropPart: Float64Array;
  readonly holdPart: Float64Array;
}

export interface MoveCosts {
  at(solution: ConvexSolution, leastWeight: number): Moves;
}

type GoalOfMoves = Pick<Problem, 'goal' | 'metric'>;

/**
 * Fraction of the mean variance that makes a singular metric regular. It equals the factor of the small term that makes
 * the solution of a problem unique.
 */
const RIDGE = 1e-10;

/** Fraction below which the remainder of a projection counts as rounding. */
const ROUNDING = 1e-12;

/** Number of bisection steps in the search for the fraction of the variances that can be split off. */
const BISECTION_STEPS = 30;

/**
 * Creates lower bounds for decisions on securities from the optimum x of a relaxation. Every feasible move d from x
 * adds at least half the curvature times d' Sigma d plus the slopes of the Lagrangian. For a given d_i, the least d'
 * Sigma d is d_i^2 over the i-th diagonal entry of the inverse of Sigma. For several securities together, the variances
 * are split: Sigma - t diag(Sigma) stays positive semi-definite. Then d' Sigma d is at least t times the sum of the
 * variances times d_i^2.
 * @cost n^3 once, n^2 for each relaxation.
 * @source Frangioni & Gentile (2007), SDP diagonalizations and perspective cuts, Operations Research Letters 35(2), for
 * the split.
 */
export function createMoveCosts(algebra: DenseAlgebra, { goal, metric: covariance }: GoalOfMoves): MoveCosts {
  if (goal.form !== 'quadratic') return { at: ({ weights }) => createEmptyBounds(weights.length) };
  const { n } = covariance;
  const metric = goal.metric === 'covariance' ? covariance : computeCorrelation(covariance);
  const half = goal.curvature / 2;
  const variances = computeMetricDiagonal(metric);
  const share = computeSplitShare(algebra, metric, variances);
  let entries: Float64Array | undefined;
  return {
    at({ weights, assembled, answer }, leastWeight) {
      entries ??= computeInverseDiagonal(algebra, metric, computeFixedSum(assembled.program.rows, n) !== undefined);
      const { left, right } = computeLagrangianSlopes(assembled.program, answer.point);
      const moves: Moves = {
        drop: new Float64Array(n),
        hold: new Float64Array(n),
        dropPart: new Float64Array(n),
        holdPart: new Float64Array(n),
      };
      for (let i = 0; i < n; i++) {
        const fall = weights[i]! * weights[i]!;
        // At a kink or an upper bound, a force holds the weight. A decrease must overcome this force.
        const force = Math.abs(weights[i]!) * Math.max(weights[i]! < 0 ? right[i]! : -left[i]!, 0);
        moves.drop[i] = force + (half * fall) / entries[i]!;
        moves.dropPart[i] = force + half * share * variances[i]! * fall;
        const rise = leastWeight - weights[i]!;
        // short positions keep their weight
        if (!(rise > 0) || weights[i]! < 0) continue;
        const slope = Math.max(right[i]!, 0) * rise;
        moves.hold[i] = slope + (half * rise * rise) / entries[i]!;
        moves.holdPart[i] = slope + half * share * variances[i]! * rise * rise;
      }
      return moves;
    },
  };
}

/**
 * Returns bounds of zero. They apply if the goal is a ratio or a tail: it is not quadratic, and a move may cost
 * nothing.
 */
function createEmptyBounds(n: number): Moves {
  const zeros = new Float64Array(n);
  return { drop: zeros, hold: zeros, dropPart: zeros, holdPart: zeros };
}

/**
 * Lower bound on the cost of a permitted number of holdings in a group. There is one bound overall, and one for each
 * security if it is held or dropped.
 */
export interface ChoiceBound {
  readonly least: number;
  /** Bound if the security is held, by position in `names`. */
  readonly ifHeld: Float64Array;
  readonly ifDropped: Float64Array;
}

/**
 * Returns the least sum of parts over all choices of `minimum` to `maximum` securities. The best choice holds the
 * securities that are cheapest to hold relative to dropping them. Returns Infinity if there is no choice.
 */
export function computeChoiceBound(
  { dropPart, holdPart }: Pick<Moves, 'dropPart' | 'holdPart'>,
  names: Int32Array,
  minimum: number,
  maximum: number,
): ChoiceBound {
  const count = names.length;
  const ifHeld = new Float64Array(count);
  const droppedCosts = new Float64Array(count);
  const [from, to] = [Math.max(minimum, 0), Math.min(maximum, count)];
  if (from > to) return { least: Number.POSITIVE_INFINITY, ifHeld, ifDropped: droppedCosts };
  const differences = Float64Array.from(names, (i) => holdPart[i]! - dropPart[i]!);
  const order = Array.from(names.keys()).toSorted((a, b) => differences[a]! - differences[b]! || a - b);
  let least = names.reduce((sum, i) => sum + dropPart[i]!, 0);
  let heldCount = 0;
  while (heldCount < to && (heldCount < from || differences[order[heldCount]!]! < 0))
    least += differences[order[heldCount++]!]!;
  const dearestCost = heldCount > 0 ? differences[order[heldCount - 1]!]! : Number.NEGATIVE_INFINITY;
  const next = heldCount < count ? differences[order[heldCount]!]! : Number.POSITIVE_INFINITY;
  order.forEach((place, rank) => {
    // A further security is added or replaces the most expensive holding. A dropped one is replaced by the next
    // security or not replaced.
    const extraCost = Math.min(
      heldCount < to ? 0 : Number.POSITIVE_INFINITY,
      heldCount > 0 ? -dearestCost : Number.POSITIVE_INFINITY,
    );
    const savedCost = Math.min(heldCount > from ? 0 : Number.POSITIVE_INFINITY, next);
    ifHeld[place] = rank < heldCount ? least : least + differences[place]! + extraCost;
    droppedCosts[place] = rank >= heldCount ? least : least - differences[place]! + savedCost;
  });
  return { least, ifHeld, ifDropped: droppedCosts };
}

/**
 * Returns the sum of the weights if a row without a penalty fixes it; moves of the weights then sum to zero. Otherwise
 * returns undefined.
 */
export function computeFixedSum({ count, coefficients, lower, upper, penalty }: Rows, n: number): number | undefined {
  for (let r = 0; r < count; r++) {
    if (
      lower[r] === upper[r] &&
      penalty[r] === Infinity &&
      coefficients.subarray(r * n, r * n + n).every((value) => value === 1)
    )
      return upper[r];
  }
  return undefined;
}

/**
 * Returns the diagonal of the inverse metric. If the budget is fixed, the inverse is projected on moves with sum zero.
 * An unknown entry is Infinity.
 */
function computeInverseDiagonal(algebra: DenseAlgebra, metric: Metric, isBudgeted: boolean): Float64Array {
  const { n } = metric;
  const factor = createMetricMatrix(metric).slice();
  const ridge = RIDGE * computeMetricDiagonal(metric).reduce((sum, value) => sum + value / n, 0);
  for (let i = 0; i < n; i++) factor[i * n + i]! += ridge;
  if (algebra.cholesky(factor, n) < n) return new Float64Array(n).fill(Infinity);
  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) inverse[i * n + i] = 1;
  algebra.solveLower(factor, n, inverse);
  const diagonal = new Float64Array(n);
  const inverseRowSums = new Float64Array(n);
  let total = 0;
  for (let k = 0; k < n; k++) {
    let sum = 0;
    for (let i = 0; i <= k; i++) sum += inverse[k * n + i]!;
    for (let i = 0; i <= k; i++) {
      diagonal[i]! += inverse[k * n + i]! ** 2;
      inverseRowSums[i]! += inverse[k * n + i]! * sum;
    }
    total += sum * sum;
  }
  return isBudgeted
    ? diagonal.map((value, i) => Math.max(value - inverseRowSums[i]! ** 2 / total, ROUNDING * value))
    : diagonal;
}

/**
 * Returns the largest fraction of the variances that can be subtracted while the remainder stays positive definite. The
 * fraction is slightly reduced for rounding. It is zero for a singular metric.
 */
export function computeSplitShare(algebra: DenseAlgebra, metric: Metric, variances: Float64Array): number {
  const { n } = metric;
  const matrix = createMetricMatrix(metric);
  const leavesPositiveDefinite = (share: number) => {
    const restMatrix = matrix.slice();
    for (let i = 0; i < n; i++) restMatrix[i * n + i]! -= share * variances[i]!;
    return algebra.cholesky(restMatrix, n) === n;
  };
  return findLargestShare(leavesPositiveDefinite, BISECTION_STEPS) * (1 - 1e-9);
}

/**
 * Returns by bisection the largest fraction for which a condition is met. The condition must be met for all smaller
 * fractions.
 */
export function findLargestShare(isMet: (share: number) => boolean, halvings: number): number {
  let low = 0;
  let high = 1;
  for (let step = 0; step < halvings; step++) {
    const middle = (low + high) / 2;
    if (isMet(middle)) low = middle;
    else high = middle;
  }
  return low;
}

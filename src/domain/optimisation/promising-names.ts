import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import type { NonConvexRow } from '../constraints/program-row.js';
import type { Problem } from './problem.js';
import { findThreshold } from './restriction.js';
import type { ConvexSolution } from './solve-convex.js';

/** Data for estimating the gain of securities; arrays follow the securities of the problem. */
export interface PromiseTerms {
  /** True if the objective has no curvature. */
  readonly isFlat: boolean;
  /** Minimum weight of a held security. */
  readonly threshold: number;
  /** True if a row can force a held security to a minimum weight. */
  readonly isForced: boolean;
  readonly lower: Float64Array;
  readonly variances: Float64Array;
  /** Maximum number of securities returned. */
  readonly most: number;
}

/** Security without a weight, with the expected gain from holding it. */
export interface PromisingSecurity {
  readonly name: number;
  readonly gain: number;
}

/**
 * Returns the data for estimating gains in a problem.
 * @param lower bounds without a choice of securities, [N]
 */
export function createPromiseTerms(
  { goal, metric }: Pick<Problem, 'goal' | 'metric'>,
  rows: readonly NonConvexRow[],
  lower: Float64Array,
): Omit<PromiseTerms, 'most'> {
  const threshold = findThreshold(rows);
  return {
    isFlat: goal.form === 'tail' || (goal.form === 'quadratic' && goal.curvature === 0),
    threshold,
    isForced: threshold > 0 || rows.some((row) => row.form === 'count' && row.minimum > 1),
    lower,
    variances: computeMetricDiagonal(metric),
  };
}

/**
 * Returns the securities that are not held, in order of expected gain. If held securities need no minimum weight, a
 * security that does not improve the objective at a small weight improves it at no weight.
 * @param heldFlags [N]
 * @cost a product with the covariance
 * @source Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: the gradient at a bound.
 */
export function listPromisingSecurities(
  heldFlags: Uint8Array,
  { assembled, answer }: ConvexSolution,
  { isFlat, threshold, isForced, lower, variances, most }: PromiseTerms,
): PromisingSecurity[] {
  const { right } = computeLagrangianSlopes(assembled.program, answer.point);
  const typicalWeight = 1 / heldFlags.reduce((count, isHeld) => count + isHeld, 1);
  const computeGain = (i: number) => {
    const ownCurvature = (assembled.program.curvature / 2) * variances[i]!;
    const pulledWeight =
      ownCurvature > 0 ? -right[i]! / (2 * ownCurvature) : isFlat && right[i]! < 0 ? typicalWeight : 0;
    const weight = Math.max(threshold, pulledWeight);
    return -weight * (right[i]! + ownCurvature * weight);
  };
  return Array.from(heldFlags.keys())
    .filter((i) => heldFlags[i] === 0 && (isForced || lower[i]! < 0 || right[i]! < 0))
    .map((name) => ({ name, gain: computeGain(name) }))
    .toSorted((a, b) => b.gain - a.gain || a.name - b.name)
    .slice(0, most);
}

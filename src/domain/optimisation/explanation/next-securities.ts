import { computeLagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import { compareText } from '../../refusals/findings.js';
import { computeWorstVariance } from '../../objectives/robustness.js';
import { expectedReturn } from '../../constraints/classes/expected-return.js';
import type { Problem } from '../problem.js';
import type { ConvexSolution } from '../solve-convex.js';
import { convertToObjectiveTerms } from './change-sentence.js';

/** Security without a weight, and the change that would give it a weight. */
export interface NextSecurity {
  readonly identifier: string;
  /** Change of the objective, in reported units, per unit of weight in the security. */
  readonly marginal: number;
  /**
   * Expected return of the security, and the expected return above which it is held. Null if neither the objective nor
   * a binding constraint measures expected returns.
   */
  readonly expectedReturn: number | null;
  readonly entryReturn: number | null;
}

/** Maximum number of securities listed. */
export const NEXT_SECURITIES_MAX = 10;

/**
 * Returns the securities that would be held next: only their lower bound of zero excludes them. They are ordered by how
 * near they are to a positive weight. A security enters once its expected return exceeds `entryReturn`, with all else
 * unchanged.
 * @cost of a product with the covariance
 * @source Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: the gradient at a bound.
 */
export function listNextSecurities(problem: Problem, solution: ConvexSolution): NextSecurity[] {
  const { assembled, answer, weights, priceScale } = solution;
  const { lower, upper } = assembled.program;
  const { right } = computeLagrangianSlopes(assembled.program, answer.point);
  const returnScale = computeReturnScale(problem, solution);
  const { expectedReturns } = problem;
  return Array.from(weights.keys())
    .filter((i) => weights[i] === 0 && lower[i] === 0 && upper[i]! > 0)
    .map((i) => ({ i, distance: priceScale * Math.max(right[i]!, 0) }))
    .toSorted((a, b) => a.distance - b.distance || compareText(problem.identifiers[a.i]!, problem.identifiers[b.i]!))
    .slice(0, NEXT_SECURITIES_MAX)
    .map(({ i, distance }) => ({
      identifier: problem.identifiers[i]!,
      marginal: convertToObjectiveTerms(problem, distance),
      expectedReturn: returnScale === null ? null : expectedReturns![i]!,
      entryReturn: returnScale === null ? null : expectedReturns![i]! + distance * returnScale,
    }));
}

/**
 * Returns the expected return per unit of weight that offsets one unit of the objective per unit of weight, through the
 * objective and through limits on the expected return. Returns null if neither measures expected returns.
 */
function computeReturnScale(
  { objective, expectedReturns, goal, metric, robustness }: Problem,
  { assembled, answer, weights, priceScale }: ConvexSolution,
): number | null {
  if (expectedReturns === null) return null;
  const own = goal.form === 'ratio' ? Math.sqrt(computeWorstVariance(metric, robustness, weights)) : 1;
  const worthOfLimits = assembled.linear.reduce(
    (sum, placed, r) =>
      placed?.origin.type === expectedReturn.type ? sum - priceScale * answer.point.rowMultipliers[r]! : sum,
    0,
  );
  if (!objective.entry.needsReturns) return worthOfLimits === 0 ? null : 1 / worthOfLimits;
  return worthOfLimits === 0 ? own : 1 / (1 / own + worthOfLimits);
}

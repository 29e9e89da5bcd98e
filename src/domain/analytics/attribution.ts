import type { Day } from '../time/days.js';
import { computeCompoundReturn, computeLinkingCoefficient, isReconciled } from './linking.js';

/** Input of a return attribution: the n periods of a window over H securities. */
export interface AttributionInput {
  readonly securityCount: number;
  /** Portfolio return of each period after costs, [n]. */
  readonly returns: Float64Array;
  /** Days on which the periods end, [n]. */
  readonly days: ArrayLike<Day>;
  /** Weights at the start of a period, [H]. Valid until the next period is read. */
  weightsBefore(period: number): Float64Array;
  /**
   * Contribution of each security to the period return before linking, [H]; the contributions sum to the period return.
   * Valid until the next period is read.
   */
  contributionsOf(period: number): Float64Array;
  /** Costs of a period as a fraction of the portfolio value at the start of the period. */
  costOf(period: number): number;
  readonly hasCosts: boolean;
}

export interface Attribution {
  /** Linked contributions, [H]. */
  readonly contributions: Float64Array;
  /** Mean weight of each security at the start of the periods, [H]. */
  readonly averageWeights: Float64Array;
  readonly totalReturn: number;
  readonly residual: number;
  readonly reconciles: boolean;
  /** Direct effect of costs on the return, at most 0; null without costs. */
  readonly costDrag: number | null;
}

/** Accumulator that links the contributions of consecutive periods. */
export interface ContributionLink {
  readonly totalReturn: number;
  /** Linked contributions of the periods added so far, [H]. */
  readonly contributions: Float64Array;
  /** Returns the factor by which the contributions of a period enter the total return. */
  coefficientOf(period: number): number;
  /** Adds the contributions of a period, [H]. */
  add(period: number, parts: Float64Array): void;
  /** Returns the total return less the sum of the linked contributions. */
  residual(): number;
}

/**
 * Links contributions so that they sum exactly to the compounded return.
 * @throws Refusal TOTAL_LOSS if a period lost everything
 * @source D. Cariño, Combining attribution effects over time, Journal of Performance Measurement, summer 1999
 */
export function createContributionLink({
  securityCount,
  returns,
  days,
}: Pick<AttributionInput, 'securityCount' | 'returns' | 'days'>): ContributionLink {
  const totalReturn = computeCompoundReturn(returns, days);
  const totalCoefficient = computeLinkingCoefficient(totalReturn);
  const contributions = new Float64Array(securityCount);
  const computeCoefficient = (period: number): number => computeLinkingCoefficient(returns[period]!) / totalCoefficient;
  return {
    totalReturn,
    contributions,
    coefficientOf: computeCoefficient,
    add(period, parts) {
      const factor = computeCoefficient(period);
      for (let i = 0; i < securityCount; i++) contributions[i]! += parts[i]! * factor;
    },
    residual: () => totalReturn - contributions.reduce((sum, part) => sum + part, 0),
  };
}

/**
 * Links the contributions of all periods and returns average weights, costs and residual with them.
 * @throws Refusal TOTAL_LOSS if a period lost everything
 * @cost O(n H)
 */
export function linkContributions(input: AttributionInput): Attribution {
  const { securityCount, returns, hasCosts } = input;
  const link = createContributionLink(input);
  const { contributions } = link;
  const averageWeights = new Float64Array(securityCount);
  let costDrag = 0;
  for (let period = 0; period < returns.length; period++) {
    const weights = input.weightsBefore(period);
    const periodContributions = input.contributionsOf(period);
    const factor = link.coefficientOf(period);
    for (let i = 0; i < securityCount; i++) {
      averageWeights[i]! += weights[i]!;
      contributions[i]! += periodContributions[i]! * factor;
    }
    if (hasCosts) costDrag -= input.costOf(period) * factor;
  }
  for (let i = 0; i < securityCount; i++) averageWeights[i]! /= returns.length;
  const residual = link.residual();
  return {
    contributions,
    averageWeights,
    totalReturn: link.totalReturn,
    residual,
    reconciles: isReconciled(residual, link.totalReturn),
    costDrag: hasCosts ? costDrag : null,
  };
}

import type { Day } from '../time/days.js';
import { computeCompoundReturn, computeLinkingCoefficient, isReconciled } from './linking.js';

/** Periods of a window, n of them, over H securities. */
export interface AttributionInput {
  readonly securityCount: number;
  /** Portfolio returns of the periods, costs included, [n]. */
  readonly returns: Float64Array;
  /** Days on which the periods end, [n]. */
  readonly days: ArrayLike<Day>;
  /** Weights at the start of a period, [H]. Valid until the next period is read. */
  weightsBefore(period: number): Float64Array;
  /** Contributions of a period before linking, which sum to its return, [H]. Valid until the next period is read. */
  contributionsOf(period: number): Float64Array;
  /** Costs of a period as a fraction of the value at its start. */
  costOf(period: number): number;
  readonly hasCosts: boolean;
}

export interface Attribution {
  /** Linked contributions, [H]. */
  readonly contributions: Float64Array;
  /** Mean weight at the start of the periods, [H]. */
  readonly averageWeights: Float64Array;
  readonly totalReturn: number;
  readonly residual: number;
  readonly reconciles: boolean;
  /** Direct effect of costs, at most 0; null without costs. */
  readonly costDrag: number | null;
}

/** Contributions of periods that are being linked. */
export interface ContributionLink {
  readonly totalReturn: number;
  /** Linked contributions of the periods added so far, [H]. */
  readonly contributions: Float64Array;
  /** Returns the weight of a period in the total return. */
  coefficientOf(period: number): number;
  /** Adds the contributions of a period, [H]. */
  add(period: number, parts: Float64Array): void;
  /** Returns the part of the total return that no period explains. */
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
  const overall = computeLinkingCoefficient(totalReturn);
  const contributions = new Float64Array(securityCount);
  const coefficientOf = (period: number): number => computeLinkingCoefficient(returns[period]!) / overall;
  return {
    totalReturn,
    contributions,
    coefficientOf,
    add(period, parts) {
      const factor = coefficientOf(period);
      for (let i = 0; i < securityCount; i++) contributions[i]! += parts[i]! * factor;
    },
    residual: () => totalReturn - contributions.reduce((sum, part) => sum + part, 0),
  };
}

/**
 * Links the contributions of periods, and adds weights, costs and residual.
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
    const parts = input.contributionsOf(period);
    const factor = link.coefficientOf(period);
    for (let i = 0; i < securityCount; i++) {
      averageWeights[i]! += weights[i]!;
      contributions[i]! += parts[i]! * factor;
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

import type { Day } from '../days.js';
import { compoundReturn, linkingCoefficient, reconciles } from './linking.js';

/** The periods of a window, n of them, over H names. */
export interface AttributionInput {
  readonly names: number;
  /** Portfolio returns of the periods, costs included, [n]. */
  readonly returns: Float64Array;
  /** Days on which the periods end, [n]. */
  readonly days: ArrayLike<Day>;
  /** Weights held at the beginning of a period, [H]. Read before the next call. */
  weightsBefore(period: number): Float64Array;
  /** Contributions of a period before linking, adding up to its return, [H]. */
  contributionsOf(period: number): Float64Array;
  /** Costs of a period as a fraction of the value at its beginning. */
  costOf(period: number): number;
  readonly hasCosts: boolean;
}

export interface Attribution {
  /** Linked contributions, [H]. */
  readonly contributions: Float64Array;
  /** Mean weight at the beginning of the periods, [H]. */
  readonly averageWeights: Float64Array;
  readonly totalReturn: number;
  readonly residual: number;
  readonly reconciles: boolean;
  /** Direct effect of costs, at most 0; null without costs. */
  readonly costDrag: number | null;
}

/**
 * Links the contributions of periods so that they add up to the compounded return exactly.
 * @throws Refusal TOTAL_LOSS when a period lost everything
 * @source D. Cariño, Combining attribution effects over time, Journal of Performance Measurement, summer 1999
 * @cost O(n H)
 */
export function linkContributions(input: AttributionInput): Attribution {
  const { names, returns, days, hasCosts } = input;
  const total = compoundReturn(returns, days);
  const overall = linkingCoefficient(total);
  const contributions = new Float64Array(names);
  const averageWeights = new Float64Array(names);
  let costDrag = 0;
  for (let period = 0; period < returns.length; period++) {
    const factor = linkingCoefficient(returns[period]!) / overall;
    const weights = input.weightsBefore(period);
    for (let i = 0; i < names; i++) averageWeights[i]! += weights[i]!;
    const parts = input.contributionsOf(period);
    for (let i = 0; i < names; i++) contributions[i]! += parts[i]! * factor;
    if (hasCosts) costDrag -= input.costOf(period) * factor;
  }
  for (let i = 0; i < names; i++) averageWeights[i]! /= returns.length;
  const residual = total - contributions.reduce((sum, part) => sum + part, 0);
  return {
    contributions,
    averageWeights,
    totalReturn: total,
    residual,
    reconciles: reconciles(residual, total),
    costDrag: hasCosts ? costDrag : null,
  };
}

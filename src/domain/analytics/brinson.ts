import type { Day } from '../time/days.js';
import { computeGroupReturn, createGroupReturns, type GroupedPeriod, type GroupReturns } from './group-returns.js';
import { computeActiveLinkingCoefficient, computeCompoundReturn } from './linking.js';

export interface BrinsonInput {
  readonly groups: number;
  /** Days on which the periods end, [n]. */
  readonly days: ArrayLike<Day>;
  portfolio(period: number): GroupedPeriod;
  benchmark(period: number): GroupedPeriod;
}

/** Active return of a window by group and effect; all parts sum to the active return. */
export interface BrinsonEffects {
  /** Effects by group, [K] each, linked over the periods. */
  readonly allocation: Float64Array;
  readonly selection: Float64Array;
  readonly interaction: Float64Array;
  readonly averageWeights: Float64Array;
  readonly benchmarkAverageWeights: Float64Array;
  readonly benchmarkGroupReturns: GroupReturns;
  readonly portfolioReturn: number;
  readonly benchmarkReturn: number;
  /** Active return less the sum of all effects. */
  readonly residual: number;
}

/**
 * Computes allocation, selection and interaction of every group in each period, and links them over the periods. In a
 * period allocation = (w - b)(R_b,k - R_b), selection = b (R_k - R_b,k), and interaction is the rest of the group's
 * active return. A group has no separate return on one side if its weight there is zero, or if its long and short
 * positions cancel. The group's return on the other side is then used, so the group has only an allocation or an
 * interaction effect.
 * @throws Refusal TOTAL_LOSS if a period lost everything
 * @source G. Brinson, N. Fachler, Measuring non-US equity portfolio performance, 1985; linked as D. Cariño, 1999
 * @cost O(n K)
 */
export function attributeByGroup({ groups, days, portfolio, benchmark }: BrinsonInput): BrinsonEffects {
  const periodCount = days.length;
  const effects = {
    allocation: new Float64Array(groups),
    selection: new Float64Array(groups),
    interaction: new Float64Array(groups),
  };
  const averageWeights = new Float64Array(groups);
  const benchmarkAverageWeights = new Float64Array(groups);
  const benchmarkGroupReturns = createGroupReturns(groups);
  const returns = { portfolio: new Float64Array(periodCount), benchmark: new Float64Array(periodCount) };
  // The link coefficients depend on the returns of the whole window: a first pass sums them.
  for (let period = 0; period < periodCount; period++) {
    returns.portfolio[period] = sumValues(portfolio(period).contributions);
    returns.benchmark[period] = sumValues(benchmark(period).contributions);
  }
  const portfolioReturn = computeCompoundReturn(returns.portfolio, days);
  const benchmarkReturn = computeCompoundReturn(returns.benchmark, days);
  const totalCoefficient = computeActiveLinkingCoefficient(portfolioReturn, benchmarkReturn);
  for (let period = 0; period < periodCount; period++) {
    const portfolioPeriod = portfolio(period);
    const benchmarkPeriod = benchmark(period);
    benchmarkGroupReturns.add(benchmarkPeriod);
    const benchmarkTotal = returns.benchmark[period]!;
    const link = computeActiveLinkingCoefficient(returns.portfolio[period]!, benchmarkTotal) / totalCoefficient;
    for (let k = 0; k < groups; k++) {
      const w = portfolioPeriod.weights[k]!;
      const b = benchmarkPeriod.weights[k]!;
      averageWeights[k]! += w;
      benchmarkAverageWeights[k]! += b;
      const benchmarkGroup = computeGroupReturn(benchmarkPeriod, k) ?? benchmarkTotal;
      const group = computeGroupReturn(portfolioPeriod, k) ?? benchmarkGroup;
      const allocation = (w - b) * (benchmarkGroup - benchmarkTotal);
      const selection = b * (group - benchmarkGroup);
      const activeEffect =
        portfolioPeriod.contributions[k]! - benchmarkPeriod.contributions[k]! - (w - b) * benchmarkTotal;
      effects.allocation[k]! += link * allocation;
      effects.selection[k]! += link * selection;
      effects.interaction[k]! += link * (activeEffect - allocation - selection);
    }
  }
  for (let k = 0; k < groups; k++) {
    averageWeights[k]! /= periodCount;
    benchmarkAverageWeights[k]! /= periodCount;
  }
  const effectSum = sumValues(effects.allocation) + sumValues(effects.selection) + sumValues(effects.interaction);
  return {
    ...effects,
    averageWeights,
    benchmarkAverageWeights,
    benchmarkGroupReturns,
    portfolioReturn,
    benchmarkReturn,
    residual: portfolioReturn - benchmarkReturn - effectSum,
  };
}

function sumValues(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

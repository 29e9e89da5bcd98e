import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';

/** Returns k(x) = ln(1 + x) / x, the coefficient that converts a return x to ln(1 + x); 1 at 0. */
function computeLinkingCoefficient(x: number): number {
  return x === 0 ? 1 : Math.log1p(x) / x;
}

/**
 * Returns (ln(1 + a) - ln(1 + b)) / (a - b). This coefficient converts the difference of two returns to the difference
 * of ln(1 + a) and ln(1 + b).
 */
function computeActiveLinkingCoefficient(a: number, b: number): number {
  const gap = (a - b) / (1 + b);
  return gap === 0 ? 1 / (1 + b) : Math.log1p(gap) / (a - b);
}

/**
 * Returns the compounded return of consecutive periods, [n].
 * @param days days on which the periods end, [n].
 * @throws Refusal TOTAL_LOSS if a period lost everything: later periods have no return
 */
function computeCompoundReturn(returns: Float64Array, days: ArrayLike<Day>): number {
  let growth = 1;
  for (let period = 0; period < returns.length; period++) {
    const value = returns[period]!;
    if (!(value > -1))
      throw new Refusal(
        'TOTAL_LOSS',
        `The return of ${formatDay(days[period]!)} is ${value}; linking needs returns above -1.`,
        { date: formatDay(days[period]!) },
      );
    growth *= 1 + value;
  }
  return growth - 1;
}

const RECONCILIATION_TOLERANCE = 1e-10;

/**
 * Returns true if the parts sum to the returns within rounding. The tolerance is relative to the largest return, and to
 * 1 if all returns are smaller.
 */
export function isReconciled(residual: number, ...returns: readonly number[]): boolean {
  return (
    Math.abs(residual) <=
    RECONCILIATION_TOLERANCE * returns.reduce((scale, value) => Math.max(scale, Math.abs(value)), 1)
  );
}

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

/**
 * Links contributions so that they sum exactly to the compounded return.
 * @throws Refusal TOTAL_LOSS if a period lost everything
 * @source D. Cariño, Combining attribution effects over time, Journal of Performance Measurement, summer 1999
 */
export function createContributionLink({
  securityCount,
  returns,
  days,
}: Pick<AttributionInput, 'securityCount' | 'returns' | 'days'>) {
  const totalReturn = computeCompoundReturn(returns, days);
  const totalCoefficient = computeLinkingCoefficient(totalReturn);
  /** Linked contributions of the periods added so far, [H]. */
  const contributions = new Float64Array(securityCount);
  const computeCoefficient = (period: number): number => computeLinkingCoefficient(returns[period]!) / totalCoefficient;
  return {
    totalReturn,
    contributions,
    /** Returns the factor by which the contributions of a period enter the total return. */
    coefficientOf: computeCoefficient,
    /** Adds the contributions of a period, [H]. */
    add(period: number, parts: Float64Array): void {
      const factor = computeCoefficient(period);
      for (let i = 0; i < securityCount; i++) contributions[i]! += parts[i]! * factor;
    },
    /** Returns the total return less the sum of the linked contributions. */
    residual: (): number => totalReturn - contributions.reduce((sum, part) => sum + part, 0),
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

/** Weights and contributions of K groups of holdings over one period. */
export interface GroupedPeriod {
  /** Weights at the start, [K]; cash is a separate group. Valid until the next call. */
  readonly weights: Float64Array;
  /** Contribution of each group to the return, [K]. */
  readonly contributions: Float64Array;
  /** Contribution of each group without changes of exchange rates, [K]; absent without currency effects. */
  readonly local?: Float64Array;
}

/**
 * Smallest net weight of a group that is not a rounding difference. Below it the group's long and short positions
 * cancel: the group has contributions but no return.
 */
const WEIGHT_MIN = 1e-9;

/** Returns the return of group k over a period, its contribution divided by its weight; null without a weight. */
export function computeGroupReturn({ weights, contributions }: GroupedPeriod, k: number): number | null {
  const weight = weights[k]!;
  return Math.abs(weight) > WEIGHT_MIN ? contributions[k]! / weight : null;
}

/** Accumulator that compounds the returns of K groups over consecutive periods. */
export interface GroupReturns {
  add(period: GroupedPeriod): void;
  /**
   * Returns the return of group k over the periods in which it had a weight; null if there are none, or if the group
   * lost more than its weight in a period, after which nothing can be compounded.
   */
  get(k: number): number | null;
}

export function createGroupReturns(groups: number): GroupReturns {
  const growth = new Float64Array(groups).fill(1);
  const hasWeight = new Uint8Array(groups);
  return {
    add(period) {
      for (let k = 0; k < groups; k++) {
        const value = computeGroupReturn(period, k);
        if (value === null) continue;
        hasWeight[k] = 1;
        growth[k]! *= value < -1 ? Number.NaN : 1 + value;
      }
    },
    get: (k) => (hasWeight[k] === 1 && Number.isFinite(growth[k]) ? growth[k]! - 1 : null),
  };
}

/** Combination of effects over periods: differences of returns that sum, or ratios of growth that multiply. */
export const EFFECT_LINKING = ['arithmetic', 'geometric'] as const;
export type EffectLinking = (typeof EFFECT_LINKING)[number];

export interface BrinsonInput {
  /** Default: arithmetic. */
  readonly linking?: EffectLinking;
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
  /** Zero with geometric linking, where it is part of the selection. */
  readonly interaction: Float64Array;
  /** Effect of exchange rates; zero without local contributions. */
  readonly currency: Float64Array;
  /** Effects of all groups together; with geometric linking, their growth factors multiply. */
  readonly totals: {
    readonly allocation: number;
    readonly selection: number;
    readonly interaction: number;
    readonly currency: number;
  };
  readonly averageWeights: Float64Array;
  readonly benchmarkAverageWeights: Float64Array;
  readonly benchmarkGroupReturns: GroupReturns;
  readonly portfolioReturn: number;
  readonly benchmarkReturn: number;
  /** Difference of the returns, or with geometric linking the ratio of the growth less 1. */
  readonly activeReturn: number;
  /** Active return less the effects. */
  readonly residual: number;
}

/**
 * Computes allocation, selection and interaction of every group in each period, and links them over the periods. In a
 * period allocation = (w - b)(R_b,k - R_b), selection = b (R_k - R_b,k), and interaction is the rest of the group's
 * active return. A group has no separate return on one side if its weight there is zero, or if its long and short
 * positions cancel. The group's return on the other side is then used, so the group has only an allocation or an
 * interaction effect.
 * With local contributions, these effects are those of local returns, and the currency effect is the rest of the active
 * return.
 * @throws Refusal TOTAL_LOSS if a period lost everything
 * @source G. Brinson, N. Fachler, Measuring non-US equity portfolio performance, 1985; linked as D. Cariño, 1999.
 * Geometric effects and currencies: C. Bacon, Practical Portfolio Performance Measurement and Attribution, 2nd ed.,
 * 2008, chapters 5 and 6
 * @cost O(n K)
 */
export function attributeByGroup(input: BrinsonInput): BrinsonEffects {
  const { groups, days, portfolio, benchmark } = input;
  const periodCount = days.length;
  const effects = {
    allocation: new Float64Array(groups),
    selection: new Float64Array(groups),
    interaction: new Float64Array(groups),
    currency: new Float64Array(groups),
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
  if (input.linking === 'geometric')
    return attributeGeometrically(input, {
      effects,
      returns,
      averageWeights,
      benchmarkAverageWeights,
      benchmarkGroupReturns,
    });
  const totalCoefficient = computeActiveLinkingCoefficient(portfolioReturn, benchmarkReturn);
  for (let period = 0; period < periodCount; period++) {
    const portfolioPeriod = portfolio(period);
    const benchmarkPeriod = benchmark(period);
    benchmarkGroupReturns.add(benchmarkPeriod);
    const link =
      computeActiveLinkingCoefficient(returns.portfolio[period]!, returns.benchmark[period]!) / totalCoefficient;
    const [own, other] = [portfolioPeriod, benchmarkPeriod].map(toLocal) as [GroupedPeriod, GroupedPeriod];
    const benchmarkTotal = sumValues(other.contributions);
    for (let k = 0; k < groups; k++) {
      const w = portfolioPeriod.weights[k]!;
      const b = benchmarkPeriod.weights[k]!;
      averageWeights[k]! += w;
      benchmarkAverageWeights[k]! += b;
      const benchmarkGroup = computeGroupReturn(other, k) ?? benchmarkTotal;
      const group = computeGroupReturn(own, k) ?? benchmarkGroup;
      const allocation = (w - b) * (benchmarkGroup - benchmarkTotal);
      const selection = b * (group - benchmarkGroup);
      const activeEffect = own.contributions[k]! - other.contributions[k]! - (w - b) * benchmarkTotal;
      const ofRates = portfolioPeriod.contributions[k]! - own.contributions[k]!;
      const ofBenchmarkRates = benchmarkPeriod.contributions[k]! - other.contributions[k]!;
      effects.currency[k]! += link * (ofRates - ofBenchmarkRates);
      effects.allocation[k]! += link * allocation;
      effects.selection[k]! += link * selection;
      effects.interaction[k]! += link * (activeEffect - allocation - selection);
    }
  }
  for (let k = 0; k < groups; k++) {
    averageWeights[k]! /= periodCount;
    benchmarkAverageWeights[k]! /= periodCount;
  }
  const totals = {
    allocation: sumValues(effects.allocation),
    selection: sumValues(effects.selection),
    interaction: sumValues(effects.interaction),
    currency: sumValues(effects.currency),
  };
  const effectSum = totals.allocation + totals.selection + totals.interaction + totals.currency;
  return {
    ...effects,
    totals,
    activeReturn: portfolioReturn - benchmarkReturn,
    averageWeights,
    benchmarkAverageWeights,
    benchmarkGroupReturns,
    portfolioReturn,
    benchmarkReturn,
    residual: portfolioReturn - benchmarkReturn - effectSum,
  };
}

/** Returns a period with the contributions in local currency, if they are known. */
const toLocal = ({ weights, contributions, local = contributions }: GroupedPeriod): GroupedPeriod => ({
  weights,
  contributions: local,
});

interface GeometricParts {
  readonly effects: Pick<BrinsonEffects, 'allocation' | 'selection' | 'interaction' | 'currency'>;
  readonly returns: { readonly portfolio: Float64Array; readonly benchmark: Float64Array };
  readonly averageWeights: Float64Array;
  readonly benchmarkAverageWeights: Float64Array;
  readonly benchmarkGroupReturns: GroupReturns;
}

/**
 * Computes geometric effects. In a period, with local returns R of the portfolio and B of the benchmark, and the return
 * S of the benchmark's groups at the portfolio's weights: allocation (1 + S) / (1 + B) - 1, selection (1 + R) / (1 + S)
 * - 1, currency the ratio of the growth of total over local return of both sides less 1. Each is linked by compounding,
 * and its groups as the contributions to a return.
 */
function attributeGeometrically(
  { groups, days, portfolio, benchmark }: BrinsonInput,
  { effects, returns, averageWeights, benchmarkAverageWeights, benchmarkGroupReturns }: GeometricParts,
): BrinsonEffects {
  const names = ['allocation', 'selection', 'currency'] as const;
  const byPeriod = {
    allocation: new Float64Array(days.length),
    selection: new Float64Array(days.length),
    currency: new Float64Array(days.length),
  };
  const computePeriod = (period: number) => computeGeometricEffects(portfolio(period), benchmark(period), groups);
  for (let period = 0; period < days.length; period++) {
    const computed = computePeriod(period);
    for (const name of names) byPeriod[name][period] = sumValues(computed[name]);
  }
  const compound = (name: (typeof names)[number]) => computeCompoundReturn(byPeriod[name], days);
  const totals = {
    allocation: compound('allocation'),
    selection: compound('selection'),
    currency: compound('currency'),
    interaction: 0,
  };
  for (let period = 0; period < days.length; period++) {
    const [portfolioPeriod, benchmarkPeriod] = [portfolio(period), benchmark(period)];
    benchmarkGroupReturns.add(benchmarkPeriod);
    const computed = computePeriod(period);
    for (const name of names) {
      const link = computeLinkingCoefficient(byPeriod[name][period]!) / computeLinkingCoefficient(totals[name]);
      for (let k = 0; k < groups; k++) effects[name][k]! += link * computed[name][k]!;
    }
    for (let k = 0; k < groups; k++) {
      averageWeights[k]! += portfolioPeriod.weights[k]! / days.length;
      benchmarkAverageWeights[k]! += benchmarkPeriod.weights[k]! / days.length;
    }
  }
  const portfolioReturn = computeCompoundReturn(returns.portfolio, days);
  const benchmarkReturn = computeCompoundReturn(returns.benchmark, days);
  const activeReturn = (1 + portfolioReturn) / (1 + benchmarkReturn) - 1;
  const effectGrowth = (1 + totals.allocation) * (1 + totals.selection) * (1 + totals.currency);
  return {
    ...effects,
    totals,
    averageWeights,
    benchmarkAverageWeights,
    benchmarkGroupReturns,
    portfolioReturn,
    benchmarkReturn,
    activeReturn,
    residual: activeReturn - (effectGrowth - 1),
  };
}

/** Returns the geometric effects of one period by group, [K] each; the sum of each is the effect of the period. */
function computeGeometricEffects(portfolioPeriod: GroupedPeriod, benchmarkPeriod: GroupedPeriod, groups: number) {
  const [own, other] = [portfolioPeriod, benchmarkPeriod].map(toLocal) as [GroupedPeriod, GroupedPeriod];
  const [ownLocal, benchmarkLocal] = [sumValues(own.contributions), sumValues(other.contributions)];
  const groupReturns = Float64Array.from({ length: groups }, (_, k) => computeGroupReturn(other, k) ?? benchmarkLocal);
  const semiNotional = groupReturns.reduce((sum, value, k) => sum + own.weights[k]! * value, 0);
  // A benchmark group without weight can have a contribution, which belongs to the allocation.
  const unassigned = Float64Array.from({ length: groups }, (_, k) =>
    computeGroupReturn(other, k) === null ? other.contributions[k]! - other.weights[k]! * benchmarkLocal : 0,
  );
  const benchmarkRates = (1 + sumValues(benchmarkPeriod.contributions)) / (1 + benchmarkLocal);
  const allocation = new Float64Array(groups);
  const selection = new Float64Array(groups);
  const currency = new Float64Array(groups);
  for (let k = 0; k < groups; k++) {
    const [w, b] = [own.weights[k]!, other.weights[k]!];
    allocation[k] = ((w - b) * (groupReturns[k]! - benchmarkLocal) - unassigned[k]!) / (1 + benchmarkLocal);
    selection[k] = (own.contributions[k]! - w * groupReturns[k]!) / (1 + semiNotional);
    const ofRates = (portfolioPeriod.contributions[k]! - own.contributions[k]!) / (1 + ownLocal);
    const ofBenchmarkRates = (benchmarkPeriod.contributions[k]! - other.contributions[k]!) / (1 + benchmarkLocal);
    currency[k] = (ofRates - ofBenchmarkRates) / benchmarkRates;
  }
  return { allocation, selection, currency };
}

function sumValues(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

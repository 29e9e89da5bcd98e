import { z } from 'zod';
import { LIMITS } from '../base/limits.js';
import { defineObject } from '../base/schema.js';

export const tailParams = defineObject(() => ({
  confidence: z.number().min(0).lt(1).default(0.95).meta({
    label: 'Confidence',
    help: 'Confidence: the average is taken over the worst scenarios, which are the fraction 1 - confidence. 0 averages all scenarios.',
    unit: 'fraction',
  }),
  scenarios: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(LIMITS.MAX_SCENARIOS).nullable().default(null).meta({
    label: 'Scenarios',
    help: 'Number of sessions up to the decision. Their returns are the scenarios. Default: the sessions of the risk model.',
    unit: 'sessions',
  }),
}));

/** Formats the share of the scenarios that is in the tail, for example `5%`. */
export function describeTailShare(confidence: number): string {
  return `${Number((100 * (1 - confidence)).toPrecision(6))}%`;
}

export const SCENARIO_SOURCES = ['historical', 'bootstrap', 'normal', 'student'] as const;

/** Scenarios that an objective or a constraint row requests. */
export interface ScenarioTerms {
  /** Number of most recent returns from the store; null for the window of the risk model. */
  readonly sessions: number | null;
  /** Terms of simulated scenarios; null for historical returns. */
  readonly drawn: SimulatedTerms | null;
}

interface SimulatedTerms {
  readonly source: Exclude<(typeof SCENARIO_SOURCES)[number], 'historical'>;
  readonly draws: number;
  readonly block: number;
  /** Degrees of freedom of Student's distribution. */
  readonly degrees: number;
  readonly seed: number;
}

/** Sources that simulate scenarios, and all sources that read the history of returns. */
const DRAWN_SOURCES = ['bootstrap', 'normal', 'student'] as const;
const HISTORY_SOURCES = ['historical', 'bootstrap'] as const;

const { scenarios } = tailParams.shape;

/** Schema of the scenario parameters of a class that accepts simulated scenarios. */
export const drawnScenarioParams = {
  scenarios: scenarios.meta({ ...scenarios.meta(), when: [{ source: HISTORY_SOURCES }] }),
  source: z.enum(SCENARIO_SOURCES).default('historical').meta({
    label: 'Source',
    help: "Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution.",
  }),
  draws: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.MAX_DRAWN_SCENARIOS)
    .default(5000)
    .meta({
      label: 'Draws',
      help: 'Number of drawn scenarios; ignored for historical scenarios.',
      when: [{ source: DRAWN_SOURCES }],
    }),
  block: z
    .int()
    .min(1)
    .max(LIMITS.MAX_SCENARIOS)
    .default(21)
    .meta({
      label: 'Block',
      help: 'Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns.',
      unit: 'sessions',
      when: [{ source: ['bootstrap'] }],
    }),
  degrees_of_freedom: z
    .int()
    .min(3)
    .max(1000)
    .default(5)
    .meta({
      label: 'Degrees of freedom',
      help: "Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails.",
      when: [{ source: ['student'] }],
    }),
  seed: z
    .int()
    .min(0)
    .default(0)
    .meta({
      label: 'Seed',
      help: 'Seed of the draws. Equal seeds give equal draws.',
      when: [{ source: DRAWN_SOURCES }],
    }),
};

/** Parsed scenario parameters of a class, whether or not it accepts simulated scenarios. */
interface ScenarioParams {
  readonly scenarios: number | null;
  readonly source?: (typeof SCENARIO_SOURCES)[number];
  readonly draws?: number;
  readonly block?: number;
  readonly degrees_of_freedom?: number;
  readonly seed?: number;
}

export function readScenarioTerms({ scenarios, source = 'historical', ...drawn }: ScenarioParams): ScenarioTerms {
  if (source === 'historical') return { sessions: scenarios, drawn: null };
  const { draws = 0, block = 1, degrees_of_freedom: degrees = 0, seed = 0 } = drawn; // a source other than `historical` requires these parameters
  return { sessions: scenarios, drawn: { source, draws, block, degrees, seed } };
}

/** Measure whose worst values are averaged: losses of single sessions, or drawdowns from the running maximum. */
export type TailMeasure = 'loss' | 'drawdown';

/** Goal: minimise the average of the worst scenarios. */
export interface TailGoal {
  readonly form: 'tail';
  readonly measure: TailMeasure;
  /** Fraction of the scenarios that is not averaged. */
  readonly confidence: number;
  readonly scenarios: number;
  /** Simple returns of the securities by scenario, [T x N]; for drawdowns their cumulative sums. */
  readonly returns: Float64Array;
  /** Number of equally likely scenarios for which each scenario counts, [T], of sum T; null if each counts as one. */
  readonly counts: Float64Array | null;
}

/** Returns by scenario, with their probabilities. */
export interface WeightedScenarios {
  /** Simple returns of the securities, [T x N]. */
  readonly returns: Float64Array;
  /** As in `TailGoal`. */
  readonly counts: Float64Array | null;
}

/**
 * Creates a tail goal from simple returns by session.
 * @cost T N for drawdowns
 */
export function createTailGoal(
  measure: TailMeasure,
  confidence: number,
  { returns, counts }: WeightedScenarios,
  securityCount: number,
): TailGoal {
  const scenarioCount = returns.length / securityCount;
  const sums = measure === 'loss' ? returns : cumulateReturns(returns, securityCount);
  return { form: 'tail', measure, confidence, scenarios: scenarioCount, returns: sums, counts };
}

function cumulateReturns(returns: Float64Array, securityCount: number): Float64Array {
  const sums = returns.slice();
  for (let e = securityCount; e < sums.length; e++) sums[e]! += sums[e - securityCount]!;
  return sums;
}

/**
 * Returns the portfolio return of each scenario, [T]. For drawdowns, returns the cumulative sums. Processes four
 * scenarios at a time.
 * @cost T N
 */
export function computeValues({ scenarios, returns }: TailGoal, weights: Float64Array): Float64Array {
  const values = new Float64Array(scenarios);
  const heldPositions = Int32Array.from(weights.keys()).filter((i) => weights[i] !== 0);
  const n = weights.length;
  let t = 0;
  for (; t + 3 < scenarios; t += 4) {
    const from = t * n;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let k = 0; k < heldPositions.length; k++) {
      const i = heldPositions[k]!;
      const weight = weights[i]!;
      a += returns[from + i]! * weight;
      b += returns[from + n + i]! * weight;
      c += returns[from + 2 * n + i]! * weight;
      d += returns[from + 3 * n + i]! * weight;
    }
    values[t] = a;
    values[t + 1] = b;
    values[t + 2] = c;
    values[t + 3] = d;
  }
  for (; t < scenarios; t++) {
    let total = 0;
    for (let k = 0; k < heldPositions.length; k++)
      total += returns[t * n + heldPositions[k]!]! * weights[heldPositions[k]!]!;
    values[t] = total;
  }
  return values;
}

/**
 * Returns the loss of each scenario, or the drawdown of the cumulative returns, [T].
 * @cost T N
 */
export function computeOutcomes(goal: TailGoal, weights: Float64Array): Float64Array {
  const values = computeValues(goal, weights);
  if (goal.measure === 'loss') return values.map((value) => -value);
  let peak = 0;
  return values.map((value) => (peak = Math.max(peak, value)) - value);
}

/**
 * Returns the slopes of a tail average at some weights, [N]. Their product with these weights equals the average. Their
 * product with other weights is a lower bound of the average at those weights.
 * @cost T N and a sort
 * @source Rockafellar & Uryasev (2002), Journal of Banking & Finance 26(7), for the worst scenarios as a subgradient.
 */
export function computeTailSlopes(goal: TailGoal, weights: Float64Array): Float64Array {
  const n = weights.length;
  const outcomes = computeOutcomes(goal, weights);
  const peaks = goal.measure === 'loss' ? undefined : findPeaksBefore(computeValues(goal, weights));
  const slopes = new Float64Array(n);
  const addScenario = (t: number, share: number) => {
    for (let i = 0; i < n; i++) slopes[i]! += share * goal.returns[t * n + i]!;
  };
  const tailSize = computeTailSize(goal);
  for (const { scenario: t, count } of listTail(goal, outcomes)) {
    const share = count / tailSize;
    addScenario(t, -share);
    if (peaks !== undefined && peaks[t]! >= 0) addScenario(peaks[t]!, share);
  }
  return slopes;
}

/** Returns, for each scenario, the scenario with the running maximum. -1 means the start value of zero. */
function findPeaksBefore(values: Float64Array): Int32Array {
  let peak = 0;
  let position = -1;
  return Int32Array.from(values, (value, t) => {
    if (value > peak) [peak, position] = [value, t];
    return position;
  });
}

/** Details of a tail average. */
export interface TailOutcome {
  readonly scenarios: number;
  /** Average of the worst scenarios, without costs. */
  readonly average: number;
  /** Smallest of the averaged values, the value at risk. */
  readonly level: number;
  readonly largest: number;
}

/**
 * Returns the details of the tail at some weights.
 * @cost T N
 */
export function computeTailOutcome(goal: TailGoal, weights: Float64Array): TailOutcome {
  const values = computeOutcomes(goal, weights);
  const last = listTail(goal, values).at(-1)!; // a tail has at least one scenario
  return {
    scenarios: goal.scenarios,
    average: computeTailAverage(goal, values),
    level: values[last.scenario]!,
    largest: values.reduce((most, value) => Math.max(most, value), -Infinity),
  };
}

/**
 * Returns the average of the worst values, up to the size of the tail. If the size is not whole, the last value counts
 * in part. With fewer than one scenario of equal probability, returns the largest value.
 * @param values  loss or drawdown of each scenario, [T].
 * @source Rockafellar & Uryasev (2002), Conditional value-at-risk for general loss distributions, Journal of Banking &
 * Finance 26(7), proposition 8.
 */
export function computeTailAverage(goal: TailGoal, values: Float64Array): number {
  const tailSize = computeTailSize(goal);
  if (goal.counts !== null)
    return listTail(goal, values).reduce((sum, { scenario, count }) => sum + count * values[scenario]!, 0) / tailSize;
  const sortedValues = values.toSorted().reverse();
  let total = 0;
  for (let k = 0; k < Math.min(Math.ceil(tailSize), sortedValues.length); k++)
    total += Math.min(1, tailSize - k) * sortedValues[k]!;
  return total / tailSize;
}

/** Returns the worst scenarios, largest value first, with the number for which each counts in the tail. */
function listTail(goal: TailGoal, values: Float64Array): { readonly scenario: number; readonly count: number }[] {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
  const tail: { scenario: number; count: number }[] = [];
  const tailSize = computeTailSize(goal);
  if (goal.counts === null) {
    for (let k = 0; k < Math.min(Math.ceil(tailSize), order.length); k++)
      tail.push({ scenario: order[k]!, count: Math.min(1, tailSize - k) });
    return tail;
  }
  let open = tailSize;
  for (const scenario of order) {
    const count = Math.min(goal.counts[scenario]!, open);
    if (count <= 0) continue;
    tail.push({ scenario, count });
    open -= count;
    if (open <= 0) break;
  }
  return tail;
}

/**
 * Returns the number of averaged scenarios, which may have a fractional part. It is at least 1 if all scenarios have the
 * same probability.
 */
export function computeTailSize({ confidence, scenarios, counts }: TailGoal): number {
  const size = (1 - confidence) * scenarios;
  return counts === null ? Math.max(size, Math.min(1, scenarios)) : size;
}

/** Returns the smallest number of worst scenarios that contains a multiple of the tail. */
export function countWorstScenarios(goal: TailGoal, values: Float64Array, times: number): number {
  const size = times * computeTailSize(goal);
  const { counts } = goal;
  if (counts === null) return Math.ceil(size);
  const order = Int32Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
  let total = 0;
  for (const [k, scenario] of order.entries()) {
    total += counts[scenario]!;
    if (total >= size) return k + 1;
  }
  return order.length;
}

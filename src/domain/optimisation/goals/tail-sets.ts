import { computeOutcomes, countTailScenarios, computeValues, type TailGoal } from '../../objectives/tail.js';
import type { TailSet } from './tail-program.js';

/**
 * Number of scenarios that one portfolio adds to a set. It is a multiple of the tail size plus a multiple of the number
 * of securities, because that many scenarios can be exactly at the tail level.
 */
const TAIL_FACTOR = 1.3;
const SECURITIES_FACTOR = 0.6;

/**
 * Fraction of new scenarios in an enlarged set of losses. Above it, approximate optima over all securities add more
 * scenarios; below it, an exact program is solved.
 */
const GROWTH_MIN = 0.1;

/** Returns the worst scenarios at some weights. */
export function findWorstScenarios(
  goal: TailGoal,
  weights: Float64Array,
  outcomes = computeOutcomes(goal, weights),
): TailSet {
  const size = Math.max(countTailScenarios(goal), 1);
  return {
    scenarios: selectWorst(outcomes, Math.ceil(TAIL_FACTOR * size + SECURITIES_FACTOR * weights.length) + 1),
    peaks: findPeaks(goal, weights, selectWorst(outcomes, Math.ceil(size) + 1)),
  };
}

/** Returns the union of two sets. */
export function joinSets(a: TailSet, b: TailSet): TailSet {
  return { scenarios: joinIndices(a.scenarios, b.scenarios), peaks: joinIndices(a.peaks, b.peaks) };
}

/** Returns true if two sets are equal; one must contain the other. */
export function isSame(a: TailSet, b: TailSet): boolean {
  return a.scenarios.length === b.scenarios.length && a.peaks.length === b.peaks.length;
}

/** Returns true if many scenarios of an enlarged set are new. */
export function isMuchLarger(joinedSet: TailSet, set: TailSet): boolean {
  return joinedSet.scenarios.length > (1 + GROWTH_MIN) * set.scenarios.length;
}

/** Returns the indices of the largest values, ascending. */
export function selectWorst(values: Float64Array, count: number): Int32Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
  return order.subarray(0, Math.min(count, order.length)).toSorted((a, b) => a - b);
}

/** Returns the peaks before the given scenarios, ascending, without the start; empty for losses. */
export function findPeaks(goal: TailGoal, weights: Float64Array, scenarios: Int32Array): Int32Array {
  if (goal.measure === 'loss') return new Int32Array(0);
  const scenarioSet = new Set(scenarios);
  const positions = new Set<number>();
  let peak = 0;
  let position = -1;
  for (const [t, value] of computeValues(goal, weights).entries()) {
    if (value > peak) [peak, position] = [value, t];
    if (position >= 0 && scenarioSet.has(t)) positions.add(position);
  }
  return Int32Array.from(positions).toSorted((x, y) => x - y);
}

function joinIndices(a: Int32Array, b: Int32Array): Int32Array {
  return Int32Array.from(new Set([...a, ...b])).toSorted((x, y) => x - y);
}

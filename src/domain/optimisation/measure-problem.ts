import { computeMetricDiagonal, createFactorMetric } from '#kernels/optimisation/program/metric.js';
import { computeCost, type Origin, type Problem, type RowWithOrigin } from './problem.js';
import type { QuadraticGoal } from '../definition/objectives.js';
import { type Assembly, computeMovedRadius, computeMovedValue, findMovedParameter } from './assembly.js';
import type { CountRow, DistanceRow, LinearRow } from '../definition/constraint-class.js';
import { HELD_MIN } from './restriction.js';

export type RowOptions = Pick<Assembly, 'includes' | 'changes'>;

export interface MeasureProblem {
  readonly problem: Problem;
  /** Lower bound of a distance over all choices of securities, from count rows and the budget; -Infinity for a tail. */
  readonly floor: number;
  /** Limit of the row on a distance; null for a tail. */
  readonly limit: number | null;
}

/**
 * Returns the problem whose objective is the measure of a tail or distance row. Returns null for rows of other forms.
 */
export function createMeasureProblem(
  problem: Problem,
  rowWithOrigin: RowWithOrigin,
  options: RowOptions = {},
): MeasureProblem | null {
  const { row } = rowWithOrigin;
  const problemWithoutCosts = { ...problem, costs: null, robustness: null };
  if (row.form === 'tail') {
    const otherRows = problem.rows.filter(({ row: { form } }) => form !== 'tail');
    return { problem: { ...problemWithoutCosts, goal: row.goal, rows: otherRows }, floor: -Infinity, limit: null };
  }
  if (row.form !== 'distance') return null;
  const { reference, fixed, scale } = row;
  const n = reference.length;
  const rows = problem.rows.filter((each) => each !== rowWithOrigin);
  const isCurved = rows.some((each) => each.row.form === 'norm' && each.row.metric === 'covariance');
  // Securities are dropped by weight, not by risk.
  const metric = isCurved ? problem.metric : createFactorMetric(new Float64Array(0), new Float64Array(n).fill(1));
  const meanVariance = computeMetricDiagonal(metric).reduce((sum, value) => sum + value, 0) / n;
  const goal: QuadraticGoal = {
    form: 'quadratic',
    curvature: CURVATURE / meanVariance,
    centre: reference.slice(),
    linear: new Float64Array(n),
  };
  const limit = computeMovedValue(row.limit, rowWithOrigin.origin, options.changes, 1);
  const costs = { linear: scale, impact: 0, reference, fixed: scale * fixed };
  return {
    problem: { ...problemWithoutCosts, rows, goal, costs, metric },
    floor: computeLeastDistance(row, rows, options),
    limit,
  };
}

/**
 * Returns true if weight bounds and count rows prove that no choice of securities satisfies the budget, a distance
 * limit or a norm limit, or that more securities must be held than may be held.
 */
export function isRuledOut(problem: Problem, options: RowOptions): boolean {
  const limits = collectChoiceLimits(problem, options);
  if (isBelowBudget(limits) || isHoldingForced(limits)) return true;
  return problem.rows.some(({ origin, row }) => {
    if (origin.soft !== null || options.includes?.(origin) === false) return false;
    if (row.form === 'norm' && row.metric === 'identity' && row.centre === null)
      return (
        computeLeastLength(problem, options) > computeMovedRadius(row, origin, options.changes) + DISTANCE_TOLERANCE
      );
    if (row.form !== 'distance') return false;
    return (
      computeLeastDistance(row, problem.rows, options) >
      computeMovedValue(row.limit, origin, options.changes, 1) + DISTANCE_TOLERANCE
    );
  });
}

/** Accepted excess of a distance over its limit. */
const DISTANCE_TOLERANCE = 1e-8;

/** Weight bounds, and the rows that every choice of securities must satisfy. */
interface ChoiceLimits {
  /** [N] */
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** Minimum sum of the weights. */
  readonly invested: number;
  /** Minimum weight of a held security. */
  readonly threshold: number;
  /** Groups with a limited number of securities, by constraint row. */
  readonly counted: readonly (readonly CountRow[])[];
}

function collectChoiceLimits({ rows, index }: Problem, { includes, changes }: RowOptions): ChoiceLimits {
  const lower = new Float64Array(index.length).fill(-Infinity);
  const upper = new Float64Array(index.length).fill(Infinity);
  const countRowsByOrigin = new Map<Origin, CountRow[]>();
  let investedWeight = 0;
  let threshold = 0;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'name' && row.lower !== null)
      lower[row.name] = Math.max(lower[row.name]!, computeMovedValue(row.lower, origin, changes, -1));
    if (row.form === 'name' && row.upper !== null)
      upper[row.name] = Math.min(upper[row.name]!, computeMovedValue(row.upper, origin, changes, 1));
    if (row.form === 'linear' && isBudgetRow(row) && row.lower !== null)
      investedWeight = Math.max(investedWeight, computeMovedValue(row.lower, origin, changes, -1));
    if (row.form === 'threshold')
      threshold = Math.max(threshold, findMovedParameter(origin, 'threshold', changes) ?? row.threshold);
    if (row.form === 'count')
      countRowsByOrigin.set(origin, [
        ...(countRowsByOrigin.get(origin) ?? []),
        { ...row, maximum: findMovedParameter(origin, 'maximum', changes) ?? row.maximum },
      ]);
  }
  return { lower, upper, invested: investedWeight, threshold, counted: [...countRowsByOrigin.values()] };
}

/**
 * Returns true if the allowed number of securities, each at its maximum weight, does not reach the budget. A security
 * counts only if its maximum is at least the minimum weight of a holding.
 */
function isBelowBudget(limits: ChoiceLimits): boolean {
  const { upper, invested, threshold, counted } = limits;
  const largestWeights = upper.map((bound) => (bound < threshold - BUDGET_TOLERANCE ? 0 : Math.max(bound, 0)));
  const isHeld = createHoldTest(limits);
  return [[], ...counted].some(
    (groups) => computeLargestSum(groups, largestWeights, isHeld) < invested - BUDGET_TOLERANCE,
  );
}

/** Creates the test of securities whose bounds exclude a weight of zero. */
function createHoldTest({ lower, upper }: ChoiceLimits): (i: number) => boolean {
  return (i) => lower[i]! > HELD_MIN || upper[i]! < -HELD_MIN;
}

/**
 * Returns true if a choice is impossible for one of two reasons: more securities must be held than a count row allows,
 * or a security must be held although its maximum is below the minimum weight of a holding.
 */
function isHoldingForced(limits: ChoiceLimits): boolean {
  const { lower, upper, threshold, counted } = limits;
  const isStuck = lower.some((bound, i) => bound > HELD_MIN && upper[i]! < threshold - BUDGET_TOLERANCE);
  const isHeld = createHoldTest(limits);
  const exceedsCounts = ({ members, maximum }: CountRow): boolean => members.filter(isHeld).length > maximum;
  return isStuck || counted.some((groups) => groups.some(exceedsCounts));
}

/**
 * Returns the largest sum of weights with a limited number of securities, including those that must be held. The groups
 * of one row are disjoint.
 */
function computeLargestSum(groups: readonly CountRow[], upper: Float64Array, isHeld: (i: number) => boolean): number {
  const remainingUpper = upper.slice();
  let largestSum = 0;
  for (const { members, maximum } of groups) {
    const heldMembers = members.filter(isHeld);
    const freeBounds = Float64Array.from(members, (i) => (isHeld(i) ? 0 : upper[i]!)).sort();
    for (const i of members) remainingUpper[i] = 0;
    const left = Math.max(0, maximum - heldMembers.length);
    largestSum += heldMembers.reduce((sum, i) => sum + upper[i]!, 0);
    largestSum += freeBounds.subarray(Math.max(0, freeBounds.length - left)).reduce((sum, most) => sum + most, 0);
  }
  return remainingUpper.reduce((sum, most) => sum + most, largestSum);
}

/** Accepted shortfall of the sum of weights below the budget. */
const BUDGET_TOLERANCE = 1e-10;

/**
 * Returns the least distance with a limited number of securities. The excess securities of the reference are sold. If
 * the budget requires it, their weight is bought elsewhere.
 */
function computeLeastDistance(
  { reference, fixed, scale }: DistanceRow,
  rows: readonly RowWithOrigin[],
  { includes, changes }: RowOptions,
): number {
  const soldByOrigin = new Map<Origin, number>();
  let investedWeight = -Infinity;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'linear' && isBudgetRow(row) && row.lower !== null)
      investedWeight = Math.max(investedWeight, computeMovedValue(row.lower, origin, changes, -1));
    if (row.form !== 'count') continue;
    const maximum = findMovedParameter(origin, 'maximum', changes) ?? row.maximum;
    const referenceWeights = Float64Array.from(row.members, (i) => Math.max(reference[i]!, 0)).sort();
    const droppedWeights = referenceWeights.subarray(0, Math.max(0, referenceWeights.length - maximum));
    // the groups of one row are disjoint
    soldByOrigin.set(origin, (soldByOrigin.get(origin) ?? 0) + droppedWeights.reduce((sum, weight) => sum + weight, 0));
  }
  const largestSale = Math.max(0, ...soldByOrigin.values());
  const boughtWeight = investedWeight - reference.reduce((sum, weight) => sum + weight, 0) + largestSale;
  return scale * (largestSale + Math.max(boughtWeight, 0) + fixed);
}

/** Returns the smallest norm of weights with a limited number of securities. Equal weights have this norm. */
function computeLeastLength({ rows, index }: Problem, { includes, changes }: RowOptions): number {
  const allowedCounts = new Map<Origin, number>();
  let investedWeight = 0;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'linear' && isBudgetRow(row) && row.lower !== null)
      investedWeight = Math.max(investedWeight, computeMovedValue(row.lower, origin, changes, -1));
    if (row.form !== 'count') continue;
    const maximum = findMovedParameter(origin, 'maximum', changes) ?? row.maximum;
    // the groups of one row are disjoint
    const allowedCount = allowedCounts.get(origin) ?? index.length;
    allowedCounts.set(origin, allowedCount - Math.max(0, row.members.length - maximum));
  }
  return investedWeight / Math.sqrt(Math.max(1, Math.min(index.length, ...allowedCounts.values())));
}

function isBudgetRow({ average, coefficients }: LinearRow): boolean {
  return average === undefined && coefficients.every((value) => value === 1);
}

/**
 * Curvature added to a distance, in units of the mean variance. It does not affect the result noticeably, but a
 * quadratic solver needs it. Among portfolios at equal distance, the solver returns the one nearest to the reference.
 */
const CURVATURE = 1e-5;

/**
 * Tolerance for the effect of `CURVATURE` on the objective: half of `CURVATURE` times two, the maximum squared distance
 * between long-only portfolios.
 */
export const MEASURE_TOLERANCE = CURVATURE;

/** Returns true if the distance of the weights equals its lower bound. */
export function attainsLowerBound(
  { costs }: Pick<Problem, 'costs'>,
  { weights }: { readonly weights: Float64Array },
  floor: number | undefined,
): boolean {
  return floor !== undefined && computeCost(costs, weights) <= floor + DISTANCE_TOLERANCE;
}

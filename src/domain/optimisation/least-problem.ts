import { factorMetric, metricDiagonal } from '#kernels/optimisation/program/metric.js';
import { costOf } from './goals/prices.js';
import type { QuadraticGoal } from '../objectives/goal.js';
import { movedRadius, movedTo, movedValue, type Assembly } from './assemble.js';
import type { CountRow, DistanceRow, LinearRow } from '../constraints/program-row.js';
import type { Origin, PlacedRow, Problem } from './problem.js';

/** Rows that take part, and their parameters moved. */
export type RowOptions = Pick<Assembly, 'includes' | 'changes'>;

/** A problem of the least of a measure. */
export interface LeastProblem {
  readonly problem: Problem;
  /** What no weights can have less of, whatever names they hold: as the counts of the rows alone have it. */
  readonly floor: number;
  /** Of a distance what its row allows. */
  readonly limit: number | null;
}

/** The problem in which the measure of a tail or a distance is the objective; null for rows of other forms. */
export function leastProblem(problem: Problem, placed: PlacedRow, options: RowOptions = {}): LeastProblem | null {
  const { row } = placed;
  const alone = { ...problem, costs: null, robustness: null };
  if (row.form === 'tail') {
    const others = problem.rows.filter(({ row: { form } }) => form !== 'tail');
    return { problem: { ...alone, goal: row.goal, rows: others }, floor: -Infinity, limit: null };
  }
  if (row.form !== 'distance') return null;
  const { reference, fixed } = row;
  const n = reference.length;
  const rows = problem.rows.filter((each) => each !== placed);
  const isCurved = rows.some((each) => each.row.form === 'norm' && each.row.metric === 'covariance');
  // Names are dropped by their weights, not by their risk.
  const metric = isCurved ? problem.metric : factorMetric(new Float64Array(0), new Float64Array(n).fill(1));
  const meanVariance = metricDiagonal(metric).reduce((sum, value) => sum + value, 0) / n;
  const goal: QuadraticGoal = {
    form: 'quadratic',
    metric: 'covariance',
    curvature: CURVATURE / meanVariance,
    centre: reference.slice(),
    linear: new Float64Array(n),
  };
  const limit = movedValue(row.limit, placed.origin, options.changes, 1);
  const costs = { linear: 0.5, impact: 0, reference, fixed: fixed / 2 };
  return { problem: { ...alone, rows, goal, costs, metric }, floor: leastByCounts(row, rows, options), limit };
}

/** Whether no weights can hold the budget, a distance or a length, whatever names they choose: as the counts alone have it. */
export function isRuledOut(problem: Problem, options: RowOptions): boolean {
  if (isShort(problem, options)) return true;
  return problem.rows.some(({ origin, row }) => {
    if (origin.soft !== null || options.includes?.(origin) === false) return false;
    if (row.form === 'norm' && row.metric === 'identity' && row.centre === null)
      return leastLength(problem, options) > movedRadius(row, origin, options.changes) + HELD;
    if (row.form !== 'distance') return false;
    return leastByCounts(row, problem.rows, options) > movedValue(row.limit, origin, options.changes, 1) + HELD;
  });
}

/** How far a distance may be above its limit by rounding. */
const HELD = 1e-8;

/** Whether so few names of so much each do not reach what has to be invested. */
function isShort({ rows, index }: Problem, { includes, changes }: RowOptions): boolean {
  const upper = new Float64Array(index.length).fill(Infinity);
  const counted = new Map<Origin, CountRow[]>();
  let invested = 0;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'name' && row.upper !== null)
      upper[row.name] = Math.min(upper[row.name]!, Math.max(movedValue(row.upper, origin, changes, 1), 0));
    if (row.form === 'linear' && isBudget(row) && row.lower !== null)
      invested = Math.max(invested, movedValue(row.lower, origin, changes, -1));
    if (row.form === 'count')
      counted.set(origin, [
        ...(counted.get(origin) ?? []),
        { ...row, maximum: movedTo(origin, 'maximum', changes) ?? row.maximum },
      ]);
  }
  return [...counted.values()].some((groups) => reachOf(groups, upper) < invested - SHORT);
}

/** The most that names can sum to of which so many may be held; the groups of one row share no names. */
function reachOf(groups: readonly CountRow[], upper: Float64Array): number {
  const free = upper.slice();
  let reach = 0;
  for (const { members, maximum } of groups) {
    const own = Float64Array.from(members, (i) => upper[i]!).sort();
    for (const i of members) free[i] = 0;
    reach += own.subarray(Math.max(0, own.length - maximum)).reduce((sum, most) => sum + most, 0);
  }
  return free.reduce((sum, most) => sum + most, reach);
}

/** How far names may stay short of what has to be invested by rounding. */
const SHORT = 1e-10;

/**
 * The least distance of so few names: what the others of the reference weigh is sold, and bought where the sum of the
 * weights asks for it.
 */
function leastByCounts(
  { reference, fixed }: DistanceRow,
  rows: readonly PlacedRow[],
  { includes, changes }: RowOptions,
): number {
  const sold = new Map<Origin, number>();
  let invested = -Infinity;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'linear' && isBudget(row) && row.lower !== null)
      invested = Math.max(invested, movedValue(row.lower, origin, changes, -1));
    if (row.form !== 'count') continue;
    const maximum = movedTo(origin, 'maximum', changes) ?? row.maximum;
    const own = Float64Array.from(row.members, (i) => Math.max(reference[i]!, 0)).sort();
    const dropped = own.subarray(0, Math.max(0, own.length - maximum));
    // The groups of one row share no names.
    sold.set(origin, (sold.get(origin) ?? 0) + dropped.reduce((sum, weight) => sum + weight, 0));
  }
  const most = Math.max(0, ...sold.values());
  const bought = invested - reference.reduce((sum, weight) => sum + weight, 0) + most;
  return (most + Math.max(bought, 0) + fixed) / 2;
}

/** The least length of weights of so few names: that of equal ones. */
function leastLength({ rows, index }: Problem, { includes, changes }: RowOptions): number {
  const allowed = new Map<Origin, number>();
  let invested = 0;
  for (const { origin, row } of rows) {
    if (origin.soft !== null || includes?.(origin) === false) continue;
    if (row.form === 'linear' && isBudget(row) && row.lower !== null)
      invested = Math.max(invested, movedValue(row.lower, origin, changes, -1));
    if (row.form !== 'count') continue;
    const maximum = movedTo(origin, 'maximum', changes) ?? row.maximum;
    // The groups of one row share no names.
    const others = allowed.get(origin) ?? index.length;
    allowed.set(origin, others - Math.max(0, row.members.length - maximum));
  }
  return invested / Math.sqrt(Math.max(1, Math.min(index.length, ...allowed.values())));
}

function isBudget({ average, coefficients }: LinearRow): boolean {
  return average === undefined && coefficients.every((value) => value === 1);
}

/**
 * Curvature beside a distance, in mean variances: too little to give way to, and enough for a solver of quadratics. Of
 * portfolios of one distance that nearest to the reference is the answer.
 */
const CURVATURE = 1e-5;

/** How far the objective may be above the distance for that: half the curvature by two, the most that weights can be apart. */
export const LEAST_WITHIN = CURVATURE;

/** Whether weights have no more of a measure than what no choice has less of. */
export function isLeast(
  { costs }: Pick<Problem, 'costs'>,
  { weights }: { readonly weights: Float64Array },
  floor: number | undefined,
): boolean {
  return floor !== undefined && costOf(costs, weights) <= floor + HELD;
}

import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { NormRow } from '../constraints/program-row.js';
import { assembleProgram, isTracking, movedRadius, type Assembled, type Assembly } from './assemble.js';
import { isPureTracking } from '../objectives/goal.js';
import { goalValue } from './goals/goal-value.js';
import { pricesOf } from './goals/prices.js';
import { solveGoal } from './goals/solve-goal.js';
import type { Origin, PlacedRow, Problem } from './problem.js';

/** Weights that satisfy the convex rows best by the objective, with the program they solve. */
export interface ConvexSolution {
  readonly weights: Float64Array;
  /** The objective as it is made small, costs included, without the tie-breaking term and penalties. */
  readonly objective: number;
  /** The same with the price of every violated soft row: what choices of names are compared by. */
  readonly value: number;
  /** The rows, and as its programme the one whose conditions of optimality the answer meets. */
  readonly assembled: Assembled;
  /** Change of the objective per unit of the programme's. */
  readonly priceScale: number;
  /** What the prices of soft rows are multiplied by in the programme. */
  readonly penaltyScale: number;
  readonly answer: ProgramAnswer;
  readonly iterations: number;
}

export interface ConvexOptions extends Assembly {
  readonly warm?: ActiveState | undefined;
  readonly effort?: 'quick' | 'thorough';
}

/** Excess of a norm over its limit that still counts as held, relative to 1 + the limit. */
const NORM_TOLERANCE = 1e-9;

/** Halvings and secant steps in the search for the radius at which a soft norm costs what it saves. */
const RADIUS_STEPS = 60;

/**
 * Solves the convex rows of a problem: first without its norms, since most never bind, then with those that were
 * exceeded.
 * @returns undefined when no answer was found: the rows cannot hold together, or the solver failed.
 */
export function solveConvex(solver: Solver, problem: Problem, options: ConvexOptions = {}): ConvexSolution | undefined {
  const isChecked = isCheckedOnly(problem);
  const free = attempt(solver, problem, { ...options, withNorms: false });
  // Where nothing else bounds the weights, a linear objective has an answer with its norms alone.
  if (free === undefined)
    return isLinear(problem) ? attempt(solver, problem, { ...options, withNorms: true }) : undefined;
  const exceeded = exceededNorms(problem, free.weights, options);
  if (exceeded.some(isChecked)) return undefined; // The least tracking error is above its limit.
  if (exceeded.length === 0) return free;
  const hard = attempt(solver, problem, { ...options, withNorms: true, iterations: free.iterations });
  const soft = exceeded.filter(({ origin }) => origin.soft !== null);
  const solution = soft.length === 0 ? hard : widenSoft(solver, problem, options, soft, free);
  return solution === undefined || exceededNorms(problem, solution.weights, options).some(isChecked)
    ? undefined
    : solution;
}

function isLinear({ goal }: Problem): boolean {
  return goal.form === 'tail' || (goal.form === 'quadratic' && goal.curvature === 0);
}

/** Rows that are checks, not rows of the program: limits on the tracking error while nothing else is minimised. */
function isCheckedOnly({ goal, index, costs }: Problem): (placed: PlacedRow) => boolean {
  return isPureTracking(goal, index, costs) ? isTracking : () => false;
}

interface Attempt extends ConvexOptions {
  readonly withNorms: boolean;
  readonly iterations?: number;
}

function attempt(solver: Solver, problem: Problem, options: Attempt): ConvexSolution | undefined {
  const { goal, index, costs } = problem;
  const isPure = isPureTracking(goal, index, costs);
  const assembled = assembleProgram(problem, { ...options, withTracking: !isPure || options.withTracking === true });
  const rows: Program = options.withNorms ? assembled.program : { ...assembled.program, norms: [] };
  const { warm, effort } = options;
  const found = solveGoal(solver, problem, rows, { warm, effort, charge: chargeOf(problem, options.radii) });
  if (found === undefined) return undefined;
  const { program, answer, priceScale, penaltyScale } = found;
  const weights = withoutDust(answer.point.x);
  const priced = pricedViolations(problem, assembled, weights, options);
  const objective = isPure ? trackingVariance(problem, weights) : goalValue(problem, weights);
  return {
    weights,
    objective,
    value: isPure ? objective + priced : goalValue(problem, weights, priced),
    assembled: { ...assembled, program, norms: options.withNorms ? assembled.norms : [] },
    priceScale,
    penaltyScale,
    answer,
    iterations: (options.iterations ?? 0) + answer.iterations,
  };
}

/** What soft norms cost at the radii they were widened to. */
function chargeOf({ rows }: Problem, radii: ReadonlyMap<Origin, number> | undefined): number {
  if (radii === undefined) return 0;
  let total = 0;
  for (const { origin, row } of rows) {
    const radius = radii.get(origin);
    if (row.form !== 'norm' || radius === undefined) continue;
    total += (origin.soft ?? 0) * Math.abs(row.parameterOf(radius) - row.parameterOf(row.limit.value));
  }
  return total;
}

/** What the violations of soft rows cost, those of limits on the tracking error aside. */
function pricedViolations(problem: Problem, { program }: Assembled, weights: Float64Array, options: Assembly): number {
  const isChecked = isCheckedOnly(problem);
  let total = pricesOf(program, weights);
  for (const placed of normRows(problem, options)) {
    const row = placed.row as NormRow; // normRows gives no others.
    const { soft } = placed.origin;
    if (soft === null || isChecked(placed)) continue;
    const length = normOf(problem, row, weights);
    const radius = movedRadius(row, placed.origin, options.changes);
    if (length > radius) total += soft * Math.abs(row.parameterOf(length) - row.parameterOf(radius));
  }
  return total;
}

/** (w - b)' Sigma (w - b). */
export function trackingVariance({ metric, index }: Pick<Problem, 'metric' | 'index'>, weights: Float64Array): number {
  return Math.max(
    0,
    metricSquare(
      metric,
      weights.map((weight, i) => weight - index[i]!),
    ),
  );
}

/** Weights below this are none. */
const DUST = 1e-9;

/** Sets weights that are zero but for rounding to zero and scales the rest to the sum they had. */
export function withoutDust(x: Float64Array): Float64Array {
  let sum = 0;
  let rest = 0;
  for (const value of x) {
    sum += value;
    if (Math.abs(value) >= DUST) rest += value;
  }
  const scale = rest === 0 || sum === rest ? 1 : sum / rest;
  return x.map((value) => (Math.abs(value) < DUST ? 0 : value * scale));
}

function normRows(problem: Problem, { includes }: Assembly): PlacedRow[] {
  return problem.rows.filter(({ origin, row }) => row.form === 'norm' && includes?.(origin) !== false);
}

/**
 * Norms above their limits; soft limits on the tracking error change nothing and never count where that alone is
 * minimised.
 */
function exceededNorms(problem: Problem, weights: Float64Array, options: Assembly): PlacedRow[] {
  const isChecked = isCheckedOnly(problem);
  return normRows(problem, options).filter(
    (placed) => !(isChecked(placed) && placed.origin.soft !== null) && excessOf(problem, placed, weights, options) > 0,
  );
}

/** How far a norm is above its limit, zero within rounding. */
function excessOf(problem: Problem, placed: PlacedRow, weights: Float64Array, { changes }: Assembly): number {
  const row = placed.row as NormRow; // normRows gives no others.
  const radius = movedRadius(row, placed.origin, changes);
  const excess = normOf(problem, row, weights) - radius;
  return excess > NORM_TOLERANCE * (1 + radius) ? excess : 0;
}

/** Root of (w - c)' M (w - c). */
export function normOf(
  { metric }: Pick<Problem, 'metric'>,
  { centre, metric: kind }: NormRow,
  weights: Float64Array,
): number {
  const offset = centre === null ? weights : weights.map((weight, i) => weight - centre[i]!);
  if (kind === 'covariance') return Math.sqrt(Math.max(0, metricSquare(metric, offset)));
  return Math.sqrt(offset.reduce((sum, value) => sum + value * value, 0));
}

/** Widens each exceeded soft norm until a further unit would save what its violation costs. */
function widenSoft(
  solver: Solver,
  problem: Problem,
  options: ConvexOptions,
  soft: readonly PlacedRow[],
  free: ConvexSolution,
): ConvexSolution | undefined {
  const radii = new Map<Origin, number>();
  let solution: ConvexSolution | undefined = free;
  for (const placed of soft) {
    const row = placed.row as NormRow; // Exceeded norms.
    let narrow = row.limit.value;
    let wide = normOf(problem, row, free.weights);
    const at = (radius: number) =>
      attempt(solver, problem, { ...options, withNorms: true, radii: new Map([...radii, [placed.origin, radius]]) });
    const hard = at(narrow);
    if (hard !== undefined && priceOf(hard, placed, narrow) <= placed.origin.soft! * hard.penaltyScale) {
      radii.set(placed.origin, narrow);
      solution = hard;
      continue;
    }
    for (let step = 0; step < RADIUS_STEPS && wide - narrow > 1e-14 * wide; step++) {
      const middle = (narrow + wide) / 2;
      const tried = at(middle);
      if (tried !== undefined && priceOf(tried, placed, middle) <= placed.origin.soft! * tried.penaltyScale) {
        wide = middle;
        solution = tried;
      } else narrow = middle;
    }
    radii.set(placed.origin, wide);
  }
  return solution;
}

/** What a unit of the client's parameter would save at a radius, in the programme's terms. */
function priceOf({ assembled, answer }: ConvexSolution, placed: PlacedRow, radius: number): number {
  const row = placed.row as NormRow; // Norm rows only.
  const multiplier = answer.point.normMultipliers[assembled.norms.indexOf(placed)] ?? 0;
  const parameter = row.parameterOf(radius);
  const step = 1e-6 * Math.max(Math.abs(parameter), 1e-6);
  const slope = (row.radiusOf(parameter + step) - row.radiusOf(parameter - step)) / (2 * step);
  return multiplier * radius * Math.abs(slope);
}

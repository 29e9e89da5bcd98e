import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import { kinkSum, type Program } from '#kernels/optimisation/program/program.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { NormRow } from '../constraints/program-row.js';
import { assembleProgram, isTracking, movedRadius, type Assembled, type Assembly } from './assemble.js';
import type { Origin, PlacedRow, Problem } from './problem.js';

/** Weights that satisfy the convex rows nearest to the index, with the program they solve. */
export interface ConvexSolution {
  readonly weights: Float64Array;
  /** (w - b)' Sigma (w - b), without the tie-breaking term and penalties. */
  readonly objective: number;
  /** The objective with the price of every violated soft row: what choices of names are compared by. */
  readonly value: number;
  readonly assembled: Assembled;
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
 * Solves the convex rows of a problem: first without its norms, since most never bind, then with those that were exceeded.
 * @returns undefined when no answer was found: the rows cannot hold together, or the solver failed.
 */
export function solveConvex(solver: Solver, problem: Problem, options: ConvexOptions = {}): ConvexSolution | undefined {
  const free = attempt(solver, problem, { ...options, withNorms: false });
  if (free === undefined) return undefined;
  const exceeded = normRows(problem, options).filter((placed) => excessOf(problem, placed, free.weights, options) > 0);
  if (exceeded.some(isTracking)) return undefined; // The least tracking error is above its limit.
  if (exceeded.length === 0) return free;
  const hard = attempt(solver, problem, { ...options, withNorms: true, iterations: free.iterations });
  const soft = exceeded.filter(({ origin }) => origin.soft !== null);
  const solution = soft.length === 0 ? hard : widenSoft(solver, problem, options, soft, free);
  return solution === undefined || isTrackingExceeded(problem, solution.weights, options) ? undefined : solution;
}

interface Attempt extends ConvexOptions {
  readonly withNorms: boolean;
  readonly iterations?: number;
}

function attempt(solver: Solver, problem: Problem, options: Attempt): ConvexSolution | undefined {
  const assembled = assembleProgram(problem, options);
  const program: Program = options.withNorms ? assembled.program : { ...assembled.program, norms: [] };
  const answer = solver.solve(program, { warm: options.warm, effort: options.effort ?? 'thorough' });
  if (answer.status === 'failed') return undefined;
  const weights = withoutDust(answer.point.x);
  const objective = trackingVariance(problem, weights);
  return {
    weights,
    objective,
    value: objective + pricedViolations(problem, assembled, weights, options),
    assembled: options.withNorms ? assembled : { ...assembled, program, norms: [] },
    answer,
    iterations: (options.iterations ?? 0) + answer.iterations,
  };
}

/** What the violations of soft rows cost, those of limits on the tracking error aside. */
function pricedViolations(
  problem: Problem,
  { program: { n, rows, kinks } }: Assembled,
  weights: Float64Array,
  options: Assembly,
): number {
  let total = 0;
  for (let r = 0; r < rows.count; r++) {
    if (!Number.isFinite(rows.penalty[r]!)) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * weights[i]!;
    total += rows.penalty[r]! * Math.max(0, value - rows.upper[r]!, rows.lower[r]! - value);
  }
  for (const kink of kinks) {
    if (kink.limit === null) total += kinkSum(kink, weights);
    else if (Number.isFinite(kink.penalty)) total += kink.penalty * Math.max(0, kinkSum(kink, weights) - kink.limit);
  }
  for (const placed of normRows(problem, options)) {
    const row = placed.row as NormRow; // normRows gives no others.
    const { soft } = placed.origin;
    if (soft === null || isTracking(placed)) continue;
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

/** Sets weights that are nought but for rounding to nought and scales the rest to the sum they had. */
function withoutDust(x: Float64Array): Float64Array {
  let sum = 0;
  let kept = 0;
  for (const value of x) {
    sum += value;
    if (Math.abs(value) >= DUST) kept += value;
  }
  const scale = kept === 0 || sum === kept ? 1 : sum / kept;
  return x.map((value) => (Math.abs(value) < DUST ? 0 : value * scale));
}

function normRows(problem: Problem, { includes }: Assembly): PlacedRow[] {
  return problem.rows.filter(({ origin, row }) => row.form === 'norm' && includes?.(origin) !== false);
}

/** How far a norm is above its limit, nought within rounding; soft limits on the tracking error change nothing and never count. */
function excessOf(problem: Problem, placed: PlacedRow, weights: Float64Array, { changes }: Assembly): number {
  if (isTracking(placed) && placed.origin.soft !== null) return 0;
  const row = placed.row as NormRow; // normRows gives no others.
  const radius = movedRadius(row, placed.origin, changes);
  const excess = normOf(problem, row, weights) - radius;
  return excess > NORM_TOLERANCE * (1 + radius) ? excess : 0;
}

function isTrackingExceeded(problem: Problem, weights: Float64Array, options: Assembly): boolean {
  return normRows(problem, options).some(
    (placed) => isTracking(placed) && excessOf(problem, placed, weights, options) > 0,
  );
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
    if (hard !== undefined && priceOf(hard, placed, narrow) <= placed.origin.soft!) {
      radii.set(placed.origin, narrow);
      solution = hard;
      continue;
    }
    for (let step = 0; step < RADIUS_STEPS && wide - narrow > 1e-14 * wide; step++) {
      const middle = (narrow + wide) / 2;
      const tried = at(middle);
      if (tried !== undefined && priceOf(tried, placed, middle) <= placed.origin.soft!) {
        wide = middle;
        solution = tried;
      } else narrow = middle;
    }
    radii.set(placed.origin, wide);
  }
  return solution;
}

/** What a unit of the client's parameter would save at a radius. */
function priceOf({ assembled, answer }: ConvexSolution, placed: PlacedRow, radius: number): number {
  const row = placed.row as NormRow; // Norm rows only.
  const multiplier = answer.point.normMultipliers[assembled.norms.indexOf(placed)] ?? 0;
  const parameter = row.parameterOf(radius);
  const step = 1e-6 * Math.max(Math.abs(parameter), 1e-6);
  const slope = (row.radiusOf(parameter + step) - row.radiusOf(parameter - step)) / (2 * step);
  return multiplier * radius * Math.abs(slope);
}

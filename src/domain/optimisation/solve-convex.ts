import { IDLE, UPPER, type ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { metricSquare } from '#kernels/optimisation/program/metric.js';
import type { ProgramAnswer } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram, isTracking, withoutPlanes, type Assembled, type Assembly } from './assemble.js';
import { cutsAt, excessOf, isCurve, largestOf, measureOf, parameterAt, type PlacedCurve } from './curved-rows.js';
import { isPureTracking } from '../objectives/goal.js';
import { goalValue } from './goals/goal-value.js';
import { pricesOf } from './goals/prices.js';
import { solveGoal, type GoalAnswer } from './goals/solve-goal.js';
import type { TailStart } from './goals/solve-tail.js';
import { pricedTail, type ExceededTail } from './priced-tails.js';
import type { Origin, PlacedRow, Problem } from './problem.js';
import type { TailCut } from './tail-cuts.js';

/** Weights that satisfy the convex rows best by the objective, with the program they solve. */
export interface ConvexSolution {
  readonly weights: Float64Array;
  /** The objective as it is made small, costs included, without the tie-breaking term and penalties. */
  readonly objective: number;
  /** What no weights within the convex rows can better: the objective, less what the proof of a tail leaves open. */
  readonly bound: number;
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
  /** Of the average of a tail: where the search for similar weights begins. */
  readonly tail: TailStart | undefined;
  /** Planes below tails of rows that bind. */
  readonly planes: readonly TailCut[];
}

export interface ConvexOptions extends Assembly {
  readonly warm?: ActiveState | undefined;
  /** Similar weights with what they lose most in. */
  readonly tail?: TailStart | undefined;
  readonly effort?: 'quick' | 'thorough';
  /** An answer within bounds of names that differ little: where its norms bind, the search begins with them. */
  readonly beside?: Pick<ProgramAnswer, 'point' | 'state'> | undefined;
}

/** Programmes with more and more planes below tails; five to thirty are usual. */
const PLANES_MAX = 400;

/** Planes that touch a tail at single weights before others are found as well: answers of usual limits need no more. */
const TOUCHING = 30;

/** Halvings in the search for the limit at which a soft row costs what it saves. */
const LIMIT_STEPS = 60;

/**
 * Solves the convex rows of a problem: first without its curves, lengths and tails, since most never bind, then with
 * those that were exceeded.
 * @returns undefined when no answer was found: the rows cannot hold together, or the solver failed.
 */
export function solveConvex(solver: Solver, problem: Problem, options: ConvexOptions = {}): ConvexSolution | undefined {
  const isChecked = isCheckedOnly(problem);
  if (beginsBeside(problem, options)) {
    const found = attempt(solver, problem, { ...options, withCurves: true });
    return found === undefined || exceededCurves(problem, found.weights, options).length > 0 ? undefined : found;
  }
  const free = attempt(solver, problem, { ...options, withCurves: false });
  // Where nothing else bounds the weights, a linear objective has an answer with its curves alone.
  if (free === undefined)
    return isLinear(problem) ? attempt(solver, problem, { ...options, withCurves: true }) : undefined;
  const exceeded = exceededCurves(problem, free.weights, options);
  if (exceeded.some(isChecked)) return undefined; // The least tracking error is above its limit.
  if (exceeded.length === 0) return free;
  const hard = attempt(solver, problem, { ...options, withCurves: true, iterations: free.iterations });
  const soft = exceeded.filter(({ origin }) => origin.soft !== null);
  const solution = soft.length === 0 ? hard : widenSoft(solver, problem, options, soft, free);
  if (solution === undefined) return undefined;
  // Every hard curve is measured on the weights themselves, whatever rows the programme had.
  const isBroken = (placed: PlacedCurve): boolean => isChecked(placed) || placed.origin.soft === null;
  return exceededCurves(problem, solution.weights, options).some(isBroken) ? undefined : solution;
}

/** Whether every curve takes part from the start: where one bound before, and no prices of soft ones have to be searched for. */
function beginsBeside(problem: Problem, options: ConvexOptions): boolean {
  return (
    options.beside?.state.norms.includes(UPPER) === true &&
    curvesIn(problem, options).every(({ origin }) => origin.soft === null)
  );
}

/** The programme of all rows: limits on the tracking error are among them unless that alone is minimised. */
export function wholeProgram(problem: Problem, options: Assembly): Assembled {
  const { goal, index, costs } = problem;
  const isPure = isPureTracking(goal, index, costs);
  return assembleProgram(problem, { ...options, withTracking: !isPure || options.withTracking === true });
}

function isLinear({ goal }: Problem): boolean {
  return goal.form === 'tail' || (goal.form === 'quadratic' && goal.curvature === 0);
}

/** Rows that are checks, not rows of the program: limits on the tracking error while nothing else is minimised. */
function isCheckedOnly({ goal, index, costs }: Problem): (placed: PlacedRow) => boolean {
  return isPureTracking(goal, index, costs) ? isTracking : () => false;
}

interface Attempt extends ConvexOptions {
  readonly withCurves: boolean;
  readonly iterations?: number;
}

/** Solves with the planes that are known below tails, and again with those that the answer adds. */
function attempt(solver: Solver, problem: Problem, options: Attempt): ConvexSolution | undefined {
  let { warm, planes, radii } = options;
  let iterations = options.iterations ?? 0;
  for (let round = 0; round < PLANES_MAX; round++) {
    const found = solveRows(solver, problem, { ...options, planes, warm, iterations, radii });
    if (found === undefined || !options.withCurves) return found;
    const touching = cutsAt(problem, { ...options, radii }, found.weights, planes);
    if (touching.length === 0) return found;
    const cuts = [...touching];
    for (const tail of round < TOUCHING ? [] : exceededTails(problem, found.weights, options)) {
      const { planes: priced, attained, optimum } = pricedTail(solver, problem.tails, tail, found);
      const solution =
        optimum === null ? undefined : solutionAt(problem, { ...optimum, iterations: found.iterations }, options);
      if (solution !== undefined && exceededTails(problem, solution.weights, options).length === 0) return solution;
      cuts.push(...priced);
      if (attained !== null) radii = new Map([...(radii ?? []), [tail.placed.origin, attained]]);
    }
    if (planes !== undefined) planes = [...planes, ...cuts];
    warm = withIdleRows(found, found.assembled.program.rows.count + cuts.length);
    iterations = found.iterations;
  }
  return undefined;
}

/** Rows that take part whose tails are above their limits. */
function exceededTails(problem: Problem, weights: Float64Array, options: Attempt): ExceededTail[] {
  return curvesIn(problem, options).flatMap(({ origin, row }) => {
    if (row.form !== 'tail' || (origin.soft !== null && options.radii?.get(origin) === undefined)) return [];
    const placed = { origin, row };
    return excessOf(problem, placed, weights, options) > 0 ? [{ placed, most: largestOf(placed, options) }] : [];
  });
}

/** The optimum of a quadratic objective that was found with a tail as a part of it; undefined for other objectives. */
function solutionAt(
  problem: Problem,
  { assembled, answer, iterations }: Pick<ConvexSolution, 'assembled' | 'answer' | 'iterations'>,
  options: Attempt,
): ConvexSolution | undefined {
  const { goal, costs, robustness } = problem;
  if (goal.form !== 'quadratic' || (costs?.impact ?? 0) > 0 || robustness !== null) return undefined;
  const found = { program: assembled.program, answer, priceScale: 1, penaltyScale: 1 };
  return toSolution(problem, assembled, found, { ...options, iterations });
}

/** The active set of an answer for a programme with further rows at its end. */
function withIdleRows({ answer: { state } }: ConvexSolution, count: number): ActiveState {
  const rows = new Int8Array(count).fill(IDLE);
  rows.set(state.rows);
  return { ...state, rows };
}

function solveRows(solver: Solver, problem: Problem, options: Attempt): ConvexSolution | undefined {
  const whole = wholeProgram(problem, options);
  const assembled = options.withCurves ? whole : withoutCurves(whole);
  const rows = assembled.program;
  const { warm, effort, tail, beside } = options;
  const found = solveGoal(solver, problem, rows, {
    warm,
    effort,
    tail,
    beside,
    charge: chargeOf(problem, options.radii),
  });
  if (found === undefined) return undefined;
  return toSolution(problem, assembled, found, options);
}

function toSolution(
  problem: Problem,
  assembled: Assembled,
  { program, answer, priceScale, penaltyScale, open = 0, tail }: GoalAnswer,
  options: Attempt,
): ConvexSolution {
  const { goal, index, costs } = problem;
  const isPure = isPureTracking(goal, index, costs);
  const weights = withoutDust(answer.point.x);
  const priced = pricedViolations(problem, assembled, weights, options);
  const objective = isPure ? trackingVariance(problem, weights) : goalValue(problem, weights);
  return {
    weights,
    objective,
    bound: objective - open,
    value: isPure ? objective + priced : priced === 0 ? objective : goalValue(problem, weights, priced),
    assembled: { ...assembled, program },
    priceScale,
    penaltyScale,
    answer,
    iterations: (options.iterations ?? 0) + answer.iterations,
    tail,
    planes: bindingPlanes(problem, assembled, answer, options),
  };
}

/** Planes below tails that exert a force: the last rows of the programme. */
function bindingPlanes(
  { tails }: Problem,
  { planes, program }: Assembled,
  { point }: ProgramAnswer,
  options: Assembly,
): readonly TailCut[] {
  if (planes === 0) return [];
  const among = options.planes ?? tails.known;
  const prices = point.rowMultipliers.subarray(program.rows.count - planes);
  return among.length === planes ? among.filter((_, k) => prices[k] !== 0) : among;
}

function withoutCurves(assembled: Assembled): Assembled {
  const linear = withoutPlanes(assembled);
  return { ...linear, program: { ...linear.program, norms: [] }, norms: [] };
}

/** What soft curves cost at the limits they were widened to. */
function chargeOf({ rows }: Problem, radii: ReadonlyMap<Origin, number> | undefined): number {
  if (radii === undefined) return 0;
  let total = 0;
  for (const placed of rows) {
    const most = radii.get(placed.origin);
    if (most !== undefined && isCurve(placed)) total += priceBetween(placed, placed.row.limit.value, most);
  }
  return total;
}

/** What a soft curve costs at a measure above its limit. */
function priceBetween({ origin, row }: PlacedCurve, most: number, measure: number): number {
  return (origin.soft ?? 0) * Math.abs(parameterAt(row, measure) - parameterAt(row, most));
}

/** What the violations of soft rows cost, those of limits on the tracking error aside. */
function pricedViolations(problem: Problem, { program }: Assembled, weights: Float64Array, options: Assembly): number {
  const isChecked = isCheckedOnly(problem);
  let total = pricesOf(program, weights);
  for (const placed of curvesIn(problem, options)) {
    if (placed.origin.soft === null || isChecked(placed)) continue;
    const measure = measureOf(problem, placed.row, weights);
    const most = largestOf(placed, { changes: options.changes });
    if (measure > most) total += priceBetween(placed, most, measure);
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

function curvesIn(problem: Problem, { includes }: Assembly): PlacedCurve[] {
  return problem.rows.filter(isCurve).filter(({ origin }) => includes?.(origin) !== false);
}

/**
 * Curves above their limits; soft limits on the tracking error change nothing and never count where that alone is
 * minimised.
 */
function exceededCurves(problem: Problem, weights: Float64Array, { includes, changes }: ConvexOptions): PlacedCurve[] {
  const isChecked = isCheckedOnly(problem);
  return curvesIn(problem, { includes }).filter(
    (placed) =>
      !(isChecked(placed) && placed.origin.soft !== null) && excessOf(problem, placed, weights, { changes }) > 0,
  );
}

/** Widens each exceeded soft curve until a further unit would save what its violation costs. */
function widenSoft(
  solver: Solver,
  problem: Problem,
  options: ConvexOptions,
  soft: readonly PlacedCurve[],
  free: ConvexSolution,
): ConvexSolution | undefined {
  const radii = new Map<Origin, number>();
  let solution: ConvexSolution | undefined = free;
  for (const placed of soft) {
    let narrow = placed.row.limit.value;
    let wide = measureOf(problem, placed.row, free.weights);
    const at = (most: number) =>
      attempt(solver, problem, { ...options, withCurves: true, radii: new Map([...radii, [placed.origin, most]]) });
    const hard = at(narrow);
    if (hard !== undefined && priceOf(hard, placed, narrow) <= placed.origin.soft! * hard.penaltyScale) {
      radii.set(placed.origin, narrow);
      solution = hard;
      continue;
    }
    for (let step = 0; step < LIMIT_STEPS && wide - narrow > 1e-14 * wide; step++) {
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

/** What a unit of the client's parameter would save at a limit, in the programme's terms. */
function priceOf({ assembled, answer }: ConvexSolution, { origin, row }: PlacedCurve, most: number): number {
  if (row.form === 'tail')
    return assembled.linear.reduce(
      (sum, own, r) => (own?.origin === origin ? sum + answer.point.rowMultipliers[r]! : sum),
      0,
    );
  const own = assembled.norms.findIndex((norm) => norm.row === row);
  const multiplier = answer.point.normMultipliers[own] ?? 0;
  const parameter = row.parameterOf(most);
  const step = 1e-6 * Math.max(Math.abs(parameter), 1e-6);
  const slope = (row.radiusOf(parameter + step) - row.radiusOf(parameter - step)) / (2 * step);
  return multiplier * most * Math.abs(slope);
}

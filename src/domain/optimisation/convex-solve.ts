import { type ActiveState, IDLE, UPPER } from '#kernels/optimisation/program/active-state.js';
import type { ProgramResult } from '#kernels/optimisation/program/optimality.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { isPureTracking } from '../definition/objectives.js';
import type { TailGoal } from '../definition/tail-risk.js';
import {
  type AssembledProgram,
  assembleProgram,
  type Assembly,
  computeCurveCharge,
  computeExcess,
  computePricedViolations,
  createTangentPlanes,
  type CurvedLimit,
  findLargestMeasure,
  isCheckedOnly,
  isCurve,
  listCurves,
  measureRow,
  removePlanes,
  type Restriction,
} from './assembly.js';
import { computeGoalValue, type GoalSolution, solveGoal } from './goals.js';
import { type ExceededTail, hasPriceSearch, solvePricedTail, type TailStart } from './tail-averages.js';
import { computeTrackingVariance, type Origin, type Problem, type RowWithOrigin, type TailCut } from './problem.js';

/** Magnitude below which a weight counts as zero. */
const ROUNDING_WEIGHT = 1e-9;

/** Sets weights that are zero up to rounding to zero, and rescales the other weights to the original sum. */
export function clearRoundingWeights(x: Float64Array): Float64Array {
  let sum = 0;
  let remainder = 0;
  for (const value of x) {
    sum += value;
    if (Math.abs(value) >= ROUNDING_WEIGHT) remainder += value;
  }
  const scale = remainder === 0 || sum === remainder ? 1 : sum / remainder;
  return x.map((value) => (Math.abs(value) < ROUNDING_WEIGHT ? 0 : value * scale));
}

/** Optimal weights within the convex rows, with the program. */
export interface ConvexSolution {
  readonly weights: Float64Array;
  /** Minimised objective, including costs, without the tie-breaking term and penalties. */
  readonly objective: number;
  /** Lower bound of the objective within the convex rows. It is the objective less the optimality gap of a tail. */
  readonly bound: number;
  /** Objective plus the penalties of violated soft rows. Choices of securities are compared by this value. */
  readonly value: number;
  readonly assembled: AssembledProgram;
  /** Change of the objective per unit of the program's objective. */
  readonly priceScale: number;
  /** Factor on the penalties of soft rows in the program. */
  readonly penaltyScale: number;
  readonly answer: ProgramResult;
  readonly iterations: number;
  /** Start for a search from similar weights; only if the goal is a tail average. */
  readonly tail: TailStart | undefined;
  /** Binding cutting planes of tail rows. */
  readonly planes: readonly TailCut[];
}

export interface ConvexOptions extends Assembly {
  readonly warm?: ActiveState | undefined;
  /** Similar weights with their worst scenarios, from which the search starts. */
  readonly tail?: TailStart | undefined;
  readonly effort?: 'quick' | 'thorough';
  /** Solution with slightly different bounds. If its norm rows bind, the search starts with all curved rows. */
  readonly beside?: Pick<ProgramResult, 'point' | 'state'> | undefined;
}

/** Maximum number of programs with added cutting planes for tails; five to thirty are usual. */
const PLANES_MAX = 400;

/** Number of bisection steps in the search for the limit at which the penalty of a soft row equals the saving. */
const BISECTION_STEPS = 60;

/**
 * Solves the convex rows of a problem. First omits curved rows (norms and tails), because most never bind. Then solves
 * with the violated ones.
 * @returns undefined if no solution was found: the rows are infeasible, or the solver failed.
 */
export function solveConvex(solver: Solver, problem: Problem, options: ConvexOptions = {}): ConvexSolution | undefined {
  const isChecked = isCheckedOnly(problem);
  if (startsWithCurves(problem, options)) {
    const result = solveWithPlanes(solver, problem, { ...options, withCurves: true });
    return result === undefined || listExceededCurves(problem, result.weights, options).length > 0 ? undefined : result;
  }
  const freeSolution = solveWithPlanes(solver, problem, { ...options, withCurves: false });
  // If nothing but curved rows bounds a linear objective, it has a solution only with these rows.
  if (freeSolution === undefined)
    return isLinear(problem) ? solveWithPlanes(solver, problem, { ...options, withCurves: true }) : undefined;
  const exceededCurves = listExceededCurves(problem, freeSolution.weights, options);
  if (exceededCurves.some(isChecked)) return undefined; // the least possible tracking error is above its limit
  if (exceededCurves.length === 0) return freeSolution;
  const hardSolution = solveWithPlanes(solver, problem, {
    ...options,
    withCurves: true,
    iterations: freeSolution.iterations,
  });
  const softCurves = exceededCurves.filter(({ origin }) => origin.soft !== null);
  const solution =
    softCurves.length === 0 ? hardSolution : widenSoft(solver, problem, options, softCurves, freeSolution);
  if (solution === undefined) return undefined;
  // Every curved row without a penalty is measured at the final weights, whether or not the program contained it.
  const isViolated = (curvedLimit: CurvedLimit): boolean => isChecked(curvedLimit) || curvedLimit.origin.soft === null;
  return listExceededCurves(problem, solution.weights, options).some(isViolated) ? undefined : solution;
}

/**
 * Returns true if the solve starts with every curved row. This is the case if one was binding before and no prices of
 * soft rows must be found.
 */
function startsWithCurves(problem: Problem, options: ConvexOptions): boolean {
  return (
    options.beside?.state.norms.includes(UPPER) === true &&
    listCurves(problem, options).every(({ origin }) => origin.soft === null)
  );
}

/**
 * Returns the program with all rows. Limits on the tracking error are omitted if the tracking error is the only
 * objective.
 */
export function createFullProgram(problem: Problem, options: Assembly): AssembledProgram {
  const { goal, index, costs } = problem;
  const isPure = isPureTracking(goal, index, costs);
  return assembleProgram(problem, { ...options, withTracking: !isPure || options.withTracking === true });
}

function isLinear({ goal }: Problem): boolean {
  return goal.form === 'tail' || (goal.form === 'quadratic' && goal.curvature === 0);
}

interface SolveAttempt extends ConvexOptions {
  readonly withCurves: boolean;
  readonly iterations?: number;
}

/** Solves with the known cutting planes of tails, and repeats with the planes that each solution adds. */
function solveWithPlanes(solver: Solver, problem: Problem, options: SolveAttempt): ConvexSolution | undefined {
  let { warm, planes, radii } = options;
  let iterations = options.iterations ?? 0;
  for (let round = 0; round < PLANES_MAX; round++) {
    const result = solveRows(solver, problem, { ...options, planes, warm, iterations, radii });
    if (result === undefined && round === 0 && isBlockedByTails(problem, options))
      return solveWithPlanes(solver, problem, { ...options, planes: [] });
    if (result === undefined || !options.withCurves) return result;
    const tangentPlanes = createTangentPlanes(problem, { ...options, radii }, result.weights, planes);
    if (tangentPlanes.length === 0) return result;
    const cuts = [...tangentPlanes];
    for (const tail of hasPriceSearch(isLinear(problem), round)
      ? listExceededTails(problem, result.weights, options)
      : []) {
      const { planes: priced, attained, optimum } = solvePricedTail(solver, problem.tails, tail, result);
      const solution =
        optimum === null
          ? undefined
          : toPricedSolution(problem, { ...optimum, iterations: result.iterations }, options);
      if (solution !== undefined && listExceededTails(problem, solution.weights, options).length === 0) return solution;
      cuts.push(...priced);
      if (attained !== null) radii = new Map([...(radii ?? []), [tail.placed.origin, attained]]);
    }
    if (planes !== undefined) planes = [...planes, ...cuts];
    warm = addIdleRows(result, result.assembled.program.rows.count + cuts.length);
    iterations = result.iterations;
  }
  return undefined;
}

/**
 * Returns true if the cutting planes of earlier solves may be the reason for a failed program. A linear objective has
 * its optimum at a corner where many planes meet.
 */
function isBlockedByTails(problem: Problem, { withCurves, planes }: SolveAttempt): boolean {
  return withCurves && planes === undefined && problem.tails.known.length > 0 && isLinear(problem);
}

/** Type guard that keeps the identity of the row object, because multipliers are assigned to rows by identity. */
const isTailRow = (rowWithOrigin: RowWithOrigin): rowWithOrigin is ExceededTail['placed'] =>
  rowWithOrigin.row.form === 'tail';

/** Returns the tail rows of the program whose limits are exceeded. */
function listExceededTails(problem: Problem, weights: Float64Array, options: SolveAttempt): ExceededTail[] {
  return listCurves(problem, options).flatMap((curvedLimit) => {
    const { origin } = curvedLimit;
    if (!isTailRow(curvedLimit) || (origin.soft !== null && options.radii?.get(origin) === undefined)) return [];
    return computeExcess(problem, curvedLimit, weights, options) > 0
      ? [{ placed: curvedLimit, most: findLargestMeasure(curvedLimit, options) }]
      : [];
  });
}

/**
 * Converts an optimum with a priced tail to a solution. Returns undefined if the objective is not a plain quadratic.
 */
function toPricedSolution(
  problem: Problem,
  { assembled, answer, iterations }: Pick<ConvexSolution, 'assembled' | 'answer' | 'iterations'>,
  options: SolveAttempt,
): ConvexSolution | undefined {
  const { goal, costs, robustness } = problem;
  if (goal.form !== 'quadratic' || (costs?.impact ?? 0) > 0 || robustness !== null) return undefined;
  const result = { program: assembled.program, answer, priceScale: 1, penaltyScale: 1 };
  return toSolution(problem, assembled, result, { ...options, iterations });
}

/** Extends the active set of a solution to a program with additional rows at its end. */
function addIdleRows({ answer: { state } }: ConvexSolution, count: number): ActiveState {
  const rows = new Int8Array(count).fill(IDLE);
  rows.set(state.rows);
  return { ...state, rows };
}

function solveRows(solver: Solver, problem: Problem, options: SolveAttempt): ConvexSolution | undefined {
  const assembledProgram = createFullProgram(problem, options);
  const usedProgram = options.withCurves ? assembledProgram : removeCurvedRows(assembledProgram);
  const rows = usedProgram.program;
  const { warm, effort, tail, beside } = options;
  const result = solveGoal(solver, problem, rows, {
    warm,
    effort,
    tail,
    beside,
    charge: computeCurveCharge(problem, options.radii),
  });
  if (result === undefined) return undefined;
  return toSolution(problem, usedProgram, result, options);
}

function toSolution(
  problem: Problem,
  assembled: AssembledProgram,
  { program, answer, priceScale, penaltyScale, open = 0, tail }: GoalSolution,
  options: SolveAttempt,
): ConvexSolution {
  const { goal, index, costs } = problem;
  const isPure = isPureTracking(goal, index, costs);
  const weights = clearRoundingWeights(answer.point.x);
  const pricedViolations = computePricedViolations(problem, assembled, weights, options);
  const objective = isPure ? computeTrackingVariance(problem, weights) : computeGoalValue(problem, weights);
  return {
    weights,
    objective,
    bound: objective - open,
    value: isPure
      ? objective + pricedViolations
      : pricedViolations === 0
        ? objective
        : computeGoalValue(problem, weights, pricedViolations),
    assembled: { ...assembled, program },
    priceScale,
    penaltyScale,
    answer,
    iterations: (options.iterations ?? 0) + answer.iterations,
    tail,
    planes: selectBindingPlanes(problem, assembled, answer, options),
  };
}

/**
 * Returns the cutting planes with a nonzero multiplier. The planes are the last rows of the program. Returns all known
 * planes if their number differs from that of these rows.
 */
function selectBindingPlanes(
  { tails }: Problem,
  { planes, program }: AssembledProgram,
  { point }: ProgramResult,
  options: Assembly,
): readonly TailCut[] {
  if (planes === 0) return [];
  const knownPlanes = options.planes ?? tails.known;
  const prices = point.rowMultipliers.subarray(program.rows.count - planes);
  return knownPlanes.length === planes ? knownPlanes.filter((_, k) => prices[k] !== 0) : knownPlanes;
}

function removeCurvedRows(assembled: AssembledProgram): AssembledProgram {
  const linear = removePlanes(assembled);
  return { ...linear, program: { ...linear.program, norms: [] }, norms: [] };
}

/**
 * Returns the curved rows whose limits are exceeded. Soft limits on the tracking error are omitted if the tracking
 * error is the only objective.
 */
function listExceededCurves(
  problem: Problem,
  weights: Float64Array,
  { includes, changes }: ConvexOptions,
): CurvedLimit[] {
  const isChecked = isCheckedOnly(problem);
  return listCurves(problem, { includes }).filter(
    (curvedLimit) =>
      !(isChecked(curvedLimit) && curvedLimit.origin.soft !== null) &&
      computeExcess(problem, curvedLimit, weights, { changes }) > 0,
  );
}

/** Widens each exceeded soft curved row. It ends where a further unit saves as much as the penalty of its violation. */
function widenSoft(
  solver: Solver,
  problem: Problem,
  options: ConvexOptions,
  soft: readonly CurvedLimit[],
  free: ConvexSolution,
): ConvexSolution | undefined {
  const radii = new Map<Origin, number>();
  let solution: ConvexSolution | undefined = free;
  for (const curvedLimit of soft) {
    let narrowLimit = curvedLimit.row.limit.value;
    let wideLimit = measureRow(problem, curvedLimit.row, free.weights);
    const solveAtLimit = (most: number) =>
      solveWithPlanes(solver, problem, {
        ...options,
        withCurves: true,
        radii: new Map([...radii, [curvedLimit.origin, most]]),
      });
    const hardSolution = solveAtLimit(narrowLimit);
    if (
      hardSolution !== undefined &&
      computeSaving(hardSolution, curvedLimit, narrowLimit) <= curvedLimit.origin.soft! * hardSolution.penaltyScale
    ) {
      radii.set(curvedLimit.origin, narrowLimit);
      solution = hardSolution;
      continue;
    }
    for (let step = 0; step < BISECTION_STEPS && wideLimit - narrowLimit > 1e-14 * wideLimit; step++) {
      const middle = (narrowLimit + wideLimit) / 2;
      const trialSolution = solveAtLimit(middle);
      if (
        trialSolution !== undefined &&
        computeSaving(trialSolution, curvedLimit, middle) <= curvedLimit.origin.soft! * trialSolution.penaltyScale
      ) {
        wideLimit = middle;
        solution = trialSolution;
      } else narrowLimit = middle;
    }
    radii.set(curvedLimit.origin, wideLimit);
  }
  return solution;
}

/** Returns the saving per unit of the request parameter at a limit, in units of the program's objective. */
function computeSaving({ assembled, answer }: ConvexSolution, { origin, row }: CurvedLimit, most: number): number {
  if (row.form === 'tail')
    return assembled.linear.reduce(
      (sum, ownRowWithOrigin, r) => (ownRowWithOrigin?.origin === origin ? sum + answer.point.rowMultipliers[r]! : sum),
      0,
    );
  const normIndex = assembled.norms.findIndex((norm) => norm.row === row);
  const multiplier = answer.point.normMultipliers[normIndex] ?? 0;
  const parameter = row.parameterOf(most);
  const step = 1e-6 * Math.max(Math.abs(parameter), 1e-6);
  const slope = (row.radiusOf(parameter + step) - row.radiusOf(parameter - step)) / (2 * step);
  return multiplier * most * Math.abs(slope);
}

type RowSelection = Pick<Assembly, 'includes' | 'changes' | 'views'>;

/** Result of a feasibility check of tail limits. */
export interface TailLimitState {
  /** Weights that satisfy the tail limits and all other rows. Undefined if none were found. */
  readonly weights: Float64Array | undefined;
  /**
   * True if further cutting planes may change the result. This is so for several tails, whose planes may intersect
   * anywhere.
   */
  readonly isOpen: boolean;
}

/**
 * Minimises each tail within the other rows without a penalty, until all tail limits hold at a minimum. If a minimum
 * exceeds its limit, adds the cutting plane that proves the minimum. One program with this plane then proves that the
 * limit is infeasible, whereas tangent planes approach the proof only slowly.
 */
export function checkTailLimits(solver: Solver, problem: Problem, rows: RowSelection): TailLimitState {
  const curvedLimits = problem.rows
    .filter(isCurve)
    .filter(({ row, origin }) => row.form === 'tail' && origin.soft === null && rows.includes?.(origin) !== false);
  const goals = [...new Set(curvedLimits.flatMap(({ row }) => (row.form === 'tail' ? [row.goal] : [])))];
  const { program } = assembleProgram(problem, { ...rows, withTracking: true });
  if (acceptsZeroWeights(program)) return { weights: new Float64Array(program.n), isOpen: false };
  const boundsRestriction = addBounds(program);
  for (const beside of goals.length > 1 ? (['none', 'others'] as const) : (['none'] as const)) {
    for (const goal of goals) {
      const least = minimiseTail(solver, problem, goal, { ...rows, beside, restriction: boundsRestriction });
      if (least === undefined) continue;
      const { weights, assembled } = least;
      const exceededLimits = curvedLimits.filter(
        (curvedLimit) => computeExcess(problem, curvedLimit, weights, rows) > 0,
      );
      if (exceededLimits.length === 0) return { weights, isOpen: false };
      problem.tails.hold({ goal, slopes: assembled.program.linear });
      if (exceededLimits.some(({ row }) => row.form === 'tail' && row.goal === goal))
        return { weights: undefined, isOpen: false };
    }
  }
  return { weights: undefined, isOpen: boundsRestriction === undefined };
}

interface TailMinimisation extends RowSelection {
  /** Limits on other tails that the program includes. */
  readonly beside: 'none' | 'others';
  readonly restriction?: Restriction | undefined;
}

/**
 * Minimises a tail within the rows of other forms that have no penalty, and optionally within limits on other tails.
 */
export function minimiseTail(
  solver: Solver,
  problem: Problem,
  goal: TailGoal,
  { includes, changes, views, beside, restriction }: TailMinimisation,
): ConvexSolution | undefined {
  const rows = problem.rows.filter(
    ({ origin, row }) =>
      origin.soft === null &&
      includes?.(origin) !== false &&
      (row.form !== 'tail' || (beside === 'others' && row.goal !== goal)),
  );
  const problemWithoutCosts = { ...problem, goal, rows, costs: null, robustness: null };
  const isOpen = restriction !== undefined && goal.measure === 'loss' && goal.scenarios <= ALL_SCENARIOS_MAX;
  const all = { scenarios: Int32Array.from({ length: goal.scenarios }, (_, t) => t), peaks: new Int32Array(0) };
  const tail = isOpen ? { weights: problem.index, set: all } : undefined;
  return solveConvex(solver, problemWithoutCosts, { changes, views, restriction, tail });
}

/**
 * Maximum number of scenarios that are all used at once if weights are unbounded. Unbounded weights that suit some
 * scenarios lose in all others.
 */
const ALL_SCENARIOS_MAX = 2000;

/** Maximum absolute weight of a security without a lower bound. It is used in a search for any feasible weights. */
const WEIGHT_MAX = 10;

/**
 * Returns bounds for securities without a lower bound. With unlimited leverage, a tail has no minimum. Returns
 * undefined if there are no such securities.
 */
function addBounds({ lower }: Program): Restriction | undefined {
  if (!lower.includes(-Infinity)) return undefined;
  return {
    least: lower.map((bound) => (bound === -Infinity ? -WEIGHT_MAX : -Infinity)),
    most: lower.map((bound) => (bound === -Infinity ? WEIGHT_MAX : Infinity)),
    sums: [],
  };
}

/** Returns true if zero weights satisfy the rows. Their tail is zero, and cutting planes of tails pass through zero. */
function acceptsZeroWeights({ lower, upper, rows, kinks, norms }: Program): boolean {
  return (
    kinks.length === 0 &&
    norms.length === 0 &&
    lower.every((bound) => bound <= 0) &&
    upper.every((bound) => bound >= 0) &&
    rows.lower.every((bound, r) => bound <= 0 || Number.isFinite(rows.penalty[r]!)) &&
    rows.upper.every((bound, r) => bound >= 0 || Number.isFinite(rows.penalty[r]!))
  );
}

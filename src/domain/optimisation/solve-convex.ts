import { IDLE, UPPER, type ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import type { ProgramResult } from '#kernels/optimisation/program-answer.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { assembleProgram, removePlanes, type AssembledProgram, type Assembly } from './assemble.js';
import { createTangentPlanes, computeExcess, findLargestMeasure, measureRow, type CurvedLimit } from './curved-rows.js';
import { isPureTracking } from '../objectives/goal.js';
import { computeGoalValue } from './goals/goal-value.js';
import type { GoalSolution } from './goals/goal-answer.js';
import { solveGoal } from './goals/solve-goal.js';
import { computeCurveCharge, computePricedViolations, isCheckedOnly, listCurves } from './soft-curves.js';
import { computeTrackingVariance } from './tracking-variance.js';
import type { TailStart } from './goals/solve-tail.js';
import { hasPriceSearch, solvePricedTail, type ExceededTail } from './tails/priced-tail.js';
import type { Origin, RowWithOrigin, Problem } from './problem.js';
import type { TailCut } from './tails/tail-cuts.js';
import { clearRoundingWeights } from './rounding-weights.js';

/** Optimal weights within the convex rows, with the program. */
export interface ConvexSolution {
  readonly weights: Float64Array;
  /** Minimised objective, including costs, without the tie-breaking term and penalties. */
  readonly objective: number;
  /** Lower bound of the objective within the convex rows. It is the objective less the optimality gap of a tail. */
  readonly bound: number;
  /** Objective plus the penalties of violated soft rows. Choices of securities are compared by this value. */
  readonly value: number;
  /** Program whose optimality conditions the solution satisfies, with its rows. */
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

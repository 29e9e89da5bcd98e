import { type ActiveSetOptions, listStartingStates, runActiveSet } from './active-set/active-set.js';
import type { Curvatures } from './active-set/equality-problem.js';
import type { DenseAlgebra } from './factors/algebra.js';
import { createCurvature } from './factors/curvature.js';
import { runInteriorPoint } from './interior-point/interior-point.js';
import { type InteriorRun, isFolded } from './interior-point/work.js';
import { createPathFactors, type PathFactors } from './path/factor.js';
import { followPath, isSteep, type PathLimits, type PathStart, startEmpty } from './path/follow-path.js';
import { createElasticProgram, equilibrate, isProgramRuledOut, removeFixedVariables } from './presolve.js';
import {
  type ActiveState,
  copyIterate,
  copyState,
  createColdState,
  createIterate,
  type Iterate,
  matchesProgram,
  UPPER,
} from './program/active-state.js';
import {
  checkKkt,
  isOptimal,
  type KktReport,
  measurePrimalViolation,
  type ProgramResult,
} from './program/optimality.js';
import { assertProgram, isIndifferent, type Point, type Program } from './program/program.js';
import { solveCorner } from './simplex.js';
import { solveWithNorms } from './solve-norms.js';

/** Maximum numbers of active-set iterations of three successive polishes. One to three iterations are usual. */
const POLISH_ITERATIONS = [40, 1, 0];

/** Solution to polish, with the number of iterations spent so far. */
export interface UnpolishedSolution {
  readonly state: ActiveState;
  readonly iterate: Iterate;
  readonly spent: number;
}

/** Routes reported for a polished solution and for an unchanged one. */
export type Routes = readonly [ProgramResult['route'], ProgramResult['route']];
const ROUTES_INSIDE: Routes = ['interior-point', 'interior-point-unpolished'];
const ROUTES_CORNER: Routes = ['simplex', 'simplex'];

/**
 * Polishes a solution, first with an active set that may change, then with a fixed one, then leaves it unchanged.
 * Returns the first optimal solution, otherwise the solution nearest to an optimum.
 */
function polish(
  program: Program,
  curvatures: Curvatures,
  { state, iterate, spent }: UnpolishedSolution,
  [after, without]: Routes,
): ProgramResult {
  let bestResult: ProgramResult | undefined;
  for (const iterationsMax of POLISH_ITERATIONS) {
    const point = copyIterate(iterate);
    const activeState = copyState(state);
    const steps =
      iterationsMax === 0
        ? 0
        : runActiveSet(program, curvatures, activeState, point, { iterationsMax, nearby: true }).iterations;
    const result = createSolution(program, activeState, point, spent + steps, iterationsMax === 0 ? without : after);
    if (result.status === 'solved') return result;
    if (bestResult === undefined || findLargestResidual(result.kkt) < findLargestResidual(bestResult.kkt))
      bestResult = result;
  }
  return bestResult!;
}

/** Returns the solution nearer to an optimum. */
function selectBetter(programResult: ProgramResult, otherProgramResult: ProgramResult): ProgramResult {
  return findLargestResidual(programResult.kkt) < findLargestResidual(otherProgramResult.kkt)
    ? programResult
    : otherProgramResult;
}

const findLargestResidual = ({ primal, stationarity, multipliers }: KktReport) =>
  Math.max(primal, stationarity, multipliers);

/** Checks a point against the optimality conditions and returns it as an answer. @cost n^2 + m n */
function createSolution(
  program: Program,
  state: ActiveState,
  point: Point,
  iterations: number,
  route: ProgramResult['route'],
): ProgramResult {
  const kkt = checkKkt(program, point);
  return { status: isOptimal(kkt) ? 'solved' : 'failed', point, state, kkt, iterations, route };
}

interface InsideOptions {
  readonly before: number;
  readonly run: InteriorRun;
  /** Program that replaces the original one in the interior-point method. */
  readonly elastic?: Program;
}

/**
 * Solves a program by the interior-point method and polishes the result.
 *
 * @cost  10 to 20 factorisations of all variables, and one to three of the free variables.
 */
function solveInside(
  program: Program,
  curvatures: Curvatures,
  { before, run, elastic = program }: InsideOptions,
): { answer: ProgramResult; isConverged: boolean } {
  const inner = createIterate(program);
  const state = createColdState(program);
  const outcome = runInteriorPoint(elastic, curvatures[0], state, inner, run);
  const isConverged = outcome.status === 'optimal';
  if (isIndifferent(program)) {
    const startSolution = createSolution(
      program,
      createColdState(program),
      { ...createIterate(program), x: inner.x },
      before + outcome.iterations,
      'interior-point-unpolished',
    );
    if (startSolution.status === 'solved') return { answer: startSolution, isConverged };
  }
  const spent = before + outcome.iterations;
  const result = polish(program, curvatures, { state, iterate: inner, spent }, ROUTES_INSIDE);
  return { answer: result, isConverged };
}

/**
 * Solves a program from inside the bounds around the centre. Continues to the last digits if the optimum is within
 * tolerance but not exact.
 */
function startFromCentre(program: Program, curvatures: Curvatures, before: number): ProgramResult {
  const { answer, isConverged } = solveInside(program, curvatures, { before, run: 'near' });
  // The optimum is within the tolerance of the run but not exact: the remaining forces are small.
  if (!isConverged || answer.status !== 'failed') return answer;
  return selectBetter(solveInside(program, curvatures, { before: answer.iterations, run: 'deep' }).answer, answer);
}

/** Solves a program from a distant start in scaled units; undefined if a norm requires the original units. */
function solveScaled(program: Program, curvatures: Curvatures, before: number): ProgramResult | undefined {
  const scaledForm = equilibrate(program);
  if (scaledForm === null) return undefined;
  const { state, point, iterations, route } = solveInside(scaledForm.program, curvatures, {
    before,
    run: 'far',
  }).answer;
  return createSolution(program, state, scaledForm.toOriginal(point), iterations, route);
}

/** Minimum fraction of variables without variance in a flat program. */
const FLAT_SHARE = 0.5;

/**
 * Returns true if most variables have no curvature, and the program has no kinks, norms or rows with a penalty. Block
 * pivoting then has no factor, and the centre is unrelated to the optimum.
 */
function isFlat({ n, metric, curvature, ridge, rows, kinks, norms }: Program): boolean {
  if (metric?.form !== 'dense' || !(curvature > 0) || ridge > 0 || kinks.length > 0 || norms.length > 0) return false;
  if (rows.penalty.some((penalty) => Number.isFinite(penalty))) return false;
  let flatCount = 0;
  for (let i = 0; i < n; i++) if (metric.matrix[i * n + i] === 0) flatCount++;
  return flatCount > FLAT_SHARE * n;
}

/** Solver with reusable arrays, for callers that solve a sequence of programs. */
export interface Solver {
  solve(program: Program, options?: SolveOptions): ProgramResult;
  /**
   * Returns a point near the optimum, [n], at half the cost, for callers that need only the binding rows.
   * @cost 5 to 10 factorisations over all variables
   */
  nearly(program: Program): Float64Array;
}

export interface SolveOptions {
  /**
   * Active set of a similar program, used as the start instead of all variables free. Ignored if its dimensions differ.
   */
  readonly warm?: ActiveState | undefined;
  /**
   * Optimum of a program that differs only in its objective and the bounds of rows. The solver follows the path from
   * this optimum before it tries other methods.
   */
  readonly follow?: PathStart | undefined;
  /**
   * Maximum number of block pivoting iterations from the state of `follow` before the path is followed. If many
   * variables change states at once, block pivoting needs fewer factorisations than the path has events. Default: none.
   */
  readonly pivots?: number | undefined;
  /**
   * Optimum of a program that differs in the bounds of few variables. If its norms bind, block pivoting starts there.
   * Ignored if its dimensions differ.
   */
  readonly beside?: Pick<PathStart, 'point' | 'state'> | undefined;
  /** `thorough` rescales the variables and tries again if the first attempts fail; `quick` gives up. */
  readonly effort?: 'quick' | 'thorough';
}

/** Maximum number of block pivoting iterations; three to six are usual, about a dozen with a binding limit on kinks. */
const ACTIVE_SET_ITERATIONS = 40;

/** Violation at which the centre still counts as feasible: the rounding error of its sums. */
const CENTRE_TOLERANCE = 1e-14;

export function createSolver(algebra: DenseAlgebra): Solver {
  const curvatures = [createCurvature(algebra), createCurvature(algebra)] as const;
  const tools: SolverTools = { curvatures, factors: createPathFactors(algebra) };
  return {
    solve: (program, options = {}) => solveProgram(program, tools, options),
    nearly(program) {
      assertProgram(program);
      const iterate = createIterate(program);
      runInteriorPoint(program, curvatures[0], createColdState(program), iterate, 'rough');
      return iterate.x;
    },
  };
}

/** Factors and workspace of a solver. */
interface SolverTools {
  readonly curvatures: Curvatures;
  readonly factors: PathFactors;
}

/**
 * Solves a program by active-set methods. If they fail, uses the interior-point method and a polish. A solution is
 * accepted only if it satisfies the optimality conditions.
 * @cost    3 to 12 factorisations of the free variables by active-set methods; 10 to 20 of all variables if the
 *          interior-point method is needed.
 * @source  Kunisch & Rendl (2003), SIAM J. Optimization 14(1); Mehrotra (1992), SIAM J. Optimization 2(4).
 */
function solveProgram(program: Program, tools: SolverTools, options: SolveOptions): ProgramResult {
  assertProgram(program);
  const centreResult = solveAtCentre(program);
  if (centreResult !== undefined) return centreResult;
  if (isProgramRuledOut(program)) return createInfeasibleSolution(program);
  const pivotResult = solveByPivots(program, tools, options);
  if (pivotResult !== undefined) return pivotResult;
  const pathResult = options.follow === undefined ? undefined : solveByPath(program, tools, options.follow);
  if (pathResult !== undefined) return pathResult;
  const normResult =
    program.norms.length === 0
      ? undefined
      : (solveFromNearby(program, tools, options) ?? solveByPrices(program, tools, options));
  if (normResult !== undefined) return normResult;
  const reducedProgram = removeFixedVariables(program);
  const fittingState = options.warm !== undefined && matchesProgram(options.warm, program) ? options.warm : undefined;
  if (reducedProgram === null) return solveFree(program, tools, { ...options, warm: fittingState });
  const warm = fittingState === undefined ? undefined : reducedProgram.stateToReduced(fittingState);
  const result = solveFree(reducedProgram.program, tools, { ...options, warm });
  return { ...result, point: reducedProgram.toFull(result.point), state: reducedProgram.stateToFull(result.state) };
}

/** Returns the answer for an infeasible program, with a point within its bounds. */
function createInfeasibleSolution(program: Program): ProgramResult {
  const { lower, upper, centre } = program;
  const iterate = createIterate(program);
  for (let i = 0; i < program.n; i++) iterate.x[i] = Math.min(Math.max(centre[i]!, lower[i]!), upper[i]!);
  return { ...createSolution(program, createColdState(program), iterate, 0, 'centre'), status: 'infeasible' };
}

/** Finds the optimum by a few block pivoting iterations from the optimum of `follow`; undefined without convergence. */
function solveByPivots(
  program: Program,
  { curvatures }: SolverTools,
  { follow, pivots: iterationsMax = 0 }: SolveOptions,
): ProgramResult | undefined {
  const isSmooth = program.curvature > 0 || program.ridge > 0;
  if (iterationsMax === 0 || follow === undefined || !isSmooth || program.norms.length > 0) return undefined;
  if (!matchesProgram(follow.state, program)) return undefined;
  return solveFromState(program, curvatures, follow, { iterationsMax, nearby: follow.state.kinks.includes(UPPER) });
}

/** Finds the optimum by block pivoting from another optimum; undefined without convergence. */
function solveFromState(
  program: Program,
  curvatures: Curvatures,
  from: Pick<PathStart, 'point' | 'state'>,
  options: ActiveSetOptions,
): ProgramResult | undefined {
  const [state, iterate] = [copyState(from.state), copyIterate(from.point)];
  const { iterations, status } = runActiveSet(program, curvatures, state, iterate, options);
  const result = status === 'solved' ? createSolution(program, state, iterate, iterations, 'active-set') : undefined;
  return result?.status === 'solved' ? result : undefined;
}

/**
 * Finds the optimum at the end of the path from another optimum, and polishes it; undefined if the path cannot be
 * followed.
 */
function solveByPath(
  program: Program,
  { curvatures, factors }: SolverTools,
  start: PathStart,
  limits?: PathLimits,
): ProgramResult | undefined {
  const end = followPath(program, start, factors, limits) ?? followPath(separateRows(program), start, factors, limits);
  if (end === undefined) return undefined;
  const { iterations } = runActiveSet(program, curvatures, end.state, end.iterate, {
    iterationsMax: ACTIVE_SET_ITERATIONS,
    nearby: true,
  });
  const result = createSolution(program, end.state, end.iterate, end.events + iterations, 'active-set');
  return result.status === 'solved' ? result : undefined;
}

/**
 * Minimum perturbation of the bounds of rows, relative to 1 + |bound|; some rows have up to twice this perturbation.
 * The polish removes it.
 */
const PERTURBATION_MAX = 1e-9;

/** Golden ratio, whose multiples have evenly spread fractional parts. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/**
 * Returns a program with perturbed rows, which become active one at a time. Without perturbation, a path stalls if many
 * rows become active at one point.
 */
function separateRows(program: Program): Program {
  const { rows } = program;
  const moveBound = (r: number, bound: number): number =>
    PERTURBATION_MAX * (1 + Math.abs(bound)) * (1 + ((r * GOLDEN_RATIO) % 1));
  const isFixed = (r: number): boolean => rows.lower[r] === rows.upper[r];
  const lower = rows.lower.map((bound, r) => (isFixed(r) ? bound : bound - moveBound(r, bound)));
  const upper = rows.upper.map((bound, r) => (isFixed(r) ? bound : bound + moveBound(r, bound)));
  return { ...program, rows: { ...rows, lower, upper } };
}

/** Maximum number of block pivoting iterations near a solution whose norms bind; two or three are usual. */
const NEARBY_ITERATIONS_MAX = 8;

/**
 * Maximum fraction of the variables that may be outside their bounds at the other solution. If more are outside, prices
 * on the norms are faster.
 */
const NEARBY_MOVED_FRACTION_MAX = 0.12;

/** Finds the optimum near another one with binding norms, by Newton's method on the norms. */
function solveFromNearby(
  program: Program,
  { curvatures }: SolverTools,
  { beside }: SolveOptions,
): ProgramResult | undefined {
  if (beside === undefined || !beside.state.norms.includes(UPPER) || !matchesProgram(beside.state, program))
    return undefined;
  const { n, lower, upper } = program;
  const movedCount = beside.point.x.reduce((count, x, i) => count + (x < lower[i]! || x > upper[i]! ? 1 : 0), 0);
  if (movedCount > NEARBY_MOVED_FRACTION_MAX * n) return undefined;
  return solveFromState(program, curvatures, beside, { iterationsMax: NEARBY_ITERATIONS_MAX, nearby: true });
}

/** Finds the optimum by prices in place of norms, and polishes it with the norms themselves. */
function solveByPrices(
  program: Program,
  tools: SolverTools,
  { follow, warm }: SolveOptions,
): ProgramResult | undefined {
  let iterationsSpent = 0;
  return solveWithNorms(program, follow, {
    solve(priced, start) {
      const result = solveProgram(priced, tools, {
        follow: start,
        warm:
          start?.state ??
          (warm === undefined ? undefined : { ...warm, norms: warm.norms.slice(0, priced.norms.length) }),
      });
      iterationsSpent += result.iterations;
      return result;
    },
    finish(whole, { point, state }, iterationsMax = ACTIVE_SET_ITERATIONS) {
      const iterate = copyIterate(point);
      const activeState = copyState(state);
      const { iterations } = runActiveSet(whole, tools.curvatures, activeState, iterate, {
        iterationsMax,
        nearby: true,
      });
      const result = createSolution(whole, activeState, iterate, iterationsSpent + iterations, 'active-set');
      return result.status === 'solved' ? result : undefined;
    },
  });
}

/**
 * Maximum number of variables that may become free on the path from the empty start, as a fraction of the number of
 * variables and rows. Above it, a factorisation of all variables is cheaper.
 */
const PATH_FREE_FRACTION_MAX = 0.3;

/** Maximum number of events on the path from the empty start, per variable and row. */
const PATH_EVENTS_MAX = 2;

/**
 * Finds the optimum by the path from the empty start. If few variables are free at the optimum, hundreds of cheap
 * events cost less than twenty full factorisations.
 */
function solveFromEmpty(program: Program, tools: SolverTools): ProgramResult | undefined {
  const start = startEmpty(program);
  if (start === undefined) return undefined;
  const constraintCount = program.n + program.rows.count;
  return solveByPath(program, tools, start, {
    eventsMax: PATH_EVENTS_MAX * constraintCount,
    freeMax: PATH_FREE_FRACTION_MAX * constraintCount,
  });
}

function solveFree(program: Program, tools: SolverTools, { warm, effort = 'thorough' }: SolveOptions): ProgramResult {
  const { curvatures } = tools;
  const emptyStartResult = warm === undefined && isSteep(program) ? solveFromEmpty(program, tools) : undefined;
  if (emptyStartResult !== undefined) return emptyStartResult;
  const flatResult = warm === undefined && isFlat(program) ? solveScaled(program, curvatures, 0) : undefined;
  if (flatResult?.status === 'solved') return flatResult;
  const { answer: settledAnswer, iterations } = solveByStates(program, curvatures, warm, flatResult?.iterations ?? 0);
  if (settledAnswer !== undefined) return settledAnswer;
  // The state of a similar program may be further from this solution than the empty state.
  const grownResult = warm !== undefined && isSteep(program) ? solveFromEmpty(program, tools) : undefined;
  if (grownResult !== undefined) return grownResult;
  const corner = solveAtCorner(program, curvatures, iterations);
  if (corner !== undefined) return corner;
  const result = startFromCentre(program, curvatures, iterations);
  if (result.status === 'solved') return result;
  const scaledResult =
    effort === 'quick' || flatResult !== undefined ? undefined : solveScaled(program, curvatures, result.iterations);
  if (scaledResult?.status === 'solved') return scaledResult;
  const elastic = solveInside(program, curvatures, {
    before: scaledResult?.iterations ?? result.iterations,
    run: 'near',
    elastic: createElasticProgram(program),
  }).answer;
  return [scaledResult, flatResult].reduce<ProgramResult>(
    (best, otherProgramResult) => (otherProgramResult === undefined ? best : selectBetter(otherProgramResult, best)),
    selectBetter(elastic, result),
  );
}

/** Finds the optimum by active-set methods from several initial states, if one of them converges. */
function solveByStates(
  program: Program,
  curvatures: Curvatures,
  warm: ActiveState | undefined,
  before: number,
): { answer?: ProgramResult; iterations: number } {
  let iterations = before;
  if (!(program.curvature > 0 || program.ridge > 0)) return { iterations };
  // Block pivoting from a distant start activates all violated rows that have a penalty at once. It converges slowly if
  // there are many.
  const isCold = !isFolded(program, program.n);
  for (const { state, nearby } of listStartingStates(program, warm, isCold)) {
    const iterate = createIterate(program);
    iterate.x.set(program.centre);
    const options = { iterationsMax: ACTIVE_SET_ITERATIONS, nearby };
    const outcome = runActiveSet(program, curvatures, state, iterate, options);
    iterations += outcome.iterations;
    const result = createSolution(program, state, iterate, iterations, 'active-set');
    if (outcome.status === 'solved' && result.status === 'solved') return { answer: result, iterations };
    if (outcome.status === 'stuck' && !nearby) break;
  }
  return { iterations };
}

/** Finds and polishes the optimal corner of a program without curvature; undefined if that fails. */
function solveAtCorner(program: Program, curvatures: Curvatures, before: number): ProgramResult | undefined {
  const corner = isIndifferent(program) ? undefined : solveCorner(program);
  if (corner === undefined) return undefined;
  const result = polish(program, curvatures, { ...corner, spent: before + corner.pivots }, ROUTES_CORNER);
  return result.status === 'solved' ? result : undefined;
}

/** Returns the centre itself if the objective is stationary there and every constraint is satisfied. */
function solveAtCentre(program: Program): ProgramResult | undefined {
  if (program.linear.some((value) => value !== 0)) return undefined;
  if (measurePrimalViolation(program, program.centre) > CENTRE_TOLERANCE) return undefined;
  const iterate = createIterate(program);
  program.kinks.forEach(({ limit }, k) => {
    if (limit === null) iterate.kinkMultipliers[k] = 1;
  });
  iterate.x.set(program.centre);
  const result = createSolution(program, createColdState(program), iterate, 0, 'centre');
  return result.status === 'solved' ? result : undefined;
}

import { removeFixedVariables } from '#kernels/optimisation/presolve/fixed-variables.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { TailGoal } from '../../objectives/tail.js';
import type { Problem } from '../problem.js';
import { addLinearCost } from './prices.js';
import { createImpactTerm } from './separable.js';
import { solveTail, type TailSolution, type TailStart, type TailTerms } from './solve-tail.js';
import { computeTailForces } from './tail-program.js';

/**
 * Trade sizes in the order of trial. Below such a size, the curvature of costs in a tail problem is limited. Trading
 * costs are the only curvature, and that of tiny trades would be millions of times as large as that of others.
 */
const MODELLED_TRADES = [1e-6, 1e-8, 1e-5, 1e-14];

/** Minimises a tail average, starting from the weights of least variance or from similar weights. */
export function solveTailGoal(
  solver: Solver,
  problem: Problem,
  goal: TailGoal,
  rows: Program,
  tail: TailStart | undefined,
): TailSolution | undefined {
  const { costs } = problem;
  const centre = new Float64Array(rows.n);
  const pricedProgram = { ...addLinearCost(rows, costs), curvature: 0, centre, linear: new Float64Array(rows.n) };
  const hasImpact = costs !== null && costs.impact > 0;
  const impactTerms = hasImpact ? MODELLED_TRADES.map((least) => createImpactTerm(costs, 1, least)) : [null];
  return (
    (hasImpact ? undefined : solveAmongFew(solver, problem, goal, pricedProgram, tail)) ??
    solveTail(solver, {
      goal,
      rows: pricedProgram,
      curved: impactTerms,
      ...createStart(solver, problem.index, pricedProgram, tail),
    })
  );
}

/** Returns the initial weights of a tail search: similar weights, or those of least variance. */
function createStart(
  solver: Solver,
  index: Float64Array,
  rows: Program,
  tail: TailStart | undefined,
): Pick<TailTerms, 'near' | 'first'> {
  if (tail !== undefined) return { near: tail.weights, first: tail.set };
  const quadraticResult = solver.solve({ ...rows, curvature: 2 }, { effort: 'quick' });
  return { near: quadraticResult.status === 'solved' ? quadraticResult.point.x : index };
}

/**
 * Solves without the securities whose bounds fix their weight at zero, then checks the solution with all securities.
 * @returns undefined if few securities are removed, or if the solution is not optimal with all securities
 */
function solveAmongFew(
  solver: Solver,
  { index }: Problem,
  goal: TailGoal,
  rows: Program,
  tail: TailStart | undefined,
): TailSolution | undefined {
  const { n, lower, upper } = rows;
  const reducedProgram = lower.some((bound, i) => bound === upper[i] && bound !== 0)
    ? null
    : removeFixedVariables(rows);
  if (reducedProgram === null) return undefined;
  const openPositions = Int32Array.from(lower.keys()).filter((i) => lower[i]! < upper[i]!);
  const pickValues = (values: Float64Array) => Float64Array.from(openPositions, (i) => values[i]!);
  const reducedGoal: TailGoal = { ...goal, returns: selectColumns(goal, n, openPositions) };
  const nearTail = tail === undefined ? undefined : { ...tail, weights: pickValues(tail.weights) };
  const terms = { goal: reducedGoal, rows: reducedProgram.program, curved: [null] };
  const result = solveTail(solver, {
    ...terms,
    ...createStart(solver, pickValues(index), reducedProgram.program, nearTail),
  });
  if (result === undefined) return undefined;
  const { answer, shares } = result;
  const point = reducedProgram.toFull(answer.point);
  const program = { ...rows, linear: computeTailForces(goal, shares, n) };
  const kkt = checkKkt(program, point);
  if (!isOptimal(kkt)) return undefined;
  return {
    ...result,
    program,
    answer: { ...answer, point, state: reducedProgram.stateToFull(answer.state), kkt },
    start: { ...result.start, weights: point.x },
  };
}

/** Returns the scenario returns of some securities, [T x K]. */
function selectColumns({ scenarios, returns }: TailGoal, n: number, names: Int32Array): Float64Array {
  const width = names.length;
  const selectedReturns = new Float64Array(scenarios * width);
  for (let t = 0; t < scenarios; t++)
    for (let k = 0; k < width; k++) selectedReturns[t * width + k] = returns[t * n + names[k]!]!;
  return selectedReturns;
}

import { choiceMovables, choiceMoves, firstToGive, isCount, jointMoves } from '../choice-relaxation.js';
import { jointRelaxation, movesByTrial, toChanges } from '../joint-relaxation.js';
import { listMovableParameters, listRowWidths, type MovableParameter } from './movable-parameters.js';
import { listNonConvexRows, type Origin, type Problem } from '../problem.js';
import { roundMovesOutward, type ParameterMove, type Moved } from './relaxation.js';
import type { SearchOutcome } from '../search.js';
import type { Solvers } from '../solvers.js';
import { createTrials, type Trials } from '../trials.js';

/** Infeasible problem, with its failed solve. */
export interface InfeasibleSolve {
  readonly problem: Problem;
  readonly outcome: Exclude<SearchOutcome, { kind: 'solved' }>;
}

/** Tolerance of the least move if each tried move requires a search over choices of securities. */
const WITHIN = 1e-6;

/**
 * Finds the least moves of rows with a stated priority that make a problem feasible, rows of higher priority first.
 * Rows without a number (an exclusion, the budget) are widened. Limits that no parameter of their row changes are
 * widened only if nothing else is sufficient.
 * @param mayRelax Rows to relax. Default: those with a stated priority.
 * @returns undefined if the other rows are infeasible, or no row can be relaxed.
 * @cost a few linear programs and a solve; searches by halving, within counted work, if a choice of securities fails.
 */
export function relaxByPriority(
  solvers: Solvers,
  { problem, outcome }: InfeasibleSolve,
  givesWay: (origin: Origin) => boolean = (origin) => origin.givesWay,
): readonly Moved[] | undefined {
  const origins = problem.origins.filter((origin) => givesWay(origin) && origin.soft === null);
  if (origins.length === 0) return undefined;
  const narrow = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'alone')];
  const wide = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'all')];
  const way: Way = { solvers, trials: createTrials(solvers, problem), problem, origins };
  const isChoice = outcome.kind === 'no-choice';
  const joint = isChoice ? undefined : (relaxRowsJointly(way, narrow) ?? relaxRowsJointly(way, wide));
  return joint ?? relaxSingleRow(way, isChoice) ?? relaxByTrial(way, wide);
}

/**
 * Returns the least move of one row, if that suffices for a choice of securities. @param isAny true to move any row,
 * not only distances
 */
function relaxSingleRow({ solvers, trials, problem, origins }: Way, isAny: boolean): readonly Moved[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  return firstToGive(
    choiceMoves(solvers, problem, { trials, origins, within: WITHIN, convex: isAny ? 'all' : 'distances' }),
  );
}

interface Way {
  readonly solvers: Solvers;
  readonly trials: Trials;
  readonly problem: Problem;
  /** Rows that may be relaxed. */
  readonly origins: readonly Origin[];
}

function relaxRowsJointly(way: Way, movables: readonly MovableParameter[]): readonly Moved[] | undefined {
  const { solvers, problem } = way;
  const moves = jointRelaxation(solvers, problem, movables);
  return moves === undefined ? undefined : jointMoves(solvers, problem, { ...way, moves });
}

/**
 * Moves all rows that may be relaxed, convex or not, if moves of one kind are not sufficient; returns nothing if there
 * is no choice to make.
 */
function relaxByTrial(
  { solvers, trials, problem, origins }: Way,
  convex: readonly MovableParameter[],
): readonly Moved[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  const movables = [...convex, ...choiceMovables(problem, origins)];
  const weightsAt = (moved: Float64Array) => trials.weightsWith({ changes: toChanges(movables, moved) });
  const moves = movesByTrial(movables, weightsAt, WITHIN);
  return moves === undefined ? undefined : roundMovesOutward(solvers, problem, moves.map(roundMoveToInteger));
}

/** Rounds numbers of securities to integers, because a fraction has no effect. */
function roundMoveToInteger({ movable, to }: ParameterMove): ParameterMove {
  const isWhole = movable.parameter !== null && isCount(movable.origin, movable.parameter);
  return isWhole ? { movable, to: movable.from + Math.trunc(to - movable.from) } : { movable, to };
}

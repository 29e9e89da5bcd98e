import {
  listChoiceMovables,
  findChoiceMoves,
  selectPriorityMove,
  isSecurityCount,
  findJointMoves,
} from '../choice-relaxation.js';
import { findJointRelaxation, findMovesByTrial, toChanges } from '../joint-relaxation.js';
import { listMovableParameters, listRowWidths, type MovableParameter } from './movable-parameters.js';
import { listNonConvexRows, type Origin, type Problem } from '../problem.js';
import { roundMovesOutward, type ParameterMove, type ExecutedMove } from './relaxation.js';
import type { SearchOutcome } from '../search.js';
import type { Solvers } from '../solvers.js';
import { createFeasibilityTests, type FeasibilityTests } from '../trials.js';

/** Infeasible problem, with the outcome of its solve. */
export interface InfeasibleSolve {
  readonly problem: Problem;
  readonly outcome: Exclude<SearchOutcome, { kind: 'solved' }>;
}

/** Tolerance of the least move if each trial requires a search over choices of securities. */
const MOVE_TOLERANCE = 1e-6;

/**
 * Finds the least moves of rows with a stated priority that make a problem feasible. Rows with a higher priority number
 * move first. Rows without a numeric parameter (an exclusion, the budget) are widened. Limits that depend on no
 * parameter are widened only if nothing else suffices.
 * @param givesWay selects the rows to relax. Default: those with a stated priority.
 * @returns undefined if the other rows are infeasible, or no row can be relaxed.
 * @cost a few linear programs and a solve; bisection searches, within a work limit, if a choice of securities fails.
 */
export function relaxByPriority(
  solvers: Solvers,
  { problem, outcome }: InfeasibleSolve,
  givesWay: (origin: Origin) => boolean = (origin) => origin.givesWay,
): readonly ExecutedMove[] | undefined {
  const origins = problem.origins.filter((origin) => givesWay(origin) && origin.soft === null);
  if (origins.length === 0) return undefined;
  const movableParameters = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'alone')];
  const wide = [...listMovableParameters(problem, origins), ...listRowWidths(problem, origins, 'all')];
  const relaxationContext: RelaxationContext = {
    solvers,
    trials: createFeasibilityTests(solvers, problem),
    problem,
    origins,
  };
  const hasNoChoice = outcome.kind === 'no-choice';
  const joint = hasNoChoice
    ? undefined
    : (relaxRowsJointly(relaxationContext, movableParameters) ?? relaxRowsJointly(relaxationContext, wide));
  return joint ?? relaxSingleRow(relaxationContext, hasNoChoice) ?? relaxByTrial(relaxationContext, wide);
}

/**
 * Returns the least move of a single row that permits a choice of securities. Returns undefined if there is none.
 * @param isAny true to move any row, not only distances
 */
function relaxSingleRow(
  { solvers, trials, problem, origins }: RelaxationContext,
  isAny: boolean,
): readonly ExecutedMove[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  return selectPriorityMove(
    findChoiceMoves(solvers, problem, { trials, origins, within: MOVE_TOLERANCE, convex: isAny ? 'all' : 'distances' }),
  );
}

interface RelaxationContext {
  readonly solvers: Solvers;
  readonly trials: FeasibilityTests;
  readonly problem: Problem;
  /** Rows that may be relaxed, by origin. */
  readonly origins: readonly Origin[];
}

function relaxRowsJointly(
  way: RelaxationContext,
  movables: readonly MovableParameter[],
): readonly ExecutedMove[] | undefined {
  const { solvers, problem } = way;
  const moves = findJointRelaxation(solvers, problem, movables);
  return moves === undefined ? undefined : findJointMoves(solvers, problem, { ...way, moves });
}

/**
 * Moves all rows that may be relaxed, convex or not, by trial. This is needed if moves of one kind do not suffice.
 * Returns undefined without non-convex rows.
 */
function relaxByTrial(
  { solvers, trials, problem, origins }: RelaxationContext,
  convex: readonly MovableParameter[],
): readonly ExecutedMove[] | undefined {
  if (listNonConvexRows(problem).length === 0) return undefined;
  const movables = [...convex, ...listChoiceMovables(problem, origins)];
  const solveWeights = (moved: Float64Array) => trials.weightsWith({ changes: toChanges(movables, moved) });
  const moves = findMovesByTrial(movables, solveWeights, MOVE_TOLERANCE);
  return moves === undefined ? undefined : roundMovesOutward(solvers, problem, moves.map(roundMoveToInteger));
}

/** Rounds a number of securities to an integer, because a fraction has no effect. */
function roundMoveToInteger({ movable, to }: ParameterMove): ParameterMove {
  const isWhole = movable.parameter !== null && isSecurityCount(movable.origin, movable.parameter);
  return isWhole ? { movable, to: movable.from + Math.trunc(to - movable.from) } : { movable, to };
}

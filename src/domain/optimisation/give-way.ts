import { choiceMovables, choiceMoves, firstToGive, isCount, jointMoves } from './choice-relaxation.js';
import { jointRelaxation, movesByTrial, toChanges } from './joint-relaxation.js';
import { movableIn, widthsIn, type Movable } from './movables.js';
import { nonConvexRows, type Origin, type Problem } from './problem.js';
import { roundedOutward, type Move, type Moved } from './relaxation.js';
import { solveProblem, type SearchOutcome } from './search.js';
import type { Solvers } from './name-search.js';

/** A problem without an answer, and what was found of it. */
export interface Unanswered {
  readonly problem: Problem;
  readonly outcome: Exclude<SearchOutcome, { kind: 'solved' }>;
}

/** Distance to the least move where a choice of names is searched for each move that is tried. */
const WITHIN = 1e-6;

/**
 * The least moves of rows with a stated priority with which a problem has an answer, rows of higher priority first.
 * Rows without a number to move (an exclusion, the budget) are widened; limits that their row's parameters do not reach
 * are, where nothing else helps.
 *
 * @returns  undefined when the rows that do not give way cannot hold together, or there are none that do.
 * @cost     a few linear programmes and a solve; searches by halving where a choice of names is what fails.
 */
export function giveWay(solvers: Solvers, { problem, outcome }: Unanswered): readonly Moved[] | undefined {
  const origins = problem.origins.filter(({ givesWay, soft }) => givesWay && soft === null);
  if (origins.length === 0) return undefined;
  const narrow = [...movableIn(problem, origins), ...widthsIn(problem, origins, 'alone')];
  const wide = [...movableIn(problem, origins), ...widthsIn(problem, origins, 'all')];
  if (outcome.kind === 'no-choice')
    return (
      firstToGive(choiceMoves(solvers, problem, { origins, within: WITHIN, withConvex: true })) ??
      byTrial(solvers, problem, origins, wide)
    );
  return (
    jointly(solvers, problem, origins, narrow) ??
    jointly(solvers, problem, origins, wide) ??
    byTrial(solvers, problem, origins, wide)
  );
}

function jointly(
  solvers: Solvers,
  problem: Problem,
  origins: readonly Origin[],
  movables: readonly Movable[],
): readonly Moved[] | undefined {
  const moves = jointRelaxation(solvers, problem, movables);
  return moves === undefined ? undefined : jointMoves(solvers, problem, { moves, origins });
}

/**
 * Moves of all rows that give way, convex or not, where those of one kind are not enough; none where there is no choice
 * to be made.
 */
function byTrial(
  solvers: Solvers,
  problem: Problem,
  origins: readonly Origin[],
  convex: readonly Movable[],
): readonly Moved[] | undefined {
  if (nonConvexRows(problem).length === 0) return undefined;
  const movables = [...convex, ...choiceMovables(problem, origins)];
  const weightsAt = (moved: Float64Array) => {
    const tried = solveProblem(solvers, problem, { changes: toChanges(movables, moved), wanted: 'any' });
    return tried.kind === 'solved' ? tried.solution.weights : undefined;
  };
  const moves = movesByTrial(movables, weightsAt, WITHIN);
  return moves === undefined ? undefined : roundedOutward(solvers, problem, moves.map(wholeMove));
}

/** Numbers of names move by whole steps: a part of one changes nothing. */
function wholeMove({ movable, to }: Move): Move {
  const isWhole = movable.parameter !== null && isCount(movable.origin, movable.parameter);
  return isWhole ? { movable, to: movable.from + Math.trunc(to - movable.from) } : { movable, to };
}

import { choiceMovables, choiceMoves, firstToGive, isCount, jointMoves } from './choice-relaxation.js';
import { jointRelaxation, movesByTrial, toChanges } from './joint-relaxation.js';
import { movableIn, widthsIn, type Movable } from './movables.js';
import { nonConvexRows, type Origin, type Problem } from './problem.js';
import { roundedOutward, type Move, type Moved } from './relaxation.js';
import type { SearchOutcome } from './search.js';
import type { Solvers } from './name-search.js';
import { createTrials, type Trials } from './trials.js';

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
 * @param givesWay  Rows that do: those with a stated priority by default.
 * @returns  undefined when the rows that do not give way cannot hold together, or there are none that do.
 * @cost     a few linear programmes and a solve; searches by halving, within counted work, where a choice of names is what fails.
 */
export function giveWay(
  solvers: Solvers,
  { problem, outcome }: Unanswered,
  givesWay: (origin: Origin) => boolean = (origin) => origin.givesWay,
): readonly Moved[] | undefined {
  const origins = problem.origins.filter((origin) => givesWay(origin) && origin.soft === null);
  if (origins.length === 0) return undefined;
  const narrow = [...movableIn(problem, origins), ...widthsIn(problem, origins, 'alone')];
  const wide = [...movableIn(problem, origins), ...widthsIn(problem, origins, 'all')];
  const way: Way = { solvers, trials: createTrials(solvers, problem), problem, origins };
  const isChoice = outcome.kind === 'no-choice';
  const joint = isChoice ? undefined : (jointly(way, narrow) ?? jointly(way, wide));
  return joint ?? alone(way, isChoice) ?? byTrial(way, wide);
}

/** The least move of one row where that is enough for a choice of names. @param isAny Whether any row is moved, not distances alone */
function alone({ solvers, trials, problem, origins }: Way, isAny: boolean): readonly Moved[] | undefined {
  if (nonConvexRows(problem).length === 0) return undefined;
  return firstToGive(
    choiceMoves(solvers, problem, { trials, origins, within: WITHIN, convex: isAny ? 'all' : 'distances' }),
  );
}

interface Way {
  readonly solvers: Solvers;
  readonly trials: Trials;
  readonly problem: Problem;
  /** Rows that may give way. */
  readonly origins: readonly Origin[];
}

function jointly(way: Way, movables: readonly Movable[]): readonly Moved[] | undefined {
  const { solvers, problem } = way;
  const moves = jointRelaxation(solvers, problem, movables);
  return moves === undefined ? undefined : jointMoves(solvers, problem, { ...way, moves });
}

/**
 * Moves of all rows that give way, convex or not, where those of one kind are not enough; none where there is no choice
 * to be made.
 */
function byTrial({ solvers, trials, problem, origins }: Way, convex: readonly Movable[]): readonly Moved[] | undefined {
  if (nonConvexRows(problem).length === 0) return undefined;
  const movables = [...convex, ...choiceMovables(problem, origins)];
  const weightsAt = (moved: Float64Array) => trials.weightsWith({ changes: toChanges(movables, moved) });
  const moves = movesByTrial(movables, weightsAt, WITHIN);
  return moves === undefined ? undefined : roundedOutward(solvers, problem, moves.map(wholeMove));
}

/** Numbers of names move by whole steps: a part of one changes nothing. */
function wholeMove({ movable, to }: Move): Move {
  const isWhole = movable.parameter !== null && isCount(movable.origin, movable.parameter);
  return isWhole ? { movable, to: movable.from + Math.trunc(to - movable.from) } : { movable, to };
}

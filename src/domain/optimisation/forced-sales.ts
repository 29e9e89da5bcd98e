import type { ConstraintRow } from '../documents/index-document.js';
import { movableIn } from './movables.js';
import type { Solvers } from './name-search.js';
import type { Origin, Problem } from './problem.js';
import { roundedOutward, type Moved } from './relaxation.js';

/** Whether a row measures trades from the weights just before the rebalance. */
export function measuresHeld({ params }: ConstraintRow): boolean {
  return params['reference'] === 'held';
}

/**
 * Limits on turnover from the held weights that the sales of securities which can no longer be held exceed, each relaxed
 * to those sales. A soft row, and one of priority 0, stays as it is.
 * @cost a solve where there is such a limit
 */
export function forcedTurnover(solvers: Solvers, problem: Problem): readonly Moved[] {
  const moves = movableIn(problem, problem.origins.filter(isHeldTurnover)).flatMap((movable) => {
    const to = forcedSales(problem, movable.origin);
    return to > movable.from ? [{ movable, to }] : [];
  });
  return moves.length === 0 ? [] : (roundedOutward(solvers, problem, moves) ?? []);
}

function isHeldTurnover({ type, params }: Origin): boolean {
  return type === 'Turnover' && params['reference'] === 'held';
}

/** Held weight of securities outside the problem, and of those without a risk estimate, which are excluded from it. */
function forcedSales({ rows }: Problem, turnover: Origin): number {
  const row = rows.find(({ origin }) => origin === turnover)?.row;
  if (row?.form !== 'distance') return 0;
  const excluded = rows.flatMap(({ origin, row: other }) =>
    origin.index === null && origin.type === 'Exclude' && other.form === 'name' ? [other.name] : [],
  );
  return excluded.reduce((sum, name) => sum + Math.abs(row.reference[name]!), row.fixed);
}

/** Moves of both stages, one for each parameter. */
export function joinedMoves(first: readonly Moved[], later: readonly Moved[]): readonly Moved[] {
  const isSame = (a: Moved, b: Moved): boolean =>
    a.movable.origin.index === b.movable.origin.index && a.movable.parameter === b.movable.parameter;
  const joined = later.map((move): Moved => {
    const earlier = first.find((one) => isSame(one, move));
    if (earlier === undefined) return move;
    return { ...move, movable: earlier.movable, change: move.to - earlier.movable.from };
  });
  return [...first.filter((one) => !later.some((move) => isSame(one, move))), ...joined];
}

import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { Origin, Problem } from './problem.js';

/** Returns true if a row measures trades from the weights just before the rebalance. */
export function measuresHeldWeights({ params }: ConstraintRow): boolean {
  return params['reference'] === 'held';
}

/**
 * Returns true if a row limits turnover from the held weights, its turnover includes sales of securities that can no
 * longer be held, and its priority is not 0. Such a row is relaxed by the excess of those sales.
 */
export function countsForcedSales(problem: Problem, origin: Origin): boolean {
  const { type, params, priority } = origin;
  return type === 'Turnover' && params['reference'] === 'held' && priority > 0 && sumForcedSales(problem, origin) > 0;
}

/**
 * Returns the held weight that must be sold: securities outside the problem, and securities without a risk estimate.
 */
function sumForcedSales({ rows }: Problem, turnover: Origin): number {
  const row = rows.find(({ origin }) => origin === turnover)?.row;
  if (row?.form !== 'distance') return 0;
  const excludedMembers = rows.flatMap(({ origin, row: otherProgramRow }) =>
    origin.index === null && origin.type === 'Exclude' && otherProgramRow.form === 'name' ? [otherProgramRow.name] : [],
  );
  return excludedMembers.reduce((sum, name) => sum + Math.abs(row.reference[name]!), row.fixed);
}

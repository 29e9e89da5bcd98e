import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { Origin, Problem } from './problem.js';

/** Whether a row measures trades from the weights just before the rebalance. */
export function measuresHeld({ params }: ConstraintRow): boolean {
  return params['reference'] === 'held';
}

/**
 * Whether a row is a limit on turnover from the held weights that has to count sales of securities which can no longer be
 * held: it gives way, by what they ask for beyond it. A row of priority 0 does not.
 */
export function countsForcedSales(problem: Problem, origin: Origin): boolean {
  const { type, params, priority } = origin;
  return type === 'Turnover' && params['reference'] === 'held' && priority > 0 && forcedSales(problem, origin) > 0;
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

import type { Restriction } from '../assemble.js';
import { listNonConvexRows, type Problem } from '../problem.js';
import { HELD_MIN, createRestriction, markShort, markHoldings } from '../restriction.js';

/**
 * Returns the restriction to the present choice of securities. With it, the convex rows can be solved again. Returns
 * undefined if no row chooses securities.
 */
export function fixHeldSecurities(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration' ? [Uint8Array.from(weights, (weight) => Number(weight > row.trigger + HELD_MIN))] : [],
  );
  return createRestriction(rows, { held: markHoldings(weights), short: markShort(weights), large, isFinal: true });
}

import type { Restriction } from '../assemble.js';
import { nonConvexRows, type Problem } from '../problem.js';
import { HELD_MIN, restrictionOf, shortSide, supportOf } from '../restriction.js';

/**
 * Returns the choice of securities behind weights, under which the convex rows are solved again; undefined if no row
 * chooses securities.
 */
export function heldChoice(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = nonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration' ? [Uint8Array.from(weights, (weight) => Number(weight > row.trigger + HELD_MIN))] : [],
  );
  return restrictionOf(rows, { held: supportOf(weights), short: shortSide(weights), large, isFinal: true });
}

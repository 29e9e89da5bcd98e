import { isTracking, type AssembledProgram, type Assembly } from './assemble.js';
import { findLargestMeasure, findParameterAtMeasure, isCurve, measureRow, type CurvedLimit } from './curved-rows.js';
import { isPureTracking } from '../objectives/goal.js';
import { computePrices } from './goals/prices.js';
import type { Origin, RowWithOrigin, Problem } from './problem.js';

/**
 * Returns a function that is true for rows that are checked only after the solve. These are limits on the tracking
 * error, if the tracking error is the only objective.
 */
export function isCheckedOnly({ goal, index, costs }: Problem): (rowWithOrigin: RowWithOrigin) => boolean {
  return isPureTracking(goal, index, costs) ? isTracking : () => false;
}

/** Returns the penalty of soft curved rows at their widened limits. */
export function computeCurveCharge({ rows }: Problem, radii: ReadonlyMap<Origin, number> | undefined): number {
  if (radii === undefined) return 0;
  let total = 0;
  for (const rowWithOrigin of rows) {
    const largestMeasure = radii.get(rowWithOrigin.origin);
    if (largestMeasure !== undefined && isCurve(rowWithOrigin))
      total += computeViolationPrice(rowWithOrigin, rowWithOrigin.row.limit.value, largestMeasure);
  }
  return total;
}

/** Returns the penalty of a soft curved row for a measure above its limit. */
function computeViolationPrice({ origin, row }: CurvedLimit, most: number, measure: number): number {
  return (origin.soft ?? 0) * Math.abs(findParameterAtMeasure(row, measure) - findParameterAtMeasure(row, most));
}

/** Returns the penalty of violated soft rows, except for limits on a tracking error that is the only objective. */
export function computePricedViolations(
  problem: Problem,
  { program }: AssembledProgram,
  weights: Float64Array,
  options: Assembly,
): number {
  const isChecked = isCheckedOnly(problem);
  let total = computePrices(program, weights);
  for (const curvedLimit of listCurves(problem, options)) {
    if (curvedLimit.origin.soft === null || isChecked(curvedLimit)) continue;
    const measure = measureRow(problem, curvedLimit.row, weights);
    const largestMeasure = findLargestMeasure(curvedLimit, { changes: options.changes });
    if (measure > largestMeasure) total += computeViolationPrice(curvedLimit, largestMeasure, measure);
  }
  return total;
}

/** Returns the curved rows that an assembly includes. */
export function listCurves(problem: Problem, { includes }: Assembly): CurvedLimit[] {
  return problem.rows.filter(isCurve).filter(({ origin }) => includes?.(origin) !== false);
}

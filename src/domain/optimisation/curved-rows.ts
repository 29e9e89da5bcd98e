import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { CurvedRow, NormRow } from '../constraints/program-row.js';
import { computeDotProduct } from '../numbers/dot.js';
import { computeOutcomes, computeTailAverage, countTailScenarios, type TailGoal } from '../objectives/tail.js';
import { computeMovedRadius, computeMovedValue, type Assembly } from './assemble.js';
import type { Origin, RowWithOrigin, Problem } from './problem.js';
import type { TailCut, TailCuts } from './tails/tail-cuts.js';

/** Row with a limit on a curved measure of the weights: a norm, or the average of a tail. */
export interface CurvedLimit {
  readonly origin: Origin;
  readonly row: CurvedRow;
}

export function isCurve(rowWithOrigin: RowWithOrigin): rowWithOrigin is CurvedLimit {
  return rowWithOrigin.row.form === 'norm' || rowWithOrigin.row.form === 'tail';
}

/** Returns the measure of a row at some weights. @cost a pass over the metric, or over the scenarios */
export function measureRow(problem: Pick<Problem, 'metric'>, row: CurvedRow, weights: Float64Array): number {
  return row.form === 'norm'
    ? computeRowNorm(problem, row, weights)
    : computeTailAverage(computeOutcomes(row.goal, weights), countTailScenarios(row.goal));
}

/** Returns the largest allowed measure of a row after changes to it. */
export function findLargestMeasure(
  { origin, row }: CurvedLimit,
  { changes, radii }: Pick<Assembly, 'changes' | 'radii'>,
): number {
  const assignedRadius = radii?.get(origin);
  if (assignedRadius !== undefined) return assignedRadius;
  return row.form === 'norm'
    ? computeMovedRadius(row, origin, changes)
    : computeMovedValue(row.limit, origin, changes, 1);
}

/** Returns the client's parameter value that corresponds to a measure. */
export function findParameterAtMeasure(row: CurvedRow, measure: number): number {
  return row.form === 'norm' ? row.parameterOf(measure) : measure;
}

/** Returns the norm of a row: the root of (w - c)' M (w - c). */
export function computeRowNorm(
  { metric }: Pick<Problem, 'metric'>,
  { centre, metric: kind }: NormRow,
  weights: Float64Array,
): number {
  const offset = centre === null ? weights : weights.map((weight, i) => weight - centre[i]!);
  if (kind === 'covariance') return Math.sqrt(Math.max(0, computeMetricSquare(metric, offset)));
  return Math.sqrt(offset.reduce((sum, value) => sum + value * value, 0));
}

/** Accepted excess of a measure over its limit, relative to 1 + the limit. */
const TOLERANCE = 1e-9;

/** Returns the excess of a measure over its limit; zero if it is only rounding. */
export function computeExcess(
  problem: Pick<Problem, 'metric'>,
  curvedLimit: CurvedLimit,
  weights: Float64Array,
  assembly: Pick<Assembly, 'changes' | 'radii'>,
): number {
  const largestMeasure = findLargestMeasure(curvedLimit, assembly);
  const measure = measureRow(problem, curvedLimit.row, weights);
  return measure > computeAcceptedMeasure(largestMeasure) ? measure - largestMeasure : 0;
}

/** Returns the largest accepted measure for a limit, including rounding. */
function computeAcceptedMeasure(most: number): number {
  return most + TOLERANCE * (1 + most);
}

/**
 * Returns cutting planes for the tails that exceed their limits at some weights. They are rows of the next program. If
 * a known plane is violated and the program lacks it, it is preferred to a new one.
 * @param among planes of the program. Default: all known planes.
 */
export function createTangentPlanes(
  problem: Problem,
  assembly: Assembly,
  weights: Float64Array,
  among?: readonly TailCut[],
): readonly TailCut[] {
  return problem.rows.flatMap((rowWithOrigin): readonly TailCut[] => {
    if (!isCurve(rowWithOrigin) || rowWithOrigin.row.form !== 'tail' || !isInProgram(rowWithOrigin, assembly))
      return [];
    if (computeExcess(problem, rowWithOrigin, weights, assembly) === 0) return [];
    const { goal } = rowWithOrigin.row;
    const idle = among === undefined ? undefined : findMostExceededPlane(problem.tails, goal, weights, among);
    if (
      idle !== undefined &&
      computeDotProduct(idle.slopes, weights) > computeAcceptedMeasure(findLargestMeasure(rowWithOrigin, assembly))
    )
      return [idle];
    return [problem.tails.add(goal, weights)];
  });
}

/** Returns the most violated of the known planes of a tail that the program lacks. */
function findMostExceededPlane(
  { known }: TailCuts,
  goal: TailGoal,
  weights: Float64Array,
  among: readonly TailCut[],
): TailCut | undefined {
  const usedCuts = new Set(among);
  let largestMeasure = -Infinity;
  let tailCut: TailCut | undefined;
  for (const cut of known) {
    if (cut.goal !== goal || usedCuts.has(cut)) continue;
    const value = computeDotProduct(cut.slopes, weights);
    if (value > largestMeasure) [largestMeasure, tailCut] = [value, cut];
  }
  return tailCut;
}

/** Returns true if a row is part of the program. A soft row is part of it only if a limit was found for it. */
function isInProgram({ origin }: RowWithOrigin, { includes, radii }: Assembly): boolean {
  return includes?.(origin) !== false && (origin.soft === null || radii?.get(origin) !== undefined);
}

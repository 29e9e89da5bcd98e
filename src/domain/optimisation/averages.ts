import type { Average, LinearRow } from '../constraints/program-row.js';
import type { MovableParameter } from './relaxation/movable-parameters.js';

/**
 * Linearisation of a weighted average at the value `at` of its bound. The row compares (numerator - at * scale *
 * denominator)'w with zero. For another bound, the right side becomes the difference of the bounds times the invested
 * weight. The linearisation is exact at `at`. If it is repeated, it converges like Newton's method for ratios.
 * @source Dinkelbach (1967), On nonlinear fractional programming, Management Science 13(7).
 */
export interface AverageLinearisation {
  readonly at: number;
  /** Invested weight: change of the compared value per unit of the bound. */
  readonly invested: number;
}

export type LinearisedAverages = ReadonlyMap<LinearRow, AverageLinearisation>;

/**
 * Returns linear approximations of the averages whose bounds may be relaxed.
 * @param toOf returns the bound at which a parameter's average is linearised
 */
export function lineariseAverages(
  movables: readonly MovableParameter[],
  weights: Float64Array,
  toOf: (movable: MovableParameter) => number,
): LinearisedAverages {
  return new Map(
    movables.flatMap((movable) =>
      movable.average === null
        ? []
        : [
            [
              movable.average.row,
              { at: toOf(movable), invested: sumInvestedWeight(movable.average.average, weights) },
            ] as const,
          ],
    ),
  );
}

function sumInvestedWeight({ denominator, scale }: Average, weights: Float64Array): number {
  return denominator.reduce((sum, value, i) => sum + value * weights[i]!, 0) * scale;
}

/** Returns the coefficients of an average for a value of its bound. */
export function computeAverageCoefficients({ numerator, denominator, scale }: Average, position: number): Float64Array {
  return numerator.map((value, i) => value - position * scale * denominator[i]!);
}

/**
 * Relative change of the linearisation points at which the search ends. The next change would be about the square of
 * this one.
 */
const VIEW_TOLERANCE = 1e-8;

/** Maximum number of linearisation rounds. Each round about doubles the number of correct digits. */
const VIEWS_MAX = 12;

export interface LinearisedResult {
  readonly weights: Float64Array;
}

/**
 * Repeats a search and linearises the averages again each time, until the results agree with the linearisation points.
 * If no parameter changes an average, searches only once.
 * @param search search with given linearised averages; undefined ends the repetition.
 * @param toOf returns the value of a movable parameter in a result.
 */
export function searchWithExactAverages<F extends LinearisedResult>(
  movables: readonly MovableParameter[],
  index: Float64Array,
  search: (views: LinearisedAverages) => F | undefined,
  toOf: (found: F, movable: MovableParameter) => number,
): F | undefined {
  let views = lineariseAverages(movables, index, ({ from }) => from);
  for (let round = 0; ; round++) {
    const result = search(views);
    if (result === undefined || views.size === 0 || round === VIEWS_MAX) return result;
    const next = lineariseAverages(movables, result.weights, (movable) => toOf(result, movable));
    if ([...next].every(([row, { at }]) => Math.abs(at - views.get(row)!.at) <= VIEW_TOLERANCE * (1 + Math.abs(at))))
      return result;
    views = next;
  }
}

import type { Average, LinearRow } from '../constraints/program-row.js';
import type { MovableParameter } from './relaxation/movable-parameters.js';

/**
 * Linearisation of a weighted average at one value of its bound`at`. Its row compares (numerator - at * scale *
 * denominator)'w with zero; for another bound, zero is replaced by the difference times the invested weight. Exact at
 * `at`. A sequence of views converges like Newton's method for ratios.
 * @source Dinkelbach (1967), On nonlinear fractional programming, Management Science 13(7).
 */
export interface AverageLinearisation {
  readonly at: number;
  /** Change of the compared value per unit of the bound. */
  readonly invested: number;
}

export type LinearisedAverages = ReadonlyMap<LinearRow, AverageLinearisation>;

/** Returns views of the averages that movables change. */
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

/** Returns the coefficients of an average with its bound at a value. */
export function computeAverageCoefficients({ numerator, denominator, scale }: Average, at: number): Float64Array {
  return numerator.map((value, i) => value - at * scale * denominator[i]!);
}

/** Relative distance of two views at which the search ends: the next views would differ by its square. */
const SAME = 1e-8;

/** Maximum number of rounds of views: each about doubles the number of correct digits. */
const VIEWS_MAX = 12;

export interface LinearisedResult {
  readonly weights: Float64Array;
}

/**
 * Repeats a search with better views of the averages until the results equal the views. Searches once if nothing moves
 * an average.
 * @param search The search; undefined ends it.
 * @param toOf Returns the value of a movable in a result.
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
    if ([...next].every(([row, { at }]) => Math.abs(at - views.get(row)!.at) <= SAME * (1 + Math.abs(at))))
      return result;
    views = next;
  }
}

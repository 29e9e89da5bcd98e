import { effectiveNames } from '#domain/analytics/concentration.js';
import type { DatedFigures, FiguresMaker } from './dated-figures.js';
import type { Side } from './sides.js';

/** Figures of concentration: the sum of squared weights, the largest weight, and the effective names. */
export const CONCENTRATION = { herfindahl: 0, largest: 1, effective: 2 } as const;
export const CONCENTRATION_WIDTH = 3;

/** Concentration of what a run holds. */
export function concentrationMaker(figures: DatedFigures): FiguresMaker {
  const { values, known } = figures;
  return {
    figures,
    make({ at, own }) {
      let squares = 0;
      let most = 0;
      let gross = 0;
      for (let i = 0; i < own.length; i++) {
        const weight = Math.abs(own[i]!);
        squares += weight * weight;
        gross += weight;
        if (weight > most) most = weight;
      }
      values[CONCENTRATION.herfindahl * known.length + at] = squares;
      values[CONCENTRATION.largest * known.length + at] = most;
      values[CONCENTRATION.effective * known.length + at] = effectiveNames(gross, squares);
    },
  };
}

/** Half the sum of the differences between the weights of two sides, over the names of both. */
export function activeShareMaker(figures: DatedFigures, own: Side, benchmark: Side): FiguresMaker {
  const places = new Map(own.names.map((name, place) => [name, place]));
  const placeOf = Int32Array.from(benchmark.names, (name) => places.get(name) ?? -1);
  const active = new Float64Array(own.names.length);
  const areSame = placeOf.length === active.length && placeOf.every((place, i) => place === i);
  return {
    figures,
    make(date) {
      if (areSame) {
        figures.values[date.at] = halfOfDistances(date.own, date.benchmark);
        return;
      }
      active.set(date.own);
      figures.values[date.at] = halfOfDifferences(active, date.benchmark, placeOf);
    },
  };
}

/** The same where both sides have the same names in the same order. */
function halfOfDistances(own: Float64Array, benchmark: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < own.length; i++) sum += Math.abs(own[i]! - benchmark[i]!);
  return sum / 2;
}

/** @param active weights of one side, overwritten @param placeOf where the names of the other are among them, or -1 */
function halfOfDifferences(active: Float64Array, other: Float64Array, placeOf: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < other.length; i++) {
    const place = placeOf[i]!;
    if (place >= 0) active[place]! -= other[i]!;
    else sum += Math.abs(other[i]!);
  }
  for (let i = 0; i < active.length; i++) sum += Math.abs(active[i]!);
  return sum / 2;
}

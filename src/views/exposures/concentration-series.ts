import { computeEffectiveAssets, computeGrossEffectiveAssets } from '#domain/analytics/concentration.js';
import type { DatedFigures, FiguresMaker } from './dated-figures.js';
import type { ExposureSide } from './sides.js';

/**
 * Positions of the concentration figures. These are the sum of squared weights, the largest weight and the effective
 * number of assets. The last two also exist for gross weights.
 */
export const CONCENTRATION = { herfindahl: 0, largest: 1, effective: 2, grossLargest: 3, grossEffective: 4 } as const;
export const CONCENTRATION_WIDTH = 5;

/** Creates the function that computes the concentration of a run's holdings. */
export function createConcentrationMaker(figures: DatedFigures): FiguresMaker {
  const { values, known } = figures;
  return {
    figures,
    make({ at, own }) {
      let sumOfSquares = 0;
      let largest = 0;
      let leastWeight = 0;
      let grossWeight = 0;
      for (let i = 0; i < own.length; i++) {
        const weight = own[i]!;
        sumOfSquares += weight * weight;
        grossWeight += Math.abs(weight);
        if (weight > largest) largest = weight;
        else if (weight < leastWeight) leastWeight = weight;
      }
      const setFigure = (figure: number, value: number): void => void (values[figure * known.length + at] = value);
      setFigure(CONCENTRATION.herfindahl, sumOfSquares);
      setFigure(CONCENTRATION.largest, largest);
      setFigure(CONCENTRATION.effective, computeEffectiveAssets(sumOfSquares));
      setFigure(CONCENTRATION.grossLargest, Math.max(largest, -leastWeight));
      setFigure(CONCENTRATION.grossEffective, computeGrossEffectiveAssets(grossWeight, sumOfSquares));
    },
  };
}

/**
 * Creates the function that computes the active share: half the sum of absolute weight differences, over the securities
 * of both sides.
 */
export function createActiveShareMaker(
  figures: DatedFigures,
  ownExposureSide: ExposureSide,
  benchmark: ExposureSide,
): FiguresMaker {
  const columnByName = new Map(ownExposureSide.names.map((name, position) => [name, position]));
  const ownPositions = Int32Array.from(benchmark.names, (name) => columnByName.get(name) ?? -1);
  const active = new Float64Array(ownExposureSide.names.length);
  const areSame = ownPositions.length === active.length && ownPositions.every((position, i) => position === i);
  return {
    figures,
    make(date) {
      if (areSame) {
        figures.values[date.at] = computeAlignedActiveShare(date.own, date.benchmark);
        return;
      }
      active.set(date.own);
      figures.values[date.at] = computeActiveShare(active, date.benchmark, ownPositions);
    },
  };
}

/** Computes the active share if both sides have the same securities in the same order. */
function computeAlignedActiveShare(ownWeights: Float64Array, benchmark: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < ownWeights.length; i++) sum += Math.abs(ownWeights[i]! - benchmark[i]!);
  return sum / 2;
}

/**
 * Computes the active share.
 * @param active weights of one side, which are overwritten
 * @param ownPositions positions of the other side's securities in `active`; -1 if absent
 */
function computeActiveShare(active: Float64Array, other: Float64Array, ownPositions: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < other.length; i++) {
    const column = ownPositions[i]!;
    if (column >= 0) active[column]! -= other[i]!;
    else sum += Math.abs(other[i]!);
  }
  for (let i = 0; i < active.length; i++) sum += Math.abs(active[i]!);
  return sum / 2;
}

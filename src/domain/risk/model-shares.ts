import { compareText } from '../refusals/findings.js';
import { computeFullScale } from './risk-contributions.js';
import { unpackRow } from './packed-matrix.js';
import type { StoredModel } from './stored-model.js';

/** Volatility under a stored model, with the contribution of each security. */
export interface ModelShares {
  /** Annualised volatility. The weights of the securities in the model are scaled to the weight of all securities. */
  readonly volatility: number;
  /** Contribution of each security in the model. The contributions sum to the volatility, and are 0 if it is 0. */
  readonly contributions: ReadonlyMap<string, number>;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Computes the volatility of weights and its Euler decomposition: w_i (Sigma w)_i / sigma.
 * @param weights weights by security; active weights give a tracking error
 * @cost n of the N rows of the model
 */
export function computeModelShares(
  { names, ...model }: StoredModel,
  weights: ReadonlyMap<string, number>,
): ModelShares {
  const covariance = model.covariance();
  const scale = computeFullScale(computeCoveredFraction(names, weights));
  const w = Float64Array.from(names, (name) => scale * (weights.get(name) ?? 0));
  const row = new Float64Array(names.length);
  const varianceParts = new Map<string, number>();
  let variance = 0;
  names.forEach((name, i) => {
    if (!weights.has(name)) return;
    let marginal = 0;
    if (w[i] !== 0) {
      unpackRow(covariance, i, row);
      for (let j = 0; j < w.length; j++) marginal += row[j]! * w[j]!;
    }
    varianceParts.set(name, w[i]! * marginal);
    variance += w[i]! * marginal;
  });
  const volatility = Math.sqrt(Math.max(variance, 0));
  return {
    volatility,
    contributions: new Map([...varianceParts].map(([name, part]) => [name, volatility === 0 ? 0 : part / volatility])),
    uncovered: [...weights.keys()].filter((name) => !varianceParts.has(name)).toSorted(compareText),
  };
}

/** Returns the fraction of the sum of absolute weights that some securities have; 1 without weights. */
export function computeCoveredFraction(names: Iterable<string>, weights: ReadonlyMap<string, number>): number {
  const sumGross = (identifiers: Iterable<string>): number => {
    let sum = 0;
    for (const name of identifiers) sum += Math.abs(weights.get(name) ?? 0);
    return sum;
  };
  const total = sumGross([...weights.keys()].toSorted(compareText));
  const isCovered = new Set(names);
  const covered = sumGross([...weights.keys()].filter((name) => isCovered.has(name)).toSorted(compareText));
  return total === 0 ? 1 : covered / total;
}

/** Returns weight less benchmark weight for each security of either portfolio, ascending. */
export function computeActiveByName(
  weights: ReadonlyMap<string, number>,
  benchmark: ReadonlyMap<string, number>,
): Map<string, number> {
  const identifiers = [...new Set([...weights.keys(), ...benchmark.keys()])].toSorted(compareText);
  return new Map(identifiers.map((name) => [name, (weights.get(name) ?? 0) - (benchmark.get(name) ?? 0)]));
}

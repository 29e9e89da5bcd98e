import { compareText } from '../refusals/findings.js';
import type { FactorModel } from './factor-model.js';
import { computeCoveredFraction } from './model-shares.js';
import { computeFullScale } from './risk-contributions.js';
import { splitByFactors, type FactorSplit } from './factor-risk.js';

/** Variance of total or active weights, decomposed by the factors of a stored model. */
export interface ModelFactorRisk extends FactorSplit {
  /** Covered fraction of the sum of absolute weights. */
  readonly coveredWeight: number;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Decomposes the variance of weights with a factor model. The weights of the securities in the model are scaled to the
 * weight of all securities.
 * @param names securities of the model, [n]
 * @param weights total weights, or weights less benchmark weights
 */
export function computeModelFactorRisk(
  model: FactorModel,
  names: readonly string[],
  weights: ReadonlyMap<string, number>,
): ModelFactorRisk {
  const modelNames = new Set(names);
  const coveredWeight = computeCoveredFraction(names, weights);
  const scale = computeFullScale(coveredWeight);
  return {
    ...splitByFactors(
      model,
      Float64Array.from(names, (name) => scale * (weights.get(name) ?? 0)),
    ),
    coveredWeight,
    uncovered: [...weights.keys()].filter((name) => !modelNames.has(name)).toSorted(compareText),
  };
}

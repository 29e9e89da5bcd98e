import { compareText } from '../refusals/findings.js';
import type { FactorModel } from './factor-model.js';
import { splitByFactors, type FactorSplit } from './factor-risk.js';

/** Variance of total or active weights, decomposed by the factors of a stored model. */
export interface ModelFactorRisk extends FactorSplit {
  /** Covered fraction of the sum of absolute weights. */
  readonly coveredWeight: number;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Decomposes the variance of weights with a factor model. Ignores securities outside the model.
 * @param names securities of the model, [n]
 * @param weights total weights, or weights less benchmark weights
 */
export function computeModelFactorRisk(
  model: FactorModel,
  names: readonly string[],
  weights: ReadonlyMap<string, number>,
): ModelFactorRisk {
  const modelNames = new Set(names);
  const gross = [...weights.values()].reduce((sum, weight) => sum + Math.abs(weight), 0);
  const coveredWeight = names.reduce((sum, name) => sum + Math.abs(weights.get(name) ?? 0), 0);
  return {
    ...splitByFactors(
      model,
      Float64Array.from(names, (name) => weights.get(name) ?? 0),
    ),
    coveredWeight: gross === 0 ? 1 : coveredWeight / gross,
    uncovered: [...weights.keys()].filter((name) => !modelNames.has(name)).toSorted(compareText),
  };
}

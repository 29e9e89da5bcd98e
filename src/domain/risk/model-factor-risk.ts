import { compareText } from '../refusals/findings.js';
import type { FactorModel } from './factor-model.js';
import { splitByFactors, type FactorSplit } from './factor-risk.js';

/** Active variance, decomposed by the factors of a stored model. */
export interface ModelFactorRisk extends FactorSplit {
  /** Covered fraction of the sum of absolute active weights. */
  readonly coveredWeight: number;
  /** Securities without an estimate, ascending. */
  readonly uncovered: readonly string[];
}

/**
 * Decomposes the active variance of weights with a factor model. Ignores securities outside the model.
 * @param names securities of the model, [n]
 * @param active weights less benchmark weights
 */
export function computeModelFactorRisk(
  model: FactorModel,
  names: readonly string[],
  active: ReadonlyMap<string, number>,
): ModelFactorRisk {
  const modelNames = new Set(names);
  const gross = [...active.values()].reduce((sum, weight) => sum + Math.abs(weight), 0);
  const coveredWeight = names.reduce((sum, name) => sum + Math.abs(active.get(name) ?? 0), 0);
  return {
    ...splitByFactors(
      model,
      Float64Array.from(names, (name) => active.get(name) ?? 0),
    ),
    coveredWeight: gross === 0 ? 1 : coveredWeight / gross,
    uncovered: [...active.keys()].filter((name) => !modelNames.has(name)).toSorted(compareText),
  };
}

import { textsOf } from './amended-texts.js';
import { compareText } from '../refusals/findings.js';
import type { IndexDocument } from './index-document.js';
import type { OptimisationSpec } from './optimisation-spec.js';
import type { RiskModelDocument } from '../risk/risk-model-document.js';

/** All of a stored risk model that has a bearing on a result. */
export interface PlannedModel {
  /** Names with an estimate, in the order of the matrix. */
  readonly asset_ids: readonly string[];
  /** Last day of the returns it was estimated on. */
  readonly observed_end: string;
  /** SHA-256 of its matrix. */
  readonly covariance: string;
}

/** By id of the model. */
export type PlannedModels = Readonly<Record<string, PlannedModel>>;

export function plannedModel({ asset_ids, observed_end, covariance }: RiskModelDocument): PlannedModel {
  return { asset_ids, observed_end, covariance: covariance.sha256 };
}

/** Id of the stored model that an optimisation is measured by; undefined without one. */
export function storedModelOf({ risk_model: model }: Pick<OptimisationSpec, 'risk_model'>): string | undefined {
  return typeof model === 'string' ? model : undefined;
}

/** Ids of the stored risk models that definitions use, each with the index that does, ascending. */
export function usedModels(documents: Iterable<IndexDocument>): ReadonlyMap<string, string> {
  const used = new Map<string, string>();
  const texts = [...documents].flatMap((document) => textsOf(document).map((text) => text.document));
  for (const { id, derivation } of texts) {
    const model = derivation === null ? undefined : storedModelOf(derivation);
    if (model !== undefined && !used.has(model)) used.set(model, id);
  }
  return new Map([...used].toSorted(([a], [b]) => compareText(a, b)));
}

import { compareText } from '../refusals/findings.js';
import type { IndexDocument } from './index-document.js';
import type { OptimisationSpec } from './optimisation-spec.js';
import type { ModelDate } from '../risk/imported/model-dates.js';
import type { RiskModelDocument } from '../risk/risk-model-document.js';

/** All of a stored risk model that has a bearing on a result. */
export interface PlannedModel {
  /** Names with an estimate, in the order of the matrix. */
  readonly asset_ids: readonly string[];
  /** Last day of the returns it was estimated on. */
  readonly observed_end: string;
  /** SHA-256 of its matrix. */
  readonly covariance: string;
  /** Of an imported model, ascending; absent of an estimated one. */
  readonly dates?: readonly ModelDate[];
}

/** By id of the model. */
export type PlannedModels = Readonly<Record<string, PlannedModel>>;

export function plannedModel({ asset_ids, observed_end, covariance, imported }: RiskModelDocument): PlannedModel {
  const planned = { asset_ids, observed_end, covariance: covariance.sha256 };
  return imported === undefined
    ? planned
    : { ...planned, dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) };
}

/** The first day whose decisions may use a model. */
export function knownFrom({ observed_end: end, dates }: Pick<PlannedModel, 'observed_end' | 'dates'>): string {
  return dates?.[0]?.date ?? end;
}

/** Id of the stored model that an optimisation is measured by; undefined without one. */
export function storedModelOf({ risk_model: model }: Pick<OptimisationSpec, 'risk_model'>): string | undefined {
  return typeof model === 'string' ? model : undefined;
}

/** Ids of the stored risk models that definitions use, each with the index that does, ascending. */
export function usedModels(documents: Iterable<IndexDocument>): ReadonlyMap<string, string> {
  const used = new Map<string, string>();
  for (const { id, derivation } of documents) {
    const model = derivation === null ? undefined : storedModelOf(derivation);
    if (model !== undefined && !used.has(model)) used.set(model, id);
  }
  return new Map([...used].toSorted(([a], [b]) => compareText(a, b)));
}

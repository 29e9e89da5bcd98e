import { listTexts } from './amended-texts.js';
import { compareText } from '../refusals/findings.js';
import type { IndexDocument } from './index-document.js';
import type { OptimisationSpec } from './optimisation-spec.js';
import type { ModelDate } from '../risk/imported/model-dates.js';
import type { RiskModelDocument } from '../risk/risk-model-document.js';

/** Properties of a stored risk model that affect a result. */
export interface PlannedModel {
  /** Securities with an estimate, in the order of the matrix. */
  readonly asset_ids: readonly string[];
  /** Last day of the returns used for the estimate. */
  readonly observed_end: string;
  /** SHA-256 of its matrix; see `MatrixFiles`. */
  readonly covariance: string;
  /** Dates of an imported model, ascending; absent for an estimated one. */
  readonly dates?: readonly ModelDate[];
}

/** Keyed by model id. */
export type PlannedModels = Readonly<Record<string, PlannedModel>>;

export function toPlannedModel({ asset_ids, observed_end, covariance, imported }: RiskModelDocument): PlannedModel {
  const planned = { asset_ids, observed_end, covariance: covariance.sha256 };
  return imported === undefined
    ? planned
    : { ...planned, dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) };
}

/** Returns the first day whose decisions may use a model. */
export function findFirstKnownDay({ observed_end: end, dates }: Pick<PlannedModel, 'observed_end' | 'dates'>): string {
  return dates?.[0]?.date ?? end;
}

/** Returns the id of the stored model of an optimisation; undefined if there is none. */
export function readStoredModelId({ risk_model: model }: Pick<OptimisationSpec, 'risk_model'>): string | undefined {
  return typeof model === 'string' ? model : undefined;
}

/** Path at which a definition refers to its stored risk model. */
export interface ModelUse {
  readonly modelId: string;
  readonly path: string;
}

/** Returns the stored risk model that a definition uses; undefined if there is none. */
export function findModelUse({
  derivation,
  pipeline,
}: Pick<IndexDocument, 'derivation' | 'pipeline'>): ModelUse | undefined {
  const derived = derivation === null ? undefined : readStoredModelId(derivation);
  if (derived !== undefined) return { modelId: derived, path: 'derivation.risk_model' };
  const weighed = pipeline?.weighting.params['risk_model'];
  return typeof weighed === 'string' ? { modelId: weighed, path: 'pipeline.weighting.params.risk_model' } : undefined;
}

/** Returns ids of the stored risk models that definitions use, each with its index and path, ascending. */
export function listUsedModels(documents: Iterable<IndexDocument>): ReadonlyMap<string, UsedBy> {
  const used = new Map<string, UsedBy>();
  for (const document of [...documents].flatMap((whole) => listTexts(whole).map((text) => text.document))) {
    const use = findModelUse(document);
    if (use !== undefined && !used.has(use.modelId)) used.set(use.modelId, { indexId: document.id, path: use.path });
  }
  return new Map([...used].toSorted(([a], [b]) => compareText(a, b)));
}

export interface UsedBy extends Pick<ModelUse, 'path'> {
  readonly indexId: string;
}

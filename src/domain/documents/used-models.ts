import { listTexts } from './amended-texts.js';
import { compareText } from '../refusals/findings.js';
import type { IndexDocument } from './index-document.js';
import type { OptimisationSpec } from './optimisation-spec.js';
import type { ModelDate } from '../risk/imported/model-dates.js';
import type { RiskModelDocument } from '../risk/risk-model-document.js';

/** Properties of a stored risk model that affect a result. */
export interface PlannedModel {
  /** Identifiers of the securities with an estimate, in the order of the matrix. */
  readonly asset_ids: readonly string[];
  /** Last day of the returns from which the model was estimated. */
  readonly observed_end: string;
  /** SHA-256 of its matrix; see `MatrixFiles`. */
  readonly covariance: string;
  /** Dates of an imported model, ascending; absent for an estimated model. */
  readonly dates?: readonly ModelDate[];
}

/** Risk models by id. */
export type PlannedModels = Readonly<Record<string, PlannedModel>>;

export function toPlannedModel({ asset_ids, observed_end, covariance, imported }: RiskModelDocument): PlannedModel {
  const plannedModel = { asset_ids, observed_end, covariance: covariance.sha256 };
  return imported === undefined
    ? plannedModel
    : { ...plannedModel, dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) };
}

/** Returns the first day on which decisions may use a model. */
export function findFirstModelDay({ observed_end: end, dates }: Pick<PlannedModel, 'observed_end' | 'dates'>): string {
  return dates?.[0]?.date ?? end;
}

/** Returns the id of the stored model in an optimisation. Returns undefined without a stored model. */
export function readStoredModelId({ risk_model: model }: Pick<OptimisationSpec, 'risk_model'>): string | undefined {
  return typeof model === 'string' ? model : undefined;
}

/** Reference of a definition to its stored risk model, with the path. */
export interface ModelUse {
  readonly modelId: string;
  readonly path: string;
}

/** Returns the reference to a stored risk model in a definition. Returns undefined without a stored model. */
export function findModelUse({
  derivation,
  pipeline,
}: Pick<IndexDocument, 'derivation' | 'pipeline'>): ModelUse | undefined {
  const derivationModelId = derivation === null ? undefined : readStoredModelId(derivation);
  if (derivationModelId !== undefined) return { modelId: derivationModelId, path: 'derivation.risk_model' };
  const weightingModelId = pipeline?.weighting.params['risk_model'];
  return typeof weightingModelId === 'string'
    ? { modelId: weightingModelId, path: 'pipeline.weighting.params.risk_model' }
    : undefined;
}

/** Returns the ids of the stored risk models that definitions use, ascending, each with its index and path. */
export function listUsedModels(documents: Iterable<IndexDocument>): ReadonlyMap<string, ModelUser> {
  const usedModels = new Map<string, ModelUser>();
  for (const document of [...documents].flatMap((whole) => listTexts(whole).map((text) => text.document))) {
    const use = findModelUse(document);
    if (use !== undefined && !usedModels.has(use.modelId))
      usedModels.set(use.modelId, { indexId: document.id, path: use.path });
  }
  return new Map([...usedModels].toSorted(([a], [b]) => compareText(a, b)));
}

export interface ModelUser extends Pick<ModelUse, 'path'> {
  readonly indexId: string;
}

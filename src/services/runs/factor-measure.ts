import { readModelSource, type RiskModelDocument } from '#domain/risk/risk-model-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { FACTOR_ESTIMATORS, isFactorEstimator, type FactorEstimator } from '#domain/risk/factor-model.js';
import type { FactorModelName } from '#domain/risk/factor-risk.js';
import type { FactorMeasure, FactorModelFile } from '#jobs/tasks/views.js';
import type { ArtifactStore, DocumentReader } from '#store/port.js';
import { requireModelOnStore } from '../stored/used-models.js';

/** Default factors of a view, and default number of principal components. */
const DEFAULT_MODEL: FactorModelName = 'market_sector';
export const DEFAULT_COMPONENTS = 5;

/** Source of the factors that a request names. */
export interface FactorRequest {
  readonly model?: FactorModelName | undefined;
  readonly risk_model?: string | undefined;
  readonly risk_estimator?: FactorEstimator | undefined;
  readonly factors?: number | undefined;
}

/**
 * Returns the factors of a stored model, or factors that are estimated over the window of a run.
 * @param storeId data store of the run; undefined if it is unknown
 * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE; VALIDATION_FAILED if several are requested, or the stored
 * model has no factors or was estimated on another data store
 */
export async function resolveFactorMeasure(
  {
    documents,
    artifacts,
  }: { readonly documents: Pick<DocumentReader, 'get'>; readonly artifacts: Pick<ArtifactStore, 'file'> },
  factorRequest: FactorRequest,
  storeId: string | undefined,
): Promise<FactorMeasure> {
  const { model, risk_model: modelId, risk_estimator: estimator, factors } = factorRequest;
  assertSingleSource({ risk_model: modelId, risk_estimator: estimator, model });
  if (modelId !== undefined) {
    if (factors !== undefined) throw createRefusal('UNKNOWN_FIELD', 'factors', 'A stored model has its own factors.');
    return {
      stored: await readStoredFactors(artifacts, await requireModelOnStore(documents, modelId, storeId, 'query')),
    };
  }
  const estimatorName = estimator ?? model ?? DEFAULT_MODEL;
  return {
    model: estimatorName,
    factors: factors ?? DEFAULT_COMPONENTS,
    estimator: estimator ?? null,
    findings:
      factors === undefined || estimatorName === 'statistical' ? [] : [createUnreadFactors(estimatorName, factors)],
  };
}

/** Checks that a request uses at most one of several alternatives. @throws Refusal VALIDATION_FAILED */
function assertSingleSource(riskSources: Readonly<Record<string, string | undefined>>): void {
  const [first, second] = Object.entries(riskSources).filter(([, value]) => value !== undefined);
  if (first === undefined || second === undefined) return;
  const message = `${second[0]} cannot be combined with ${first[0]}: factors are those of ${first[1]} or of ${second[1]}.`;
  throw createRefusal('UNKNOWN_FIELD', second[0], message);
}

async function readStoredFactors(
  artifacts: Pick<ArtifactStore, 'file'>,
  { model_id: modelId, request, imported, factor_model: factorModel, factors: file, ...document }: RiskModelDocument,
): Promise<FactorModelFile> {
  const source = readModelSource({ request });
  if ((source !== 'imported' && !isFactorEstimator(source)) || factorModel === undefined)
    throw createRefusal(
      'NOT_IN_CHOICES',
      'risk_model',
      source === 'imported'
        ? `The risk model ${modelId} was imported as covariances, without factors.`
        : `The risk model ${modelId} is estimated by ${source}, which has no factors; ${FACTOR_ESTIMATORS.join(', ')} have.`,
    );
  if (file === undefined)
    throw createRefusal(
      'REQUIRED',
      'risk_model',
      `The risk model ${modelId} was stored without its exposures, by an earlier version: estimate it again.`,
    );
  return {
    modelId,
    path: await artifacts.file(file),
    estimator: source,
    factors: factorModel.factors.map(({ factor }) => factor),
    names: document.asset_ids,
    observedStart: document.observed_start,
    observedEnd: document.observed_end,
    ...(imported === undefined ? {} : { dates: imported.dates.map(({ date, lacks }) => ({ date, lacks })) }),
  };
}

function createUnreadFactors(model: FactorModelName, value: number): Finding {
  const message = `factors does nothing: ${model} does not read it, as statistical does.`;
  return { severity: 'warning', code: 'NO_EFFECT', path: 'factors', message, value };
}

function createRefusal(code: Finding['code'], path: string, message: string) {
  return refuseWithFindings('query', [{ severity: 'error', code, path, message }]);
}

import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import {
  FactorModelPayload,
  ImportedModelPayload,
  MODEL_SOURCES,
  RiskDiagnosticsPayload,
  RiskModelRequest,
} from '#domain/risk/risk-model-document.js';
import { RiskValidationRequest } from '#domain/risk/validation/risk-validation-request.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { Finding, listingQuery, skippedFields, TableFrame } from './common.js';
import { createJobStatus } from './jobs.js';
import { RiskValidationJobStatus } from './risk-validation.js';
import { defineRoutes } from './route.js';

const storeOfModel = z.string().nullable().meta({
  description:
    'Data store of the returns; null for an imported model and for a model of an earlier release. A model with a store is refused on other stores.',
});

export const RiskModelView = defineObject(() => ({
  model_id: z.string(),
  asset_ids: z
    .array(z.string())
    .meta({ description: 'Securities with an estimate, ascending. This is the order of the matrices.' }),
  correlation: TableFrame.meta({ description: 'Correlation matrix, symmetric with a unit diagonal.' }),
  covariance: TableFrame.meta({ description: 'Annualised.' }),
  volatilities: z
    .record(z.string(), z.number())
    .meta({ description: 'Annualised volatilities: square roots of the covariance diagonal.' }),
  diagnostics: RiskDiagnosticsPayload,
  factor_model: FactorModelPayload.optional().meta({
    description: 'Factors of the estimators statistical, industries and styles. Absent for other estimators.',
  }),
  imported: ImportedModelPayload.optional().meta({
    description: 'Settings and dates of an imported model. Absent for other models.',
  }),
  date: z.string().optional().meta({ description: 'Date of the returned model; absent for an estimated model.' }),
  start: z.string().nullable().meta({ description: 'Bound of the window in the request.' }),
  end: z.string().nullable().meta({ description: 'Bound of the window in the request.' }),
  excluded: z.record(z.string(), z.string()).meta({ description: 'Excluded securities, with the reason.' }),
  findings: z
    .array(Finding)
    .meta({ description: 'Unused settings of the request (`NO_EFFECT`), and warnings of an import.' }),
  store_id: storeOfModel,
  observed_start: z.string().meta({ description: 'First date of the returns used, or of an imported model.' }),
  observed_end: z.string().meta({ description: 'Last date of the returns used, or of an imported model.' }),
  content_hash: z.string().meta({ description: 'SHA-256 of securities and matrix.' }),
  precision: z
    .enum(['float64', 'float32'])
    .meta({ description: 'Precision of the covariance product: float32 on the tensorflow engine.' }),
})).meta({ id: 'RiskModelView' });
export type RiskModelView = z.infer<typeof RiskModelView>;

export const RiskModelSummary = defineObject(() => ({
  model_id: z.string(),
  estimator: z.enum(MODEL_SOURCES).meta({ description: 'Estimator; `imported` for an imported model.' }),
  index_id: z
    .string()
    .nullable()
    .meta({ description: 'Index whose constituents were estimated; null for listed securities or an imported model.' }),
  store_id: storeOfModel,
  observed_start: z.string().meta({ description: 'First date of the returns used, or of an imported model.' }),
  observed_end: z.string().meta({ description: 'Last date of the returns used, or of an imported model.' }),
  factors: z.int().nullable().meta({ description: 'Number of factors; null for a model without factors.' }),
  assets: z.int(),
  average_correlation: z.number().meta({ description: 'Mean off-diagonal correlation; 0 for one security.' }),
  observations: z.int(),
  positive_semi_definite: z.boolean(),
})).meta({ id: 'RiskModelSummary' });

export const RiskModelCollection = defineObject(() => ({
  risk_models: z.array(RiskModelSummary),
  ...skippedFields,
})).meta({ id: 'RiskModelCollection' });
export type RiskModelCollection = z.infer<typeof RiskModelCollection>;

export const RiskModelJobStatus = createJobStatus('RiskModelJobStatus', 'risk', RiskModelView);

const params = defineObject(() => ({ model_id: Id.meta({ description: 'Id of the risk model.' }) }));
const tag = 'risk-models';

export const riskModelRoutes = defineRoutes({
  listRiskModels: {
    method: 'GET',
    path: '/risk-models',
    scope: 'read',
    tag,
    summary: 'Lists the stored risk models, by id.',
    query: listingQuery,
    success: { status: 200, description: 'Their summaries.', schema: RiskModelCollection },
    errors: [],
  },
  getRiskModel: {
    method: 'GET',
    path: '/risk-models/{model_id}',
    scope: 'read',
    tag,
    summary: 'Returns a risk model with its matrices.',
    description:
      'With `Accept: application/vnd.apache.arrow.stream`, the response is an Arrow stream of the covariance, with a column `asset_id` and one column per security. `body` of its schema metadata contains the other fields. For more than 2,000 securities, `correlation` is null there, because it follows from the covariance.',
    params,
    query: defineObject(() => ({
      date: IsoDate.optional().meta({
        description: 'For an imported model, the day whose model is returned. Default: the newest day.',
      }),
    })),
    success: {
      status: 200,
      description: 'The model.',
      schema: RiskModelView,
      media: ['application/vnd.apache.arrow.stream'],
    },
    errors: ['RISK_MODEL_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'NO_DATA_AT_DATE'],
  },
  estimateRiskModel: {
    method: 'POST',
    path: '/risk-models/{model_id}/estimate',
    onStore: 'query',
    scope: 'run',
    tag,
    summary: 'Estimates a risk model as a job.',
    description:
      'The stored model is replaced only if the job succeeds. Without a body, an existing model is estimated again with its settings.',
    params,
    body: {
      schema: RiskModelRequest,
      optional: true,
      example: { index_id: 'LARGE-100', intensity_method: 'ledoit_wolf' },
    },
    success: { status: 202, description: 'The job; see Location.', schema: RiskModelJobStatus },
    errors: [
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'UNIVERSE_REQUIRED',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'DOCUMENT_UNREADABLE',
      'JOB_RUNNING',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
    ],
  },
  validateRiskModel: {
    method: 'POST',
    path: '/risk-models/{model_id}/validate',
    onStore: 'query',
    scope: 'run',
    tag,
    summary: 'Validates the forecasts of a risk model over history, as a job.',
    description:
      'For each day of history, the model is estimated again with its settings from the returns up to that day. Its forecasts of the volatility of portfolios are compared with the returns after that day. The securities are those of the stored model.',
    params,
    body: { schema: RiskValidationRequest, optional: true, example: { horizon: 21, sessions: 252 } },
    success: { status: 202, description: 'The job; see Location.', schema: RiskValidationJobStatus },
    errors: [
      'RISK_MODEL_NOT_FOUND',
      'DOCUMENT_UNREADABLE',
      'INVALID_RANGE',
      'NO_DATA_IN_RANGE',
      'NO_DATA_KNOWN',
      'VERSION_NOT_FOUND',
      'JOB_RUNNING',
      'NO_DATA_SOURCE',
      'STORE_MISMATCH',
    ],
  },
  deleteRiskModel: {
    method: 'DELETE',
    path: '/risk-models/{model_id}',
    scope: 'write',
    tag,
    summary: 'Deletes a risk model.',
    params,
    versioned: true,
    success: { status: 204, description: 'Deleted.' },
    errors: ['RISK_MODEL_NOT_FOUND'],
  },
});

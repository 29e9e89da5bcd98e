import { z } from 'zod';
import { LIMITS } from '#domain/base/limits.js';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { MODEL_FILES, RiskModelImport, RiskModelImportQuery } from '#domain/risk/model-terms.js';
import {
  FactorModelPayload,
  ImportedModelPayload,
  MODEL_SOURCES,
  RiskDiagnosticsPayload,
  RiskModelRequest,
  RiskValidationRequest,
} from '#domain/risk/risk-models.js';
import { PORTFOLIO_FAMILIES } from '#domain/risk/validation.js';
import { createJobStatus } from './jobs.js';
import { FindingPayload, listingQuery, skippedFields, TableFrame } from './payloads.js';
import { defineRoutes } from './route.js';

export const RiskModelImportResult = defineObject(() => ({
  model_id: z.string(),
  assets: z.int().meta({ description: 'Securities of all dates.' }),
  factors: z.array(z.string()).meta({ description: 'Factors in the order of the model; empty for covariances.' }),
  imported: ImportedModelPayload.meta({ description: 'Settings and dates of the model.' }),
  content_hash: z.string().meta({ description: 'SHA-256 of securities, dates and matrices.' }),
  findings: z.array(FindingPayload).meta({ description: 'Warnings, which do not block an import.' }),
})).meta({ id: 'RiskModelImportResult' });
export type RiskModelImportResult = z.infer<typeof RiskModelImportResult>;

const params = defineObject(() => ({ model_id: Id.meta({ description: 'Id of the risk model.' }) }));
const tag = 'risk-models';

const ids = ['BECQ', 'BEDV'];

export const riskModelImportRoutes = defineRoutes(tag, {
  importRiskModel: {
    method: 'POST',
    path: '/risk-models/{model_id}/import',
    onStore: 'query',
    scope: 'write',
    summary: 'Imports a risk model.',
    description:
      'The body contains covariances of securities, or a factor model, by date. A decision uses the newest model with a date on or before the decision date. The body is JSON, or a CSV or Arrow file with its settings in the query. A file has the columns `date`, `table`, `row`, `column` and `value`, or covariances with a column `identifier` and one column for each security. A model with the same id is replaced. If a finding is an error, nothing is stored.',
    params,
    query: RiskModelImportQuery,
    body: {
      schema: RiskModelImport,
      bytesMax: LIMITS.MAX_IMPORT_BYTES,
      upload: { media: Object.keys(MODEL_FILES), bytesMax: LIMITS.MAX_IMPORT_BYTES },
      raw: true,
      example: {
        units: 'annual',
        models: [
          {
            date: '2024-01-31',
            covariance: {
              index: ids,
              columns: ids,
              data: [
                [0.09, 0.03],
                [0.03, 0.0625],
              ],
            },
          },
        ],
      },
    },
    success: { status: 201, description: 'The stored model.', schema: RiskModelImportResult },
    errors: ['OVERLOADED', 'RATE_LIMITED', 'STORAGE_FULL'],
  },
  exportRiskModel: {
    method: 'GET',
    path: '/risk-models/{model_id}/export',
    scope: 'read',
    summary: 'Returns a risk model in the form of an import.',
    description:
      'The response contains annual numbers of every date: exposures, factor covariance and specific variances of a factor model, or covariances of other models. An import of the response creates the same model.',
    params,
    success: { status: 200, description: 'The model.', schema: RiskModelImport },
    errors: ['RISK_MODEL_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

const defineNumber = (description: string) => z.number().meta({ description });
const family = z.enum(PORTFOLIO_FAMILIES).meta({
  description:
    'equal_weight: all covered securities. index: the weights of the index. random: long-only, 20 securities. active: a random portfolio less the equally weighted portfolio. eigenportfolio: an eigenvector of the covariance.',
});

const measures = {
  bias: defineNumber(
    'Standard deviation of the outcomes, each divided by its forecast. Above 1, risk was underestimated.',
  ),
  q_statistic: z.number().nullable().meta({
    description: 'Mean of z^2 - ln z^2 of the standardised outcomes; 2.27 for correct forecasts and normal returns.',
  }),
  qlike: defineNumber(
    'Mean of ln s^2 + z^2, where s is the forecast over the horizon. The model with the lower value forecasts better.',
  ),
  mean_rolling_deviation: z.number().nullable().meta({
    description:
      'Mean of |bias - 1| over rolling windows of 12 outcomes; null with fewer outcomes. It is 0.17 for correct forecasts.',
  }),
};

const ValidatedPortfolio = defineObject(() => ({
  family,
  number: z
    .int()
    .meta({ description: 'Number within the family, from 1. Eigenportfolios are sorted by decreasing eigenvalue.' }),
  observations: z.int().meta({ description: 'Number of forecasts with an outcome.' }),
  ...measures,
  bias_low: defineNumber('Lower end of the 95% band of the bias of unbiased forecasts: 1 - sqrt(2 / observations).'),
  bias_high: defineNumber('Upper end of the 95% band of the bias: 1 + sqrt(2 / observations).'),
  in_band: z.boolean().meta({ description: 'True if the bias is within the band.' }),
  forecast_volatility: defineNumber('Root mean square of the forecasts, annualised.'),
  realised_volatility: defineNumber('Standard deviation of the outcomes, annualised.'),
})).meta({ id: 'ValidatedPortfolio' });

const ValidatedFamily = defineObject(() => ({
  family,
  portfolios: z.int().meta({ description: 'Portfolios of the family.' }),
  share_in_band: defineNumber('Fraction of the portfolios with a bias within the band; 0.95 for unbiased forecasts.'),
  ...measures,
})).meta({ id: 'ValidatedFamily', description: 'Means over the portfolios of a family.' });

export const RiskValidationView = defineObject(() => ({
  model_id: z.string(),
  settings: RiskModelRequest.pick({
    estimator: true,
    factors: true,
    eigenvalue_simulations: true,
    threshold: true,
    lags: true,
    target: true,
    intensity: true,
    intensity_method: true,
    half_life: true,
  }).meta({ description: 'Estimator of every forecast.' }),
  sessions: z.int().meta({ description: 'Number of returns of each forecast.' }),
  horizon: z.int().meta({ description: 'Number of sessions of an outcome.' }),
  index_id: z.string().nullable().meta({ description: 'Index whose weights are tested as a portfolio.' }),
  start: z.string().meta({ description: 'Day of the first forecast.' }),
  end: z.string().meta({ description: 'Last day of the last outcome.' }),
  forecasts: z.int().meta({ description: 'Number of days with forecasts.' }),
  skipped: z.int().meta({ description: 'Number of days with too little data for an estimate.' }),
  families: z.array(ValidatedFamily).meta({ description: 'Means over the portfolios of each family.' }),
  portfolios: z.array(ValidatedPortfolio).meta({ description: 'Each portfolio over all of its forecasts.' }),
  by_date: TableFrame.meta({
    description:
      'Rows by day of the forecast: number of securities with an estimate; forecast volatility and outcome over the horizon for the equally weighted portfolio and the index; root mean square of the standardised outcomes of each family.',
  }),
})).meta({ id: 'RiskValidationView' });
export type RiskValidationView = z.infer<typeof RiskValidationView>;

const RiskValidationJobStatus = createJobStatus('RiskValidationJobStatus', 'validate', RiskValidationView);

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
    .array(FindingPayload)
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

export const riskModelRoutes = defineRoutes(tag, {
  listRiskModels: {
    method: 'GET',
    path: '/risk-models',
    call: 'riskModels.list',
    scope: 'read',
    summary: 'Lists the stored risk models, by id.',
    query: listingQuery,
    success: { status: 200, description: 'Their summaries.', schema: RiskModelCollection },
  },
  getRiskModel: {
    method: 'GET',
    path: '/risk-models/{model_id}',
    scope: 'read',
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
    call: 'riskModels.estimate',
    onStore: 'query',
    scope: 'run',
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
    call: 'riskModels.validate',
    onStore: 'query',
    scope: 'run',
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
    call: 'riskModels.remove',
    scope: 'write',
    summary: 'Deletes a risk model.',
    params,
    versioned: true,
    success: { status: 204, description: 'Deleted. An estimate of the model, also its first one, is cancelled.' },
    errors: ['RISK_MODEL_NOT_FOUND'],
  },
});

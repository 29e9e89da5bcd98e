import { z } from 'zod';
import { SHRINKAGE_TARGETS } from '#kernels/moments/shrinkage.js';
import { STRUCTURED_ESTIMATORS } from '#kernels/moments/structured-covariance.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';

import { AsKnownOn, AssetIdentifier, defineObject, Id, IsoDate } from '../base/schema.js';
import { describeSetting, ESTIMATOR_SETTINGS, FACTOR_ESTIMATORS, ImportTerms } from './model-terms.js';

export const StoredArtifact = defineObject(() => ({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }));
export type StoredArtifact = z.infer<typeof StoredArtifact>;

/**
 * Files of a stored matrix: one file, or one file per part, in order. The SHA-256 of a single file is that of its
 * bytes. For parts, it is that of their joined hex hashes, because no node reads the parts of other nodes.
 */
export const MatrixFiles = z.union([
  StoredArtifact,
  defineObject(() => ({ sha256: z.string(), files: z.array(StoredArtifact) })),
]);
export type MatrixFiles = z.infer<typeof MatrixFiles>;

export const listMatrixFiles = (matrix: MatrixFiles): readonly StoredArtifact[] =>
  'files' in matrix ? matrix.files : [matrix];

/** API names of the estimators. */
export const ESTIMATORS = ['shrinkage', ...STRUCTURED_ESTIMATORS, ...FACTOR_ESTIMATORS] as const;
export type Estimator = (typeof ESTIMATORS)[number];

export const MODEL_SOURCES = [...ESTIMATORS, 'imported'] as const;
type ModelSource = (typeof MODEL_SOURCES)[number];

/** Maximum number of autocovariance lags of an estimate. */
const LAGS_MAX = 20;

/** Maximum number of principal components of an estimate. */
const FACTORS_MAX = 100;

/** Maximum number of samples for an eigenvalue adjustment. */
const SIMULATIONS_MAX = 1_000;

/** Estimator, and settings that apply only to some estimators. */
const estimatorFields = {
  estimator: z.enum(ESTIMATORS).default('shrinkage').meta({
    description:
      '`shrinkage`: a sample covariance shrunk towards a target; `nonlinear`: every eigenvalue shrunk by the analytical formula of Ledoit and Wolf; `gerber`: joint moves beyond a threshold; `denoised`: eigenvalues below the Marchenko-Pastur edge replaced by their mean; `newey_west`: weighted by half_life, with autocovariances; `statistical`: principal components as factors; `industries`: market and SECTOR as factors; `styles`: these and size, value, momentum, volatility, liquidity, quality and dividend.',
  }),
  factors: z
    .int()
    .min(1)
    .max(FACTORS_MAX)
    .optional()
    .meta({ description: describeSetting('factors') }),
  eigenvalue_simulations: z
    .int()
    .min(1)
    .max(SIMULATIONS_MAX)
    .optional()
    .meta({ description: describeSetting('eigenvalue_simulations') }),
  threshold: z
    .number()
    .min(0)
    .max(10)
    .default(0.5)
    .meta({ description: describeSetting('threshold') }),
  lags: z
    .int()
    .min(0)
    .max(LAGS_MAX)
    .default(5)
    .meta({ description: describeSetting('lags') }),
};

/** Request of an estimate, stored with the model so that the estimate can be repeated. */
export const RiskModelRequest = defineObject(() => ({
  identifiers: z.array(AssetIdentifier).default([]).meta({
    description:
      'Securities of the estimate. Duplicates are counted once. Empty: the securities of index_id. The sessions are the days on which at least one of the securities has a price on any exchange, not the sessions of a calendar.',
  }),
  index_id: Id.nullable().default(null).meta({
    description:
      'Index whose latest run provides the securities: its last holdings. The sessions are those of the calendar of the index.',
  }),
  start: IsoDate.nullable()
    .default(null)
    .meta({ description: 'First day of the window. Default: the whole stored history.' }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last day of the window.' }),
  as_known_on: AsKnownOn,
  ...estimatorFields,
  intensity: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .meta({ description: describeSetting('intensity') }),
  target: z
    .enum(SHRINKAGE_TARGETS)
    .default('constant_correlation')
    .meta({ description: describeSetting('target') }),
  repair: z.boolean().default(false).meta({
    description:
      'True replaces negative eigenvalues by 0 if the result is not positive semi-definite. The diagonal does not change.',
  }),
  intensity_method: z
    .enum(ESTIMATOR_SETTINGS.intensity_method.choices)
    .default('shape')
    .meta({ description: describeSetting('intensity_method') }),
  half_life: z
    .number()
    .gt(0)
    .max(1e6)
    .nullable()
    .default(null)
    .meta({ description: describeSetting('half_life') }),
  returns: z
    .enum(['total', 'price'])
    .default('total')
    .meta({ description: 'Total returns include dividends; price returns do not.' }),
})).meta({ id: 'RiskModelRequest' });
export type RiskModelRequest = z.infer<typeof RiskModelRequest>;

export const RiskDiagnosticsPayload = defineObject(() => ({
  assets: z.int(),
  observations: z.int().meta({
    description:
      'Number of sessions after incomplete sessions were excluded; for a model by identifiers, number of days of the data. 0 for an imported model.',
  }),
  average_correlation: z.number().meta({
    description: 'Mean off-diagonal correlation of the returned matrix; 0 for a single security.',
  }),
  condition_number: z.number().meta({
    description:
      'Largest eigenvalue divided by the smallest. 1e300 for a singular matrix, whose smallest eigenvalue is at most 1e-15 times the number of securities times the largest eigenvalue. Such a matrix has no inverse to working precision.',
  }),
  intensity: z.number().meta({
    description: 'Weight of the target. 0 is the sample covariance, or the covariance of a model without a target.',
  }),
  positive_semi_definite: z.boolean(),
  repaired: z.boolean(),
  smallest_eigenvalue: z.number(),
  target: z.enum([...SHRINKAGE_TARGETS, 'none']).meta({
    description: 'Target of the shrinkage; `none` for an imported model and for estimators that do not shrink.',
  }),
})).meta({ id: 'RiskDiagnosticsPayload' });
export type RiskDiagnosticsPayload = z.infer<typeof RiskDiagnosticsPayload>;

/** Diagnostics of a stored model. Without a target, both members are null. */
const StoredDiagnostics = RiskDiagnosticsPayload.extend({
  intensity: z.number().nullable(),
  target: z.enum(SHRINKAGE_TARGETS).nullable(),
});
export type StoredDiagnostics = z.infer<typeof StoredDiagnostics>;

/** Returns the diagnostics of a stored model in the form of the API. */
export const toServedDiagnostics = (diagnostics: StoredDiagnostics): RiskDiagnosticsPayload => ({
  ...diagnostics,
  intensity: diagnostics.intensity ?? 0,
  target: diagnostics.target ?? 'none',
});

export const FactorModelPayload = defineObject(() => ({
  r_squared: z.number().nullable().meta({
    description:
      'Mean fraction of the cross-sectional variance that the factors explain; for principal components, their fraction of all variances. Null for an imported model.',
  }),
  factors: z
    .array(
      z.strictObject({
        factor: z.string().meta({
          description:
            'MARKET, a sector, a style or a principal component; for an imported model, the name of the factor.',
        }),
        volatility: z.number().meta({ description: 'Annualised volatility of the return of the factor.' }),
        mean_t_statistic: z.number().nullable().meta({
          description:
            'Mean absolute t-statistic over the sessions; null for a principal component and for an imported model.',
        }),
        significant_share: z.number().nullable().meta({
          description:
            'Fraction of the sessions with an absolute t-statistic above 2; null for a principal component and for an imported model.',
        }),
      }),
    )
    .meta({ description: 'Factors in the order of the model.' }),
})).meta({ id: 'FactorModelPayload' });
export type FactorModelPayload = z.infer<typeof FactorModelPayload>;

export const ImportedModelPayload = defineObject(() => ({
  ...ImportTerms.shape,
  dates: z
    .array(
      z.strictObject({
        date: z.string().meta({ description: 'Day from which the model applies.' }),
        assets: z.int().meta({ description: 'Securities of the date.' }),
        repaired: z.boolean(),
        smallest_eigenvalue: z.number(),
        lacks: z
          .array(z.string())
          .meta({ description: 'Securities of other dates that have no covariance on this date.' }),
      }),
    )
    .meta({ description: 'Ascending.' }),
})).meta({ id: 'ImportedModelPayload' });
export type ImportedModelPayload = z.infer<typeof ImportedModelPayload>;

/** Stored risk model without its matrix, which is stored separately as a float64 upper triangle, row by row. */
export const RiskModelDocument = defineObject(() => ({
  model_id: z.string(),
  /** Estimated securities, ascending, [N]. */
  asset_ids: z.array(z.string()),
  diagnostics: StoredDiagnostics,
  /** Factor model of the estimate; absent for an estimator without factors. */
  factor_model: FactorModelPayload.optional(),
  /** Request of the estimate; absent for an imported model. */
  request: RiskModelRequest.optional(),
  /**
   * Terms and dates of the import; absent for an estimated model. Matrices and factor models are concatenated by date.
   */
  imported: ImportedModelPayload.optional(),
  /** Warnings of the import. */
  findings: z.array(z.custom<Finding>()).optional(),
  /** Excluded securities with the reason. */
  excluded: z.record(z.string(), z.string()),
  /** First and last date of the returns that the estimate used. */
  observed_start: z.string(),
  observed_end: z.string(),
  content_hash: z.string(),
  precision: z.enum(['float64', 'float32']),
  store_content_hash: z.string(),
  /** Data store of the returns. Absent for imported models and for older models, which are usable on every store. */
  store_id: z.string().optional(),
  covariance: MatrixFiles,
  /**
   * Exposures, factor covariance and specific variances as float64. Absent for models without factors and for older
   * models.
   */
  factors: StoredArtifact.optional(),
}));
export type RiskModelDocument = z.infer<typeof RiskModelDocument>;

/** Returns the origin of a stored model. */
export function readModelSource({ request }: Pick<RiskModelDocument, 'request'>): ModelSource {
  return request?.estimator ?? 'imported';
}

/** Stored risk model as an optimisation result describes it. */
export interface RiskMeasureModel {
  readonly modelId: string;
  readonly estimator: ModelSource;
  readonly settings: EstimateSettings;
  /** Dates of the model's first and last return, YYYY-MM-DD, and number of returns. */
  readonly start: string;
  readonly end: string;
  readonly sessions: number;
}

export type EstimateSettings = Readonly<Record<string, string | number | null>>;

/**
 * Returns the settings that apply to the estimator of a request, with requested or default values. Omits settings
 * without a value.
 */
export function listSettingsRead(
  request: { readonly estimator: string } & Readonly<Record<string, unknown>>,
): EstimateSettings {
  const read = Object.entries(ESTIMATOR_SETTINGS).flatMap(([name, { readers }]) => {
    const value = request[name] as string | number | null | undefined; // the request schema guarantees the type
    const isRead = (readers as readonly string[]).includes(request.estimator);
    return isRead && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(read);
}

const { target, intensity, intensity_method } = RiskModelRequest.shape;

/** Settings of the covariance estimator of an optimisation. Default: the standard estimator. */
export const RiskEstimator = defineObject(() => ({
  ...estimatorFields,
  target,
  intensity,
  intensity_method,
  half_life: z
    .number()
    .min(1)
    .max(1e6)
    .nullable()
    .default(null)
    .meta({ description: 'Sessions after which the weight of an observation halves. Default: equal weights.' }),
  sessions: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.DERIVED_RISK_SESSIONS)
    .nullable()
    .default(null)
    .meta({
      description: `Number of returns up to the decision. Default: ${LIMITS.DERIVED_RISK_SESSIONS} in a derived index, the whole window in a run.`,
    }),
})).meta({ id: 'RiskEstimator', description: 'Settings of a risk model, as in an estimate request.' });
export type RiskEstimator = z.infer<typeof RiskEstimator>;

export const RiskModelChoice = z.union([Id.meta({ description: 'Id of a stored risk model.' }), RiskEstimator]);
export type RiskModelChoice = z.infer<typeof RiskModelChoice>;

/** Part of a risk model's JSON that a worker writes. A long body is produced in parts while it is read. */
export type RiskModelPart =
  | {
      readonly part: 'covariance' | 'correlation';
      /** Rows `from` to `to` (exclusive), with commas between them. */ readonly from: number;
      readonly to: number;
    }
  | { readonly part: 'volatilities'; readonly assetIds: readonly string[] };

const RANDOM_MAX = 500;
const EIGENPORTFOLIOS_MAX = 100;

/**
 * Request of a risk model validation. It has the terms of the forecasts, which use a stored model's settings, and of
 * their measurement.
 */
export const RiskValidationRequest = defineObject(() => ({
  start: IsoDate.nullable().default(null).meta({
    description: 'First day of a forecast. Default: the first day with a whole window before it.',
  }),
  end: IsoDate.nullable().default(null).meta({ description: 'Last outcome date.' }),
  sessions: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.MAX_SIMULATION_SESSIONS)
    .default(252)
    .meta({ description: 'Number of returns in each forecast, up to its day.' }),
  horizon: z.int().min(1).max(LIMITS.PERIODS_PER_YEAR).default(21).meta({
    description:
      'Number of sessions of an outcome, and of the interval between forecasts. Outcomes therefore do not overlap.',
  }),
  index_id: Id.nullable().default(null).meta({
    description:
      'Index whose weights on each day of its latest run are a portfolio. Default: the index of the estimate, if there is one.',
  }),
  random: z.int().min(0).max(RANDOM_MAX).default(50).meta({
    description:
      'Number of random portfolios of at most 20 securities, and of random portfolios relative to the equally weighted portfolio.',
  }),
  eigenportfolios: z.int().min(0).max(EIGENPORTFOLIOS_MAX).default(10).meta({
    description:
      'Number of eigenvectors of each covariance that are used as portfolios, evenly spaced from the largest eigenvalue.',
  }),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(1).meta({ description: 'Seed of the random portfolios.' }),
})).meta({ id: 'RiskValidationRequest' });
export type RiskValidationRequest = z.infer<typeof RiskValidationRequest>;

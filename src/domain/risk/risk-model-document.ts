import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { STRUCTURED_ESTIMATORS } from '#kernels/moments/estimators/structured-covariance.js';
import { SHRINKAGE_TARGETS } from '#kernels/moments/shrinkage-target.js';
import { ESTIMATOR_SETTINGS, describeSetting } from './estimator-settings.js';
import { FACTOR_ESTIMATORS } from './factor-model.js';
import type { Finding } from '../refusals/findings.js';
import { ImportTerms } from './imported/import-terms.js';
import { MatrixFiles, StoredArtifact } from './matrix-files.js';
import { AsKnownOn } from '../schema/as-known-on.js';
import { AssetIdentifier, Id, IsoDate } from '../schema/shape.js';

/** API names of the estimators. */
export const ESTIMATORS = ['shrinkage', ...STRUCTURED_ESTIMATORS, ...FACTOR_ESTIMATORS] as const;
export type Estimator = (typeof ESTIMATORS)[number];

/** Origin of a stored model: an estimator, or an import. */
export const MODEL_SOURCES = [...ESTIMATORS, 'imported'] as const;
export type ModelSource = (typeof MODEL_SOURCES)[number];

/** Maximum number of autocovariance lags of an estimate. */
const LAGS_MAX = 20;

/** Maximum number of principal components of an estimate. */
const FACTORS_MAX = 100;

/** Maximum number of samples for an eigenvalue adjustment. */
const SIMULATIONS_MAX = 1_000;

/** Estimator, and settings that apply only to some estimators. */
export const estimatorFields = {
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

/** Terms and dates of an imported model. */
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

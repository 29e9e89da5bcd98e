import { z } from 'zod';
import type { FindingCode } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { defineObject, IsoDate } from '../base/schema.js';

export const ESTIMATOR_SETTINGS = {
  factors: { readers: ['statistical'], help: 'Number of principal components. Default: 10.' },
  eigenvalue_simulations: {
    readers: ['newey_west', 'industries', 'styles'],
    help: 'Number of samples that are drawn to adjust eigenvalues for their bias, as in USE4. With industries and styles, the eigenvalues of the factor covariance are adjusted; with newey_west, those of the covariance. 200 are sufficient. Default: no adjustment.',
  },
  threshold: { readers: ['gerber'], help: 'Size of a joint move in standard deviations. Default: 0.5.' },
  lags: { readers: ['newey_west'], help: 'Number of autocovariances. Default: 5.' },
  target: {
    readers: ['shrinkage'],
    help: 'Target of the shrinkage.',
    choices: ['constant_correlation', 'scaled_identity'],
  },
  intensity: {
    readers: ['shrinkage'],
    help: 'Weight of the target. With 0, the result is the sample covariance. Null uses intensity_method.',
  },
  intensity_method: {
    readers: ['shrinkage'],
    help: 'Method of the intensity; ignored if intensity is present. `shape`: securities / (securities + observations). `ledoit_wolf`: the analytic intensity of the data.',
    choices: ['shape', 'ledoit_wolf'],
  },
  half_life: {
    readers: ['shrinkage', 'newey_west', 'industries', 'styles'],
    help: 'Sessions after which the weight of an observation halves. Default: equal weights.',
  },
} as const satisfies Readonly<Record<string, EstimatorSetting>>;

export interface EstimatorSetting {
  /** API names of the estimators that use the setting. */
  readonly readers: readonly string[];
  readonly help: string;
  /** Accepted values; absent for a numeric setting. */
  readonly choices?: readonly [string, ...string[]];
}

export type EstimatorSettingName = keyof typeof ESTIMATOR_SETTINGS;

export function describeSetting(name: EstimatorSettingName): string {
  const { help, readers } = ESTIMATOR_SETTINGS[name];
  const last = readers.at(-1)!;
  return `${help} Read by ${readers.length === 1 ? last : `${readers.slice(0, -1).join(', ')} and ${last}`}.`;
}

export const FACTOR_ESTIMATORS = ['statistical', 'industries', 'styles'] as const;
export type FactorEstimator = (typeof FACTOR_ESTIMATORS)[number];

export type FactorSource = FactorEstimator | 'imported';

export function isFactorEstimator(estimator: string): estimator is FactorEstimator {
  return (FACTOR_ESTIMATORS as readonly string[]).includes(estimator);
}

/** Factor model of n securities: returns equal exposures times factor returns plus a specific return. */
export interface FactorModel {
  /** Names of the factors, [K]. */
  readonly factors: readonly string[];
  /** Exposures B, [n x K]. */
  readonly exposures: Float64Array;
  /** Factor covariance F, annualised, [K x K]. */
  readonly covariance: Float64Array;
  /** Specific variances D, annualised, [n]. */
  readonly specific: Float64Array;
}

export interface FactorFit {
  /** Mean R-squared of the cross-sectional regressions over the sessions. */
  readonly rSquared: number;
  /** Mean magnitude of the t-statistic of each factor return, [K]. */
  readonly tStatistics: Float64Array;
  /** Fraction of the sessions with a t-statistic above 2 in magnitude, [K]. */
  readonly significant: Float64Array;
}

export const MODEL_TABLES = ['covariance', 'exposures', 'factor_covariance', 'specific_variances'] as const;
export type ModelTableName = (typeof MODEL_TABLES)[number];

export const FACTOR_TABLES = ['exposures', 'factor_covariance', 'specific_variances'] as const;

/** Media types of model files, and their formats. */
export const MODEL_FILES = {
  'text/csv': 'csv',
  'application/vnd.apache.arrow.stream': 'arrow',
} as const;
export type ModelFileFormat = (typeof MODEL_FILES)[keyof typeof MODEL_FILES];

/** Units of the numbers of an external model, and how the numbers are treated. */
export const importTermFields = {
  units: z.enum(['annual', 'daily']).meta({
    description:
      'Period of variances and covariances: year or session. Values per session are multiplied by `annualisation`.',
  }),
  annualisation: z.int().min(1).max(366).default(LIMITS.PERIODS_PER_YEAR).meta({
    description: 'Number of sessions per year, for daily units.',
  }),
  repair: z.boolean().default(false).meta({
    description:
      'True replaces covariances that are not symmetric by the mean of both values, and negative eigenvalues by 0 without changing variances. By default, both are errors.',
  }),
};

export const ImportTerms = z.strictObject(importTermFields);
export type ImportTerms = z.infer<typeof ImportTerms>;

const createFrameSchema = (rows: string, columns: string) =>
  z
    .strictObject({
      index: z.array(z.string()).meta({ description: rows }),
      columns: z.array(z.string()).meta({ description: columns }),
      data: z.array(z.array(z.unknown())).meta({ description: 'Rows of numbers.' }),
    })
    .optional();

export const ImportedModelDate = defineObject(() => ({
  date: IsoDate.meta({ description: 'Day from which the model applies, ascending.' }),
  covariance: createFrameSchema('Securities.', 'The same securities.').meta({
    description: 'Covariances of the securities, in the form of GET /risk-models/{model_id}.',
  }),
  exposures: createFrameSchema('Securities.', 'Factors.').meta({
    description: 'B: exposures of the securities to the factors, with factor_covariance and specific_variances.',
  }),
  factor_covariance: createFrameSchema('Factors.', 'The same factors.').meta({
    description: 'F: covariances of the factors.',
  }),
  specific_variances: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: 'D: specific variances by security.' }),
})).meta({ id: 'ImportedModelDate' });
export type ImportedModelDate = z.infer<typeof ImportedModelDate>;

/** External model, by date. */
export const RiskModelImport = defineObject(() => ({
  ...importTermFields,
  models: z.array(ImportedModelDate).min(1).max(LIMITS.MAX_MODEL_DATES).meta({
    description:
      'One model per date, ascending. All models consist of covariances, or all models are factor models with the same factors.',
  }),
})).meta({ id: 'RiskModelImport' });
export type RiskModelImport = z.infer<typeof RiskModelImport>;

/** Import terms of a file, as query parameters. */
export const RiskModelImportQuery = defineObject(() => ({
  units: importTermFields.units.optional().meta({ description: 'As in the JSON body. Required for a file.' }),
  annualisation: z.int().min(1).max(366).optional().meta({ description: 'As in the JSON body.' }),
  repair: z.boolean().optional().meta({ description: 'As in the JSON body.' }),
  date: IsoDate.optional().meta({ description: 'Date of a file without a column `date`.' }),
}));
export type RiskModelImportQuery = z.infer<typeof RiskModelImportQuery>;

export interface ModelProblem {
  readonly code: FindingCode;
  readonly path: string;
  readonly message: string;
  readonly value?: unknown;
}

export interface ModelProblems {
  error(problem: ModelProblem): void;
  warning(problem: ModelProblem): void;
  readonly errors: number;
}

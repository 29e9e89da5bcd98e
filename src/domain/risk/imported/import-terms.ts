import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import type { FindingCode } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import { IsoDate } from '../../schema/shape.js';

/** Tables of an imported model: the covariance table, or the three tables of a factor model. */
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

/** Problem in an imported model, with its path. */
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

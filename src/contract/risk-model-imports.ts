import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { MODEL_FILES, RiskModelImport, RiskModelImportQuery } from '#domain/risk/imported/import-terms.js';
import { ImportedModelPayload } from '#domain/risk/risk-model-document.js';
import { Id } from '#domain/schema/shape.js';
import { Finding } from './common.js';
import { defineRoutes } from './route.js';

export const RiskModelImportResult = defineObject(() => ({
  model_id: z.string(),
  assets: z.int().meta({ description: 'Securities of all dates.' }),
  factors: z.array(z.string()).meta({ description: 'Factors in the order of the model; empty for covariances.' }),
  imported: ImportedModelPayload.meta({ description: 'Settings and dates of the model.' }),
  content_hash: z.string().meta({ description: 'SHA-256 of securities, dates and matrices.' }),
  findings: z.array(Finding).meta({ description: 'Warnings, which do not block an import.' }),
})).meta({ id: 'RiskModelImportResult' });
export type RiskModelImportResult = z.infer<typeof RiskModelImportResult>;

const params = defineObject(() => ({ model_id: Id.meta({ description: 'Id of the risk model.' }) }));
const tag = 'risk-models';

const ids = ['BECQ', 'BEDV'];

export const riskModelImportRoutes = defineRoutes({
  importRiskModel: {
    method: 'POST',
    path: '/risk-models/{model_id}/import',
    onStore: 'query',
    scope: 'write',
    tag,
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
    tag,
    summary: 'Returns a risk model in the form of an import.',
    description:
      'The response contains annual numbers of every date: exposures, factor covariance and specific variances of a factor model, or covariances of other models. An import of the response creates the same model.',
    params,
    success: { status: 200, description: 'The model.', schema: RiskModelImport },
    errors: ['RISK_MODEL_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

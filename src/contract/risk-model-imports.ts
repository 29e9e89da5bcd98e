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
  factors: z.array(z.string()).meta({ description: 'In the order of the model; empty for covariances.' }),
  imported: ImportedModelPayload.meta({ description: 'Terms and dates.' }),
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
    summary: 'Import a risk model.',
    description:
      'Covariances of securities, or a factor model, by date; a decision uses the newest model dated on or before it. The body is JSON, or a file of CSV or Arrow whose terms are in the query: rows of `date`, `table`, `row`, `column` and `value`, or covariances with a column `identifier` and one for each security. A model with the same id is replaced; nothing is stored if a finding is an error.',
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
    summary: 'A risk model in the form of an import.',
    description:
      'Annual numbers of every date: exposures, factor covariance and specific variances of a factor model, or covariances of other models. Importing the response creates the same model.',
    params,
    success: { status: 200, description: 'The model.', schema: RiskModelImport },
    errors: ['RISK_MODEL_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
});

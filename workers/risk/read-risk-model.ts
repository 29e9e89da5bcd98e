import type { Task } from '#jobs/tasks/catalogue.js';
import type { ExportRiskModelInput } from '#jobs/tasks/indices.js';
import type { FactorModel } from '#domain/risk/model-terms.js';
import { openPackedFactors } from '#domain/risk/stored-models.js';
import { encodeRiskModel, writeExportedModel, writeRiskModelPart } from '#views/risk-model.js';
import { answerBytes } from '../output/hand-over.js';
import { readStoredDoubles, readStoredMatrix } from '../input/risk-models.js';

/** Writes rows of a frame, or the volatilities, as JSON. */
export const readRiskModelPart: Task<'risk-model-part'> = ({ part, ...stored }) =>
  answerBytes(writeRiskModelPart(readStoredMatrix(stored), part));

/** Writes a model of one date as a member of an import. */
export const exportModel: Task<'export-risk-model'> = ({ date, names, factors, ...stored }) =>
  answerBytes(
    writeExportedModel({
      date,
      names,
      matrix: () => readStoredMatrix(stored),
      factors: factors && readFactors(factors, names.length),
    }),
  );

function readFactors({ path, at, names }: NonNullable<ExportRiskModelInput['factors']>, n: number): FactorModel {
  const K = names.length;
  return openPackedFactors(readStoredDoubles([path]).subarray(at, at + n * K + K * K + n), names, n);
}

/** Writes the covariance as an Arrow stream with the other members in its metadata. */
export const createRiskModelArrow: Task<'risk-model-arrow'> = ({ assetIds, body, ...stored }) =>
  answerBytes(encodeRiskModel(readStoredMatrix(stored), assetIds, body));

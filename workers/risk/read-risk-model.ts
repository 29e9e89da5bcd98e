import type { Task } from '#jobs/tasks.js';
import { encodeRiskModel, writeRiskModelPart } from '#views/risk-model-view.js';
import { answerBytes } from '../output/hand-over.js';
import { storedMatrix } from '../input/stored-matrix.js';

/** Rows of a frame, or the volatilities, as JSON. */
export const riskModelPart: Task<'risk-model-part'> = ({ part, ...stored }) =>
  answerBytes(writeRiskModelPart(storedMatrix(stored), part));

/** The covariance as an Arrow stream with all else in its metadata. */
export const riskModelArrow: Task<'risk-model-arrow'> = ({ assetIds, body, ...stored }) =>
  answerBytes(encodeRiskModel(storedMatrix(stored), assetIds, body));

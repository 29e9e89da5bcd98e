import { formatDay, type Day } from '../time/days.js';
import { Refusal } from '../refusals/refusal.js';
import { createLoadings } from './factors/estimate-factors.js';
import type { FactorModel } from './factor-model.js';
import { unpackRow, type PackedMatrix } from './packed-matrix.js';

/** Stored risk model as optimisations use it. */
export interface StoredModel {
  readonly modelId: string;
  /** Securities with an estimate, in the order of the matrix. */
  readonly names: readonly string[];
  /** Last day of the estimate's returns; the date of an imported model. */
  readonly observedEnd: Day;
  /**
   * Returns the annualised covariance.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly covariance: () => PackedMatrix;
  /**
   * Returns the factor model of the covariance; absent without factors.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly factors?: () => FactorModel;
  readonly isImported?: boolean;
  /** Models of earlier dates of an imported model, newest first; absent for an estimated model. */
  readonly earlier?: readonly StoredModel[];
}

/**
 * Returns the model in force on a day. For an imported model, this is the one with the latest date on or before the
 * day. If there is none, returns the oldest model; decisions of that day refuse it.
 */
export function findModelInForce(model: StoredModel, day: Day): StoredModel {
  const { earlier = [] } = model;
  return [model, ...earlier].find(({ observedEnd }) => observedEnd <= day) ?? earlier.at(-1) ?? model;
}

/** Function that returns a stored model by its id. */
export type StoredModels = (modelId: string) => StoredModel;

/** Maximum number of securities listed in the message of a refusal; its detail contains all of them. */
const NAMED_MAX = 5;

/** Securities of a decision, with its day. The decision needs their covariance. */
export interface SecuritiesOfDecision {
  readonly identifiers: readonly string[];
  readonly day: Day;
}

/**
 * Returns the covariance of securities under a stored model.
 * @returns annualised, [N x N] in the order of the securities
 * @throws Refusal LOOK_AHEAD if the model contains returns after the day, MODEL_LACKS_NAMES, DOCUMENT_UNREADABLE
 * @cost N of the rows of the model
 */
export function readModelCovariance(stored: StoredModel, { identifiers, day }: SecuritiesOfDecision): Float64Array {
  const model = findModelInForce(stored, day);
  const positions = findPositions(model, { identifiers, day });
  const covariance = model.covariance();
  const n = identifiers.length;
  const matrix = new Float64Array(n * n);
  const row = new Float64Array(covariance.order);
  positions.forEach((place, i) => {
    unpackRow(covariance, place, row);
    for (let j = 0; j < n; j++) matrix[i * n + j] = row[positions[j]!]!;
  });
  return matrix;
}

/** Covariance of securities in factor form: loadings loadings' + diag(specific), annualised. */
export interface FactoredSecurities {
  /** Loadings, [N x K] in the order of the securities. */
  readonly loadings: Float64Array;
  /** [N] */
  readonly specific: Float64Array;
}

/**
 * Returns the covariance of securities under a stored model in factor form. Returns undefined for a model without
 * factors.
 * @throws Refusal LOOK_AHEAD if the model contains returns after the day, MODEL_LACKS_NAMES, DOCUMENT_UNREADABLE
 * @cost N K^2 / 2 multiply-adds; the matrix is not read
 */
export function readModelFactors(
  stored: StoredModel,
  { identifiers, day }: SecuritiesOfDecision,
): FactoredSecurities | undefined {
  const model = findModelInForce(stored, day);
  if (model.factors === undefined) return undefined;
  const positions = findPositions(model, { identifiers, day });
  const { exposures, covariance, specific, factors } = model.factors();
  const K = factors.length;
  const selectedExposures = new Float64Array(positions.length * K);
  positions.forEach((place, i) => selectedExposures.set(exposures.subarray(place * K, (place + 1) * K), i * K));
  const selectedSpecific = Float64Array.from(positions, (place) => specific[place]!);
  return {
    loadings: createLoadings({ factors, exposures: selectedExposures, covariance, specific: selectedSpecific }),
    specific: selectedSpecific,
  };
}

/**
 * Returns the positions of securities in a model.
 * @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES
 */
function findPositions(
  { modelId, names, observedEnd, isImported }: StoredModel,
  { identifiers, day }: SecuritiesOfDecision,
): Int32Array {
  if (observedEnd > day)
    throw new Refusal(
      'LOOK_AHEAD',
      `The risk model ${modelId} ${isImported === true ? 'is dated' : 'is estimated on returns up to'} ${formatDay(observedEnd)}, after the decision of ${formatDay(day)}.`,
      { model_id: modelId, observed_end: formatDay(observedEnd), decision_date: formatDay(day) },
    );
  const positionByName = new Map(names.map((name, place) => [name, place]));
  const missingNames = identifiers.filter((name) => !positionByName.has(name));
  if (missingNames.length > 0) {
    const moreText = missingNames.length > NAMED_MAX ? ` and ${missingNames.length - NAMED_MAX} more` : '';
    throw new Refusal(
      'MODEL_LACKS_NAMES',
      `The risk model ${modelId} has no estimate for ${missingNames.slice(0, NAMED_MAX).join(', ')}${moreText}.`,
      { model_id: modelId, identifiers: missingNames },
    );
  }
  return Int32Array.from(identifiers, (name) => positionByName.get(name)!);
}

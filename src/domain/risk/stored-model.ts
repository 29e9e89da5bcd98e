import { formatDay, type Day } from '../days.js';
import { Refusal } from '../refusal.js';
import { unpackRow, type PackedMatrix } from './packed-matrix.js';

/** A stored risk model as optimisations use it. */
export interface StoredModel {
  readonly modelId: string;
  /** Names with an estimate, in the order of the matrix. */
  readonly names: readonly string[];
  /** Last day of the returns it was estimated on. */
  readonly observedEnd: Day;
  /** Annualised. */
  readonly covariance: PackedMatrix;
}

/** Stored models by their id. */
export type StoredModels = (modelId: string) => StoredModel;

/** Names listed in the message of a refusal; the detail has all. */
const NAMED_MAX = 5;

/**
 * The covariance that a stored model has of names.
 * @param day of the decision it is used for
 * @returns annualised, [N x N] in the order of the names
 * @throws Refusal LOOK_AHEAD where the model knows returns after the day, MODEL_LACKS_NAMES
 * @cost N of the rows of the model
 */
export function modelCovariance(
  { modelId, names, observedEnd, covariance }: StoredModel,
  { identifiers, day }: { readonly identifiers: readonly string[]; readonly day: Day },
): Float64Array {
  if (observedEnd > day)
    throw new Refusal(
      'LOOK_AHEAD',
      `The risk model ${modelId} is estimated on returns up to ${formatDay(observedEnd)}, after the decision of ${formatDay(day)}.`,
      { model_id: modelId, observed_end: formatDay(observedEnd), decision_date: formatDay(day) },
    );
  const placeOf = new Map(names.map((name, place) => [name, place]));
  const lacking = identifiers.filter((name) => !placeOf.has(name));
  if (lacking.length > 0) {
    const more = lacking.length > NAMED_MAX ? ` and ${lacking.length - NAMED_MAX} more` : '';
    throw new Refusal(
      'MODEL_LACKS_NAMES',
      `The risk model ${modelId} has no estimate of ${lacking.slice(0, NAMED_MAX).join(', ')}${more}.`,
      { model_id: modelId, identifiers: lacking },
    );
  }
  const n = identifiers.length;
  const places = identifiers.map((name) => placeOf.get(name)!);
  const matrix = new Float64Array(n * n);
  const row = new Float64Array(names.length);
  places.forEach((place, i) => {
    unpackRow(covariance, place, row);
    places.forEach((other, j) => (matrix[i * n + j] = row[other]!));
  });
  return matrix;
}

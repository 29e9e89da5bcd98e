import { callOnce } from '#base/once.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { createLoadings } from './factors.js';
import { groupPartsByDate, type ModelDate } from './model-tables.js';
import type { FactorModel } from './model-terms.js';

/** Packs a factor model for storage: exposures [n x K], factor covariance [K x K], specific variances [n]. */
export function packFactors({ exposures, covariance, specific }: FactorModel): Float64Array<ArrayBuffer> {
  const packedNumbers = new Float64Array(exposures.length + covariance.length + specific.length);
  packedNumbers.set(exposures);
  packedNumbers.set(covariance, exposures.length);
  packedNumbers.set(specific, exposures.length + covariance.length);
  return packedNumbers;
}

/**
 * Returns the factor model from its packed form.
 * @param n number of securities in the model.
 * @throws Error if the length does not match
 */
export function openPackedFactors(packed: Float64Array, factors: readonly string[], n: number): FactorModel {
  const K = factors.length;
  if (packed.length !== n * K + K * K + n)
    throw new Error(`${packed.length} numbers for ${n} securities and ${K} factors`);
  const exposures = packed.subarray(0, n * K);
  const covariance = packed.subarray(n * K, n * K + K * K);
  return { factors, exposures, covariance, specific: packed.subarray(n * K + K * K) };
}

/** Symmetric matrix stored as its upper triangle, row by row, in half the memory. */
export interface PackedMatrix {
  readonly order: number;
  /** Upper triangle, [order (order + 1) / 2]. */
  readonly upper: Float64Array;
}

/**
 * Packs the upper triangle of a matrix.
 * @param matrix [n x n] row-major, symmetric.
 */
export function packUpper(matrix: Float64Array, n: number): Float64Array<ArrayBuffer> {
  const upper = new Float64Array((n * (n + 1)) / 2);
  let position = 0;
  for (let i = 0; i < n; i++) {
    upper.set(matrix.subarray(i * n + i, (i + 1) * n), position);
    position += n - i;
  }
  return upper;
}

/**
 * Wraps a packed upper triangle.
 * @throws Error if the length does not match a triangle of the order
 */
export function openPackedMatrix(upper: Float64Array, order: number): PackedMatrix {
  if (upper.length !== (order * (order + 1)) / 2)
    throw new Error(`${upper.length} entries for a matrix of order ${order}`);
  return { order, upper };
}

/**
 * Writes row i of the full matrix.
 * @param out [order], overwritten
 */
export function unpackRow({ order, upper }: PackedMatrix, i: number, out: Float64Array): void {
  let position = i;
  for (let j = 0; j < i; j++) {
    out[j] = upper[position]!;
    position += order - 1 - j;
  }
  out.set(upper.subarray(position, position + order - i), i);
}

/** Returns the square roots of the matrix diagonal. */
export function computeVolatilities({ order, upper }: PackedMatrix): Float64Array {
  const volatilities = new Float64Array(order);
  for (let i = 0, position = 0; i < order; position += order - i, i++)
    volatilities[i] = Math.sqrt(Math.max(0, upper[position]!));
  return volatilities;
}

/**
 * Writes row i of the correlation matrix. The diagonal is exactly 1, a security without variance has 0, all other
 * entries are between -1 and 1.
 * @param out [order], overwritten
 */
export function computeCorrelationRow(
  matrix: PackedMatrix,
  volatilities: Float64Array,
  i: number,
  out: Float64Array,
): void {
  unpackRow(matrix, i, out);
  for (let j = 0; j < out.length; j++) {
    const product = volatilities[i]! * volatilities[j]!;
    out[j] = product > 0 ? Math.min(1, Math.max(-1, out[j]! / product)) : 0;
  }
  out[i] = 1;
}

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

/** Contents of a stored model, each read on first use. A model with factors may never need its matrix. */
export interface ModelContent {
  readonly names: readonly string[];
  readonly observedEnd: string;
  /** Dates of an imported model, ascending. */
  readonly dates?: readonly ModelDate[] | undefined;
  /**
   * Returns the matrix of a model without dates.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly matrix: () => PackedMatrix;
  /**
   * Returns the matrix numbers of all dates.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly numbers: () => Float64Array;
  /**
   * Factor names, and a function that reads the packed factors; absent without factors.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly factors?: { readonly names: readonly string[]; readonly numbers: () => Float64Array } | undefined;
}

export function openStoredModel(modelId: string, content: ModelContent): StoredModel {
  const { names, observedEnd, factors, dates, matrix } = content;
  if (dates !== undefined) return createImportedModel(modelId, { ...content, dates });
  return {
    modelId,
    names,
    observedEnd: parseValidDay(observedEnd),
    covariance: matrix,
    ...(factors && { factors: () => openPackedFactors(factors.numbers(), factors.names, names.length) }),
  };
}

type DatedContent = ModelContent & { readonly dates: readonly ModelDate[] };

/** Opens an imported model: the model of the latest date, with those of earlier dates. */
function createImportedModel(modelId: string, { names, factors, dates, ...content }: DatedContent): StoredModel {
  const K = factors?.names.length ?? 0;
  const readNumbers = callOnce(content.numbers);
  const readFactorNumbers = callOnce(() => factors!.numbers()); // called only for a model with factors
  const models = groupPartsByDate(names, dates, K).map(({ date, names: partNames, at, factorsAt }): StoredModel => {
    const n = partNames.length;
    const factorsEnd = factorsAt + n * K + K * K + n;
    return {
      modelId,
      names: partNames,
      observedEnd: parseValidDay(date),
      isImported: true,
      covariance: callOnce(() => openPackedMatrix(readNumbers().subarray(at, at + (n * (n + 1)) / 2), n)),
      ...(factors && {
        factors: callOnce(() =>
          openPackedFactors(readFactorNumbers().subarray(factorsAt, factorsEnd), factors.names, n),
        ),
      }),
    };
  });
  const [newest, ...earlier] = models.toReversed();
  return { ...newest!, earlier }; // an imported model has at least one date
}

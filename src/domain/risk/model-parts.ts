import { countTriangleEntries } from '#kernels/moments/panel-covariance.js';
import { LIMITS } from '../refusals/limits.js';
import { refuseWithFindings } from '../refusals/refusal.js';

const NUMBER_BYTES = Float64Array.BYTES_PER_ELEMENT;

/** Maximum number of securities of a model that a single thread estimates as a whole. */
export const SINGLE_THREAD_SECURITIES_MAX = 5_000;

/** Number of parts of a larger model's matrix: ranges of upper-triangle rows with about equal numbers of entries. */
export const MODEL_PARTS = 64;

/**
 * Number of the part that computes the range of the eigenvalues. It comes after the matrix parts. The node that runs
 * the job computes its last part first.
 */
export const EIGENVALUES_PART = MODEL_PARTS;

/** Number of parts of a model. */
export const PART_COUNT = MODEL_PARTS + 1;

/**
 * Divides the rows of a matrix into parts.
 * @returns first row of each part, and the number of rows at the end, [MODEL_PARTS + 1]
 */
export function divideModel(assetCount: number): Int32Array {
  const cuts = new Int32Array(MODEL_PARTS + 1).fill(assetCount);
  const entries = countTriangleEntries(assetCount, 0, assetCount);
  let part = 0;
  for (let row = 0; row < assetCount; row++)
    while (part < MODEL_PARTS && countTriangleEntries(assetCount, 0, row) >= (part * entries) / MODEL_PARTS)
      cuts[part++] = row;
  return cuts;
}

/**
 * Returns the number of values of a part in addition to its rows. They are a fingerprint of the estimate, followed by
 * the sum of correlations of each row or by both ends of the eigenvalue range.
 */
export const countPartFigures = (cuts: Int32Array, part: number): number =>
  1 + (part === EIGENVALUES_PART ? 2 : cuts[part + 1]! - cuts[part]!);

/** Returns the file size in bytes of each part of a matrix. */
export function computeFileBytes(assetCount: number): number[] {
  const cuts = divideModel(assetCount);
  return Array.from(cuts.subarray(1), (to, part) => NUMBER_BYTES * countTriangleEntries(assetCount, cuts[part]!, to));
}

/**
 * Refuses a model with too many securities.
 * @param path member of the request that lists the securities
 * @throws Refusal VALIDATION_FAILED
 */
export function assertFewSecurities(count: number, path: 'identifiers' | 'index_id'): void {
  if (count <= LIMITS.MAX_RISK_SECURITIES) return;
  const message = `The model has ${count} securities; at most ${LIMITS.MAX_RISK_SECURITIES} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', path, message, value: count }]);
}

import { countTriangleEntries } from '#kernels/moments/panel-covariance.js';
import { LIMITS } from '../refusals/limits.js';
import { refuseWithFindings } from '../refusals/refusal.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;

/** Number of securities up to which one thread estimates a model whole. */
export const WHOLE_MODEL_MAX = 5_000;

/** Parts of the matrix of a larger model: rows of its upper triangle with about the same number of entries. */
export const MODEL_PARTS = 64;

/** Part after those of the matrix: the range of the eigenvalues. The node of the job computes its last part first. */
export const EIGENVALUES_PART = MODEL_PARTS;

/** Number of parts of a model. */
export const PART_COUNT = MODEL_PARTS + 1;

/** @returns first rows of the parts of a model and the number of its rows, [MODEL_PARTS + 1] */
export function divideModel(assets: number): Int32Array {
  const cuts = new Int32Array(MODEL_PARTS + 1).fill(assets);
  const entries = countTriangleEntries(assets, 0, assets);
  let part = 0;
  for (let row = 0; row < assets; row++)
    while (part < MODEL_PARTS && countTriangleEntries(assets, 0, row) >= (part * entries) / MODEL_PARTS)
      cuts[part++] = row;
  return cuts;
}

/**
 * Returns how many numbers a part has besides its rows: a fingerprint of the estimate, then the sum of correlations of
 * each row, or both ends of the eigenvalues.
 */
export const figuresOfPart = (cuts: Int32Array, part: number): number =>
  1 + (part === EIGENVALUES_PART ? 2 : cuts[part + 1]! - cuts[part]!);

/** Returns how many bytes the files of a matrix in parts have. */
export function fileBytesOf(assets: number): number[] {
  const cuts = divideModel(assets);
  return Array.from(cuts.subarray(1), (to, part) => BYTES * countTriangleEntries(assets, cuts[part]!, to));
}

/** @param path member of the request that names the securities @throws Refusal VALIDATION_FAILED */
export function assertFewSecurities(count: number, path: 'identifiers' | 'index_id'): void {
  if (count <= LIMITS.MAX_RISK_SECURITIES) return;
  const message = `The model has ${count} securities; at most ${LIMITS.MAX_RISK_SECURITIES} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', path, message, value: count }]);
}

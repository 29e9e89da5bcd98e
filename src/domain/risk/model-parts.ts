import { countTriangleEntries } from '#kernels/moments/panel-covariance.js';
import { LIMITS } from '../refusals/limits.js';
import { refuseWithFindings } from '../refusals/refusal.js';

/** Number of securities up to which one thread estimates a model whole. */
export const WHOLE_MODEL_MAX = 5_000;

/** Parts of the matrix of a larger model: rows of its upper triangle with about the same number of entries. */
export const MODEL_PARTS = 64;

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

/** Numbers in the output of a part: a fingerprint of the estimate, its entries, and a sum for each row. */
export function computePartLength(assets: number, cuts: Int32Array, part: number): number {
  const [from, to] = [cuts[part]!, cuts[part + 1]!];
  return 1 + countTriangleEntries(assets, from, to) + to - from;
}

/** @param path member of the request that names the securities @throws Refusal VALIDATION_FAILED */
export function assertFewSecurities(count: number, path: 'identifiers' | 'index_id'): void {
  if (count <= LIMITS.MAX_RISK_SECURITIES) return;
  const message = `The model has ${count} securities; at most ${LIMITS.MAX_RISK_SECURITIES} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', path, message, value: count }]);
}

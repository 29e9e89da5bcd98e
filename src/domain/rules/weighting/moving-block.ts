import type { RiskEstimate } from './risk-panel.js';

export interface MovingBlock {
  /** Covariance of the securities whose price changed, [n x n]. */
  readonly covariance: Float64Array;
  /** Positions of these securities among the selected securities. */
  readonly positions: readonly number[];
}

/**
 * Returns the covariance of the securities whose price changed. Securities with a constant price or without data are
 * not held.
 */
export function selectMovingBlock({ covariance, positions }: RiskEstimate): MovingBlock {
  const n = positions.length;
  const moving = Array.from({ length: n }, (_, k) => k).filter((k) => covariance[k * n + k]! > 0);
  const block = new Float64Array(moving.length ** 2);
  moving.forEach((row, i) =>
    moving.forEach((column, j) => (block[i * moving.length + j] = covariance[row * n + column]!)),
  );
  return { covariance: block, positions: moving.map((k) => positions[k]!) };
}

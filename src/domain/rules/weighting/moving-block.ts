import type { RiskEstimate } from './risk-panel.js';

export interface MovingBlock {
  /** Covariance of the securities whose price changed, [n x n]. */
  readonly covariance: Float64Array;
  /** Positions of these securities among the selected securities. */
  readonly positions: readonly number[];
}

/**
 * Returns the covariance of the securities whose price changed. Securities with a constant price or without data get no
 * weight.
 */
export function selectMovingBlock({ covariance, positions }: RiskEstimate): MovingBlock {
  const n = positions.length;
  const movingPositions = Array.from({ length: n }, (_, k) => k).filter((k) => covariance[k * n + k]! > 0);
  const block = new Float64Array(movingPositions.length ** 2);
  movingPositions.forEach((row, i) =>
    movingPositions.forEach((column, j) => (block[i * movingPositions.length + j] = covariance[row * n + column]!)),
  );
  return { covariance: block, positions: movingPositions.map((k) => positions[k]!) };
}

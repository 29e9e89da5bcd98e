import { findRiskless } from '../../numbers/constant.js';
import type { RiskEstimate } from './risk-panel.js';

export interface MovingBlock {
  /** Covariance of the securities with a variance, [n x n]. */
  readonly covariance: Float64Array;
  /** Positions of these securities among the selected securities. */
  readonly positions: readonly number[];
}

/**
 * Returns the covariance of the securities with a variance. Securities with a constant price or a constant growth, and
 * those without data, get no weight.
 */
export function selectMovingBlock({ covariance, positions }: RiskEstimate): MovingBlock {
  const n = positions.length;
  const isRiskless = findRiskless(Float64Array.from({ length: n }, (_, k) => covariance[k * n + k]!));
  const movingPositions = Array.from({ length: n }, (_, k) => k).filter((k) => isRiskless[k] === 0);
  const block = new Float64Array(movingPositions.length ** 2);
  movingPositions.forEach((row, i) =>
    movingPositions.forEach((column, j) => (block[i * movingPositions.length + j] = covariance[row * n + column]!)),
  );
  return { covariance: block, positions: movingPositions.map((k) => positions[k]!) };
}

import type { RiskEstimate } from './risk-panel.js';

export interface MovingBlock {
  /** Of the securities that moved, [n x n]. */
  readonly covariance: Float64Array;
  /** Their positions among the survivors. */
  readonly positions: readonly number[];
}

/** The covariance of the securities that moved: one that never did is not held, as one without data. */
export function movingBlock({ covariance, positions }: RiskEstimate): MovingBlock {
  const n = positions.length;
  const moving = Array.from({ length: n }, (_, k) => k).filter((k) => covariance[k * n + k]! > 0);
  const block = new Float64Array(moving.length ** 2);
  moving.forEach((row, i) =>
    moving.forEach((column, j) => (block[i * moving.length + j] = covariance[row * n + column]!)),
  );
  return { covariance: block, positions: moving.map((k) => positions[k]!) };
}

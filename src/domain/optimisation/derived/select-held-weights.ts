import type { SolvedWeights } from './solved-weights.js';

/** Returns the securities with a nonzero weight, with their weights. */
export function selectHeldWeights(columns: Int32Array, weights: Float64Array): SolvedWeights {
  const positions = Array.from(weights.keys()).filter((place) => weights[place] !== 0);
  return {
    columns: Int32Array.from(positions, (place) => columns[place]!),
    weights: Float64Array.from(positions, (place) => weights[place]!),
  };
}

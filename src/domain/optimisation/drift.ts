import { growthOf, growthRow } from '../index-mathematics/growth.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';

export interface DriftInput {
  readonly sm: SessionMarket;
  readonly terms: GrowthTerms;
  /** Session at whose close the weights were taken up, and session at whose close they are looked at. */
  readonly from: number;
  readonly to: number;
}

/**
 * What weights have become: each grown by its name, over the value of all with the cash beside them. A name without a
 * price keeps its last; weights that are worth nothing any more stay as they were.
 *
 * @param columns  Of the market, [K].
 * @cost           K for each session between.
 */
export function driftedWeights(
  { sm, terms, from, to }: DriftInput,
  columns: Int32Array,
  weights: Float64Array,
): Float64Array {
  const growth = growthOf(sm, terms);
  const grown = weights.slice();
  for (let session = from + 1; session <= to; session++) {
    const row = growthRow(sm, session);
    for (let k = 0; k < columns.length; k++) {
      const factor = growth[row + columns[k]!]!;
      if (!Number.isNaN(factor)) grown[k]! *= factor;
    }
  }
  let total = 1;
  for (let k = 0; k < weights.length; k++) total += grown[k]! - weights[k]!;
  return total > 0 ? grown.map((value) => value / total) : weights;
}

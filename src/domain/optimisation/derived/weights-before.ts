import { listHoldings, createIndexTerms } from '../../books/index-run.js';
import type { OutgoingComposition } from '../../books/decider.js';
import { simulateBook } from '../../books/simulate-book.js';
import type { IndexDocument, TreatmentSpec } from '../../documents/index-document.js';
import type { SessionMarket } from '../../market/session-market.js';
import type { SolvedWeights } from './solved-weights.js';

export interface WeightsBeforeInput {
  readonly document: IndexDocument;
  readonly sm: SessionMarket;
  readonly treatment: TreatmentSpec;
  readonly outgoing: OutgoingComposition;
  readonly decision: number;
}

/**
 * Returns the weights of an index just before a rebalance, as known at the decision. These are the book weights at the
 * decision close, before trades. If the composition does not take effect before the decision, returns its decided
 * weights.
 * @cost O(T K) over the sessions since the composition took effect
 */
export function computeWeightsBefore({
  document,
  sm,
  treatment,
  outgoing,
  decision,
}: WeightsBeforeInput): SolvedWeights {
  const { session: from, columns, weights, effective } = outgoing;
  if (decision <= from) return { columns, weights };
  const book = simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    growth: createIndexTerms({ treatment, document }),
    isSparse: true,
    from,
    to: decision,
    targets: [{ session: from, columns, weights }],
    initialValue: document.base_value,
    costRate: 0,
    fills: 'all',
  });
  const event = book.events.at(-1);
  // Securities that leave at the rebalance close are sold by the rebalance.
  if (event?.at !== book.length - 1 || effective !== decision) return listHoldings(book, decision);
  const slots = Array.from(book.columns.keys()).filter((slot) => event.before[slot] !== 0);
  return {
    columns: Int32Array.from(slots, (slot) => book.columns[slot]!),
    weights: Float64Array.from(slots, (slot) => event.before[slot]!),
  };
}

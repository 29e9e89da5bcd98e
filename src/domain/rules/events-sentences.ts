import type { EventsSpec } from '../documents/events-spec.js';
import { findCountedShares } from '../documents/share-terms.js';
import type { RuleDocument } from '../documents/index-document.js';
import { formatShare } from '../catalogue/sentence-numbers.js';
import { describeRebalance } from './rebalance-sentences.js';

const REPLACEMENTS: Readonly<Record<EventsSpec['replacement'], (events: EventsSpec) => string>> = {
  none: () =>
    'The proceeds of a constituent that leaves between two rebalances are distributed over the others in proportion to their weights.',
  next_ranked: () =>
    'A constituent that leaves between two rebalances is replaced at that close by the best-ranked security that the last review did not select and that passes the other rules.',
  reserve: ({ reserve = [] }) =>
    `A constituent that leaves between two rebalances is replaced at that close by the first of ${reserve.join(', ')} that has a price and is not a constituent.`,
};

/** Describes the changes of an index between its reviews. */
export function describeEvents({ events, pipeline }: RuleDocument): string[] {
  if (events === undefined) return [REPLACEMENTS.none(NO_EVENTS)];
  const { share_changes: changes, threshold, replacement, fast_entry: entry, fast_exit: exit, acquirer } = events;
  const isEffective = changes === 'effective' && findCountedShares(pipeline.weighting) !== null;
  return [
    REPLACEMENTS[replacement](events),
    ...(replacement === 'none'
      ? []
      : [
          'The new constituent enters with its own market value or price if those are the weights, otherwise with the weight of the one that left.',
        ]),
    ...(isEffective
      ? [
          `A change of shares or free float of at least ${formatShare(threshold)} since the counts last adopted applies after the previous close of its date: index shares scale and the divisor adjusts.`,
        ]
      : []),
    ...(exit === undefined
      ? []
      : [
          `Constituents ranked below ${exit.rank} by ${exit.field} leave between reviews, each replaced by the best-ranked security outside the index. ${describeRebalance(exit.schedule, 'these exits').join(' ')}`,
        ]),
    ...(entry === undefined
      ? []
      : [
          `A new security ranked ${entry.rank} or better by ${entry.field} at the close ${entry.after_sessions} sessions after its first price enters at that close in place of the lowest-ranked constituent.`,
        ]),
    ...(acquirer === 'remove'
      ? ['A constituent that merges into a security outside the universe leaves at its last price.']
      : []),
  ];
}

const NO_EVENTS: EventsSpec = { share_changes: 'review', threshold: 0, replacement: 'none', acquirer: 'convert' };

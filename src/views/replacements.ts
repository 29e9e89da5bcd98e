import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { NamedSwap } from '#domain/books/named-swaps.js';
import { formatDay } from '#domain/time/days.js';

/** Converts changes of constituents between reviews to the format of the API. */
export function toReplacements(swaps: readonly NamedSwap[]): IndexExplanation['replacements'] {
  return swaps.map(({ date, rule, entered, left, decision, ranked, rank, leftRank }) => ({
    date: formatDay(date),
    rule,
    entered,
    left,
    decision_date: formatDay(decision),
    ranked_on: ranked === null ? null : formatDay(ranked),
    rank,
    left_rank: leftRank,
  }));
}
